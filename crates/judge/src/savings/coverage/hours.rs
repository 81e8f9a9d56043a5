//! The hours that instances ran, out of an estate, and the room in capacity reservations that
//! nothing runs in: it is billed at the rate of the instances that would fill it.

use crate::catalog::Prices;
use crate::domain::{
    CapacityReservation, CommitmentPool, CommitmentTerm, HOUR_SECONDS, Instance, InstanceState,
    PriceKey, PriceOption, Provider, PurchaseOption, ResourceId,
};
use crate::savings::{INSTANCE, MemberHours, whole_hours};
use crate::usage::{Estate, Timeline, Usages};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// An instance whose hours a commitment may cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedInstance {
    pub id: ResourceId,
    /// Whose it is; empty where that is unknown.
    pub account: String,
    /// Region, type, system and tenancy, on demand.
    pub key: PriceKey,
    /// Its zone by name.
    pub zone: Option<String>,
    /// How much of it runs in each whole hour of the window, in billionths; of several that
    /// are alike their sum.
    pub hours: Vec<u64>,
    /// List price of an hour; absent when it is not known.
    pub on_demand_hourly: Option<Decimal>,
    /// Rates of savings plans, by plan and term, as far as they are known.
    pub plan_rates: BTreeMap<PriceOption, Decimal>,
    /// Whether it is unused room of a capacity reservation, billed as an instance
    /// would be: regional reserved instances and savings plans pay for it with what
    /// running instances leave.
    pub is_room: bool,
    /// Whether it is known to compute nothing.
    pub rests: bool,
    /// What it did and how it is tagged, in figures that tell it from others that run as long.
    pub figures: Figures,
}

/// Sums over the GPUs of a member, mean utilization in millionths of a percent and peak of VRAM
/// in MiB, and two that are equal where it was launched and tagged alike.
pub type Figures = [u64; 4];

impl UsedInstance {
    /// The place among those that a commitment may cover alike: what works goes before what
    /// rests, what runs longest goes first, and of these what works most. Ids decide between
    /// twins alone: between others they would move a total by a cent, and what an action saves.
    pub(super) fn shown_covered(&self) -> impl Ord + '_ {
        let ran: u64 = self.hours.iter().sum();
        let ran = Reverse((ran, &self.hours));
        let figures = Reverse(self.figures);
        (self.rests, ran, &self.zone, figures, &self.id)
    }
}

/// What is known of the members of a fleet beside their hours.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Members that compute nothing: of equals they are shown as covered last.
    pub resting: BTreeSet<ResourceId>,
    /// Members that will not run again and cost no compute.
    pub ended: BTreeSet<ResourceId>,
    pub figures: BTreeMap<ResourceId, Figures>,
}

/// Every instance that is billed by the hour at list price unless a commitment
/// covers it (neither spot nor committed), with how much of each whole hour of the window it
/// runs, by the rule that its cost follows: periods with a CPU point, else since its launch;
/// before it was first seen in its share of the hours, as [`whole_hours`] places them. Those out of
/// scope count: they use up what the others cannot have.
pub fn used_instances(
    (estate, usage): (&Estate, &Usages),
    prices: &Prices<'_>,
    standing: &Standing,
) -> Vec<UsedInstance> {
    let grid = (estate.window, estate.period_seconds);
    let hours = hours_of_window(estate);
    let instances = estate
        .instances
        .iter()
        .chain(&estate.out_of_scope)
        // Every kind of commitment that is known is AWS's.
        .filter(|instance| instance.id.provider() == Provider::Aws)
        .filter(|instance| instance.purchase_option() == PurchaseOption::OnDemand)
        .filter(|instance| instance.launch_time <= estate.as_of)
        .filter(|instance| instance.state != InstanceState::ShuttingDown)
        .filter(|instance| !standing.ended.contains(&instance.id));
    let mut pools: BTreeMap<CommitmentPool, Vec<(UsedInstance, MemberHours)>> = BTreeMap::new();
    for instance in instances {
        let (timeline, _) = usage.of(&instance.id).timeline(instance, None, grid);
        let activity = timeline.activity(None, instance.first_seen());
        let mut seen: Vec<u64> = activity.instances().collect();
        if seen.is_empty() && instance.state.is_running() {
            // Launched in the current hour, and it runs.
            seen = vec![INSTANCE];
        }
        let key = PriceKey {
            operating_system: instance.operating_system,
            tenancy: instance.tenancy,
            ..PriceKey::linux_on_demand(&instance.region, &instance.instance_type)
        };
        let used = UsedInstance {
            id: instance.id.clone(),
            account: instance.account.clone(),
            key: key.clone(),
            zone: instance.zone.clone(),
            hours: Vec::new(),
            on_demand_hourly: rate(&key, PriceOption::OnDemand, prices),
            plan_rates: plan_rates(&key, prices),
            is_room: false,
            rests: standing.resting.contains(&instance.id),
            figures: standing.figures.get(&instance.id).copied().unwrap_or_default(),
        };
        let pool = estate.commitments.pool(&instance.account, key);
        pools.entry(pool).or_default().push((used, MemberHours::of(seen)));
    }
    pools
        .into_values()
        .flat_map(|members| {
            let (used, seen): (Vec<UsedInstance>, Vec<MemberHours>) = members.into_iter().unzip();
            used.into_iter()
                .zip(whole_hours(&seen, hours))
                .map(|(used, hours)| UsedInstance { hours, ..used })
        })
        .collect()
}

