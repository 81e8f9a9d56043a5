//! Prices that a user negotiated, from a CSV file.

use crate::catalog::{bundled_regions_of, has_form_of_type, leading_region, shape, shapes};
use crate::domain::{
    Currency, HourlyRate, MOST_PER_HOUR, OperatingSystem, PriceBasis, PriceKey, PriceOption,
    PriceOrigin, PriceQuote, Provider, Tenancy, nearest_names, shown,
};
use crate::sources::files::shared::bounded::read_written;
use crate::sources::files::shared::csv_lines::{InvalidLine, Lines, invalid, text_of};
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Columns that must be there.
const REQUIRED: &[&str] = &["instance_type", "region", "hourly", "effective_date"];
/// Columns that may be there, with what stands for an empty cell.
const OPTIONAL: &[(&str, &str)] = &[
    ("provider", "aws"),
    ("operating_system", "linux"),
    ("tenancy", "shared"),
    ("option", "on-demand"),
    ("currency", "USD"),
];

/// Why negotiated prices could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OwnPricesError {
    /// The file could not be opened or read.
    #[error("cannot read the price file {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// A line is wrong.
    #[error("{}:{line}: {message}", shown(path))]
    Line {
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        message: String,
    },
}

/// Reads negotiated prices.
///
/// # Errors
/// When it cannot be read, or with the first line that is wrong: an unknown or
/// missing column, a price that is not above zero, another currency than the
/// region is billed in, the same price twice, an unknown name, a ragged line. A
/// type or region that the catalog lacks is not an error when its name is formed like
/// one: prices of what is new are what such a file is for.
pub fn read_own_prices(path: &Path) -> Result<BTreeMap<PriceKey, PriceQuote>, OwnPricesError> {
    let bytes = read_written(path)
        .map_err(|source| OwnPricesError::Io { path: path.to_owned(), source })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    text_of(&bytes)
        .and_then(|text| parse(text, &name))
        .map_err(|(line, message)| OwnPricesError::Line { path: path.to_owned(), line, message })
}

fn parse(text: &str, source: &str) -> Result<BTreeMap<PriceKey, PriceQuote>, InvalidLine> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| invalid(&error, text))?.clone();
    check_header(&header).map_err(|message| (1, message))?;
    let mut prices = BTreeMap::new();
    let mut lines = Lines::of(text);
    for record in reader.records() {
        let record = record.map_err(|error| invalid(&error, text))?;
        let line = lines.at(record.position());
        let at_line = |message: String| (line, message);
        let cells = Cells { header: &header, record: &record };
        let (key, quote) = price(&cells, source).map_err(at_line)?;
        if prices.contains_key(&key) {
            return Err(at_line(format!("{key} is a duplicate")));
        }
        prices.insert(key, quote);
    }
    Ok(prices)
}

fn check_header(header: &csv::StringRecord) -> Result<(), String> {
    let known: Vec<&str> =
        REQUIRED.iter().copied().chain(OPTIONAL.iter().map(|(name, _)| *name)).collect();
    if header.is_empty() {
        return Err(format!("it is empty; known columns: {}", known.join(", ")));
    }
    if let Some(unknown) = header.iter().find(|name| !known.contains(name)) {
        return Err(format!("unknown column `{unknown}`; known columns: {}", known.join(", ")));
    }
    if let Some(twice) =
        known.iter().find(|name| header.iter().filter(|column| column == *name).count() > 1)
    {
        return Err(format!("column `{twice}` is a duplicate"));
    }
    match REQUIRED.iter().find(|name| !header.iter().any(|column| column == **name)) {
        Some(missing) => Err(format!("missing column `{missing}`")),
        None => Ok(()),
    }
}

struct Cells<'a> {
    header: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
}

