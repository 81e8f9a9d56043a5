//! Stopping what computes nothing, member by member: what that ends, and what would
//! stop an engineer from doing it.

use super::owned::Owned;
use crate::analysis::workloads::Grouped;
use crate::domain::{
    Action, ActionKind, CapacityReservation, Confidence, Group, InstanceUsage, Member, Money, Risk,
    Workload, WorkloadKind,
};
use crate::savings::{NamedMembers, Stop};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Traffic of an idle member of a training group from which it may hold the others
/// together, bytes a day.
const COORDINATOR_BYTES_PER_DAY: f64 = 5_000_000.0;

/// What stopping a member does.
enum Fate<'a> {
    /// It saves its price, in the same step as lowering a reservation where it runs in one.
    Ends(Option<&'a CapacityReservation>),
    /// It may hold a training job together.
    Coordinates,
    /// It runs in a capacity reservation that cannot be lowered from here.
    Held,
}

fn fate<'a>(
    group: &Grouped,
    member: &Member,
    usage: &InstanceUsage,
    owned: &'a Owned<'_>,
) -> Fate<'a> {
    let may_train = group.workload.kind == WorkloadKind::Training;
    let talks = usage
        .network_bytes_per_day
        .is_some_and(|bytes| bytes > COORDINATOR_BYTES_PER_DAY);
    if may_train && talks && group.has_working_peers {
        return Fate::Coordinates;
    }
    match &member.capacity_reservation {
        None => Fate::Ends(None),
        Some(id) => owned
            .lowerable(id)
            .map_or(Fate::Held, |one| Fate::Ends(Some(one))),
    }
}

/// What stopping the idle members of a part of a group ends. `None` when nothing is
/// idle, or only power says so: power alone never justifies a stop.
pub(super) fn stop(group: &Grouped, part: &Workload, owned: &Owned<'_>) -> Option<Stop> {
    let cost = part.cost.as_ref()?;
    let may_train = group.workload.kind == WorkloadKind::Training;
    let mut ended = Ended::default();
    for ((member, cost), usage) in part.members.iter().zip(&cost.instances).zip(&part.usage) {
        match fate(group, member, usage, owned) {
            Fate::Coordinates => {
                ended.coordinators.push(member);
                continue;
            }
            Fate::Held => {
                ended.held.push(member);
                continue;
            }
            Fate::Ends(None) => {}
            Fate::Ends(Some(reservation)) => {
                let lowered = ended.reservations.entry(reservation.id.clone());
                lowered.or_insert((reservation.total, 0)).1 += 1;
            }
        }
        let saved = cost.monthly().amount() - cost.committed_monthly().amount();
        ended.saved += saved;
        let may_be_paid = owned.plan_that_may_pay(part, member).is_some();
        if member.confidence == Some(Confidence::Measured) && !may_be_paid {
            ended.certain += saved;
        }
        ended.members.push(member);
    }
    ended.stay = stay(group, owned);
    let caveats = ended.caveats(group, may_train && group.has_working_peers);
    let money = |amount| Money::new(amount, cost.compute_monthly.currency());
    let action = Action::saving(
        ActionKind::Stop,
        None,
        ended.detail(group, part),
        money(ended.saved),
        cost.compute_monthly,
        Risk::Low,
    );
    Some(Stop {
        action: action.map(|action| {
            action
                .of_which_certain(money(ended.certain))
                .with_caveats(caveats.clone())
        }),
        members: ended.members.iter().map(|one| one.id.clone()).collect(),
        caveats,
    })
}

/// Members by what ending them does.
#[derive(Default)]
struct Ended<'a> {
    /// Those whose stop saves their price.
    members: Vec<&'a Member>,
    /// Those that may hold a training job together.
    coordinators: Vec<&'a Member>,
    /// Those in a capacity reservation that cannot be lowered from here.
    held: Vec<&'a Member>,
    /// Capacity reservations to lower: their size today, and by how much.
    reservations: BTreeMap<String, (u32, u32)>,
    /// Replicas of a service that stay in each of its zones.
    stay: BTreeMap<String, u32>,
    saved: Decimal,
    certain: Decimal,
}

impl Ended<'_> {
    fn detail(&self, group: &Grouped, part: &Workload) -> String {
        let names = NamedMembers(&self.members);
        let mut detail = if self.members.len() == group.workload.members.len() {
            "stop: no GPU activity; volumes remain and are still billed".to_owned()
        } else {
            format!(
                "stop {} of {}, which have no GPU activity: {names}; volumes remain and are \
                 still billed",
                self.members.len(),
                group.workload.members.len()
            )
        };
        if let Some(committed_cost) = part.committed_cost() {
            detail.push_str(&format!(
                ", and {} per month remains committed by {}",
                committed_cost.monthly.amount(),
                committed_cost.in_words()
            ));
        }
        for (id, (total, less)) in &self.reservations {
            detail.push_str(&format!(
                "; lower the capacity reservation {id} from {total} to {} in the same step",
                total.saturating_sub(*less)
            ));
        }
        detail
    }

    fn caveats(&self, group: &Grouped, is_beside_training: bool) -> Vec<String> {
        let mut caveats = Vec::new();
        if !self.coordinators.is_empty() {
            caveats.push(format!(
                "{} exchange more than 5 MB per day and may coordinate the others: savings \
                 not included",
                NamedMembers(&self.coordinators)
            ));
        }
        if is_beside_training && !self.members.is_empty() {
            caveats.push(format!(
                "{} run next to training peers: coordinator or spare?",
                NamedMembers(&self.members)
            ));
        }
        if !self.held.is_empty() {
            caveats.push(format!(
                "{} run in a capacity reservation that this account cannot lower: stopping \
                 saves nothing",
                NamedMembers(&self.held)
            ));
        }
        if !self.reservations.is_empty() {
            caveats.push(
                "the cost continues as unused capacity unless the capacity reservation is \
                 lowered in the same step"
                    .to_owned(),
            );
        }
        if !self.stay.is_empty() && !self.members.is_empty() {
            let zones = self.stay.iter();
            let stay: Vec<String> = zones
                .map(|(zone, count)| format!("{count} in {zone}"))
                .collect();
            caveats.push(format!("remaining replicas: {}", stay.join(", ")));
        }
        if let Group::AutoScaling(name) = &group.workload.key.group
            && group.has_working_peers
        {
            caveats.push(format!(
                "the Auto Scaling group {name} replaces manually stopped instances: lower \
                 its minimum size and scaling policies first"
            ));
        }
        caveats
    }
}

/// How many replicas of a service stay in each zone when all that may end has ended; empty
/// for what is not a service of several zones.
fn stay(group: &Grouped, owned: &Owned<'_>) -> BTreeMap<String, u32> {
    let whole = group.workload.zones();
    if group.workload.kind != WorkloadKind::Serving || whole.len() < 2 {
        return BTreeMap::new();
    }
    let mut stay: BTreeMap<String, u32> = whole
        .into_iter()
        .map(|(zone, count)| (zone.to_owned(), count))
        .collect();
    let idle = group.parts.iter().filter(|part| {
        part.idle.is_some_and(|state| state.is_idle()) && part.verdict.idle_power_percent.is_none()
    });
    for part in idle {
        for (member, usage) in part.workload.members.iter().zip(&part.workload.usage) {
            let ends = matches!(fate(group, member, usage, owned), Fate::Ends(_));
            let zone = member.zone.as_ref().filter(|_| ends);
            if let Some(count) = zone.and_then(|zone| stay.get_mut(zone)) {
                *count -= 1;
            }
        }
    }
    stay
}
