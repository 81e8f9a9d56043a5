//! Bundled prices, and the look-up that prefers what was gathered.

use crate::domain::{
    Currency, HourlyRate, Money, NoPrice, OperatingSystem, PaymentOption, PriceBook, PriceKey,
    PriceOption, PriceOrigin, PriceQuote, StorageQuote, StorageResource, Tenancy,
};
use jiff::civil::Date;
use std::sync::LazyLock;

/// Sorted by (instance type, region), unquoted: one line is found by bisection
/// and only that line is parsed, so a start costs nothing.
const PRICES_CSV: &str = include_str!("../../pricing-data/prices.csv");
const STORAGE_CSV: &str = include_str!("../../pricing-data/storage.csv");

/// Columns of `prices.csv`, in order.
const CURRENCY: usize = 2;
const ON_DEMAND: usize = 3;
const ON_DEMAND_DATE: usize = 4;
const ON_DEMAND_ORIGIN: usize = 5;
const SPOT_AVERAGE: usize = 6;
const SPOT_AVERAGE_DATE: usize = 7;
const FIRST_RESERVED: usize = 8;

/// The date of the list that reserved prices and spot averages were read from.
const RESERVED_LIST: (&str, &str) = ("2026-05-12", "ec2-list-2026-05");

static LINES: LazyLock<Vec<&'static str>> = LazyLock::new(|| PRICES_CSV.lines().skip(1).collect());

fn key_of(line: &str) -> (&str, &str) {
    let mut cells = line.split(',');
    (
        cells.next().unwrap_or_default(),
        cells.next().unwrap_or_default(),
    )
}

fn cells_of(instance_type: &str, region: &str) -> Option<Vec<&'static str>> {
    let found = LINES
        .binary_search_by(|line| key_of(line).cmp(&(instance_type, region)))
        .ok()?;
    Some(LINES[found].split(',').collect())
}

fn column_of(option: PriceOption) -> Option<usize> {
    match option {
        PriceOption::OnDemand => Some(ON_DEMAND),
        PriceOption::Spot => Some(SPOT_AVERAGE),
        PriceOption::Reserved {
            term_years,
            payment,
        } => {
            let term = match term_years {
                1 => 0,
                3 => 3,
                _ => return None,
            };
            let payment = match payment {
                PaymentOption::NoUpfront => 0,
                PaymentOption::PartialUpfront => 1,
                PaymentOption::AllUpfront => 2,
            };
            Some(FIRST_RESERVED + term + payment)
        }
    }
}

/// The bundled price of a key; the book holds Linux on shared hardware.
pub fn bundled_quote(key: &PriceKey) -> Option<PriceQuote> {
    if key.operating_system != OperatingSystem::Linux || key.tenancy != Tenancy::Shared {
        return None;
    }
    let cells = cells_of(&key.instance_type, &key.region)?;
    let currency = Currency::from_code(cells.get(CURRENCY)?)?;
    let amount = cells.get(column_of(key.option)?)?.parse().ok()?;
    let (date, source) = match key.option {
        PriceOption::OnDemand => (*cells.get(ON_DEMAND_DATE)?, *cells.get(ON_DEMAND_ORIGIN)?),
        PriceOption::Spot => (*cells.get(SPOT_AVERAGE_DATE)?, RESERVED_LIST.1),
        PriceOption::Reserved { .. } => RESERVED_LIST,
    };
    Some(PriceQuote {
        rate: HourlyRate::new(amount, currency)?,
        origin: PriceOrigin::Bundled,
        effective_date: date.parse::<Date>().ok()?,
        source: source.to_owned(),
    })
}

/// Every region in which the book knows a type, with its on-demand price where
/// it has one, in order of region.
pub fn bundled_prices_of(
    instance_type: &str,
) -> impl Iterator<Item = (&'static str, Option<PriceQuote>)> {
    let from = LINES.partition_point(|line| key_of(line).0 < instance_type);
    let wanted = instance_type.to_owned();
    LINES[from..]
        .iter()
        .map(|line| key_of(line))
        .take_while(move |(name, _)| *name == wanted)
        .map(|(name, region)| {
            (
                region,
                bundled_quote(&PriceKey::linux_on_demand(region, name)),
            )
        })
}

/// The bundled price of a storage resource: long-standing list prices of one
/// region, undated and marked so.
pub fn bundled_storage_quote(region: &str, resource: StorageResource) -> Option<StorageQuote> {
    let cells: Vec<&str> = STORAGE_CSV
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .find(|cells| cells.first() == Some(&resource.name()) && cells.get(1) == Some(&region))?;
    Some(StorageQuote {
        unit_price: Money::new(
            cells.get(4)?.parse().ok()?,
            Currency::from_code(cells.get(2)?)?,
        ),
        origin: PriceOrigin::Bundled,
        effective_date: cells.get(5).and_then(|date| date.parse().ok()),
        source: (*cells.get(6)?).to_owned(),
    })
}

