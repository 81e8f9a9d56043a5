//! The table of the hours of instances.

use super::rows::{Cells, MOST_ROWS, decimal, named, number, optional, some_number, text};
use crate::domain::{Currency, HOUR_SECONDS, InstanceHour, InstanceRate};
use crate::sources::files::history::columns::{Cell, Kind, Schema, TableError};
use crate::sources::files::history::table::Row;
use jiff::Timestamp;
use rust_decimal::Decimal;

/// How instances ran in the hours of the days of a run. A run without instances has none.
pub(in crate::sources::files::history) const HOUR: Schema = Schema {
    name: "hour",
    columns: &[
        ("run_id", Kind::Text),
        ("scope", Kind::Text),
        ("account", Kind::LongText),
        ("region", Kind::Text),
        ("instance", Kind::Text),
        ("instance_type", Kind::Text),
        ("hour", Kind::Whole),
        ("ran_seconds", Kind::Whole),
        ("measured_seconds", Kind::Whole),
        ("idle_seconds", Kind::Whole),
        ("useful_seconds", Kind::Decimal),
        ("currency", Kind::OptionalText),
        ("price_hourly", Kind::Decimal),
        ("effective_hourly", Kind::Decimal),
    ],
    most_rows: MOST_ROWS,
};

/// The cells of a row of [`HOUR`].
///
/// # Errors
/// When a text or a figure is beyond what a table holds.
pub(super) fn cells_of_hour(one: &InstanceHour, (run_id, scope): (&str, &str)) -> Cells {
    let rate = one.rate;
    let seconds = |seconds: u16| Cell::Whole(Some(i64::from(seconds)));
    Ok(vec![
        text(run_id, Kind::Text)?,
        text(scope, Kind::Text)?,
        text(&one.account, Kind::LongText)?,
        text(&one.region, Kind::Text)?,
        text(&one.instance, Kind::Text)?,
        text(&one.instance_type, Kind::Text)?,
        Cell::Whole(Some(one.hour.as_second())),
        seconds(one.ran_seconds),
        seconds(one.measured_seconds),
        seconds(one.idle_seconds),
        decimal(Some(one.useful_seconds))?,
        optional(rate.map(|rate| rate.currency.code()))?,
        decimal(rate.map(|rate| rate.price))?,
        decimal(rate.map(|rate| rate.effective))?,
    ])
}

/// Reads a row of [`HOUR`].
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::sources::files::history) fn hour_of(
    row: &Row<'_>,
) -> Result<InstanceHour, TableError> {
    let second: i64 = row.some(6)?;
    let hour = Timestamp::from_second(second).map_err(|_| TableError::Value)?;
    let (ran, measured, idle): (u16, u16, u16) = (row.some(7)?, row.some(8)?, row.some(9)?);
    let useful = some_number(row, 10)?;
    let is_possible = second.rem_euclid(HOUR_SECONDS) == 0
        && i64::from(ran) <= HOUR_SECONDS
        && measured <= ran
        && idle <= measured
        && useful >= Decimal::ZERO
        && useful <= Decimal::from(ran);
    if !is_possible {
        return Err(TableError::Value);
    }
    let currency = row.optional_text(11)?;
    let currency = currency.map(|code| named(code, Currency::from_code));
    let rate = match (currency.transpose()?, number(row, 12)?, number(row, 13)?) {
        (Some(currency), Some(price), Some(effective)) => {
            Some(InstanceRate { currency, price, effective })
        }
        (None, None, None) => None,
        _ => return Err(TableError::Value),
    };
    Ok(InstanceHour {
        account: row.text(2)?.to_owned(),
        region: row.text(3)?.to_owned(),
        instance: row.text(4)?.to_owned(),
        instance_type: row.text(5)?.to_owned(),
        hour,
        ran_seconds: ran,
        measured_seconds: measured,
        idle_seconds: idle,
        useful_seconds: useful,
        rate,
    })
}
