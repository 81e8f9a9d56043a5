//! Stopping what computes nothing, member by member: what that ends, and what would
//! stop an engineer from doing it. Idle GPUs find it; CPU, network and power forbid or weaken it.

use super::leaving::UNLESS_LOWERED;
use super::{Answer, Facts, Members, Proposal, Proposals, Refusal, Refused, Stop};
use crate::domain::{
    Action, ActionKind, CapacityReservation, Classification, Component, Confidence, Group,
    IDLE_CPU_PERCENT, IDLE_NETWORK_MB_PER_DAY, InstanceUsage, Member, Money, Provider, Risk,
    Unmeasured, UsageState, UseSign, WorkloadKind, decimals_apart, first_names, floored,
};
use crate::savings::scaling::end_caveat;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Members by name, the first of many.
pub fn named_members(members: &[&Member]) -> String {
    first_names(&Vec::from_iter(members.iter().map(|member| &member.id)))
}

/// Stops members that are known to compute nothing.
///
/// # Errors
/// The reason why none of them ends.
pub(super) fn stopping(
    members: &Members<'_>,
    facts: &Facts<'_>,
    _: &Proposals,
) -> Result<Answer, Refusal> {
    may_stop(members)?;
    let mut accepted_stop = stop(members, facts).ok_or(Refusal::Unpriced)?;
    // Where nothing is certain enough, it offers what more risk allows.
    if accepted_stop.action.is_none() && facts.accepted < Risk::Medium {
        let more = Facts { accepted: Risk::Medium, ..*facts };
        accepted_stop = stop(members, &more).ok_or(Refusal::Unpriced)?;
    }
    let mut own_members = members.part.workload.members.iter();
    let are_taken = own_members.all(|member| members.held.is_taken_lately(&member.id));
    let reason = if are_taken { Refusal::TakenLately } else { Refusal::SavesNothing };
    let refused = accepted_stop.action.is_none().then(|| Refused::from(reason));
    Ok(Answer { refused: refused.into_iter().collect(), ..Proposal::Stop(accepted_stop).into() })
}

fn may_stop(members: &Members<'_>) -> Result<(), Refusal> {
    let (workload, verdict) = (&members.part.workload, &members.part.verdict);
    if !workload.key.running {
        return Err(Refusal::Stopped);
    }
    let is_well_used = verdict.classification == Classification::WellUtilized;
    match members.part.idle {
        // Power alone never justifies a stop, and little of it neither.
        Some(state) if state.is_idle() && verdict.idle_power_percent.is_some() => {
            Err(Refusal::PowerOnly)
        }
        Some(state) if state.is_idle() => Ok(()),
        Some(UsageState::Stalled) => Err(Refusal::Resting(UsageState::Stalled)),
        Some(_) => Err(Refusal::SeenBriefly),
        None if verdict.is_idle() => {
            Err(Refusal::CpuWorks { p95_percent: verdict.busy_cpu_percent.unwrap_or_default() })
        }
        None if verdict.confidence.is_none() => Err(Refusal::NoVerdict),
        None if verdict.state.is_none() && !is_well_used => Err(Refusal::IdlenessUnknown),
        None => Err(Refusal::InUse),
    }
}

/// What stopping a member does.
enum Fate<'a> {
    /// It saves its price, in the same step as lowering a reservation where it runs in one.
    Ends(Option<&'a CapacityReservation>),
    /// It may hold a training job together.
    Coordinates,
    /// It runs in a capacity reservation that cannot be lowered from here.
    Held,
    /// Somebody has its GPUs, and was not idle with them for long enough.
    Taken,
    /// Its CPU, network or power may show work, which is more risk than is accepted.
    InDoubt,
}

fn fate<'a>(
    of: &Members<'_>,
    member: &Member,
    usage: &InstanceUsage,
    facts: &Facts<'a>,
) -> Fate<'a> {
    let bought = &facts.bought;
    if of.held.is_taken_lately(&member.id) {
        return Fate::Taken;
    }
    let may_train = of.group.kind == WorkloadKind::Training;
    let talks =
        usage.network_mb_per_day().is_some_and(|megabytes| megabytes > IDLE_NETWORK_MB_PER_DAY);
    if may_train && talks && of.has_working_peers {
        return Fate::Coordinates;
    }
    if facts.accepted < Risk::Medium && !usage.use_signs(facts.policy).is_empty() {
        return Fate::InDoubt;
    }
    match &member.capacity_reservation {
        None => Fate::Ends(None),
        Some(id) => {
            bought.lowerable(id).map_or(Fate::Held, |reservation| Fate::Ends(Some(reservation)))
        }
    }
}

