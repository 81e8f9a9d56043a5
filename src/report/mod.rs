//! What users read: one model, one renderer a file. Renderers do no arithmetic
//! beyond rounding for display and adding up the rows that they leave out.

mod agent;
mod audit_csv;
mod audit_json;
mod audit_table;
mod committed;
mod diff_json;
mod diff_markdown;
mod diff_table;
mod diff_words;
mod explain;
mod finding_json;
mod focus;
mod gaps;
mod gate_brief;
mod gate_json;
mod gate_rules;
mod gate_table;
mod github;
mod groups;
mod html;
mod inventory;
mod junit;
mod live;
mod markdown;
mod metrics;
mod next;
mod plain_table;
mod price_status;
mod pricing_data;
mod pricing_table;
mod profile;
mod reserved_data;
mod reserved_fleet;
mod reserved_fleet_data;
mod reserved_table;
mod rightsize_data;
mod rightsize_table;
mod sarif;
mod slack;
mod spot_data;
mod spot_fleet;
mod spot_type;
mod style;
mod terraform_brief;
mod terraform_json;
mod terraform_table;
pub mod text;

pub use agent::{AgentSetup, agent_setup};
pub use audit_csv::audit_csv;
pub use audit_json::audit_json;
pub use audit_table::audit_table;
pub use diff_json::diff_json;
pub use diff_markdown::diff_markdown;
pub use diff_table::diff_table;
pub use explain::{
    Derivation, Explained, NotFound, commitment_explanation, explainable_ids, explanation,
    find_explained,
};
pub use focus::focus_csv;
pub use gate_brief::{CostChange, GateBrief};
pub use gate_json::gate_json;
pub use gate_table::gate_table;
pub use github::gate_github;
pub use groups::{groups_csv, groups_section};
pub use html::audit_html;
pub use inventory::{inventory_csv, inventory_json, inventory_table};
pub use junit::gate_junit;
pub use live::{History, LiveGpu, LiveVerdict, LiveView, draw as draw_live_view, status_line};
pub use markdown::{audit_markdown, gate_markdown};
pub use metrics::{metrics_csv, metrics_json, metrics_table};
pub use next::Invocation;
pub use price_status::{PriceStatus, price_status_json, price_status_table};
pub use pricing_data::{pricing_csv, pricing_json};
pub use pricing_table::{PricingStyle, pricing_table};
pub use profile::{ProfileReport, alert_line, elapsed_words, profile_json, profile_table};
pub use reserved_data::{reserved_csv, reserved_json};
pub use reserved_fleet::reserved_fleet_table;
pub use reserved_fleet_data::{reserved_fleet_csv, reserved_fleet_json};
pub use reserved_table::reserved_table;
pub use rightsize_data::{Sizings, rightsize_csv, rightsize_json};
pub use rightsize_table::rightsize_table;
pub use sarif::gate_sarif;
pub use slack::gate_slack;
pub use spot_data::{spot_fleet_csv, spot_fleet_json, spot_type_csv, spot_type_json};
pub use spot_fleet::spot_fleet_table;
pub use spot_type::spot_type_table;
pub use style::TableStyle;
pub use terraform_brief::terraform_brief;
pub use terraform_json::terraform_json;
pub use terraform_table::terraform_table;

/// The version of every JSON document that this program writes.
pub const SCHEMA_VERSION: &str = "2";
