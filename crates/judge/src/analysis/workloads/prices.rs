//! What an hour of an instance costs and what pays for it, and what a stopped one still costs:
//! volumes and addresses. One that will run again, as far as its past tells, costs the same
//! whether an audit finds it up or stopped.

use crate::catalog::Prices;
use crate::domain::{
    Cause, CauseKind, CommittedHours, CommittedPart, Currency, IdleStorageCosts, Instance,
    Lifecycle, Money, Policy, PriceKey, PriceOrigin, PriceQuote, Provider, PurchaseOption,
    ResourceId, StorageQuote, StorageResource, Unpriced, counted,
};
use crate::usage::{Estate, Timeline};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What commitments pay for, by instance.
pub(in crate::analysis) type PaidHours = BTreeMap<ResourceId, CommittedHours>;

/// The price of an instance, with what it is a price of.
pub(super) fn instance_price(
    instance: &Instance,
    prices: &Prices<'_>,
) -> Result<(PriceKey, PriceQuote), Unpriced> {
    if let Some(price) = block_price(instance, prices) {
        return Ok(price);
    }
    let key = instance.price_key().ok_or_else(|| committed(instance))?;
    let kind = match key.provider {
        Provider::Aws => CauseKind::NoPrice,
        _ => CauseKind::NoOwnPrice,
    };
    prices
        .find(&key)
        .map_err(|missing| Unpriced { cause: Cause::of(kind, [&missing.0.to_string(), ""]) })
}

/// The price of an hour in the Capacity Block of an instance, where the user states it. Each
/// block is sold at a price of its own, so that no list has it.
pub fn block_price(instance: &Instance, prices: &Prices<'_>) -> Option<(PriceKey, PriceQuote)> {
    let price = prices.find(&instance.block_key()?).ok()?;
    (price.1.origin == PriceOrigin::User).then_some(price)
}

/// What pays for the hours of an instance in a Capacity Block, whether it runs or not.
pub(in crate::analysis) fn block_hours(
    instance: &Instance,
    estate: &Estate,
    prices: &Prices<'_>,
) -> Option<CommittedHours> {
    let (_, quote) = block_price(instance, prices)?;
    let reservation = instance.capacity_reservation_id.as_ref();
    let id = instance.capacity_block_id.as_ref().or(reservation);
    let mut reservations = estate.commitments.capacity_reservations.iter();
    let held = reservations
        .find(|candidate| Some(&candidate.id) == reservation || Some(&candidate.id) == id);
    Some(CommittedHours {
        uncovered_share: Decimal::ZERO,
        parts: vec![CommittedPart {
            commitment: id.map_or_else(|| "capacity-block".to_owned(), Clone::clone),
            option: PurchaseOption::CapacityBlock,
            share: Decimal::ONE,
            hourly: quote.rate.times_hours(Decimal::ONE),
            end: held.and_then(|block| block.end),
        }],
    })
}

/// Why an instance has no hourly price at all.
fn committed(instance: &Instance) -> Unpriced {
    let kind = if instance.lifecycle == Lifecycle::Scheduled {
        CauseKind::ScheduledPrepaid
    } else {
        CauseKind::BlockPrepaid
    };
    Unpriced { cause: Cause::of(kind, [""]) }
}

/// Volumes and addresses of stopped instances, priced where a price is known.
pub(in crate::analysis) fn idle_storage_costs(
    instances: &[&Instance],
    prices: &Prices<'_>,
    policy: &Policy,
) -> IdleStorageCosts {
    // Storage of AWS is the only one that has prices.
    let price = |instance: &Instance, resource| {
        let of_aws = instance.id.provider() == Provider::Aws;
        of_aws.then(|| prices.get_storage(&instance.region, resource))?
    };
    let mut costs = IdleStorageCosts::default();
    let sum = |costs: &IdleStorageCosts| costs.monthly.map_or(Decimal::ZERO, Money::amount);
    for instance in instances {
        let before = sum(&costs);
        costs.volumes += instance.volumes.len() as u64;
        costs.addresses += instance.addresses.len() as u64;
        for volume in &instance.volumes {
            match volume.size_gib {
                Some(size) => costs.volume_gib += size,
                None => costs.volumes_of_unknown_size += 1,
            }
            let label = format!(
                "{} {}",
                volume
                    .size_gib
                    .map_or("unknown size".to_owned(), |size| counted(size, "GiB", "GiB")),
                volume.volume_type.as_deref().unwrap_or("unknown type"),
            );
            let resource = volume.volume_type.as_deref().and_then(StorageResource::from_name);
            let quote = resource.and_then(|resource| Some((resource, price(instance, resource)?)));
            match (volume.size_gib, quote) {
                (Some(size), Some((resource, quote))) => {
                    add(&mut costs, &label, "GiB-month", Decimal::from(size), resource, quote);
                    costs.priced_volumes += 1;
                    costs.priced_volume_gib += size;
                }
                _ => costs.unpriced.push(format!("{label} ({})", volume.id)),
            }
        }
        for address in &instance.addresses {
            let label = format!("public address {}", address.id);
            let resource = StorageResource::PublicIpv4;
            match price(instance, resource) {
                Some(quote) => {
                    add(&mut costs, &label, "hour", policy.hours_per_month, resource, quote);
                }
                None => costs.unpriced.push(label),
            }
        }
        costs.by_instance.push(sum(&costs) - before);
    }
    costs.monthly = if costs.volumes + costs.addresses == 0 {
        // Nothing attached costs nothing, which is known and not absent.
        instances.first().map(|instance| Money::zero(Currency::of_region(&instance.region)))
    } else {
        costs.monthly.map(Money::rounded)
    };
    costs
}

