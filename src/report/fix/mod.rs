//! How the actions of a plan are carried out: as a document, as a runbook, and as a script that
//! prints commands until somebody runs it with `--yes`. Nothing here changes anything.

mod checks;
mod doc;
mod groups;
mod kubernetes;
mod machines;
mod planned;
mod procedure;
mod purchase;
mod runbook;
mod schedule;
mod share;

pub use self::doc::{FixView, fix_doc, fix_schema};
pub use self::planned::FixPlan;
pub use self::runbook::{fix_markdown, fix_script};