/// Whole hours of the window of an estate.
pub(super) fn hours_of_window(estate: &Estate) -> usize {
    Timeline::new(estate.window, estate.period_seconds).activity(None, estate.window.start).len()
}

fn rate(key: &PriceKey, option: PriceOption, prices: &Prices<'_>) -> Option<Decimal> {
    Some(prices.get(&key.with_option(option)).ok()?.rate.amount())
}

/// What an hour of an on-demand price costs, and under savings plans, as far as that is known.
pub fn commitment_rates(key: &PriceKey, prices: &Prices<'_>) -> BTreeMap<PriceOption, Decimal> {
    let mut rates = plan_rates(key, prices);
    let on_demand = rate(key, PriceOption::OnDemand, prices);
    rates.extend(on_demand.map(|rate| (PriceOption::OnDemand, rate)));
    rates
}

/// Rates of savings plans for an on-demand price, as far as they are known.
fn plan_rates(key: &PriceKey, prices: &Prices<'_>) -> BTreeMap<PriceOption, Decimal> {
    CommitmentTerm::ALL
        .into_iter()
        .flat_map(|term| {
            [PriceOption::Ec2InstanceSavingsPlan(term), PriceOption::ComputeSavingsPlan(term)]
        })
        .filter_map(|option| Some((option, rate(key, option, prices)?)))
        .collect()
}

/// The unused room of a capacity reservation as what runs in it unseen. The account is the
/// reservation's.
pub(super) fn room_of(room: &Room, account: Option<&str>, prices: &Prices<'_>) -> UsedInstance {
    let reservation = &room.reservation;
    let key = room.price_key();
    let billionths = |free: &Decimal| (*free * Decimal::from(INSTANCE)).to_u64().unwrap_or(0);
    UsedInstance {
        id: room.id(),
        account: account.unwrap_or_default().to_owned(),
        zone: Some(reservation.zone.clone()),
        hours: room.hourly.iter().map(billionths).collect(),
        on_demand_hourly: rate(&key, PriceOption::OnDemand, prices),
        plan_rates: plan_rates(&key, prices),
        key,
        is_room: true,
        rests: false,
        figures: Figures::default(),
    }
}

/// The unused room of one capacity reservation.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    pub reservation: CapacityReservation,
    /// Instances of the estate that run in it, ascending.
    pub members: Vec<ResourceId>,
    /// Instances that there was room for in each hour of the window, on average; zero
    /// before it began.
    pub hourly: Vec<Decimal>,
    /// Hours of the window since it began.
    pub hours: usize,
    /// Whether others use it too, so that only its room of now is known and taken for
    /// all hours.
    pub is_shared: bool,
}

impl Room {
    /// Of every reservation of an estate that holds at its instant, by id.
    pub(super) fn all_of((estate, measured): (&Estate, &Usages)) -> Vec<Self> {
        let reservations = &estate.commitments.capacity_reservations;
        reservations
            .iter()
            .filter(|reservation| reservation.end.is_none_or(|end| end > estate.as_of))
            .map(|reservation| Self::of(reservation, estate, measured))
            .collect()
    }

    fn of(reservation: &CapacityReservation, estate: &Estate, measured: &Usages) -> Self {
        let window = estate.window;
        let hours = (window.seconds().max(0) / HOUR_SECONDS) as usize;
        let begins = reservation.start.map_or(0, |start| {
            let seconds = (start.as_second() - window.start.as_second()).max(0);
            ((seconds + HOUR_SECONDS - 1) / HOUR_SECONDS) as usize
        });
        let mut members: Vec<&Instance> = estate
            .instances
            .iter()
            .chain(&estate.out_of_scope)
            .filter(|instance| instance.capacity_reservation_id.as_ref() == Some(&reservation.id))
            .filter(|instance| instance.launch_time <= estate.as_of)
            .collect();
        members.sort_by(|left, right| left.id.cmp(&right.id));
        let running_now = members.iter().filter(|member| member.state.is_running()).count();
        let is_shared = u64::from(reservation.total - reservation.available) > running_now as u64;
        let total =
            Decimal::from(if is_shared { reservation.available } else { reservation.total });
        let mut hourly: Vec<Decimal> =
            (0..hours).map(|hour| if hour < begins { Decimal::ZERO } else { total }).collect();
        if !is_shared {
            for member in &members {
                let grid = (window, estate.period_seconds);
                let (timeline, _) = measured.of(&member.id).timeline(member, None, grid);
                let ran = timeline.activity(None, window.start);
                for (free, hour) in hourly.iter_mut().zip(ran.hours()) {
                    *free = (*free - hour.instance_hours).max(Decimal::ZERO);
                }
            }
        }
        Self {
            reservation: reservation.clone(),
            members: members.iter().map(|member| member.id.clone()).collect(),
            hours: hours.saturating_sub(begins),
            hourly,
            is_shared,
        }
    }

    /// What it is called among the instances that commitments pay for.
    pub fn id(&self) -> ResourceId {
        ResourceId::named(format!("{}#", self.reservation.id))
    }

    /// The on-demand price of one instance of it.
    pub fn price_key(&self) -> PriceKey {
        let reservation = &self.reservation;
        PriceKey {
            operating_system: reservation.operating_system,
            tenancy: reservation.tenancy,
            ..PriceKey::linux_on_demand(&reservation.region, &reservation.instance_type)
        }
    }

    /// Instances that there was room for, in the mean over the hours since it began.
    pub fn mean(&self) -> Decimal {
        let sum: Decimal = self.hourly.iter().sum();
        sum.checked_div(Decimal::from(self.hours)).unwrap_or_default()
    }
}