impl Cells<'_> {
    fn get(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|name| name == column)?;
        self.record.get(index).filter(|cell| !cell.is_empty())
    }

    fn required(&self, column: &str) -> Result<&str, String> {
        self.get(column).ok_or_else(|| format!("`{column}` is empty"))
    }

    fn optional(&self, column: &str) -> &str {
        let default = OPTIONAL.iter().find(|(name, _)| *name == column);
        self.get(column).unwrap_or_else(|| default.map_or("", |(_, value)| *value))
    }

    fn named<T>(&self, column: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let name = self.optional(column);
        read(name).ok_or_else(|| format!("`{name}` is not a known {column}"))
    }
}

fn price(cells: &Cells<'_>, source: &str) -> Result<(PriceKey, PriceQuote), String> {
    let provider = cells.named("provider", Provider::from_name)?;
    let (place, name) = (cells.required("region")?, cells.required("instance_type")?);
    if provider == Provider::Aws {
        check_region(place)?;
        check_instance_type(name)?;
    }
    let key = PriceKey {
        provider,
        region: place.to_owned(),
        instance_type: name.to_owned(),
        operating_system: cells.named("operating_system", OperatingSystem::from_name)?,
        tenancy: cells.named("tenancy", Tenancy::from_name)?,
        option: cells.named("option", PriceOption::from_name)?,
        zone: None,
    };
    let currency = cells.named("currency", Currency::from_code)?;
    let billed = Currency::of_region(&key.region);
    if provider == Provider::Aws && currency != billed {
        return Err(format!("{} is billed in {billed}, not in {currency}", key.region));
    }
    let hourly = cells.required("hourly")?;
    let rate = hourly
        .parse()
        .ok()
        .and_then(|amount| HourlyRate::new(amount, currency))
        .ok_or_else(|| format!("the price `{hourly}` is not between 0 and {MOST_PER_HOUR}"))?;
    let date = cells.required("effective_date")?;
    let effective_date: Date =
        date.parse().map_err(|_| format!("`{date}` is not a date such as 2026-11-01"))?;
    let quote = PriceQuote {
        rate,
        instalments: None,
        origin: PriceOrigin::User,
        basis: PriceBasis::Observed,
        effective_date,
        seen_on: effective_date,
        source: source.to_owned(),
    };
    Ok((key, quote))
}

/// A region, of the catalog or newer than it.
fn check_region(name: &str) -> Result<(), String> {
    match leading_region(name) {
        Some(_) => Ok(()),
        None => Err(format!("`{name}` is not a region such as us-east-1")),
    }
}

