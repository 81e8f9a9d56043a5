//! What users read: a folder a document, a file a format. Renderers do no arithmetic
//! beyond rounding for display and adding up rows.

/// The JSON schema of a document: its function, its name, its forms, and what it is of.
macro_rules! schema {
    ($(#[$doc:meta])* $function:ident: $name:literal, $forms:expr, $about:literal) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// When a value cannot be written as JSON.
        pub fn $function() -> Result<String, serde_json::Error> {
            doc_schema($name, $about, &$forms)
        }
    };
}

pub mod archive_sql;
mod audit;
mod bill;
mod diff;
mod doc;
mod doctor;
mod explain;
mod fix;
mod gate;
mod groups;
mod history;
mod interactive;
mod inventory;
mod live;
mod metrics;
pub mod planners;
mod pricing;
mod profile;
mod promises;
mod records;
mod reserved;
mod reserved_fleet;
mod rightsize;
mod run_metrics;
mod shared;
mod spot;
mod terraform;

pub use audit::{
    AuditScreen, AuditTable, audit_doc, audit_list, audit_openmetrics, audit_schema, audit_screen,
    audit_workbook, focus_csv,
};
pub use bill::{BillAudit, BillOrigin, bill_answer, negotiated_rates, price_file};
pub use diff::{diff_doc, diff_schema, run_diff_doc};
pub use doc::{
    CsvRows, Doc, Given, Head, Kind, Level, Missing, Plot, PlotKind, Printed, Record, Step, Table,
    Value, doc_csv, doc_html, doc_json, doc_markdown, doc_slack, doc_table, doc_xlsx,
    elapsed_words, schema_document,
};
pub use doctor::{Check, CheckArea, CheckStatus, doctor_doc, doctor_schema};
pub use explain::{
    Derivation, Explained, NotFound, explain_doc, explain_schema, explainable_ids, find_explained,
};
pub use fix::{FixPlan, FixView, fix_doc, fix_markdown, fix_schema, fix_script};
pub use gate::{
    GateBrief, gate_doc, gate_github, gate_junit, gate_markdown, gate_sarif, gate_schema,
    gate_slack,
};
pub use groups::groups_doc;
pub use history::{digest_answer, history_answer};
pub use interactive::{CHOICE_TITLE, Effect, Key, Model, draw as draw_model};
pub use inventory::{inventory_doc, inventory_rows, inventory_schema};
pub use live::{LiveGpu, LiveView, draw as draw_live_view, status_line};
pub use metrics::{AgentSetup, agent_setup, helm_values, metrics_doc, metrics_schema};
pub use pricing::{price_status_doc, price_status_schema, pricing_doc, pricing_schema};
pub use profile::{ProfileReport, alert_line, profile_doc, profile_schema};
pub use promises::promises_words;
pub use records::{kept_bill_text, kept_run_text, verified_text};
pub use reserved::reserved_doc;
pub use reserved_fleet::{growth_answer, reserved_fleet_doc, reserved_schema};
pub use rightsize::{rightsize_doc, rightsize_schema};
pub use run_metrics::{live_openmetrics, profile_openmetrics};
pub use shared::next::Invocation;
pub use shared::style::TableStyle;
pub use shared::text;
pub use shared::view::{RowFacts, SortKey, UnknownPattern, View, class_names, team_of};
pub use spot::{spot_fleet_doc, spot_schema, spot_type_doc};
pub use terraform::{terraform_brief, terraform_doc, terraform_schema};

/// The version of every JSON document that this program writes.
pub const SCHEMA_VERSION: &str = "2";
