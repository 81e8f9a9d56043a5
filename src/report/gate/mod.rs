//! `gpucost check`: what a policy does not allow. Formats for code hosts and build servers have
//! a file each; every other is a view of the document.

pub(super) mod brief;
pub(super) mod doc;
mod github;
mod junit;
mod sarif;

pub use self::brief::GateBrief;
pub use self::doc::{gate_doc, gate_markdown, gate_schema, gate_slack};
pub use self::github::gate_github;
pub use self::junit::gate_junit;
pub use self::sarif::gate_sarif;
