//! `--group-by` as comma-separated values.

use super::NO_VALUE;
use super::sheet::part_name;
use crate::analysis::{Grouping, Groups, Showback};
use crate::domain::Currency;
use crate::report::shared::csv::{document, money, rate};
use crate::report::shared::text::spreadsheet_safe;

/// The groups as comma-separated values: a header, then one row a group, without
/// a total, so that a spreadsheet can sum them. The name of a tag is a header too
/// and is escaped as text is.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn groups_csv(by: &Grouping, currency: Currency) -> Result<String, csv::Error> {
    match by {
        Grouping::Workloads(groups) => of_groups(groups, currency),
        Grouping::Claims(showback) => of_showback(showback, currency),
    }
}

fn of_groups(groups: &Groups, currency: Currency) -> Result<String, csv::Error> {
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
    let names = groups.keys.iter();
    let names = names.map(|name| spreadsheet_safe(&name.to_string()));
    let rows = groups.rows.iter().map(|row| {
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
        value_cells(&row.values, NO_VALUE)
            .into_iter()
            .chain(counts.map(|number| number.to_string()))
            .chain([currency.code().to_owned()])
            .chain(amounts.map(money))
    });
    document(names.chain(figures.map(str::to_owned)), rows)
}

fn of_showback(showback: &Showback, currency: Currency) -> Result<String, csv::Error> {
    let figures = [
        "part",
        "pods",
        "gpus_requested",
        "gpus_used",
        "unpriced_nodes",
        "currency",
        "monthly_cost",
        "used_cost",
        "idle_cost",
        "unmeasured_cost",
    ];
    let names = showback.keys.iter();
    let names = names.map(|name| spreadsheet_safe(&name.to_string()));
    let rows = showback.rows.iter().map(|row| {
        let sums = &row.sums;
        let amounts = [
            sums.monthly_cost,
            sums.used_cost,
            sums.idle_cost,
            sums.unmeasured_cost,
        ];
        value_cells(&row.values, part_name(row.part).unwrap_or(NO_VALUE))
            .into_iter()
            .chain([
                row.part.name().to_owned(),
                sums.pods.to_string(),
                rate(sums.gpus_requested),
                rate(sums.gpus_used),
                sums.unpriced_nodes.to_string(),
                currency.code().to_owned(),
            ])
            .chain(amounts.map(money))
    });
    document(names.chain(figures.map(str::to_owned)), rows)
}

fn value_cells(values: &[Option<String>], absent: &str) -> Vec<String> {
    let cell = |value: &Option<String>| match value {
        None => absent.to_owned(),
        Some(value) => spreadsheet_safe(value),
    };
    values.iter().map(cell).collect()
}
