//! Prices that a bill shows: what an hour of a type costs under an offer, where that is the
//! same in every hour.

use super::amounts::{Tally, share};
use crate::catalog::{has_form_of_type, leading_region};
use crate::domain::{
    BillLine, Currency, HourlyRate, OperatingSystem, PriceKey, PriceOption, Provider, Tenancy,
};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Prices of single lines may differ by this share of the price: bills round hours to
/// millionths, and amounts to ten decimals.
const TOLERANCE: Decimal = Decimal::from_parts(1, 0, 0, false, 3);
/// Lines of fewer hours are not compared: rounding is too much of them.
const LEAST_HOURS: Decimal = Decimal::from_parts(5, 0, 0, false, 2);
/// Decimals of a price.
const DECIMALS: u32 = 6;

/// A price that a bill shows.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedRate {
    pub key: PriceKey,
    pub hours: Decimal,
    /// What an hour costs: by the contract on demand, and else what it effectively costs.
    pub hourly: Option<Decimal>,
    /// What it costs at the public price.
    pub list_hourly: Option<Decimal>,
    /// The last day on which it held.
    pub last_day: Option<Date>,
    /// Why it is not a negotiated price; absent of one.
    pub refusal: Option<RateRefusal>,
}

impl DerivedRate {
    /// How much is saved against the public price, percent.
    pub fn discount_percent(&self) -> Option<Decimal> {
        let list = self.list_hourly?;
        share(list - self.hourly?, list)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateRefusal {
    /// It is not the same in every hour.
    Varies { least: Decimal, most: Decimal },
    /// Lines without the amount that it follows from.
    Unstated { lines: u64 },
    /// It is the public price.
    Public,
    /// Of hours without a commitment: no list price is beside it, and it may be the public one.
    Unlisted,
    /// A file of prices takes no such type, region or currency.
    NotAPrice,
}

/// Hours and amounts of lines at one price.
#[derive(Debug, Default)]
struct Sums {
    /// Of lines that state a cost.
    hours: Decimal,
    cost: Tally,
    list: Tally,
    /// Lowest and highest price of a line.
    range: Option<(Decimal, Decimal)>,
    last: Option<Timestamp>,
}

/// Prices of the lines of a bill in one currency.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<PriceKey, Sums>);

impl Rates {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes in hours of an instance. Those that do not say what they are hours of are left
    /// out.
    pub(super) fn add(&mut self, line: &BillLine) {
        let Some((key, hours)) = key_of(line).zip(line.hours) else { return };
        if hours <= Decimal::ZERO {
            return;
        }
        let cost = match key.option {
            PriceOption::OnDemand => line.costs.contracted,
            _ => line.costs.effective,
        };
        let sums = self.0.entry(key).or_default();
        sums.last = sums.last.max(line.period.map(|period| period.end));
        sums.cost.add(cost);
        let Some(cost) = cost else { return };
        sums.hours += hours;
        sums.list.add(line.costs.list);
        if hours >= LEAST_HOURS {
            let price = cost / hours;
            let (least, most) = sums.range.unwrap_or((price, price));
            sums.range = Some((least.min(price), most.max(price)));
        }
    }

    pub(super) fn derived(self, currency: Currency) -> Vec<DerivedRate> {
        self.0.into_iter().map(|(key, sums)| derived(key, &sums, currency)).collect()
    }
}

fn key_of(line: &BillLine) -> Option<PriceKey> {
    Some(PriceKey {
        provider: line.provider?,
        region: line.region.clone()?,
        instance_type: line.instance_type.clone()?,
        operating_system: line.operating_system.unwrap_or(OperatingSystem::OtherLicensed),
        tenancy: line.tenancy.unwrap_or(Tenancy::Shared),
        option: line.offer?,
        zone: None,
    })
}

fn derived(key: PriceKey, sums: &Sums, currency: Currency) -> DerivedRate {
    let per_hour = |amount: Decimal| Some((amount.checked_div(sums.hours)?).round_dp(DECIMALS));
    let hourly = sums.cost.sum().and_then(per_hour);
    let list_hourly = sums.list.whole().and_then(per_hour);
    let last_day = sums.last.map(|last| {
        // The end of a period is the first instant after it.
        Timestamp::from_second(last.as_second() - 1).unwrap_or(last).to_zoned(TimeZone::UTC).date()
    });
    let refusal = refusal(&key, sums, currency, (hourly, list_hourly));
    DerivedRate { key, hours: sums.hours, hourly, list_hourly, last_day, refusal }
}

fn refusal(
    key: &PriceKey,
    sums: &Sums,
    currency: Currency,
    (hourly, list_hourly): (Option<Decimal>, Option<Decimal>),
) -> Option<RateRefusal> {
    let lines = sums.cost.absent();
    if lines > 0 {
        return Some(RateRefusal::Unstated { lines });
    }
    if let Some((least, most)) = sums.range
        && most - least > most.abs() * TOLERANCE
    {
        let [least, most] = [least, most].map(|price| price.round_dp(DECIMALS));
        return Some(RateRefusal::Varies { least, most });
    }
    let is_price = hourly.is_some_and(|hourly| HourlyRate::new(hourly, currency).is_some());
    if !is_price || sums.last.is_none() || !is_in_file(key, currency) {
        return Some(RateRefusal::NotAPrice);
    }
    // What a commitment costs is its own price, whatever the public one is.
    let is_uncommitted = matches!(key.option, PriceOption::OnDemand | PriceOption::Spot);
    if is_uncommitted && list_hourly.is_none() {
        return Some(RateRefusal::Unlisted);
    }
    let is_public = key.option == PriceOption::OnDemand
        && hourly
            .zip(list_hourly)
            .is_some_and(|(hourly, list)| (hourly - list).abs() <= list.abs() * TOLERANCE);
    is_public.then_some(RateRefusal::Public)
}

/// Whether a file of prices takes a key: what `gpucost` reads of it.
fn is_in_file(key: &PriceKey, currency: Currency) -> bool {
    let is_system = key.operating_system != OperatingSystem::OtherLicensed;
    match key.provider {
        Provider::Aws => {
            is_system
                && has_form_of_type(&key.instance_type)
                && leading_region(&key.region).is_some()
                && Currency::of_region(&key.region) == currency
        }
        Provider::Azure | Provider::Gcp | Provider::OnPremises => {
            is_system && [&key.region, &key.instance_type].iter().all(|name| is_plain(name))
        }
        Provider::SageMaker => false,
    }
}

/// Whether a name of another provider has no sign that a spreadsheet could run.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain)
}
