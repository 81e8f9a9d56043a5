//! How each instance ran in each hour of some days, for a bill that comes later.

use crate::analysis::expected_bill;
use crate::billing::{ExpectedInstance, ExpectedRate};
use crate::domain::{HOUR_SECONDS, InstanceHour, InstanceRate, Policy};
use crate::usage::{Estate, HourUse};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

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
    rate: Option<ExpectedRate>,
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
        rate: rate.map(|rate| InstanceRate {
            currency: rate.currency,
            price: rate.price,
            effective: rate.effective,
        }),
    }
}
