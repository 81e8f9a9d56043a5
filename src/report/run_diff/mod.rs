//! `gpucost diff` of two profiled runs, a format a file.

mod json;
mod markdown;
mod table;
mod words;

pub use self::json::run_diff_json;
pub use self::markdown::run_diff_markdown;
pub use self::table::run_diff_table;
