//! Why a file of samples could not be read.

use super::wire::SAMPLES_VERSION;
use crate::domain::{safe, shown};
use std::io;
use std::path::{Path, PathBuf};

macro_rules! log_columns {
    () => {
        "timestamp,index,uuid,name,driver_version,utilization.gpu,utilization.memory,\
         memory.used,memory.total,power.draw,power.limit,power.default_limit,temperature.gpu,\
         clocks.sm,clocks_throttle_reasons.active"
    };
}

/// Characters of a foreign line that a message quotes.
const MOST_QUOTED: usize = 80;

/// What to ask nvidia-smi for: every column that a summary and its diagnosis use.
#[cfg(test)]
pub(in crate::sources::files) const LOG_COLUMNS: &str = log_columns!();

#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// The file could not be opened or read.
    #[error("cannot read the samples {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// A line is not as it must be.
    #[error("{}:{line}: {message}", shown(path))]
    Line {
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// What was found, and what was expected.
        message: String,
    },
    #[error(
        "{} has samples version {found}; this program reads version {SAMPLES_VERSION}",
        shown(path)
    )]
    Newer {
        path: PathBuf,
        /// The version it has.
        found: String,
    },
    /// It is not a log of a known kind.
    #[error(
        "{} is neither a file of samples nor a log of nvidia-smi{}",
        shown(path),
        begins(says.as_deref())
    )]
    Unknown {
        path: PathBuf,
        /// Its first line, cut and safe to show; absent when it is empty.
        says: Option<String>,
    },
    /// The columns of a log are not known.
    #[error("{}:{line}: the columns have no names: {message}", shown(path))]
    Columns {
        path: PathBuf,
        /// The first line of values, counted from one.
        line: u64,
        /// What cannot be told.
        message: String,
    },
    /// No row says alone what its GPU did at its time.
    #[error(
        "{}:{line}: {rows} rows have the same time and GPU as another row, and no column tells \
         them apart",
        shown(path)
    )]
    Conflict {
        path: PathBuf,
        /// The first such line, counted from one.
        line: u64,
        rows: u64,
    },
    /// A log that does not say when its rows were written.
    #[error(
        "{} has no column `timestamp`, so how far its rows are apart is not known",
        shown(path)
    )]
    NoTimes { path: PathBuf },
    /// No row has a time that can be read.
    #[error("{}:{line}: {message}", shown(path))]
    Time {
        path: PathBuf,
        /// The first such line, counted from one.
        line: u64,
        /// The time, and what is wrong with it.
        message: String,
    },
    /// There is not one sample of a GPU in it.
    #[error("{} holds no samples{}", shown(path), begins(says.as_deref()))]
    Empty {
        path: PathBuf,
        /// What it holds instead, cut and safe to show.
        says: Option<String>,
    },
}

impl SamplesError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the name and that you may read the file",
            Self::Line { .. } => {
                "fix or remove the line; sample files are read one by one, not concatenated"
            }
            Self::Newer { .. } => "read it with a gpucost that is as new as the one that wrote it",
            Self::Unknown { .. } | Self::Empty { .. } => {
                concat!(
                    "write one with `gpucost profile --samples FILE.jsonl` or with `nvidia-smi ",
                    "--query-gpu=",
                    log_columns!(),
                    " --format=csv -l 1`"
                )
            }
            Self::Time { .. } => {
                "write times as nvidia-smi does (2026/01/03 15:36:53.507), as RFC 3339 or as \
                 seconds since 1970; name the zone by its offset, or leave it out and give it \
                 with --read-zone"
            }
            Self::Columns { .. } => {
                "pass every column of the log in its order with --read-columns, as given to --query-gpu"
            }
            Self::Conflict { .. } => {
                "read the log of each host separately, or also query `index` and `uuid`, so \
                 that every row identifies its GPU"
            }
            Self::NoTimes { .. } => "say how far the rows are apart with --interval",
        }
    }

    pub(in crate::sources::files) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(in crate::sources::files) fn line(
        path: &Path,
        line: u64,
        message: impl Into<String>,
    ) -> Self {
        Self::Line { path: path.to_owned(), line, message: message.into() }
    }
}

fn begins(says: Option<&str>) -> String {
    says.map_or_else(String::new, |text| format!("; it says `{text}`"))
}

/// The beginning of a foreign line, as a message may show it.
pub(in crate::sources::files) fn quoted(line: &str) -> String {
    let mut characters = line.trim().chars();
    let start: String = characters.by_ref().take(MOST_QUOTED).collect();
    let cut = if characters.next().is_some() { "…" } else { "" };
    format!("{}{cut}", safe(&start))
}
