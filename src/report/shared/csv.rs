//! Comma-separated values: a document and its cells.

use rust_decimal::Decimal;

/// A header, then rows.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn document(
    header: impl IntoIterator<Item: AsRef<[u8]>>,
    rows: impl IntoIterator<Item: IntoIterator<Item: AsRef<[u8]>>>,
) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A rate or a number of GPUs with as many decimals as it has, six at most.
pub fn rate(number: Decimal) -> String {
    number.round_dp(6).normalize().to_string()
}