/// What stopping idle members ends; `None` without a price.
fn stop(of: &Members<'_>, facts: &Facts<'_>) -> Option<Stop> {
    let bought = &facts.bought;
    let part = &of.part.workload;
    let cost = part.cost.as_ref()?;
    let mut ended = Ended::default();
    for ((member, cost), usage) in part.members.iter().zip(&cost.instances).zip(&part.usage) {
        match fate(of, member, usage, facts) {
            Fate::Coordinates => {
                ended.coordinators.push(member);
                continue;
            }
            Fate::Held => {
                ended.held.push(member);
                continue;
            }
            // The caveats of those that hold GPUs say so.
            Fate::Taken => continue,
            Fate::InDoubt => {
                ended.in_doubt.push(member);
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
        let may_be_paid = bought.plan_that_may_pay(part, member).is_some();
        if member.confidence == Some(Confidence::Measured) && !may_be_paid {
            ended.certain += saved;
        }
        let signs = usage.use_signs(facts.policy).into_iter();
        ended.signs.extend(signs.map(|sign| (member, sign)));
        ended.members.push(member);
    }
    ended.stay = stay(of, facts);
    let caveats = ended.caveats(of);
    let money = |amount| Money::new(amount, cost.compute_monthly.currency());
    let action = Action::saving(
        ActionKind::Stop,
        None,
        ended.detail(of),
        money(ended.saved),
        cost.compute_monthly,
        if ended.signs.is_empty() { Risk::Low } else { Risk::Medium },
    );
    Some(Stop {
        action: action.map(|action| {
            action.of_which_certain(money(ended.certain)).with_caveats(caveats.clone())
        }),
        members: ended.members.iter().map(|member| member.id.clone()).collect(),
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
    /// Those whose CPU, network or power may show work, where that is more risk than is accepted.
    in_doubt: Vec<&'a Member>,
    /// What CPU, network and power say of those that end.
    signs: Vec<(&'a Member, UseSign)>,
    /// Capacity reservations to lower: their size today, and by how much.
    reservations: BTreeMap<String, (u32, u32)>,
    /// Replicas of a service that stay in each of its zones.
    stay: BTreeMap<String, u32>,
    saved: Decimal,
    certain: Decimal,
}

impl Ended<'_> {
    fn detail(&self, of: &Members<'_>) -> String {
        let names = named_members(&self.members);
        let group_size = of.group.members.len();
        let (verb, remains) = match of.group.key.component() {
            Some(Component::Hosting) => {
                ("delete", "the model and the endpoint configuration remain")
            }
            Some(Component::Cluster) => ("remove from the cluster", "the cluster remains"),
            _ => ("stop", "volumes remain and are still billed"),
        };
        let mut detail = if self.members.len() == group_size {
            format!("{verb}: no GPU activity; {remains}")
        } else {
            format!(
                "{verb} {} of {group_size}, which have no GPU activity: {names}; {remains}",
                self.members.len(),
            )
        };
        if let Some(committed_cost) = of.part.workload.committed_cost() {
            detail.push_str(&format!(
                ", and {} per month remains committed by {}",
                committed_cost.monthly.amount(),
                committed_cost.in_words()
            ));
        }
        for (id, (total, less)) in &self.reservations {
            detail.push_str(&format!(
                "; lower the capacity reservation {id} by {less} of {total} in the same step"
            ));
        }
        detail
    }

    fn caveats(&self, of: &Members<'_>) -> Vec<String> {
        let is_beside_training = of.group.kind == WorkloadKind::Training && of.has_working_peers;
        let mut caveats = sign_caveats(&self.signs);
        if !self.in_doubt.is_empty() {
            caveats.push(format!(
                "CPU, network or power of {} may show use: a stop needs `--risk medium`, savings not \
                 included",
                named_members(&self.in_doubt)
            ));
        }
        caveats.extend(of.held.caveats(&of.part.workload.members));
        if !self.coordinators.is_empty() {
            caveats.push(format!(
                "{} exchange more than 5 MB per day and may coordinate the others: savings \
                 not included",
                named_members(&self.coordinators)
            ));
        }
        if is_beside_training && !self.members.is_empty() {
            caveats.push(format!(
                "{} run next to training peers: coordinator or spare?",
                named_members(&self.members)
            ));
        }
        if !self.held.is_empty() {
            caveats.push(format!(
                "{} run in a capacity reservation that this account cannot lower: stopping \
                 saves nothing",
                named_members(&self.held)
            ));
        }
        if !self.reservations.is_empty() {
            caveats.push(UNLESS_LOWERED.to_owned());
        }
        if !self.stay.is_empty() && !self.members.is_empty() {
            let zones = self.stay.iter();
            let stay: Vec<String> =
                zones.map(|(zone, count)| format!("{count} in {zone}")).collect();
            caveats.push(format!("remaining replicas: {}", stay.join(", ")));
        }
        if let Group::AutoScaling(name) = &of.group.key.group
            && of.group.key.provider == Provider::Aws
            && of.has_working_peers
        {
            caveats.push(end_caveat(name, of.group, &self.members));
        }
        caveats
    }
}

/// What CPU, network and power say of members whose GPUs are idle, with the figure of the busiest.
fn sign_caveats(signs: &[(&Member, UseSign)]) -> Vec<String> {
    let (mut cpu, mut network) = (Said::default(), Said::default());
    let mut unmeasured: BTreeMap<Unmeasured, Said<'_>> = BTreeMap::new();
    for (member, sign) in signs {
        match sign {
            UseSign::Cpu(percent) => cpu.add(member, *percent),
            UseSign::Network(megabytes) => network.add(member, *megabytes),
            UseSign::Unmeasured(what, coverage) => {
                unmeasured.entry(*what).or_default().add(member, 1.0 - coverage);
            }
        }
    }
    let cpu = cpu.figure.map(|percent| {
        let decimals = decimals_apart(percent, IDLE_CPU_PERCENT);
        format!(
            "CPU reached {percent:.decimals$}% on {} (idle below {IDLE_CPU_PERCENT}%): check \
             what runs there",
            named_members(&cpu.members)
        )
    });
    let network = network.figure.map(|megabytes| {
        let decimals = decimals_apart(megabytes, IDLE_NETWORK_MB_PER_DAY);
        format!(
            "network reached {megabytes:.decimals$} MB per day on {} (idle below \
             {IDLE_NETWORK_MB_PER_DAY} MB): check what uses it",
            named_members(&network.members)
        )
    });
    let missing = unmeasured.into_iter().map(|(what, said)| said.unmeasured(what.words()));
    missing.chain([cpu, network]).flatten().collect()
}

/// Members of which one sign holds, and its largest figure.
#[derive(Default)]
struct Said<'a> {
    members: Vec<&'a Member>,
    figure: Option<f64>,
}

impl<'a> Said<'a> {
    fn add(&mut self, member: &'a Member, figure: f64) {
        self.members.push(member);
        self.figure = self.figure.into_iter().chain([figure]).reduce(f64::max);
    }

    /// Where the figure is the share of the running time in which something was not measured.
    fn unmeasured(&self, (what, step): (&str, &str)) -> Option<String> {
        let (missing, names) = (self.figure?, named_members(&self.members));
        Some(if missing >= 1.0 {
            format!("{what} was not measured on {names}: {step}")
        } else {
            let share = floored((1.0 - missing) * 100.0, 0);
            format!("{what} was measured in {share}% of the time only on {names}")
        })
    }
}

/// The members of a workload that a stop ends, which a plan does before anything else.
pub(super) fn ending<'a>(of: &Members<'a>, facts: &Facts<'_>) -> Vec<&'a Member> {
    let idle = of.parts.iter().filter(|part| {
        part.idle.is_some_and(|state| state.is_idle()) && part.verdict.idle_power_percent.is_none()
    });
    let members = idle.flat_map(|part| part.workload.members.iter().zip(&part.workload.usage));
    let ended =
        members.filter(|(member, usage)| matches!(fate(of, member, usage, facts), Fate::Ends(_)));
    ended.map(|(member, _)| member).collect()
}

/// How many replicas of a service stay in each zone when all that may end has ended; empty
/// for what is not a service of several zones.
fn stay(of: &Members<'_>, facts: &Facts<'_>) -> BTreeMap<String, u32> {
    let whole = of.group.zones();
    if of.group.kind != WorkloadKind::Serving || whole.len() < 2 {
        return BTreeMap::new();
    }
    let mut stay: BTreeMap<String, u32> =
        whole.into_iter().map(|(zone, count)| (zone.to_owned(), count)).collect();
    for member in ending(of, facts) {
        if let Some(count) = member.zone.as_ref().and_then(|zone| stay.get_mut(zone)) {
            *count -= 1;
        }
    }
    stay
}
