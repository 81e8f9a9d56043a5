//! `gpucost audit`: the document, and the forms of it that other programs state.

mod actions;
mod document;
pub(super) mod findings;
mod focus;
mod lists;
mod openmetrics;
mod record;
mod screen;
mod workloads;

pub use self::document::{audit_doc, audit_schema};
pub use self::focus::focus_csv;
pub use self::lists::{AuditTable, audit_list, audit_workbook};
pub use self::openmetrics::audit_openmetrics;
pub use self::screen::{AuditScreen, audit_screen};
