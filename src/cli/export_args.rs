//! Flags of exports for finance.

use super::choices::flags;
use clap::ValueEnum;

flags! {
    /// Flags of exports.
    pub(super) struct ExportArgs {
        /// List that `--format csv` prints [default: workloads]
        csv_table: Option<CsvTable> = arg(long, value_enum, value_name = "LIST", conflicts_with = "group_by", help_heading = "Output");
        /// With `--format focus`: a row for each instance and day instead of each workload
        by_day: bool = arg(long, help_heading = "Output");
        /// Begin CSV and FOCUS with a byte order mark, by which Excel recognizes UTF-8
        bom: bool = arg(long, help_heading = "Output");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CsvTable {
    /// Workloads, and what is paid for and not used
    Workloads,
    /// Actions of the plan
    Actions,
    /// What the plan buys, as the promises that they are
    Purchases,
    /// Findings
    Findings,
    /// Data that could not be read
    Gaps,
    /// Prices that the figures are based on
    Prices,
    /// From list prices to the cost of each workload
    Reconciliation,
}
