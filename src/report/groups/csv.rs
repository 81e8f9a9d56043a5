//! `--group-by` as comma-separated values.

use super::{NO_VALUE, names};
use crate::analysis::Groups;
use crate::domain::Currency;
use crate::report::shared::text::{rounded, spreadsheet_safe};

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
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = names(groups);
    let names = names.iter().map(|name| spreadsheet_safe(name));
    writer.write_record(names.chain(figures.map(str::to_owned)))?;
    for row in &groups.rows {
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
        let amounts = amounts
            .map(|amount| amount.map_or(String::new(), |amount| rounded(amount.amount(), 2)));
        let cells = values
            .chain(counts.map(|number| number.to_string()))
            .chain([currency.code().to_owned()])
            .chain(amounts);
        writer.write_record(cells)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
