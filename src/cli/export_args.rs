//! Flags of exports for finance.

use clap::{Args, ValueEnum};

/// Flags of exports.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// List that `--format csv` prints [default: workloads]
    #[arg(
        long,
        value_enum,
        value_name = "LIST",
        conflicts_with = "group_by",
        help_heading = "Output"
    )]
    pub csv_table: Option<CsvTable>,
    /// With `--format focus`: a row for each instance and day instead of each workload
    #[arg(long, help_heading = "Output")]
    pub by_day: bool,
    /// Begin CSV and FOCUS with a byte order mark, by which Excel recognizes UTF-8
    #[arg(long, help_heading = "Output")]
    pub bom: bool,
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
