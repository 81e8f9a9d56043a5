//! Bills in Parquet: some rows of the columns that are read at a time.

use super::csv_table::Each;
use super::error::Problem;
use super::fields::{Cell, Row};
use super::form::{BillOptions, Reading};
use super::pages::{is_read, unpacked_pages};
use super::parquet_values::{Meaning, Values, meaning_of, pairs, values_of};
use crate::domain::BillForm;
use crate::sources::files::shared::parquet_pages::footer_bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::schema::types::SchemaDescriptor;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

/// Rows that are held at once.
const ROWS_AT_ONCE: usize = 4_096;
/// Bytes that describe a table.
const MOST_FOOTER_BYTES: u32 = 64 << 20;

/// Where a column of the table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Values {
        leaf: usize,
        meaning: Meaning,
    },
    Map {
        keys: usize,
        values: usize,
    },
    /// Lists and records, which bills have none of that is read.
    Other,
}

/// Reads rows until there are no more, or `each` has enough. Gives the form, and how many
/// rows there were.
pub(super) fn read(
    mut file: File,
    options: &BillOptions,
    each: Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let file_bytes = check_ends(&mut file)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(damaged)?;
    let (header, places) = columns(metadata.file_metadata().schema_descr());
    let reading = Reading::new(&header, options).map_err(Problem::Form)?;
    check_packing(&metadata, &reading, &places)?;
    let file = Arc::new(file);
    let mut rows = 0;
    for group in metadata.row_groups() {
        let mut group = Group::open(&file, group, file_bytes, (&reading, &places))?;
        while group.next(&reading)? {
            for row in 0..group.held {
                rows += 1;
                let line = reading.line(&OneRow { columns: &group.columns, row });
                let line = line.map_err(|message| Problem::Row(rows, message))?;
                if each(line).is_break() {
                    return Ok((reading.form, rows));
                }
            }
        }
    }
    Ok((reading.form, rows))
}

fn damaged(error: ParquetError) -> Problem {
    Problem::Damaged(error.to_string())
}

/// Gives the length of the file.
///
/// # Errors
/// When the file ends early, or describes more than any bill has.
fn check_ends(file: &mut File) -> Result<u64, Problem> {
    let Some(bytes) = footer_bytes(file, 12)? else {
        return Err(Problem::Damaged("it ends early".to_owned()));
    };
    if bytes > MOST_FOOTER_BYTES {
        let most = MOST_FOOTER_BYTES >> 20;
        return Err(Problem::Damaged(format!("what describes it has more than {most} MiB")));
    }
    Ok(file.metadata()?.len())
}

/// The columns with their names, in order of their first leaf.
fn columns(schema: &SchemaDescriptor) -> (Vec<String>, Vec<Place>) {
    let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for leaf in 0..schema.num_columns() {
        by_root.entry(schema.get_column_root_idx(leaf)).or_default().push(leaf);
    }
    let place = |leaves: &[usize]| -> Place {
        let column = |leaf: usize| schema.column(leaf);
        match *leaves {
            [leaf]
                if column(leaf).path().parts().len() == 1 && column(leaf).max_rep_level() == 0 =>
            {
                let meaning = meaning_of(&column(leaf));
                meaning.map_or(Place::Other, |meaning| Place::Values { leaf, meaning })
            }
            [keys, values]
                if column(keys).name() == "key"
                    && column(values).name() == "value"
                    && [keys, values].iter().all(|leaf| is_of_map(schema, *leaf)) =>
            {
                Place::Map { keys, values }
            }
            _ => Place::Other,
        }
    };
    let name = |leaves: &[usize]| {
        let first = leaves.first().map(|leaf| schema.column(*leaf));
        first.and_then(|column| column.path().parts().first().cloned()).unwrap_or_default()
    };
    by_root.values().map(|leaves| (name(leaves), place(leaves))).unzip()
}

/// Whether a leaf is a text of the entries of a map.
fn is_of_map(schema: &SchemaDescriptor, leaf: usize) -> bool {
    let column = schema.column(leaf);
    column.max_rep_level() == 1 && meaning_of(&column) == Some(Meaning::Text)
}

