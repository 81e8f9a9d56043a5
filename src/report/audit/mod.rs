//! `gpucost audit`: the whole audit, a format a file.

mod committed;
mod csv;
mod finding_json;
mod focus;
mod html;
mod json;
mod kpis_json;
mod markdown;
mod practices;
pub(super) mod table;

pub use self::csv::audit_csv;
pub use self::focus::focus_csv;
pub use self::html::audit_html;
pub use self::json::audit_json;
pub use self::markdown::audit_markdown;
pub use self::table::audit_table;