/// Prices of one audit: what was gathered first, the bundled book behind it.
#[derive(Debug, Clone, Copy)]
pub struct Prices<'a> {
    gathered: &'a PriceBook,
}

impl<'a> Prices<'a> {
    /// Looks up in what was gathered, then in the bundled book.
    pub fn new(gathered: &'a PriceBook) -> Self {
        Self { gathered }
    }

    /// The price of a key; of a zone without its own spot price, the region's.
    ///
    /// # Errors
    /// [`NoPrice`] when neither source states it.
    pub fn get(&self, key: &PriceKey) -> Result<PriceQuote, NoPrice> {
        self.find(key).map(|(_, quote)| quote)
    }

    /// The price of a key, with what it is a price of: the zone, or the whole
    /// region.
    ///
    /// # Errors
    /// [`NoPrice`] when neither source states it.
    pub fn find(&self, key: &PriceKey) -> Result<(PriceKey, PriceQuote), NoPrice> {
        if let Ok(quote) = self.gathered.get(key) {
            return Ok((key.clone(), quote.clone()));
        }
        let region_wide = key.in_zone(None);
        let quote = match self.gathered.get(&region_wide) {
            Ok(quote) => quote.clone(),
            Err(_) => bundled_quote(&region_wide).ok_or_else(|| NoPrice(key.clone()))?,
        };
        Ok((region_wide, quote))
    }

    /// The price of a storage resource in a region.
    pub fn get_storage(&self, region: &str, resource: StorageResource) -> Option<StorageQuote> {
        self.gathered
            .get_storage(region, resource)
            .cloned()
            .or_else(|| bundled_storage_quote(region, resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rust_decimal::Decimal;

    fn amount(region: &str, instance_type: &str, option: PriceOption) -> Option<String> {
        let key = PriceKey::linux_on_demand(region, instance_type).with_option(option);
        bundled_quote(&key).map(|quote| quote.rate.amount().to_string())
    }

    #[test]
    fn the_book_is_sorted_unquoted_and_every_row_is_complete() {
        assert!(!PRICES_CSV.contains('"'));
        assert!(LINES.is_sorted_by(|left, right| key_of(left) < key_of(right)));
        assert!(LINES.iter().all(|line| line.split(',').count() == 14));
    }

    #[test]
    fn published_prices_are_found() {
        let us = |name, option| amount("us-east-1", name, option);
        assert_eq!(
            us("p4d.24xlarge", PriceOption::OnDemand).as_deref(),
            Some("21.957642")
        );
        assert_eq!(
            us("p3.8xlarge", PriceOption::OnDemand).as_deref(),
            Some("12.24")
        );
        let one_year = PriceOption::Reserved {
            term_years: 1,
            payment: PaymentOption::NoUpfront,
        };
        assert_eq!(us("p4d.24xlarge", one_year).as_deref(), Some("13.921094"));
        assert_eq!(us("p3.8xlarge", one_year), None, "p3 sells no commitment");
    }

    #[test]
    fn unknown_means_unpriced() {
        assert_eq!(amount("us-east-1", "z9.large", PriceOption::OnDemand), None);
        assert_eq!(
            amount("mars-1", "p4d.24xlarge", PriceOption::OnDemand),
            None
        );
        let mut windows = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        windows.operating_system = OperatingSystem::Windows;
        assert_eq!(bundled_quote(&windows), None);
    }

    #[test]
    fn china_is_in_yuan() {
        let key = PriceKey::linux_on_demand("cn-north-1", "p3.8xlarge");
        let quote = bundled_quote(&key).expect("known");
        assert_eq!(quote.rate.currency(), Currency::Cny);
        assert_eq!(quote.rate.amount(), Decimal::new(144_314, 3));
        assert_eq!(quote.effective_date, jiff::civil::date(2024, 11, 6));
    }

    #[test]
    fn storage_has_prices_in_one_region_only() {
        let gp3 = bundled_storage_quote("us-east-1", StorageResource::Gp3).expect("known");
        assert_eq!(gp3.unit_price.amount(), Decimal::new(8, 2));
        assert_eq!(gp3.effective_date, None);
        assert_eq!(gp3.source, "long-standing-list-price");
        assert_eq!(
            bundled_storage_quote("eu-west-1", StorageResource::Gp3),
            None
        );
        assert_eq!(
            bundled_storage_quote("us-east-1", StorageResource::Io1),
            None
        );
    }

    #[test]
    fn regions_of_a_type_are_listed_in_order() {
        let regions: Vec<_> = bundled_prices_of("p6-b300.48xlarge")
            .map(|(region, _)| region)
            .collect();
        assert!(!regions.is_empty());
        assert!(regions.is_sorted());
    }
}
