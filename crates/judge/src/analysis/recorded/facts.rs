//! What an estate tells of single days, which its audit adds up over the window, and of their
//! hours, for a bill that comes later; with six decimals, which is how figures are kept.

use crate::analysis::expected::OnDemandPrice;
use crate::analysis::expected_bill;
use crate::analysis::workloads::instance_shape;
use crate::billing::ExpectedInstance;
use crate::catalog::Prices;
use crate::domain::{
    Currency, DatedPrice, GpuOffer, HOUR_SECONDS, HourlyRate, InstanceHour, InstanceRate, Money,
    Policy, PriceQuote, PurchaseOption, ResourceId, Signal, Window,
};
use crate::usage::{DayLoad, Estate, HourUse};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::{BTreeMap, BTreeSet};

/// A day is kept when it has been over for so long: what is published of it later is missing.
const CLOSES_AFTER: SignedDuration = SignedDuration::from_hours(6);

/// What an estate tells of days that were over when it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DayFacts {
    /// Ascending.
    pub(super) days: Vec<Date>,
    pub(super) instances: BTreeMap<ResourceId, InstanceDays>,
    /// How instances of EC2 ran in the hours of these days.
    pub(super) hours: Vec<InstanceHour>,
}

/// How an instance ran on each day, and its prices.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InstanceDays {
    pub days: BTreeMap<Date, DayLoad>,
    /// The public price on demand; absent when it is unknown.
    pub list: Option<DatedPrice>,
    /// The price on demand that was negotiated, or else the public one; absent when it is
    /// unknown.
    pub contracted: Option<HourlyRate>,
    /// How its hours are paid for where no commitment pays.
    pub option: PurchaseOption,
    /// What such an hour costs; absent when that is unknown.
    pub open: Option<HourlyRate>,
}

impl DayFacts {
    /// Of the whole days of the window that were over for six hours when it was read.
    pub fn of(estate: &Estate, policy: &Policy, read_at: Timestamp) -> Self {
        let prices = Prices::new(&estate.prices, &policy.discount_percent);
        let usages = estate.measured();
        let grid = (estate.window, estate.period_seconds);
        let until = read_at.checked_sub(CLOSES_AFTER);
        let until = until.unwrap_or(Timestamp::MIN);
        let mut facts = Self::default();
        let mut days = BTreeSet::new();
        if estate.instances.is_empty() {
            // That nothing runs is a fact of these days.
            let whole = whole_days(estate.window);
            days.extend(whole.filter(|day| is_over(*day, until)));
        }
        for instance in &estate.instances {
            let shape = instance_shape(estate, &instance.instance_type);
            let offer: Option<&GpuOffer> = shape.and_then(|shape| shape.gpu.as_ref());
            let (measured, timeline) = usages.of(&instance.id).measure(instance, offer, grid);
            let is_measured = matches!(measured.signal, Some((Signal::GpuUtilization, _)));
            let mut loads = BTreeMap::new();
            for mut load in timeline.days() {
                if is_over(load.day, until) {
                    if !is_measured {
                        forget_use(&mut load);
                    }
                    loads.insert(load.day, load);
                }
            }
            days.extend(loads.keys().copied());
            let on_demand = OnDemandPrice::of(instance, &estate.prices, &prices);
            let open = instance.price_key().and_then(|key| prices.get(&key).ok());
            let days = InstanceDays {
                days: loads,
                list: on_demand.list.as_ref().and_then(dated),
                contracted: on_demand.contracted,
                option: instance.purchase_option(),
                open: open.map(|quote| quote.rate),
            };
            facts.instances.insert(instance.id.clone(), days);
        }
        facts.days = days.into_iter().collect();
        facts.hours = hours_of(estate, policy, &facts.days);
        facts
    }
}

/// Whether a day ended by a time.
fn is_over(day: Date, until: Timestamp) -> bool {
    let end = day.tomorrow().ok();
    let end = end.and_then(|next| next.to_zoned(TimeZone::UTC).ok());
    end.is_some_and(|end| end.timestamp() <= until)
}

/// The days that lie in a window as a whole, ascending.
fn whole_days(window: Window) -> impl Iterator<Item = Date> {
    let first = window.start.to_zoned(TimeZone::UTC).date();
    let days = std::iter::successors(Some(first), |day| day.tomorrow().ok());
    days.take_while(move |day| is_over(*day, window.end)).filter(move |day| {
        let begin = day.to_zoned(TimeZone::UTC);
        begin.is_ok_and(|begin| begin.timestamp() >= window.start)
    })
}

