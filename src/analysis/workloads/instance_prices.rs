//! What an hour of an instance costs, and what pays for it.

use crate::catalog::Prices;
use crate::domain::{
    Cause, CauseKind, CommittedHours, CommittedPart, Instance, Lifecycle, PriceKey, PriceOrigin,
    PriceQuote, Provider, PurchaseOption, ResourceId, Unpriced,
};
use crate::usage::Estate;
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
pub(in crate::analysis) fn block_price(
    instance: &Instance,
    prices: &Prices<'_>,
) -> Option<(PriceKey, PriceQuote)> {
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
