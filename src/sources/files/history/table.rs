//! Tables in Parquet: texts and numbers under plain names, a group of rows at a time.

use super::pages::{BoundedPages, MOST_BYTES, MOST_PACKED_BYTES};
use parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Rows that are held at once while a table is written or read.
const ROWS_OF_A_GROUP: usize = 1 << 16;
/// Bytes of a text.
const MOST_TEXT_BYTES: usize = 256;
/// Bytes that describe the groups of a table: a day of 100,000 GPUs has a tenth.
const MOST_FOOTER_BYTES: u32 = 16 << 20;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text that is always there.
    Text,
    /// A whole number, which may be absent.
    Whole,
    /// A double, which may be absent.
    Real,
}

/// A table and its columns, in order.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Kind)],
    /// Rows that are read, whoever wrote them.
    pub(super) most_rows: usize,
}

/// One value of a row.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Text(ByteArray),
    Whole(Option<i64>),
    Real(Option<f64>),
}

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    #[error("its columns are not those of this version")]
    Columns,
    #[error("it has a value that gpucost does not write")]
    Value,
    #[error("it has more rows than gpucost writes")]
    Rows,
    #[error("its directory names more instances than gpucost holds in memory")]
    Machines,
    #[error("it has a text that is longer than gpucost writes")]
    Text,
    #[error("it unpacks to more than gpucost writes")]
    Size,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Columns of some rows that are not written yet; levels say which numbers are there.
enum Values {
    Text(Vec<ByteArray>),
    Whole(Vec<i64>, Vec<i16>),
    Real(Vec<f64>, Vec<i16>),
}

/// A table that is written, in memory.
pub(super) struct TableWriter {
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Values>,
    rows: usize,
}

impl TableWriter {
    pub(super) fn new(schema: &Schema) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("gpucost ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let columns = schema.columns.iter().map(|(_, kind)| match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Whole => Values::Whole(Vec::new(), Vec::new()),
            Kind::Real => Values::Real(Vec::new(), Vec::new()),
        });
        Ok(Self {
            file: SerializedFileWriter::new(Vec::new(), message(schema)?, Arc::new(properties))?,
            columns: columns.collect(),
            rows: 0,
        })
    }

    /// Adds a row with a cell for each column.
    pub(super) fn push<const N: usize>(&mut self, row: [Cell; N]) -> Result<(), ParquetError> {
        for (values, cell) in self.columns.iter_mut().zip(row) {
            match (values, cell) {
                (Values::Text(texts), Cell::Text(text)) => texts.push(text),
                (Values::Whole(numbers, levels), Cell::Whole(number)) => {
                    levels.push(i16::from(number.is_some()));
                    numbers.extend(number);
                }
                (Values::Real(numbers, levels), Cell::Real(number)) => {
                    levels.push(i16::from(number.is_some()));
                    numbers.extend(number);
                }
                _ => return Err(ParquetError::General("a cell of another kind".to_owned())),
            }
        }
        self.rows += 1;
        if self.rows == ROWS_OF_A_GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for values in &mut self.columns {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("a column too many".to_owned()));
            };
            match values {
                Values::Text(texts) => {
                    let writer = column.typed::<ByteArrayType>();
                    writer.write_batch(texts.as_slice(), None, None)?;
                    texts.clear();
                }
                Values::Whole(numbers, levels) => {
                    let writer = column.typed::<Int64Type>();
                    writer.write_batch(numbers.as_slice(), Some(levels.as_slice()), None)?;
                    numbers.clear();
                    levels.clear();
                }
                Values::Real(numbers, levels) => {
                    let writer = column.typed::<DoubleType>();
                    writer.write_batch(numbers.as_slice(), Some(levels.as_slice()), None)?;
                    numbers.clear();
                    levels.clear();
                }
            }
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, ParquetError> {
        self.write_group()?;
        self.file.into_inner()
    }
}

fn message(schema: &Schema) -> Result<Arc<Type>, ParquetError> {
    let fields = schema.columns.iter().map(|(name, kind)| {
        let builder = Type::primitive_type_builder(name, physical(*kind));
        let builder = match kind {
            Kind::Text => builder
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::String)),
            Kind::Whole | Kind::Real => builder.with_repetition(Repetition::OPTIONAL),
        };
        builder.build().map(Arc::new)
    });
    let fields: Vec<Arc<Type>> = fields.collect::<Result<_, _>>()?;
    Type::group_type_builder(schema.name)
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

fn physical(kind: Kind) -> Physical {
    match kind {
        Kind::Text => Physical::BYTE_ARRAY,
        Kind::Whole => Physical::INT64,
        Kind::Real => Physical::DOUBLE,
    }
}

