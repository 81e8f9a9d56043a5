//! Tables of a history as gpucost reads them: plain texts and numbers, packed with gzip, in
//! groups of 65,536 rows. `crates/sources/src/files/history` of gpucost has the bounds.

use crate::failure::{Failure, Result};
use crate::sql::{Kind, Table};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use flate2::Crc;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::{NamedTempFile, TempPath};

const ROWS_OF_A_GROUP: usize = 1 << 16;
/// Bytes of a text, of a file, and rows of a file.
const MOST_TEXT_BYTES: usize = 256;
const MOST_BYTES: u64 = 256 << 20;
const MOST_ROWS: u64 = 1 << 27;
const MOST_MACHINES: u64 = 1 << 20;

/// Length and checksum of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    pub bytes: u64,
    pub crc32: u32,
}

/// A file that is sealed while it is written.
struct Sealing {
    file: BufWriter<NamedTempFile>,
    crc: Crc,
    bytes: u64,
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is complete, and has no name yet.
#[derive(Debug)]
pub struct Written {
    pub path: TempPath,
    pub seal: Seal,
}

/// A file of rows while it is written.
pub struct TableWriter {
    name: &'static str,
    schema: SchemaRef,
    writer: ArrowWriter<Sealing>,
    rows: u64,
    most: Most,
}

/// What gpucost reads of a table.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    pub rows: u64,
    pub bytes: u64,
}

impl TableWriter {
    /// A table of a history in a folder.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn of(table: Table, folder: &Path) -> Result<Self> {
        let fields = table.columns().iter().map(|(name, kind)| match kind {
            Kind::Text => Field::new(*name, DataType::Utf8, false),
            Kind::Whole => Field::new(*name, DataType::Int64, true),
            Kind::Real => Field::new(*name, DataType::Float64, true),
        });
        let schema = Schema::new(fields.collect::<Vec<Field>>());
        let most = Most {
            rows: if table == Table::Asked { MOST_MACHINES } else { MOST_ROWS },
            bytes: MOST_BYTES,
        };
        Self::new(table.name(), Arc::new(schema), folder, most)
    }

    /// # Errors
    /// When the folder cannot be written to.
    pub fn new(name: &'static str, schema: SchemaRef, folder: &Path, most: Most) -> Result<Self> {
        let file = temporary(folder, "parquet")?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(ROWS_OF_A_GROUP))
            .set_created_by(concat!("gpucost-engine ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let sealing = Sealing { file: BufWriter::new(file), crc: Crc::new(), bytes: 0 };
        Ok(Self {
            name,
            writer: ArrowWriter::try_new_with_options(sealing, Arc::clone(&schema), options)?,
            schema,
            rows: 0,
            most,
        })
    }

    /// Adds rows, whose columns begin with those of the table.
    ///
    /// # Errors
    /// When a row is none that gpucost reads, or there are too many.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let fields = self.schema.fields().iter().zip(rows.columns());
        let columns = fields.map(|(field, column)| self.column(field, column));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        self.rows += rows.num_rows() as u64;
        if self.rows > self.most.rows || self.writer.bytes_written() as u64 > self.most.bytes {
            return Err(Failure::input(format!(
                "{} of a day, an account and a region has more rows than gpucost reads",
                self.name
            ))
            .with_hint(
                "give each part of the fleet an account of its own with `--columns account=…`",
            ));
        }
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        Ok(())
    }

    fn column(&self, field: &Field, column: &ArrayRef) -> Result<ArrayRef> {
        let column = cast(column, field.data_type())?;
        if field.is_nullable() {
            return Ok(column);
        }
        let texts = column.as_any().downcast_ref::<StringArray>();
        let is_long = texts.is_some_and(|texts| {
            let mut all = texts.iter().flatten();
            all.any(|text| text.len() > MOST_TEXT_BYTES)
        });
        if is_long || column.null_count() > 0 {
            return Err(Failure::input(format!(
                "a value of `{}` is absent or longer than {MOST_TEXT_BYTES} bytes",
                field.name()
            ))
            .with_hint("gpucost reads no such names: map another column with `--columns`"));
        }
        Ok(column)
    }

    /// The file, complete.
    ///
    /// # Errors
    /// When it cannot be written, or is larger than gpucost reads.
    pub fn finish(self) -> Result<Written> {
        let (name, most) = (self.name, self.most);
        let Sealing { file, crc, bytes } = self.writer.into_inner()?;
        if bytes > most.bytes {
            return Err(Failure::input(format!(
                "{name} of a day, an account and a region is larger than gpucost reads"
            ))
            .with_hint(
                "give each part of the fleet an account of its own with `--columns account=…`",
            ));
        }
        let file = file.into_inner().map_err(|error| unwritten(error.error()))?;
        file.as_file().sync_all().map_err(|error| unwritten(&error))?;
        Ok(Written { path: file.into_temp_path(), seal: Seal { bytes, crc32: crc.sum() } })
    }
}

/// Temporary files of this process so far.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A file beside those that are there, which goes with this process. It is its owner's alone.
/// What a process that was killed leaves has a name that gpucost knows as one of its own.
///
/// # Errors
/// When the folder cannot be written to.
pub fn temporary(folder: &Path, ending: &str) -> Result<NamedTempFile> {
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!(".unfinished.{ending}.{}.{number}", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).suffix(".tmp").rand_bytes(0);
    std::fs::create_dir_all(folder).and_then(|()| builder.tempfile_in(folder)).map_err(|error| {
        Failure::unexpected(format!("cannot write to {}", folder.display()))
            .caused_by(&error)
            .with_hint("name a folder that can be written to with `--out`")
    })
}

pub fn unwritten(error: &io::Error) -> Failure {
    Failure::unexpected("cannot write a table").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, StringViewArray};

    fn asked(instances: Vec<&str>) -> RecordBatch {
        let text = |texts: Vec<&str>| -> ArrayRef { Arc::new(StringViewArray::from(texts)) };
        let rows = instances.len();
        let columns = vec![
            ("account", text(vec!["1"; rows])),
            ("region", text(vec!["r"; rows])),
            ("instance", text(instances)),
            ("asked", text(vec!["rollup"; rows])),
            ("period_seconds", Arc::new(Int64Array::from(vec![300; rows])) as ArrayRef),
            ("dt", text(vec!["2026-11-01"; rows])),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    #[test]
    fn a_seal_is_that_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut table = TableWriter::of(Table::Asked, folder.path()).expect("a table");
        table.write(&asked(vec!["i-1", "i-2"])).expect("it fits");
        let written = table.finish().expect("a file");
        let bytes = std::fs::read(&written.path).expect("it is there");
        let mut crc = Crc::new();
        crc.update(&bytes);
        let seal = Seal { bytes: bytes.len() as u64, crc32: crc.sum() };
        assert_eq!(written.seal, seal);
        drop(written);
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "what has no name goes");
    }

    #[test]
    fn a_name_that_gpucost_does_not_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut table = TableWriter::of(Table::Asked, folder.path()).expect("a table");
        assert!(table.write(&asked(vec!["i".repeat(256).as_str()])).is_ok());
        let error = table.write(&asked(vec!["i".repeat(257).as_str()])).expect_err("too long");
        assert!(error.text().contains("`instance`"), "{}", error.text());
    }
}
