//! Prices in files: those that a user negotiated as CSV, and the cache of a refresh, which is an
//! estate that holds prices and nothing else.

use crate::catalog::{bundled_regions, has_form_of_type, leading_region, shape, shapes};
use crate::domain::{
    Currency, HourlyRate, MOST_PER_HOUR, OperatingSystem, PriceBasis, PriceKey, PriceOption,
    PriceOrigin, PriceQuote, Provider, Tenancy, nearest_names,
};
use crate::files::shared::csv_lines::{
    Cells, InvalidLine, RowsError, check_columns, read_rows, rows,
};
use crate::files::{EstateError, Keep, read_estate, write_estate, write_whole};
use crate::usage::Estate;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

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
#[error(transparent)]
pub struct OwnPricesError(#[from] pub RowsError);

/// Reads negotiated prices.
///
/// # Errors
/// When it cannot be read, or with the first line that is wrong: an unknown or
/// missing column, a price that is not above zero, another currency than the
/// region is billed in, the same price twice, an unknown name, a ragged line. A
/// type or region that the catalog lacks is not an error when its name is formed like
/// one: prices of what is new are what such a file is for.
pub fn read_own_prices(path: &Path) -> Result<BTreeMap<PriceKey, PriceQuote>, OwnPricesError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(read_rows("the price file ", path, |text| parse(text, &name))?)
}

fn parse(text: &str, source: &str) -> Result<BTreeMap<PriceKey, PriceQuote>, InvalidLine> {
    let mut keys = BTreeSet::new();
    let prices = rows(text, checked, |header, record, _, _| {
        let (key, quote) = price(&Cells { header, record }, source)?;
        if !keys.insert(key.clone()) {
            return Err(format!("{key} is a duplicate"));
        }
        Ok((key, quote))
    })?;
    Ok(prices.into_iter().collect())
}

fn checked(header: &csv::StringRecord) -> Result<csv::StringRecord, String> {
    let known: Vec<&str> =
        REQUIRED.iter().copied().chain(OPTIONAL.iter().map(|(name, _)| *name)).collect();
    if header.is_empty() {
        return Err(format!("it is empty; known columns: {}", known.join(", ")));
    }
    check_columns(header, &known, REQUIRED)?;
    Ok(header.clone())
}

/// A cell, or what stands for an empty one.
fn optional<'a>(cells: &Cells<'a>, column: &str) -> &'a str {
    let default = OPTIONAL.iter().find(|(name, _)| *name == column);
    cells.get(column).unwrap_or_else(|| default.map_or("", |(_, value)| *value))
}

fn named<T>(
    cells: &Cells<'_>,
    column: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, String> {
    let name = optional(cells, column);
    read(name).ok_or_else(|| format!("`{name}` is not a known {column}"))
}

fn price(cells: &Cells<'_>, source: &str) -> Result<(PriceKey, PriceQuote), String> {
    let provider = named(cells, "provider", Provider::from_name)?;
    let (place, name) = (cells.required("region")?, cells.required("instance_type")?);
    if provider == Provider::Aws {
        check_region(place)?;
        check_instance_type(name)?;
    }
    let key = PriceKey {
        provider,
        region: place.to_owned(),
        instance_type: name.to_owned(),
        operating_system: named(cells, "operating_system", OperatingSystem::from_name)?,
        tenancy: named(cells, "tenancy", Tenancy::from_name)?,
        option: named(cells, "option", PriceOption::from_name)?,
        zone: None,
    };
    let currency = named(cells, "currency", Currency::from_name)?;
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
    if has_form_of_type(name) || shape(name).is_some() || !bundled_regions(Some(name)).is_empty() {
        return Ok(());
    }
    let known = shapes().map(|shape| shape.instance_type.as_str());
    let nearest = nearest_names(name, known).into_iter().next();
    Err(format!(
        "`{name}` is not an instance type such as {}",
        nearest.as_deref().unwrap_or("p5.48xlarge")
    ))
}

/// Reads a cache; `None` when there is none yet.
///
/// # Errors
/// When it is there and cannot be read, is incomplete, or a newer program wrote
/// it.
pub fn read_price_cache(path: &Path) -> Result<Option<Estate>, EstateError> {
    let mut estate = match read_estate(path, Keep::Usage) {
        Err(EstateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        read => read?,
    };
    estate.prices.set_origin(PriceOrigin::Cache);
    Ok(Some(estate))
}

/// Replaces the cache, whole or not at all; two at once leave one of both.
///
/// # Errors
/// Whatever creating its folder or writing meets; the old cache stays.
pub fn write_price_cache(path: &Path, estate: &Estate) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_whole(path, |out| {
        let mut encoder = GzEncoder::new(out, Compression::default());
        write_estate(estate, &mut encoder)?;
        encoder.finish().map(|_| ())
    })
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
            for place in bundled_regions(Some(name)) {
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
            "us-esat-1", "us-east", "us-east-1a", "US-EAST-1", "east-1", "eastus", "us-central1",
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
