use super::*;
use parquet::column::page::PageMetadata;
use std::io::Write;

const SCHEMA: Schema = Schema {
    name: "sample",
    columns: &[("name", Kind::Text), ("n", Kind::Whole), ("share", Kind::Real)],
    most_rows: ROWS_OF_A_GROUP + 5,
};

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a scratch file");
    file.write_all(bytes).expect("written");
    file
}

fn written(rows: usize) -> Vec<u8> {
    let mut table = TableWriter::new(&SCHEMA).expect("a table");
    for row in 0..rows {
        let number = row as i64;
        let cells = [
            Cell::Text(Some(ByteArray::from(format!("i-{}", row % 7).as_str()))),
            Cell::Whole((!row.is_multiple_of(3)).then_some(number)),
            Cell::Real((!row.is_multiple_of(2)).then_some(number as f64 / 3.0)),
        ];
        table.push(cells).expect("it fits");
    }
    table.finish().expect("a file")
}

#[test]
fn rows_come_back_over_several_groups() {
    let rows = ROWS_OF_A_GROUP + 5;
    let bytes = written(rows);
    assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let mut row = 0_usize;
    let mut each = |read: &Row<'_>| -> Result<(), TableError> {
        let number = row as i64;
        assert_eq!(read.text(0)?, format!("i-{}", row % 7));
        assert_eq!(read.whole::<i64>(1)?, (!row.is_multiple_of(3)).then_some(number));
        assert_eq!(read.real(2)?, (!row.is_multiple_of(2)).then_some(number as f64 / 3.0));
        row += 1;
        Ok(())
    };
    read_table(file(&bytes), &SCHEMA, &mut each).expect("it is whole");
    assert_eq!(row, rows);
}

#[test]
fn other_columns_and_half_a_file_are_errors() {
    let bytes = written(3);
    let mut each = |_: &Row<'_>| -> Result<(), TableError> { Ok(()) };
    let other = Schema {
        name: "sample",
        columns: &[("name", Kind::Text), ("n", Kind::Whole)],
        most_rows: 3,
    };
    let answer = read_table(file(&bytes), &other, &mut each);
    assert!(matches!(answer, Err(TableError::Columns)), "{answer:?}");
    for length in [0, 3, 8, bytes.len() / 2, bytes.len() - 1] {
        assert!(read_table(file(&bytes[..length]), &SCHEMA, &mut each).is_err());
    }
    let mut number = |row: &Row<'_>| row.some::<u8>(1).map(|_| ());
    let answer = read_table(file(&bytes), &SCHEMA, &mut number);
    assert!(matches!(answer, Err(TableError::Value)), "the first is absent");
}

/// A table of one column with some texts.
fn texts(texts: impl Iterator<Item = String>) -> Result<usize, TableError> {
    const TEXTS: Schema =
        Schema { name: "texts", columns: &[("name", Kind::Text)], most_rows: 10_000 };
    let mut table = TableWriter::new(&TEXTS).expect("a table");
    for text in texts {
        let cell = Cell::Text(Some(ByteArray::from(text.as_str())));
        table.push([cell]).expect("it fits");
    }
    let mut bytes = 0;
    let mut each = |row: &Row<'_>| -> Result<(), TableError> {
        bytes += row.text(0)?.len();
        Ok(())
    };
    let stored = file(&table.finish().expect("a file"));
    read_table(stored, &TEXTS, &mut each)?;
    Ok(bytes)
}

#[test]
fn texts_that_fill_the_memory_are_refused() {
    // 100 rows of 256 bytes; one byte more is stored once, and would be copied for each row.
    let of = |bytes: usize| texts((0..100).map(|_| "a".repeat(bytes)));
    assert_eq!(of(256).ok(), Some(25_600));
    assert!(matches!(of(257), Err(TableError::Large)));
    // 9,000 × 4,000 bytes are 36 MB of a column, which pack to less than a hundredth.
    let long = texts((0..9_000).map(|row| format!("{row:04000}")));
    assert!(matches!(long, Err(TableError::Large)), "{long:?}");
}

#[test]
fn more_rows_than_a_table_has_are_refused() {
    let mut rows = 0;
    let mut each = |_: &Row<'_>| -> Result<(), TableError> {
        rows += 1;
        Ok(())
    };
    let bytes = written(ROWS_OF_A_GROUP + 6);
    let answer = read_table(file(&bytes), &SCHEMA, &mut each);
    assert!(matches!(answer, Err(TableError::Large)), "{answer:?}");
    // The second group is not read.
    assert_eq!(rows, ROWS_OF_A_GROUP);
}

#[test]
fn a_description_of_more_groups_than_a_table_has_is_refused() {
    let mut bytes = written(3);
    let length = bytes.len() - 8;
    bytes[length..length + 4].copy_from_slice(&(MOST_FOOTER_BYTES + 1).to_le_bytes());
    let mut each = |_: &Row<'_>| -> Result<(), TableError> { Ok(()) };
    let answer = read_table(file(&bytes), &SCHEMA, &mut each);
    assert!(matches!(answer, Err(TableError::Large)), "{answer:?}");
}

const OPTIONS: Schema = Schema {
    name: "options",
    columns: &[
        ("tags", Kind::LongText),
        ("commitment", Kind::OptionalText),
        ("cost", Kind::Decimal),
        ("day", Kind::Day),
    ],
    most_rows: 1_000,
};

