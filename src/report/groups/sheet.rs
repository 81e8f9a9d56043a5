//! What people see of `--group-by`, in words: tables, comments and pages only draw it.

use super::NO_VALUE;
use crate::analysis::{
    GroupSums, Grouping, Groups, Showback, ShowbackPart, ShowbackRow, ShowbackSums,
};
use crate::domain::Money;
use crate::report::shared::text::{count, counted, devices_or_absent, minute, money_or_absent};

/// Groups with their total.
pub(in crate::report) struct Sheet<'a> {
    /// Names of keys, as they are.
    pub(in crate::report) keys: Vec<String>,
    /// Titles of the figures.
    pub(in crate::report) titles: Vec<&'static str>,
    pub(in crate::report) rows: Vec<SheetRow<'a>>,
    pub(in crate::report) total: Vec<String>,
    /// What the cost is split into.
    pub(in crate::report) split: &'static str,
    /// What the sums leave out.
    pub(in crate::report) notes: Vec<String>,
}

pub(in crate::report) struct SheetRow<'a> {
    pub(in crate::report) names: Vec<GroupName<'a>>,
    pub(in crate::report) figures: Vec<String>,
    pub(in crate::report) cost: Option<Money>,
}

/// The value of a key.
#[derive(Clone, Copy)]
pub(in crate::report) struct GroupName<'a> {
    /// As it is; absent for what has none.
    pub(in crate::report) value: Option<&'a str>,
    /// Which part of the cost it is, in own words.
    pub(in crate::report) part: Option<&'static str>,
}

impl GroupName<'_> {
    /// As text, with names escaped by a function.
    pub(in crate::report) fn shown(self, escaped: impl Fn(&str) -> String) -> String {
        let value = match self.value {
            None => return self.absent().to_owned(),
            Some("") => "\"\"".to_owned(),
            Some(value) => escaped(value),
        };
        match self.part {
            None => value,
            Some(part) => format!("{value} {part}"),
        }
    }

    /// What stands for an absent value.
    pub(in crate::report) fn absent(self) -> &'static str {
        self.part.unwrap_or(NO_VALUE)
    }
}

impl<'a> Sheet<'a> {
    pub(in crate::report) fn of(by: &'a Grouping) -> Self {
        match by {
            Grouping::Workloads(groups) => Self::of_groups(groups),
            Grouping::Claims(showback) => Self::of_showback(showback),
        }
    }

    /// The same for a page, which has room for what is left after the plan.
    pub(in crate::report) fn of_page(by: &'a Grouping) -> Self {
        let mut sheet = Self::of(by);
        if let Grouping::Workloads(groups) = by {
            let planned = |sums: &GroupSums| money_or_absent(sums.planned_monthly_cost());
            sheet.titles.pop();
            sheet.titles.extend(["saves", "planned"]);
            for (row, group) in sheet.rows.iter_mut().zip(&groups.rows) {
                row.figures.push(planned(&group.sums));
            }
            sheet.total.push(planned(&groups.total));
        }
        sheet
    }

    fn of_groups(groups: &'a Groups) -> Self {
        let rows = groups.rows.iter().map(|row| SheetRow {
            names: row
                .values
                .iter()
                .map(|value| GroupName {
                    value: value.as_deref(),
                    part: None,
                })
                .collect(),
            figures: group_figures(&row.sums),
            cost: row.sums.monthly_cost,
        });
        let number = groups.total.unpriced_workloads;
        let unpriced = counted(number, "workload is", "workloads are");
        Self {
            keys: groups.keys.iter().map(ToString::to_string).collect(),
            titles: vec![
                "GPUs",
                "cost",
                "useful",
                "idle",
                "unmeasured",
                "stopped",
                "savings",
            ],
            rows: rows.collect(),
            total: group_figures(&groups.total),
            split: "Cost is split into useful (cost times mean GPU utilization), idle, \
                    unmeasured and stopped.",
            notes: unpriced_note(number, &unpriced).into_iter().collect(),
        }
    }

    fn of_showback(showback: &'a Showback) -> Self {
        let rows = showback.rows.iter().map(|row| SheetRow {
            names: showback_names(row),
            figures: showback_figures(&row.sums),
            cost: row.sums.monthly_cost,
        });
        let number = showback.total.unpriced_nodes;
        let unpriced = counted(number, "node is", "nodes are");
        let held = format!(
            "by the GPUs that pods held at {}; pods that ended before are not included",
            minute(showback.as_of)
        );
        let notes = std::iter::once(held).chain(unpriced_note(number, &unpriced));
        Self {
            keys: showback.keys.iter().map(ToString::to_string).collect(),
            titles: vec![
                "pods",
                "GPUs",
                "GPUs used",
                "cost",
                "used",
                "idle",
                "unmeasured",
            ],
            rows: rows.collect(),
            total: showback_figures(&showback.total),
            split: "The cost of what pods hold is split into used (cost times mean GPU \
                    utilization), idle and unmeasured.",
            notes: notes.collect(),
        }
    }
}

/// What the sums leave out, where that is anything.
fn unpriced_note(number: u64, unpriced: &str) -> Option<String> {
    (number > 0).then(|| format!("{unpriced} not in the totals: no price, or a different currency"))
}

/// GPUs, cost, the four parts of it, and savings.
fn group_figures(sums: &GroupSums) -> Vec<String> {
    let amounts = [
        sums.monthly_cost,
        sums.useful_cost,
        sums.idle_cost,
        sums.unmeasured_cost,
        sums.stopped_cost,
        sums.monthly_savings,
    ];
    std::iter::once(count(sums.gpus))
        .chain(amounts.map(money_or_absent))
        .collect()
}

/// Pods, what they hold and use, cost, and the three parts of it.
fn showback_figures(sums: &ShowbackSums) -> Vec<String> {
    let amounts = [
        sums.monthly_cost,
        sums.used_cost,
        sums.idle_cost,
        sums.unmeasured_cost,
    ];
    [
        count(sums.pods),
        devices_or_absent(sums.gpus_requested),
        devices_or_absent(sums.gpus_used),
    ]
    .into_iter()
    .chain(amounts.map(money_or_absent))
    .collect()
}

/// In own words; what pods hold needs none.
pub(super) fn part_name(part: ShowbackPart) -> Option<&'static str> {
    match part {
        ShowbackPart::Requested => None,
        ShowbackPart::Unallocated => Some("(unallocated)"),
        ShowbackPart::Unknown => Some("(unknown)"),
        ShowbackPart::NotInCluster => Some("(not in a cluster)"),
    }
}

/// The part stands where a value is absent, or else beside the last value.
fn showback_names(row: &ShowbackRow) -> Vec<GroupName<'_>> {
    let part = part_name(row.part);
    let is_said = row.values.contains(&None);
    let last = row.values.len().saturating_sub(1);
    let values = row.values.iter().enumerate();
    let names = values.map(|(place, value)| GroupName {
        value: value.as_deref(),
        part: part.filter(|_| value.is_none() || (place == last && !is_said)),
    });
    names.collect()
}
