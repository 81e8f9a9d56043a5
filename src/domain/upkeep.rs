//! What maintaining a history finds and does.

use super::named::named_enum;
use jiff::civil::Date;

named_enum! {
    /// What is wrong with a file of a history, the gravest first.
    FileTrouble {
        /// It is not as it was written.
        Damaged = "damaged",
        /// A list names it, and it is not there.
        Missing = "missing",
        /// No list names it: whoever wrote it did not end.
        HalfWritten = "half-written",
        /// Its rows were put together with others, and it is there still.
        Repeated = "repeated",
        /// It is a table of a bill that no list names.
        Unlisted = "unlisted",
        /// It is not of gpucost.
        Foreign = "foreign",
    }
}

/// A file with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundFile {
    pub trouble: FileTrouble,
    /// Its path or address, as it may be shown.
    pub place: String,
    /// What is wrong with it, in words.
    pub why: String,
}

/// The files of a history, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedHistory {
    pub files: u64,
    pub bytes: u64,
    /// By what is wrong, and then by place.
    pub found: Vec<FoundFile>,
    /// Whether bills are not checked, for want of a permission.
    pub are_bills_unread: bool,
}

impl VerifiedHistory {
    /// Whether data is lost.
    pub fn has_lost(&self) -> bool {
        let lost = [FileTrouble::Damaged, FileTrouble::Missing];
        self.found.iter().any(|one| lost.contains(&one.trouble))
    }
}

/// What was put together of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactedHistory {
    /// Files that were written.
    pub written: u64,
    /// Files whose rows are in these, and which were removed.
    pub removed: u64,
    pub rows: u64,
}

/// What was removed of a history, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrunedHistory {
    pub files: u64,
    pub bytes: u64,
    /// Runs among them, of audits and of days of metrics.
    pub runs: u64,
    /// The days of the oldest and the newest run.
    pub days: Option<(Date, Date)>,
    /// Files that gpucost did not write, which stay.
    pub foreign: u64,
}
