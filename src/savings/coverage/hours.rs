//! The hours that instances ran, out of an estate.

use super::room::Room;
use crate::catalog::Prices;
use crate::domain::{
    CommitmentTerm, HOUR_SECONDS, OperatingSystem, PriceKey, PriceOption, Provider, PurchaseOption,
    ResourceId, Tenancy,
};
use crate::usage::Estate;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// An instance whose hours a commitment may cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedInstance {
    pub id: ResourceId,
    /// Whose it is; empty where that is unknown.
    pub account: String,
    pub region: String,
    /// Its zone by name.
    pub zone: Option<String>,
    pub instance_type: String,
    /// The operating system that decides the price.
    pub operating_system: OperatingSystem,
    /// Whether the hardware is shared.
    pub tenancy: Tenancy,
    /// Whether it ran in each hour of the window.
    pub running: Vec<bool>,
    /// List price of an hour; absent when it is not known.
    pub on_demand_hourly: Option<Decimal>,
    /// Rates of savings plans, by plan and term, as far as they are known.
    pub plan_rates: BTreeMap<PriceOption, Decimal>,
    /// Whether it is unused room of a capacity reservation, billed as an instance
    /// would be: regional reserved instances and savings plans pay for it with what
    /// running instances leave.
    pub is_room: bool,
}

/// Every instance that is billed by the hour at list price unless a commitment
/// covers it (neither spot nor committed), with the hours in which any period
/// shows it running, by the rule that its cost follows: periods with a CPU
/// point, else since its launch. Those out of scope count: they use up what the
/// others cannot have.
pub fn used_instances(estate: &Estate, prices: &Prices<'_>) -> Vec<UsedInstance> {
    let measured = estate.measured();
    let grid = (estate.window, estate.period_seconds);
    let period = i64::from(estate.period_seconds.max(1));
    let hours = (estate.window.seconds().max(0) / HOUR_SECONDS) as usize;
    estate
        .instances
        .iter()
        .chain(&estate.out_of_scope)
        // Every kind of commitment that is known is AWS's.
        .filter(|instance| instance.id.provider() == Provider::Aws)
        .filter(|instance| instance.purchase_option() == PurchaseOption::OnDemand)
        .filter(|instance| instance.launch_time <= estate.as_of)
        .map(|instance| {
            let (timeline, _) = measured.of(&instance.id).timeline(instance, None, grid);
            let mut running = vec![false; hours];
            for (index, ran) in timeline.ran().enumerate() {
                if let Some(hour) = running.get_mut((index as i64 * period / HOUR_SECONDS) as usize)
                {
                    *hour |= ran;
                }
            }
            let key = PriceKey {
                operating_system: instance.operating_system,
                tenancy: instance.tenancy,
                ..PriceKey::linux_on_demand(&instance.region, &instance.instance_type)
            };
            UsedInstance {
                id: instance.id.clone(),
                account: instance.account.clone(),
                region: instance.region.clone(),
                zone: instance.zone.clone(),
                instance_type: instance.instance_type.clone(),
                operating_system: instance.operating_system,
                tenancy: instance.tenancy,
                running,
                on_demand_hourly: rate(&key, PriceOption::OnDemand, prices),
                plan_rates: plan_rates(&key, prices),
                is_room: false,
            }
        })
        .collect()
}

fn rate(key: &PriceKey, option: PriceOption, prices: &Prices<'_>) -> Option<Decimal> {
    let quote = prices.get(&key.with_option(option)).ok()?;
    Some(quote.rate.amount())
}

/// Rates of savings plans for an on-demand price, as far as they are known.
fn plan_rates(key: &PriceKey, prices: &Prices<'_>) -> BTreeMap<PriceOption, Decimal> {
    CommitmentTerm::ALL
        .into_iter()
        .flat_map(|term| {
            [
                PriceOption::Ec2InstanceSavingsPlan(term),
                PriceOption::ComputeSavingsPlan(term),
            ]
        })
        .filter_map(|option| Some((option, rate(key, option, prices)?)))
        .collect()
}

/// The unused room of a capacity reservation as what runs in it unseen: one for each
/// instance that it has room for, in the hours in which there is so much. The account is
/// the reservation's.
pub(super) fn room_of(
    room: &Room,
    account: Option<&str>,
    prices: &Prices<'_>,
) -> Vec<UsedInstance> {
    let one = &room.reservation;
    let key = room.price_key();
    (1..=one.total)
        .map(|slot| UsedInstance {
            id: ResourceId::named(format!("{}#{slot}", one.id)),
            account: account.unwrap_or_default().to_owned(),
            region: one.region.clone(),
            zone: Some(one.zone.clone()),
            instance_type: one.instance_type.clone(),
            operating_system: one.operating_system,
            tenancy: one.tenancy,
            running: room
                .hourly
                .iter()
                .map(|free| *free >= Decimal::from(slot))
                .collect(),
            on_demand_hourly: rate(&key, PriceOption::OnDemand, prices),
            plan_rates: plan_rates(&key, prices),
            is_room: true,
        })
        .filter(|slot| slot.running.contains(&true))
        .collect()
}
