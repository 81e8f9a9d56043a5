//! `--group-by`: a section below the audit's table and Markdown, a key of its JSON, or
//! a CSV of its own.

mod csv;
pub(super) mod json;
pub(super) mod markdown;
pub(super) mod sheet;
mod table;

pub use self::csv::groups_csv;
pub use self::table::groups_section;

/// What stands for an absent value, such as that of a tag, in tables and CSV.
const NO_VALUE: &str = "(none)";
