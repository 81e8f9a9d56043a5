//! How the actions of a plan are carried out: as a table, as a runbook, and as a script that
//! prints commands until somebody runs it with `--yes`. Nothing here changes anything.

mod checks;
mod command;
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
mod table;
mod terraform;
mod yaml;

pub use self::markdown::fix_markdown;
pub use self::planned::FixPlan;
pub use self::script::fix_script;
pub use self::table::fix_table;
