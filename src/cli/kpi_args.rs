//! The flags of `gpucost kpi`.

use super::args::{DocFormat, EstateArgs};
use super::numbers::above_zero;
use super::planner_flags::estate_flags;
use crate::sources::files::unit_count;
use clap::Args;
use rust_decimal::Decimal;
use std::path::PathBuf;

/// A century: what is longer is an error.
pub(super) const MOST_HOURS: Decimal = Decimal::from_parts(876_000, 0, 0, false, 0);
/// Characters of a text that lines of a log are searched for.
const LONGEST_TEXT: usize = 1_000;

/// `gpucost kpi`.
#[derive(Debug, Args)]
pub(super) struct KpiArgs {
    #[command(flatten)]
    pub estate: EstateArgs,
    /// CSV file of how much work was done: columns name, unit, count and window
    #[arg(long, value_name = "FILE", conflicts_with = "redact")]
    pub units: Option<PathBuf>,
    /// Price one run of this instance type without calling a cloud; `--region` sets its region
    #[arg(
        long = "type",
        value_name = "TYPE",
        help_heading = "One run",
        conflicts_with_all = estate_flags().chain(["units"])
    )]
    pub instance_type: Option<String>,
    /// Samples of the run, written by `gpucost profile --samples`: its hours, its type and the
    /// units of `--log-unit`
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "One run",
        conflicts_with_all = estate_flags().chain(["units", "hours"])
    )]
    pub run: Option<PathBuf>,
    /// Hours that each instance ran
    #[arg(long, value_name = "HOURS", value_parser = hours, allow_negative_numbers = true, requires = "instance_type", help_heading = "One run")]
    pub hours: Option<Decimal>,
    /// Number of instances [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true, help_heading = "One run")]
    pub count: Option<u32>,
    /// How much work the run did, such as `steps=12000` (can be repeated)
    #[arg(long, value_name = "NAME=COUNT", value_parser = unit, help_heading = "One run")]
    pub unit: Vec<(String, Decimal)>,
    /// Log of the run
    #[arg(long, value_name = "FILE", requires = "log_unit", help_heading = "One run")]
    pub log: Option<PathBuf>,
    /// A unit that each line of the log with a text marks, such as `epochs=val_loss` (can be
    /// repeated)
    #[arg(long, value_name = "NAME=TEXT", value_parser = log_unit, requires = "log", help_heading = "One run")]
    pub log_unit: Vec<(String, String)>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
}

fn hours(text: &str) -> Result<Decimal, String> {
    let expected = format!("expected hours above 0 and at most {MOST_HOURS}");
    above_zero(text, MOST_HOURS, &expected)
}

/// A name and what stands behind its first `=`, neither empty.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.is_empty()).then_some((name, value))
}

fn unit(text: &str) -> Result<(String, Decimal), String> {
    let expected = || "expected a name and a count, such as steps=12000".to_owned();
    let (name, count) = named(text).ok_or_else(expected)?;
    let count = unit_count(count)?;
    if count.is_zero() {
        return Err("expected a count above 0: no unit was done that has a price".to_owned());
    }
    Ok((name.to_owned(), count))
}

/// A unit and the text that lines of a log have for each of it.
pub(super) fn log_unit(text: &str) -> Result<(String, String), String> {
    let expected = || {
        format!(
            "expected a name and a text of at most {LONGEST_TEXT} characters, such as \
             epochs=val_loss"
        )
    };
    let (name, text) = named(text).ok_or_else(expected)?;
    if text.chars().count() > LONGEST_TEXT {
        return Err(expected());
    }
    Ok((name.to_owned(), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_a_name_and_a_count_above_zero() {
        assert_eq!(unit("steps=1.5e3"), Ok(("steps".to_owned(), Decimal::from(1_500))));
        for bad in
            ["", "steps", "=5", "steps=", "steps=-1", "steps=0", "steps=0.0", "steps=NaN", "a=1e30"]
        {
            assert!(unit(bad).is_err(), "{bad}");
        }
        assert_eq!(log_unit("epochs=loss = "), Ok(("epochs".to_owned(), "loss =".to_owned())));
        assert!(log_unit(&format!("a={}", "x".repeat(1_001))).is_err());
        assert!(hours("0").is_err() && hours("-1").is_err() && hours("876001").is_err());
    }
}