/// An instance type, of the catalog or newer than it.
fn check_instance_type(name: &str) -> Result<(), String> {
    if has_form_of_type(name) || shape(name).is_some() || !bundled_regions_of(name).is_empty() {
        return Ok(());
    }
    let known = shapes().map(|shape| shape.instance_type.as_str());
    let nearest = nearest_names(name, known).into_iter().next();
    Err(format!(
        "`{name}` is not an instance type such as {}",
        nearest.as_deref().unwrap_or("p5.48xlarge")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "instance_type,region,hourly,effective_date,currency\n";

    fn invalid_value(text: &str) -> (u64, String) {
        parse(text, "own.csv").expect_err("an error")
    }

    #[test]
    fn other_providers_have_names_of_their_own() {
        let text = "instance_type,region,hourly,effective_date,provider\n\
                    dgx h100,hall 2,9.75,2026-10-01,on-premises\n\
                    p5.48xlarge,us-east-1,41.25,2026-10-01,\n";
        let prices = parse(text, "own.csv").expect("valid");
        let own = PriceKey {
            provider: Provider::OnPremises,
            ..PriceKey::linux_on_demand("hall 2", "dgx h100")
        };
        assert_eq!(prices[&own].rate.amount().to_string(), "9.75");
        let as_aws = PriceKey { provider: Provider::Aws, ..own };
        assert!(!prices.contains_key(&as_aws));
        assert_eq!(
            invalid_value(&text.replace("on-premises", "mars")),
            (2, "`mars` is not a known provider".to_owned())
        );
    }

    #[test]
    fn empty_cells_and_missing_columns_have_defaults() {
        let text = "\u{feff}region,instance_type,hourly,effective_date,option\n\
                    us-east-1,p5.48xlarge,41.25,2026-10-01,\n\
                    us-east-1,p5.48xlarge,30.5,2026-10-01,reserved-1yr-no-upfront\n";
        let prices = parse(text, "own.csv").expect("valid");
        let key = PriceKey::linux_on_demand("us-east-1", "p5.48xlarge");
        let quote = &prices[&key];
        assert_eq!(quote.rate.amount().to_string(), "41.25");
        assert_eq!(quote.origin, PriceOrigin::User);
        assert_eq!(quote.source, "own.csv");
        assert_eq!(prices.len(), 2);
    }

    #[test]
    fn every_slip_names_its_line() {
        let row =
            |cells: &str| format!("{HEADER}p5.48xlarge,us-east-1,41,2026-10-01,USD\n{cells}\n");
        for (cells, says) in [
            ("p5.48xlarge,us-east-1,41,2026-10-01,USD", "is a duplicate"),
            ("g5.xlarge,us-east-1,0,2026-10-01,USD", "not between 0"),
            ("g5.xlarge,us-east-1,-1,2026-10-01,USD", "not between 0"),
            ("g5.xlarge,us-east-1,NaN,2026-10-01,USD", "not between 0"),
            ("g5.xlarge,us-east-1,1,2026-10-01,CNY", "billed in USD"),
            ("g5.xlarge,cn-north-1,1,2026-10-01,USD", "billed in CNY"),
            ("g5.xlarge,us-east-1,1,2026-10-01,XXX", "not a known currency"),
            ("g5.xlarge,us-east-1,1,yesterday,USD", "not a date"),
            ("g5.xlarge,us-east-1,,2026-10-01,USD", "`hourly` is empty"),
            ("g5.xlarge,us-east-1", "2 cells instead of 5"),
        ] {
            let (line, message) = invalid_value(&row(cells));
            assert_eq!(line, 3, "{cells}: {message}");
            assert!(message.contains(says), "{cells}: {message}");
        }
    }

    #[test]
    fn a_foreign_file_is_refused_at_its_header() {
        let (line, message) = invalid_value("Date,Description,Amount\n1,2,3\n");
        assert_eq!(line, 1);
        assert!(message.starts_with("unknown column `Date`"), "{message}");
        let (_, message) = invalid_value("instance_type,region,hourly\n");
        assert_eq!(message, "missing column `effective_date`");
    }

    #[test]
    fn whatever_the_book_has_can_have_a_price_of_its_own() {
        let mut checked = 0;
        for name in shapes().map(|shape| shape.instance_type.as_str()) {
            assert_eq!(check_instance_type(name), Ok(()));
            for place in bundled_regions_of(name) {
                assert_eq!(check_region(place), Ok(()));
                checked += 1;
            }
        }
        assert!(checked > 5_000, "{checked}");
    }

    #[test]
    fn names_of_what_is_new_are_told_from_slips() {
        for name in
            ["p7.48xlarge", "g5.metal", "m8i.metal-48xl", "u7i-12tb.224xlarge", "u-p6e-gb200x72"]
        {
            assert_eq!(check_instance_type(name), Ok(()));
        }
        for invalid in
            ["p5.48xlrage", "p5", "P5.48xlarge", "p5.", ".xlarge", "p5.9999xlarge", "p5.48x large"]
        {
            assert!(check_instance_type(invalid).is_err(), "{invalid}");
        }
        for name in ["us-east-9", "eusc-de-east-1", "us-isob-east-1"] {
            assert_eq!(check_region(name), Ok(()));
        }
        for invalid in [
            "us-esat-1",
            "us-east",
            "us-east-1a",
            "US-EAST-1",
            "east-1",
            "eastus",
            "us-central1",
            "us--east-1",
        ] {
            assert!(check_region(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_column_that_stands_twice_is_refused() {
        let (line, message) = invalid_value("instance_type,region,hourly,effective_date,hourly\n");
        assert_eq!(line, 1);
        assert_eq!(message, "column `hourly` is a duplicate");
    }
}
