//! Why a file of samples could not be read.

use crate::domain::{safe, shown};
use std::fmt::Display;
use std::io;
use std::path::Path;

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
pub(in crate::files) const LOG_COLUMNS: &str = log_columns!();

/// What went wrong, and what may help.
#[derive(Debug, thiserror::Error)]
#[error("{says}")]
pub struct SamplesError {
    says: String,
    hint: &'static str,
    source: Option<io::Error>,
}

const WRITE_ONE: &str = concat!(
    "write one with `gpucost profile --samples FILE.jsonl` or with `nvidia-smi --query-gpu=",
    log_columns!(),
    " --format=csv -l 1`"
);

impl SamplesError {
    pub fn hint(&self) -> &'static str {
        self.hint
    }

    /// `says` follows the path.
    fn of(path: &Path, says: impl Display, hint: &'static str) -> Self {
        Self { says: format!("{}{says}", shown(path)), hint, source: None }
    }

    /// The file could not be opened or read.
    pub(in crate::files) fn io(path: &Path, source: io::Error) -> Self {
        Self {
            says: format!("cannot read the samples {}", shown(path)),
            hint: "check the name and that you may read the file",
            source: Some(source),
        }
    }

    /// A line, counted from one, is not as it must be: what was found, and what was expected.
    pub(in crate::files) fn line(path: &Path, line: u64, message: impl Display) -> Self {
        let hint = "fix or remove the line; sample files are read one by one, not concatenated";
        Self::of(path, format_args!(":{line}: {message}"), hint)
    }

    /// It has a version that is not the one that is read.
    pub(super) fn newer(path: &Path, version: &str, read: &str) -> Self {
        let says =
            format!(" has samples version {}; this program reads version {read}", safe(version));
        Self::of(path, says, "read it with a gpucost that is as new as the one that wrote it")
    }

    /// It is not a log of a known kind. `says` is its first line, cut and safe to show; absent
    /// when it is empty.
    pub(in crate::files) fn unknown(path: &Path, says: Option<&str>) -> Self {
        let begins = begins(says);
        let says = format!(" is neither a file of samples nor a log of nvidia-smi{begins}");
        Self::of(path, says, WRITE_ONE)
    }

    /// There is not one sample of a GPU in it. `says` is what it holds instead, cut and safe to
    /// show.
    pub(in crate::files) fn empty(path: &Path, says: Option<&str>) -> Self {
        Self::of(path, format_args!(" holds no samples{}", begins(says)), WRITE_ONE)
    }

    /// The columns of a log are not known: the first line of values, and what cannot be told.
    pub(in crate::files) fn columns(path: &Path, line: u64, message: &str) -> Self {
        let says = format!(":{line}: the columns have no names: {message}");
        let hint = "pass every column of the log in its order with --read-columns, as given to --query-gpu";
        Self::of(path, says, hint)
    }

    /// No row says alone what its GPU did at its time; the first such line, and all such rows.
    pub(in crate::files) fn conflict(path: &Path, line: u64, rows: u64) -> Self {
        let says = format!(
            ":{line}: {rows} rows have the same time and GPU as another row, and no column tells \
             them apart"
        );
        let hint = "read the log of each host separately, or also query `index` and `uuid`, so \
                    that every row identifies its GPU";
        Self::of(path, says, hint)
    }

    /// A log that does not say when its rows were written.
    pub(in crate::files) fn no_times(path: &Path) -> Self {
        let says = " has no column `timestamp`, so how far its rows are apart is not known";
        Self::of(path, says, "say how far the rows are apart with --interval")
    }

    /// No row has a time that can be read: the first such line, and what is wrong with its time.
    pub(in crate::files) fn time(path: &Path, line: u64, message: &str) -> Self {
        let hint = "write times as nvidia-smi does (2026/01/03 15:36:53.507), as RFC 3339 or as \
                    seconds since 1970; name the zone by its offset, or leave it out and give it \
                    with --read-zone";
        Self::of(path, format_args!(":{line}: {message}"), hint)
    }
}

fn begins(says: Option<&str>) -> String {
    says.map_or_else(String::new, |text| format!("; it says `{text}`"))
}

/// The beginning of a foreign line, as a message may show it.
pub(in crate::files) fn quoted(line: &str) -> String {
    let mut characters = line.trim().chars();
    let start: String = characters.by_ref().take(MOST_QUOTED).collect();
    let cut = if characters.next().is_some() { "…" } else { "" };
    format!("{}{cut}", safe(&start))
}
