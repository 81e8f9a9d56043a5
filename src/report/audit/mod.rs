//! `gpucost audit`: the whole audit, a format a file.

mod committed;
mod csv;
mod finding_json;
pub(super) mod finding_rows;
mod focus;
mod html;
mod json;
mod kpis_json;
mod markdown;
mod not_counted;
mod openmetrics;
mod plan_rows;
mod sheets;
mod table;
mod workload_rows;
mod xlsx;

pub use self::csv::audit_csv;
pub use self::focus::focus_csv;
pub use self::html::audit_html;
pub use self::json::audit_json;
pub use self::markdown::audit_markdown;
pub use self::openmetrics::audit_openmetrics;
pub use self::sheets::{AuditTable, audit_table_csv};
pub use self::table::audit_table;
pub use self::xlsx::audit_xlsx;
