//! Comma-separated values: a document and its cells. What is absent is an empty cell.

use super::text::rounded;
use crate::domain::Money;
use rust_decimal::Decimal;

/// A header, then rows.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub(in crate::report) fn document(
    header: impl IntoIterator<Item: AsRef<[u8]>>,
    rows: impl IntoIterator<Item: IntoIterator<Item: AsRef<[u8]>>>,
) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A number, or a name of this program's own.
pub(in crate::report) fn cell(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A measured figure with four decimals.
pub(in crate::report) fn figure(value: Option<f64>) -> String {
    cell(value.map(|value| format!("{value:.4}")))
}

/// An amount in cents.
pub(in crate::report) fn money(amount: Option<Money>) -> String {
    cell(amount.map(|amount| rounded(amount.amount(), 2)))
}

/// A rate or a number of GPUs with as many decimals as it has, six at most.
pub(in crate::report) fn rate(value: Option<Decimal>) -> String {
    cell(value.map(|value| value.round_dp(6).normalize()))
}
