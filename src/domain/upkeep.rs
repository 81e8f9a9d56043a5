//! What checking a history finds.

use super::named::named_enum;

named_enum! {
    /// What is wrong with a file of a history, the gravest first.
    FileTrouble {
        /// It is not as it was written.
        Damaged = "damaged",
        /// A list names it, and it is not there.
        Missing = "missing",
        /// No list names it: whoever wrote it did not end.
        HalfWritten = "half-written",
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
        self.found.iter().any(|file| lost.contains(&file.trouble))
    }
}