/// # Errors
/// When a column that is read is packed in a way that is not.
fn check_packing(
    metadata: &ParquetMetaData,
    reading: &Reading<'_>,
    places: &[Place],
) -> Result<(), Problem> {
    let leaves = reading.columns().into_iter().flat_map(|column| {
        match places.get(column).copied().unwrap_or(Place::Other) {
            Place::Values { leaf, .. } => vec![leaf],
            Place::Map { keys, values } => vec![keys, values],
            Place::Other => Vec::new(),
        }
    });
    let leaves: Vec<usize> = leaves.collect();
    let unread = |group: &RowGroupMetaData| -> Option<Compression> {
        let chunks = leaves.iter().filter_map(|leaf| group.columns().get(*leaf));
        chunks.map(ColumnChunkMetaData::compression).find(|compression| !is_read(*compression))
    };
    match metadata.row_groups().iter().find_map(unread) {
        Some(compression) => {
            let name = format!("{compression:?}");
            let name = name.split('(').next().unwrap_or_default();
            Err(Problem::Form(format!(
                "it is packed with {name}; Parquet is read unpacked, with Snappy and with gzip"
            )))
        }
        None => Ok(()),
    }
}

/// A group of rows that is read some rows at a time.
struct Group {
    readers: Vec<Option<Reader>>,
    /// Rows that were not read yet.
    left: usize,
    /// Rows that are held.
    held: usize,
    columns: Vec<Option<Values>>,
}

enum Reader {
    Values(Box<ColumnReader>, Meaning),
    Map(Box<ColumnReader>, Box<ColumnReader>),
}

impl Group {
    fn open(
        file: &Arc<File>,
        group: &RowGroupMetaData,
        file_bytes: u64,
        (reading, places): (&Reading<'_>, &[Place]),
    ) -> Result<Self, Problem> {
        let left = usize::try_from(group.num_rows());
        let left = left.map_err(|_| Problem::Damaged("it has less than no rows".to_owned()))?;
        let read = reading.columns();
        let open = |leaf: usize| -> Result<Box<ColumnReader>, Problem> {
            let column = group.columns().get(leaf);
            let column =
                column.ok_or_else(|| Problem::Damaged("a column is missing".to_owned()))?;
            let pages = unpacked_pages(file, column, left, file_bytes).map_err(damaged)?;
            Ok(Box::new(get_column_reader(column.column_descr_ptr(), pages)))
        };
        let reader = |(column, place): (usize, &Place)| -> Result<Option<Reader>, Problem> {
            Ok(match *place {
                _ if !read.contains(&column) => None,
                Place::Values { leaf, meaning } => Some(Reader::Values(open(leaf)?, meaning)),
                Place::Map { keys, values } => Some(Reader::Map(open(keys)?, open(values)?)),
                Place::Other => None,
            })
        };
        let readers = places.iter().enumerate().map(reader);
        Ok(Self { readers: readers.collect::<Result<_, _>>()?, left, held: 0, columns: Vec::new() })
    }

    /// Reads the next rows; false where there are none.
    fn next(&mut self, reading: &Reading<'_>) -> Result<bool, Problem> {
        self.held = self.left.min(ROWS_AT_ONCE);
        self.left -= self.held;
        if self.held == 0 {
            return Ok(false);
        }
        let rows = self.held;
        let next = |reader: &mut Option<Reader>| -> Result<Option<Values>, ParquetError> {
            Ok(match reader {
                None => None,
                Some(Reader::Values(reader, meaning)) => Some(values_of(reader, rows, *meaning)?),
                Some(Reader::Map(keys, values)) => {
                    Some(pairs((keys, values), rows, |key| reading.is_asked(key))?)
                }
            })
        };
        let columns = self.readers.iter_mut().map(next);
        self.columns = columns.collect::<Result<_, _>>().map_err(damaged)?;
        Ok(true)
    }
}

struct OneRow<'a> {
    columns: &'a [Option<Values>],
    row: usize,
}

impl Row for OneRow<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>, String> {
        match self.columns.get(column) {
            Some(Some(values)) => values.cell(self.row),
            _ => Ok(Cell::Absent),
        }
    }
}
