//! `gpucost diff`: what changed between two audits, a format a file.

mod json;
mod markdown;
mod table;
mod words;

pub use self::json::diff_json;
pub use self::markdown::diff_markdown;
pub use self::table::diff_table;