#[test]
fn decimals_days_and_texts_that_may_be_absent_come_back() {
    let rows: [[Cell; 4]; 3] = [
        [
            Cell::Text(Some(ByteArray::from("{}"))),
            Cell::Text(None),
            Cell::Whole(Some(-1_500_000)),
            Cell::Day(Some(20_780)),
        ],
        [
            Cell::Text(Some(ByteArray::from(""))),
            Cell::Text(Some(ByteArray::from(""))),
            Cell::Whole(None),
            Cell::Day(None),
        ],
        [
            Cell::Text(Some(ByteArray::from("x".repeat(65_536).as_str()))),
            Cell::Text(Some(ByteArray::from("ri-1"))),
            Cell::Whole(Some(999_999_999_999_999_999)),
            Cell::Day(Some(-1)),
        ],
    ];
    let mut table = TableWriter::new(&OPTIONS).expect("a table");
    for row in &rows {
        table.push(row.clone()).expect("it fits");
    }
    let bytes = table.finish().expect("a file");
    let mut read_back: Vec<[Cell; 4]> = Vec::new();
    let mut each = |row: &Row<'_>| -> Result<(), TableError> {
        read_back.push([
            Cell::Text(Some(ByteArray::from(row.text(0)?))),
            Cell::Text(row.optional_text(1)?.map(ByteArray::from)),
            Cell::Whole(row.whole(2)?),
            Cell::Day(row.days(3)?),
        ]);
        Ok(())
    };
    read_table(file(&bytes), &OPTIONS, &mut each).expect("it is whole");
    assert_eq!(read_back, rows);
}

#[test]
fn long_texts_end_a_group_before_it_is_larger_than_is_read() {
    let mut table = TableWriter::new(&OPTIONS).expect("a table");
    // 100 × 64 KiB, of which no two are alike and none packs.
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..100 {
        let text: String = (0..65_536).map(|_| random.alphanumeric()).collect();
        let row = [
            Cell::Text(Some(ByteArray::from(text.as_str()))),
            Cell::Text(None),
            Cell::Whole(None),
            Cell::Day(None),
        ];
        table.push(row).expect("it fits");
    }
    let bytes = table.finish().expect("a file");
    let mut rows = 0;
    let mut each = |row: &Row<'_>| -> Result<(), TableError> {
        rows += 1;
        assert_eq!(row.text(0)?.len(), 65_536);
        Ok(())
    };
    read_table(file(&bytes), &OPTIONS, &mut each).expect("it is whole");
    assert_eq!(rows, 100);
}

#[test]
fn a_number_is_no_decimal_and_a_date_no_number() {
    const NUMBERS: Schema = Schema {
        name: "options",
        columns: &[
            ("tags", Kind::Text),
            ("commitment", Kind::OptionalText),
            ("cost", Kind::Whole),
            ("day", Kind::Day),
        ],
        most_rows: 1_000,
    };
    let empty = |schema: &'static Schema| {
        let table = TableWriter::new(schema).expect("a table");
        file(&table.finish().expect("a file"))
    };
    let mut each = |_: &Row<'_>| -> Result<(), TableError> { Ok(()) };
    read_table(empty(&OPTIONS), &OPTIONS, &mut each).expect("its own columns");
    let answer = read_table(empty(&NUMBERS), &OPTIONS, &mut each);
    assert!(matches!(answer, Err(TableError::Columns)), "{answer:?}");
}

struct Given(std::vec::IntoIter<Page>);

impl Iterator for Given {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<ParquetResult<Page>> {
        self.0.next().map(Ok)
    }
}

impl PageReader for Given {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        Ok(self.0.next())
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        Ok(())
    }
}

fn dictionary(bytes: usize, num_values: u32, encoding: Encoding) -> Page {
    Page::DictionaryPage { buf: vec![0; bytes].into(), num_values, encoding, is_sorted: false }
}

/// How many pages of a column of ten rows are read until one is refused.
fn pages_read(pages: Vec<Page>) -> usize {
    let pages = bounded(Box::new(Given(pages.into_iter())), 10);
    pages.take_while(|page| page.is_ok()).count()
}

#[test]
fn a_page_of_more_values_than_rows_is_refused() {
    let of = |values| pages_read(vec![dictionary(8, values, Encoding::PLAIN)]);
    assert_eq!((of(10), of(11), of(u32::MAX)), (1, 0, 0));
}

#[test]
fn an_encoding_with_lengths_of_its_own_is_refused() {
    let of = |encoding| pages_read(vec![dictionary(8, 1, encoding)]);
    assert_eq!(of(Encoding::PLAIN_DICTIONARY), 1);
    assert_eq!(of(Encoding::DELTA_LENGTH_BYTE_ARRAY), 0);
}

#[test]
fn pages_of_a_column_are_bounded_together() {
    let of = |sizes: &[usize]| {
        let pages = sizes.iter().map(|size| dictionary(*size, 1, Encoding::PLAIN));
        pages_read(pages.collect())
    };
    // 16 MiB + 16 MiB are the 32 MiB of a column.
    assert_eq!(of(&[16 << 20, 16 << 20]), 2);
    assert_eq!(of(&[16 << 20, 16 << 20, 1]), 2);
    assert_eq!(of(&[(32 << 20) + 1]), 0);
}