/// Columns of a group of rows that was read.
enum Cells {
    Text(Vec<ByteArray>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.len(),
            Self::Whole(numbers) => numbers.len(),
            Self::Real(numbers) => numbers.len(),
        }
    }
}

/// One row that was read, whose columns go by their places.
pub(super) struct Row<'a> {
    columns: &'a [Cells],
    place: usize,
}

impl Row<'_> {
    /// A text.
    ///
    /// # Errors
    /// When it is not UTF-8, or longer than names are: a page stores it once for many rows.
    pub(super) fn text(&self, column: usize) -> Result<&str, TableError> {
        match self.columns.get(column) {
            Some(Cells::Text(texts)) if texts[self.place].len() > MOST_TEXT_BYTES => {
                Err(TableError::Text)
            }
            Some(Cells::Text(texts)) => Ok(texts[self.place].as_utf8()?),
            _ => Err(TableError::Value),
        }
    }

    /// A whole number that is there or not.
    ///
    /// # Errors
    /// When it is out of range.
    pub(super) fn whole<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, TableError> {
        match self.columns.get(column) {
            Some(Cells::Whole(numbers)) => numbers[self.place]
                .map(|number| T::try_from(number).map_err(|_| TableError::Value))
                .transpose(),
            _ => Err(TableError::Value),
        }
    }

    /// A whole number that is there.
    ///
    /// # Errors
    /// When it is not, or out of range.
    pub(super) fn some<T: TryFrom<i64>>(&self, column: usize) -> Result<T, TableError> {
        self.whole(column)?.ok_or(TableError::Value)
    }

    pub(super) fn real(&self, column: usize) -> Result<Option<f64>, TableError> {
        match self.columns.get(column) {
            Some(Cells::Real(numbers)) => Ok(numbers[self.place]),
            _ => Err(TableError::Value),
        }
    }
}

/// Reads a table row by row.
///
/// # Errors
/// When it is not of this schema, or a row is refused.
pub(super) fn read_table(
    mut file: File,
    schema: &Schema,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    check_footer(&mut file)?;
    let reader = SerializedFileReader::new(file)?;
    if !is_of(reader.metadata().file_metadata().schema_descr(), schema) {
        return Err(TableError::Columns);
    }
    let mut room = schema.most_rows;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| TableError::Rows)?;
        if rows > ROWS_OF_A_GROUP {
            return Err(TableError::Rows);
        }
        room = room.checked_sub(rows).ok_or(TableError::Rows)?;
        let mut columns = Vec::with_capacity(schema.columns.len());
        for place in 0..schema.columns.len() {
            let described = group.metadata().column(place);
            check_size(described)?;
            let pages = BoundedPages::new(group.get_column_page_reader(place)?, rows);
            let reader = get_column_reader(described.column_descr_ptr(), Box::new(pages));
            let cells = cells(reader, rows)?;
            if cells.len() != rows {
                return Err(TableError::Rows);
            }
            columns.push(cells);
        }
        for place in 0..rows {
            each(&Row {
                columns: &columns,
                place,
            })?;
        }
    }
    Ok(())
}

/// The last eight bytes of a table are the length of what describes it, and a mark. What is not
/// a table at all is left to who reads it.
///
/// # Errors
/// When it describes more than any table that is written here has.
fn check_footer(file: &mut File) -> Result<(), TableError> {
    const MARK: [u8; 4] = *b"PAR1";
    let mut end = [0; 8];
    if file.metadata()?.len() >= 8 {
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
        file.rewind()?;
    }
    let [first, second, third, fourth, mark @ ..] = end;
    let length = u32::from_le_bytes([first, second, third, fourth]);
    if mark == MARK && length > MOST_FOOTER_BYTES {
        return Err(TableError::Size);
    }
    Ok(())
}

/// # Errors
/// When a column of a group is larger than any that is written here.
fn check_size(column: &ColumnChunkMetaData) -> Result<(), TableError> {
    let is_within = |bytes: i64, most: usize| usize::try_from(bytes).is_ok_and(|it| it <= most);
    if is_within(column.uncompressed_size(), MOST_BYTES)
        && is_within(column.compressed_size(), MOST_PACKED_BYTES)
    {
        Ok(())
    } else {
        Err(TableError::Size)
    }
}

fn is_of(found: &SchemaDescriptor, schema: &Schema) -> bool {
    let is_column = |place: usize, (name, kind): &(&str, Kind)| {
        let column = found.column(place);
        column.name() == *name
            && column.physical_type() == physical(*kind)
            && column.max_def_level() == i16::from(*kind != Kind::Text)
            && column.max_rep_level() == 0
    };
    let mut columns = schema.columns.iter().enumerate();
    found.num_columns() == schema.columns.len()
        && columns.all(|(place, column)| is_column(place, column))
}

