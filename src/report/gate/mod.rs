//! `gpucost check`: what a policy does not allow, a format a file.

pub(super) mod brief;
pub(super) mod caveats;
mod github;
pub(super) mod json;
mod junit;
mod markdown;
mod rules;
mod sarif;
mod slack;
pub(super) mod table;

pub use self::brief::{CostChange, GateBrief};
pub use self::github::gate_github;
pub use self::json::gate_json;
pub use self::junit::gate_junit;
pub use self::markdown::gate_markdown;
pub use self::sarif::gate_sarif;
pub use self::slack::gate_slack;
pub use self::table::gate_table;