fn add(
    costs: &mut IdleStorageCosts,
    label: &str,
    unit: &str,
    units: Decimal,
    resource: StorageResource,
    quote: StorageQuote,
) {
    let price = quote.unit_price;
    let monthly = Money::new(price.amount() * units, price.currency());
    let sum = if let Some(sum) = costs.monthly { sum.checked_add(monthly) } else { Ok(monthly) };
    match sum {
        Ok(sum) => {
            costs.monthly = Some(sum);
            let dated = quote.effective_date.map_or(String::new(), |date| format!(" as of {date}"));
            costs.priced.push(format!(
                "{label}: {units} × {}{}/{unit} = {}{}/month ({}{dated})",
                price.currency().sign(),
                price.amount().normalize(),
                price.currency().sign(),
                monthly.rounded().amount(),
                quote.source
            ));
            costs.quotes.insert(resource, quote);
        }
        Err(mismatch) => costs.unpriced.push(format!("{label}: {mismatch}")),
    }
}

/// Whether a stopped instance has ended: it is stopped for longer than the policy
/// says, and for longer than twice its longest earlier stop in the window. One that
/// was never seen running, and whose stop time is not known, has ended.
pub(in crate::analysis) fn has_ended(
    timeline: &Timeline,
    stopped_at: Option<Timestamp>,
    as_of: Timestamp,
    policy: &Policy,
) -> bool {
    let Some(stopped_at) = stopped_at.or_else(|| timeline.last_ran()) else { return true };
    let stopped = as_of.duration_since(stopped_at);
    let grace = SignedDuration::from_secs((policy.ended_after_hours * 3_600.0) as i64);
    let earlier = SignedDuration::from_secs(timeline.longest_stop_seconds());
    stopped > grace && stopped > earlier + earlier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Window;

    const HOUR: i64 = 3_600;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * HOUR).expect("in range")
    }

    /// Fourteen days by the hour, of which some ran.
    fn ended(ran: impl Fn(i64) -> bool, stopped_at: Option<i64>) -> bool {
        let window = Window { start: at(0), end: at(336) };
        let periods = (0..336).map(|hour| (u32::from(ran(hour)), None));
        let timeline = Timeline::of_maxima(window, 3_600, periods);
        has_ended(&timeline, stopped_at.map(at), at(336), &Policy::default())
    }

    #[test]
    fn a_box_up_by_day_has_not_ended_at_night() {
        let by_day = |hour: i64| hour % 24 < 12;
        assert!(!ended(by_day, Some(324)));
        assert!(!ended(by_day, None), "the last hour that ran tells it too");
    }

    #[test]
    fn three_days_are_the_border_for_what_never_stopped_before() {
        let until = |last: i64| move |hour: i64| hour < last;
        // 72 h are not longer than 72 h.
        assert!(!ended(until(264), Some(264)));
        assert!(ended(until(263), Some(263)));
    }

    #[test]
    fn a_box_of_one_day_a_week_ends_after_twice_its_week() {
        // Up on the first day of each week: stopped for 144 h between, and for 144
        // h now, which is less than 288.
        let weekly = |hour: i64| hour % 168 < 24;
        assert!(!ended(weekly, Some(192)));
        // Up in the first two hours of the window and of the third day: 46 h of
        // rest, 286 h of stop.
        let twice = |hour: i64| hour < 2 || (48..50).contains(&hour);
        assert!(ended(twice, Some(50)));
    }

    #[test]
    fn what_was_never_seen_running_has_ended() {
        assert!(ended(|_| false, None));
        assert!(!ended(|_| false, Some(335)), "it stopped an hour ago");
    }
}