fn cells(reader: ColumnReader, rows: usize) -> Result<Cells, TableError> {
    let mut levels: Vec<i16> = Vec::new();
    match reader {
        ColumnReader::ByteArrayColumnReader(mut reader) => {
            let mut texts = Vec::new();
            reader.read_records(rows, None, None, &mut texts)?;
            Ok(Cells::Text(texts))
        }
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut numbers = Vec::new();
            reader.read_records(rows, Some(&mut levels), None, &mut numbers)?;
            Ok(Cells::Whole(spread(numbers, &levels)))
        }
        ColumnReader::DoubleColumnReader(mut reader) => {
            let mut numbers = Vec::new();
            reader.read_records(rows, Some(&mut levels), None, &mut numbers)?;
            Ok(Cells::Real(spread(numbers, &levels)))
        }
        _ => Err(TableError::Columns),
    }
}

/// Numbers at the places where one is there.
fn spread<T>(numbers: Vec<T>, levels: &[i16]) -> Vec<Option<T>> {
    let mut numbers = numbers.into_iter();
    let each = levels.iter();
    each.map(|level| if *level > 0 { numbers.next() } else { None })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SCHEMA: Schema = Schema {
        name: "sample",
        columns: &[
            ("name", Kind::Text),
            ("n", Kind::Whole),
            ("share", Kind::Real),
        ],
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
                Cell::Text(ByteArray::from(format!("i-{}", row % 7).as_str())),
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
        assert_eq!(
            (&bytes[..4], &bytes[bytes.len() - 4..]),
            (&b"PAR1"[..], &b"PAR1"[..])
        );
        let mut row = 0_usize;
        let mut each = |read: &Row<'_>| -> Result<(), TableError> {
            let number = row as i64;
            assert_eq!(read.text(0)?, format!("i-{}", row % 7));
            assert_eq!(
                read.whole::<i64>(1)?,
                (!row.is_multiple_of(3)).then_some(number)
            );
            assert_eq!(
                read.real(2)?,
                (!row.is_multiple_of(2)).then_some(number as f64 / 3.0)
            );
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
        let found = read_table(file(&bytes), &other, &mut each);
        assert!(matches!(found, Err(TableError::Columns)), "{found:?}");
        for length in [0, 3, 8, bytes.len() / 2, bytes.len() - 1] {
            assert!(read_table(file(&bytes[..length]), &SCHEMA, &mut each).is_err());
        }
        let mut number = |row: &Row<'_>| row.some::<u8>(1).map(|_| ());
        let found = read_table(file(&bytes), &SCHEMA, &mut number);
        assert!(
            matches!(found, Err(TableError::Value)),
            "the first is absent"
        );
    }

    /// A table of one column with some texts.
    fn texts(texts: impl Iterator<Item = String>) -> Result<usize, TableError> {
        const TEXTS: Schema = Schema {
            name: "texts",
            columns: &[("name", Kind::Text)],
            most_rows: 10_000,
        };
        let mut table = TableWriter::new(&TEXTS).expect("a table");
        for text in texts {
            let cell = Cell::Text(ByteArray::from(text.as_str()));
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
        assert!(matches!(of(257), Err(TableError::Text)));
        // 9,000 × 4,000 bytes are 36 MB of a column, which pack to less than a hundredth.
        let long = texts((0..9_000).map(|row| format!("{row:04000}")));
        assert!(matches!(long, Err(TableError::Size)), "{long:?}");
    }

    #[test]
    fn more_rows_than_a_table_has_are_refused() {
        let mut rows = 0;
        let mut each = |_: &Row<'_>| -> Result<(), TableError> {
            rows += 1;
            Ok(())
        };
        let bytes = written(ROWS_OF_A_GROUP + 6);
        let found = read_table(file(&bytes), &SCHEMA, &mut each);
        assert!(matches!(found, Err(TableError::Rows)), "{found:?}");
        // The second group is not read.
        assert_eq!(rows, ROWS_OF_A_GROUP);
    }

    #[test]
    fn a_description_of_more_groups_than_a_table_has_is_refused() {
        let mut bytes = written(3);
        let length = bytes.len() - 8;
        bytes[length..length + 4].copy_from_slice(&(MOST_FOOTER_BYTES + 1).to_le_bytes());
        let mut each = |_: &Row<'_>| -> Result<(), TableError> { Ok(()) };
        let found = read_table(file(&bytes), &SCHEMA, &mut each);
        assert!(matches!(found, Err(TableError::Size)), "{found:?}");
    }
}
