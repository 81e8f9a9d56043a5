//! What people see of `--group-by`, in words: tables, comments and pages only draw it.

use super::{NO_VALUE, Summed, SummedRow, part_name};
use crate::analysis::{GroupSums, Grouping};
use crate::domain::Money;
use crate::report::doc::{Record, shown};
use crate::report::shared::text::{counted, minute, money_or_absent};

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
        let summed = Summed::of(by);
        let (split, notes) = match by {
            Grouping::Workloads(groups) => (
                "Cost is split into useful (cost times mean GPU utilization), idle, unmeasured and \
                 stopped.",
                unpriced_note(
                    groups.total.unpriced_workloads,
                    "workload is",
                    "workloads are",
                ),
            ),
            Grouping::Claims(showback) => {
                let held = format!(
                    "by the GPUs that pods held at {}; pods that ended before are not included",
                    minute(showback.as_of)
                );
                let unpriced = unpriced_note(showback.total.unpriced_nodes, "node is", "nodes are");
                (
                    "The cost of what pods hold is split into used (cost times mean GPU \
                     utilization), idle and unmeasured.",
                    std::iter::once(held).chain(unpriced).collect(),
                )
            }
        };
        let titles = summed.total.heads.iter().map(|head| head.title);
        Self {
            titles: titles.filter(|title| !title.is_empty()).collect(),
            rows: summed
                .rows
                .iter()
                .map(|row| SheetRow {
                    names: names(row),
                    figures: figures(&row.sums),
                    cost: row.cost,
                })
                .collect(),
            total: figures(&summed.total),
            split,
            notes,
            keys: summed.keys,
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
}

/// What the sums leave out, where that is anything.
fn unpriced_note(number: u64, one: &str, many: &str) -> Vec<String> {
    let unpriced = counted(number, one, many);
    let note = format!("{unpriced} not in the totals: no price, or a different currency");
    (number > 0).then_some(note).into_iter().collect()
}

/// What screens show of some sums.
fn figures(sums: &Record) -> Vec<String> {
    let cells = sums.heads.iter().zip(&sums.values);
    let cells = cells.filter(|(head, _)| !head.title.is_empty());
    cells.map(|(_, value)| shown(value)).collect()
}

/// The part stands where a value is absent, or else beside the last value.
fn names<'a>(row: &SummedRow<'a>) -> Vec<GroupName<'a>> {
    let part = row.part.and_then(part_name);
    let is_said = row.values.contains(&None);
    let last = row.values.len().saturating_sub(1);
    let values = row.values.iter().enumerate();
    let names = values.map(|(place, value)| GroupName {
        value: value.as_deref(),
        part: part.filter(|_| value.is_none() || (place == last && !is_said)),
    });
    names.collect()
}
