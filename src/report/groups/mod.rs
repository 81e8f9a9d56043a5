//! `--group-by`: a section below the audit's table and Markdown, a key of its JSON, or
//! a CSV of its own.

mod csv;
pub(super) mod json;
pub(super) mod markdown;
mod table;

pub use self::csv::groups_csv;
pub use self::table::groups_section;

use crate::analysis::{GroupSums, Groups};
use crate::report::shared::text::{count, counted, money_or_absent};

/// What stands for an absent value, such as that of a tag, in tables and CSV.
pub(super) const NO_VALUE: &str = "(none)";

fn names(groups: &Groups) -> Vec<String> {
    groups.keys.iter().map(ToString::to_string).collect()
}

/// What the sums leave out.
pub(super) fn unpriced_note(groups: &Groups) -> Option<String> {
    let number = groups.total.unpriced_workloads;
    let workloads = counted(number, "workload is", "workloads are");
    (number > 0)
        .then(|| format!("{workloads} not in the totals: no price, or a different currency"))
}

/// Its figures for people: GPUs, cost, the four parts of it, and savings.
pub(super) fn cells(sums: &GroupSums) -> Vec<String> {
    vec![
        count(sums.gpus),
        money_or_absent(sums.monthly_cost),
        money_or_absent(sums.useful_cost),
        money_or_absent(sums.idle_cost),
        money_or_absent(sums.unmeasured_cost),
        money_or_absent(sums.stopped_cost),
        money_or_absent(sums.monthly_savings),
    ]
}
