//! `gpucost check`: what a policy does not allow, a format a file.

pub(super) mod brief;
pub(super) mod caveats;
pub(super) mod doc;
mod github;
mod junit;
mod markdown;
mod rules;
mod sarif;
mod slack;
mod table;

pub use self::brief::{CostChange, GateBrief};
pub use self::doc::{gate_doc, gate_schema};
pub use self::github::gate_github;
pub use self::junit::gate_junit;
pub use self::markdown::gate_markdown;
pub use self::sarif::gate_sarif;
pub use self::slack::gate_slack;
pub use self::table::gate_table;
