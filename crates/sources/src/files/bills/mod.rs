//! What was really paid: the Cost and Usage Reports of AWS, and FOCUS of any provider, as
//! CSV, gzip-compressed CSV or Parquet. The format is detected by what a file holds, never by
//! its name. Rows are handed over one by one, so that a bill may be of any length.

mod cur;
mod fields;
mod focus;
mod folder;
mod parquet_table;
mod parquet_values;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use read::{read_bill, read_bill_of};
pub use table::BillOptions;

use crate::domain::shown;
use std::io;
use std::path::{Path, PathBuf};

/// Why a bill could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BillError {
    /// A file or a folder could not be opened or read.
    #[error("cannot read the bill {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// A file, or all of a folder, is none of the formats that are read.
    #[error("{} is not a bill that gpucost reads: {message}", shown(path))]
    Form { path: PathBuf, message: String },
    /// A row is invalid.
    #[error("{}, row {row} below the header: {message}", shown(path))]
    Row {
        path: PathBuf,
        /// Counted from one.
        row: u64,
        message: String,
    },
    /// A file ends early, or says what does not hold, such as a manifest of files that are not
    /// here.
    #[error("{} is damaged: {message}", shown(path))]
    Damaged { path: PathBuf, message: String },
    /// A folder with several readings of a period, of which only the latest counts.
    #[error(
        "{} contains {readings} readings of the billing period {period}, and nothing says which \
         is the latest",
        shown(path)
    )]
    Ambiguous { path: PathBuf, period: String, readings: usize },
    /// Two files have the same lines, or are one file that was given twice.
    #[error("{} has the same lines as {}", shown(path), shown(earlier))]
    Alike { path: PathBuf, earlier: PathBuf },
    /// Two files have the same hours of instances.
    #[error("{} has hours of instances that {} has at the same costs", shown(path), shown(earlier))]
    Overlap { path: PathBuf, earlier: PathBuf },
}

/// What is wrong inside a file.
#[derive(Debug)]
enum Problem {
    Io(io::Error),
    Form(String),
    Row(u64, String),
    Damaged(String),
}

impl Problem {
    fn at(self, path: &Path) -> BillError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => BillError::Io { path, source },
            Self::Form(message) => BillError::Form { path, message },
            Self::Row(row, message) => BillError::Row { path, row, message },
            Self::Damaged(message) => BillError::Damaged { path, message },
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
