//! How the actions of a plan are carried out: as a table, as a runbook, as a script that prints
//! commands until somebody runs it with `--yes`, and as steps for other programs. Nothing here
//! changes anything.

mod checks;
mod command;
mod csv;
mod groups;
mod json;
mod kubernetes;
mod machines;
mod markdown;
mod planned;
mod procedure;
mod purchase;
mod schedule;
mod script;
mod share;
mod steps;
mod table;
mod terraform;
mod yaml;

pub use self::csv::fix_csv;
pub use self::json::fix_json;
pub use self::markdown::fix_markdown;
pub use self::planned::FixPlan;
pub use self::script::fix_script;
pub use self::table::fix_table;