/// Power says when a GPU worked, and not how much of it was used.
fn forget_use(load: &mut DayLoad) {
    load.measured_gpu_seconds = 0;
    load.useful_gpu_seconds = 0.0;
    load.idle_gpu_seconds = None;
}

/// The hours in which instances of EC2 ran: by account, region, instance and hour. They are
/// what a bill would be compared with beside this estate.
pub(super) fn hours_of(estate: &Estate, policy: &Policy, days: &[Date]) -> Vec<InstanceHour> {
    let expected = expected_bill(estate, policy).expected;
    let days: BTreeSet<Date> = days.iter().copied().collect();
    let period_seconds = HOUR_SECONDS / i64::from(expected.periods_per_hour.max(1));
    let period_seconds = u16::try_from(period_seconds).unwrap_or(u16::MAX);
    let mut hours = Vec::new();
    for instance in &expected.instances {
        for (places, rate) in instance.stretches() {
            for place in places {
                let after = SignedDuration::from_secs(place as i64 * HOUR_SECONDS);
                let hour = expected.hours.start + after;
                let used = instance.hours.get(place).copied().unwrap_or_default();
                if used.ran > 0 && days.contains(&hour.to_zoned(TimeZone::UTC).date()) {
                    hours.push(hour_of(instance, hour, (used, period_seconds), rate));
                }
            }
        }
    }
    hours.sort_by(|left, right| key(left).cmp(&key(right)));
    hours
}

fn key(hour: &InstanceHour) -> (&str, &str, &str, Timestamp) {
    (&hour.account, &hour.region, &hour.instance, hour.hour)
}

fn hour_of(
    instance: &ExpectedInstance,
    hour: Timestamp,
    (used, period_seconds): (HourUse, u16),
    rate: Option<InstanceRate>,
) -> InstanceHour {
    let seconds = |periods: u16| periods.saturating_mul(period_seconds);
    InstanceHour {
        account: instance.account.clone(),
        region: instance.region.clone(),
        instance: instance.id.clone(),
        instance_type: instance.instance_type.clone(),
        hour,
        ran_seconds: seconds(used.ran),
        measured_seconds: seconds(used.measured),
        idle_seconds: seconds(used.idle),
        // Of hundredths of a percent.
        useful_seconds: Decimal::new(i64::from(used.useful) * i64::from(period_seconds), 4),
        rate,
    }
}

/// Decimals that are kept.
const DECIMALS: u32 = 6;

pub(super) fn kept(number: Decimal) -> Decimal {
    number.round_dp(DECIMALS).normalize()
}

pub(super) fn kept_money(amount: Decimal, currency: Currency) -> Money {
    Money::new(kept(amount), currency)
}

/// A share of something as it was measured, 0–1.
pub(super) fn share(part: f64, whole: u64) -> Decimal {
    Decimal::from_f64(part / whole as f64).unwrap_or_default().clamp(Decimal::ZERO, Decimal::ONE)
}

/// Seconds in hours, unrounded.
pub(super) fn hours(seconds: u64) -> Decimal {
    Decimal::from(seconds) / Decimal::from(3_600)
}

/// A price of a list as it is kept.
pub(super) fn dated(quote: &PriceQuote) -> Option<DatedPrice> {
    let rate = quote.rate;
    Some(DatedPrice {
        hourly: HourlyRate::new(kept(rate.amount()), rate.currency())?,
        effective_date: Some(quote.effective_date),
        seen_on: quote.seen_on,
        origin: quote.origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_the_days_from_midnight_to_midnight() {
        let at = |text: &str| -> Timestamp { text.parse().expect("a time") };
        let days = |start: &str, end: &str| -> Vec<i8> {
            let window = Window { start: at(start), end: at(end) };
            whole_days(window).map(|day| day.day()).collect()
        };
        assert_eq!(days("2026-11-28T00:00:00Z", "2026-12-01T00:00:00Z"), [28, 29, 30]);
        assert_eq!(days("2026-11-28T00:05:00Z", "2026-12-01T23:55:00Z"), [29, 30]);
        assert_eq!(days("2026-11-28T09:00:00Z", "2026-11-29T09:00:00Z"), [0; 0]);
    }

    #[test]
    fn a_day_is_over_at_its_last_midnight() {
        let day = Date::constant(2026, 11, 22);
        for (until, expected) in [
            ("2026-11-23T00:00:00Z", true),
            ("2026-11-22T23:59:59Z", false),
            ("2026-11-24T00:00:00Z", true),
        ] {
            let until: Timestamp = until.parse().expect("a time");
            assert_eq!(is_over(day, until), expected, "{until}");
        }
        assert!(!is_over(Date::MAX, Timestamp::MAX), "it has no end");
    }
}
