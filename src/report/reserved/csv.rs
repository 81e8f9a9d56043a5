//! `gpucost reserved` as comma-separated values.

use super::json::calculator;
use crate::report::shared::text::spreadsheet_safe;
use crate::savings::ReservedReport;

/// A comparison as CSV: the calculator's figures in one row.
///
/// # Errors
/// When a row cannot be written.
pub fn reserved_csv(report: &ReservedReport) -> Result<String, csv::Error> {
    let mut row = calculator(report);
    for text in [&mut row.instance_type, &mut row.region] {
        *text = spreadsheet_safe(text);
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(row)?;
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
