//! `--group-by` as comma-separated values.

use super::{NO_VALUE, names};
use crate::analysis::Groups;
use crate::domain::Currency;
use crate::report::shared::csv::{document, money};
use crate::report::shared::text::spreadsheet_safe;

/// The groups as comma-separated values: a header, then one row a group, without
/// a total, so that a spreadsheet can sum them. The name of a tag is a header too
/// and is escaped as text is.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn groups_csv(groups: &Groups, currency: Currency) -> Result<String, csv::Error> {
    let figures = [
        "workloads",
        "instances",
        "gpus",
        "unpriced_workloads",
        "currency",
        "monthly_cost",
        "useful_cost",
        "idle_cost",
        "unmeasured_cost",
        "stopped_cost",
        "monthly_savings",
        "monthly_waste",
    ];
    let names = names(groups);
    let names = names.iter().map(|name| spreadsheet_safe(name));
    let rows = groups.rows.iter().map(|row| {
        let values = row.values.iter().map(|value| match value {
            None => NO_VALUE.to_owned(),
            Some(value) => spreadsheet_safe(value),
        });
        let sums = &row.sums;
        let counts = [
            sums.workloads,
            sums.instances,
            sums.gpus,
            sums.unpriced_workloads,
        ];
        let amounts = [
            sums.monthly_cost,
            sums.useful_cost,
            sums.idle_cost,
            sums.unmeasured_cost,
            sums.stopped_cost,
            sums.monthly_savings,
            sums.monthly_waste,
        ];
        values
            .chain(counts.map(|number| number.to_string()))
            .chain([currency.code().to_owned()])
            .chain(amounts.map(money))
    });
    document(names.chain(figures.map(str::to_owned)), rows)
}
