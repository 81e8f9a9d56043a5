//! `gpucost reserved --type`: what commitments to one type come to.

mod csv;
mod json;
mod table;

pub use self::csv::reserved_csv;
pub use self::json::reserved_json;
pub use self::table::reserved_table;
