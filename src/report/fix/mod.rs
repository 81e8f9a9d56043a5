//! How the actions of a plan are carried out: as a document, as a runbook, and as a script that
//! prints commands until somebody runs it with `--yes`. Nothing here changes anything.

mod checks;
mod command;
mod doc;
mod groups;
mod kubernetes;
mod machines;
mod markdown;
mod planned;
mod procedure;
mod purchase;
mod schedule;
mod script;
mod share;
mod terraform;

pub use self::doc::{FixView, fix_doc, fix_schema};
pub use self::markdown::fix_markdown;
pub use self::planned::FixPlan;
pub use self::script::fix_script;
