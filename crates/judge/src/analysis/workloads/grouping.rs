//! Grouping instances into workloads, with what each costs and uses.

use super::prices::{PaidHours, has_ended, idle_storage_costs, instance_price};
use super::profiled::Profiles;
use super::{PartSum, PartSums, kinds};
use crate::analysis::gaps::{outage_gaps, usage_gaps};
use crate::catalog::Prices;
use crate::domain::{
    AwsOpinion, Cause, CauseKind, Classification, CommittedHours, ComponentHost, GPUS_TAG, Gap,
    GapSubject, GpuOffer, Group, HourlyActivity, IdleStorageCosts, Instance, InstanceCost,
    InstanceShape, InstanceState, InstanceUsage, LINKED, Measured, Member, MemberSet, OWNER_TAGS,
    Part, Policy, PriceKey, PurchaseOption, ResourceId, ScalingGroup, Unpriced, UsageState,
    UtilizationSummary, Verdict, WORK, WorkUnit, Workload, WorkloadCost, WorkloadKey,
    is_restartable, tag_value,
};
use crate::usage::{Estate, Timeline, Usages, WeekUsage};
use crate::{catalog, rules};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rayon::prelude::*;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a type offers: as the estate recorded it, else as the catalog knows it.
pub fn instance_shape<'a>(estate: &'a Estate, instance_type: &str) -> Option<&'a InstanceShape> {
    catalog::known_shape(&estate.shapes, instance_type)
}

/// A workload with its verdict, and its members apart by how each behaves.
#[derive(Debug)]
pub(in crate::analysis) struct Grouped {
    pub workload: Arc<Workload>,
    pub verdict: Verdict,
    /// Its members that are not ignored, by state: those that work last.
    pub parts: Vec<Part>,
    /// Whether any member of the same Auto Scaling group or tag works, here or in a workload
    /// of another type or purchase option.
    pub has_working_peers: bool,
}

impl Grouped {
    /// The members that are neither idle nor idle so far: what every lever but a
    /// stop is about.
    pub fn working(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.idle.is_none())
    }

    /// The same with what commitments pay of its members, which changes no verdict: how all of
    /// it is paid for, and what each member costs. `None` where they pay for nothing.
    pub fn paid(&self, paid: &PaidHours) -> Option<Self> {
        let workload = &self.workload;
        let is_paid = |id: &ResourceId| workload.key.running && paid.contains_key(id);
        if !workload.instances.iter().any(is_paid) {
            return None;
        }
        let ids = workload.instances.iter();
        let options: Vec<Option<PurchaseOption>> =
            ids.map(|id| paid.get(id).map(CommittedHours::purchase_option)).collect();
        let option = match options.first().copied().flatten() {
            Some(first) if options.iter().all(|option| *option == Some(first)) => first,
            _ => PurchaseOption::Mixed,
        };
        let with_paid = |workload: &Arc<Workload>| {
            let mut with_paid = (**workload).clone();
            with_paid.key.purchase_option = option;
            if let Some(cost) = &workload.cost {
                let own = with_paid.instances.iter().map(|id| paid.get(id).cloned());
                match cost.with_committed(own) {
                    Some(cost) => with_paid.cost = Some(cost),
                    None => {
                        let cause = Cause::of(CauseKind::PriceNotCombined, [""]);
                        (with_paid.cost, with_paid.unpriced) = (None, Some(Unpriced { cause }));
                    }
                }
            }
            Arc::new(with_paid)
        };
        let parts = self.parts.iter();
        let parts = parts.map(|part| Part { workload: with_paid(&part.workload), ..part.clone() });
        Some(Self {
            workload: with_paid(workload),
            verdict: self.verdict.clone(),
            parts: parts.collect(),
            has_working_peers: self.has_working_peers,
        })
    }
}

/// Workloads, how much all their GPUs are used by hour of the week, and what is not known.
pub(in crate::analysis) type Found = (Vec<Grouped>, WeekUsage, Vec<Gap>);

/// Groups the instances of an estate by what they do and the market that they are bought on, at
/// list price, with how they were used; what stands in the way becomes gaps.
pub(in crate::analysis) fn group(
    (estate, usage): (&Estate, &Usages),
    prices: &Prices<'_>,
    policy: &Policy,
) -> Found {
    let mut gaps = Vec::new();
    let no_week = week_in_zone(estate, policy);
    let profiles = Profiles::new(estate, usage, policy);
    let gather =
        Gather { estate, prices, policy, profiles: &profiles, advised: advised(&estate.opinions) };
    let mut groups: BTreeMap<WorkloadKey, Vec<&Instance>> = BTreeMap::new();
    for instance in &estate.instances {
        if instance.launch_time > estate.as_of {
            let launched = instance.launch_time.to_string();
            let cause = Cause::of(CauseKind::InstanceLater, [launched.as_str()]);
            gaps.push(Gap::of(GapSubject::Instance, instance.id.as_str(), cause));
            continue;
        }
        if instance.state == InstanceState::ShuttingDown {
            let cause = Cause::of(CauseKind::InstanceEnding, []);
            gaps.push(Gap::of(GapSubject::Instance, instance.id.as_str(), cause));
            continue;
        }
        groups.entry(gather.key(instance)).or_default().push(instance);
    }
    let nothing = || -> Found { (Vec::new(), no_week.clone(), Vec::new()) };
    let number = Some(groups.len() as u64);
    let _work = WORK.begin("judging workloads".to_owned(), number, WorkUnit::Things);
    let (mut workloads, week, own_gaps) = groups
        .into_par_iter()
        .fold(nothing, |mut sum, (key, mut instances)| {
            instances.sort_by(|left, right| left.id.cmp(&right.id));
            gather.workloads(key, &instances, &mut sum);
            WORK.advance(1);
            sum
        })
        .reduce(nothing, |mut sum, next| {
            sum.0.extend(next.0);
            sum.1.merge(&next.1);
            sum.2.extend(next.2);
            sum
        });
    gaps.extend(own_gaps);
    let peers = |group: &Grouped| {
        let key = &group.workload.key;
        (key.provider, key.account.clone(), key.region.clone(), key.group.clone())
    };
    // What stalls may wait for the member that coordinates it.
    let works = |group: &&Grouped| {
        let is_stalled = |part: &Part| part.idle == Some(UsageState::Stalled);
        group.workload.key.running
            && (group.working().is_some() || group.parts.iter().any(is_stalled))
    };
    let working: BTreeSet<_> = workloads.iter().filter(works).map(peers).collect();
    for group in &mut workloads {
        group.has_working_peers = working.contains(&peers(group));
    }
    (workloads, week, gaps)
}

/// The week in the zone of the policy, else in UTC.
fn week_in_zone(estate: &Estate, policy: &Policy) -> WeekUsage {
    let named = policy.time_zone.as_deref();
    let (name, zone) = named
        .and_then(|name| Some((name, catalog::time_zone(name)?)))
        .unwrap_or(("UTC", TimeZone::UTC));
    WeekUsage::new(estate.window, estate.period_seconds, &zone, name)
}

struct Gather<'a> {
    estate: &'a Estate,
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    profiles: &'a Profiles<'a>,
    /// Where opinions about instances are.
    advised: BTreeMap<&'a ResourceId, Vec<&'a AwsOpinion>>,
}

/// Opinions by the instances that they are about.
fn advised(opinions: &[AwsOpinion]) -> BTreeMap<&ResourceId, Vec<&AwsOpinion>> {
    let mut by_instance: BTreeMap<&ResourceId, Vec<&AwsOpinion>> = BTreeMap::new();
    for opinion in opinions {
        for instance in &opinion.instances {
            by_instance.entry(instance).or_default().push(opinion);
        }
    }
    by_instance
}

/// Everything that was measured of a group.
struct MeasuredGroup {
    usage: Vec<InstanceUsage>,
    /// Of each member by itself.
    states: Vec<Verdict>,
    activities: Vec<HourlyActivity>,
    first_work: Vec<Option<SignedDuration>>,
    utilization: Option<UtilizationSummary>,
    activity: HourlyActivity,
    /// All of it, where utilization was measured.
    week: Option<Timeline>,
    parts: PartSums,
}

impl<'a> Gather<'a> {
    fn key(&self, instance: &Instance) -> WorkloadKey {
        let running = instance.state.is_running() || !self.has_ended(instance);
        let group = if let Some(name) = &instance.auto_scaling_group {
            Group::AutoScaling(name.clone())
        } else if let Some(value) =
            instance.tags.get(&self.policy.workload_tag).filter(|value| !value.trim().is_empty())
        {
            Group::Tag(value.clone())
        } else {
            Group::Alone(instance.id.clone())
        };
        WorkloadKey {
            provider: instance.id.provider(),
            account: instance.account.clone(),
            region: instance.region.clone(),
            instance_type: instance.instance_type.clone(),
            purchase_option: instance.purchase_option(),
            running,
            members: match instance_price(instance, self.prices) {
                Ok(_) => MemberSet::Main,
                Err(_) => MemberSet::Unpriced,
            },
            group,
        }
    }

    /// Whether a stopped instance will not run again, as far as its past tells.
    fn has_ended(&self, instance: &Instance) -> bool {
        let timeline = self.profiles.timeline(instance);
        has_ended(&timeline, self.stopped_at(instance), self.estate.as_of, self.policy)
    }

    /// Members of a tag whose GPUs are idle beside a working CPU are a workload apart from those
    /// that work on their GPUs. An Auto Scaling group has one launch template for all.
    fn workloads(&self, key: WorkloadKey, instances: &[&Instance], found: &mut Found) {
        let shape = instance_shape(self.estate, &key.instance_type);
        let measured = self.measure(instances, shape);
        let is_whole =
            key.running && key.members == MemberSet::Main && matches!(key.group, Group::Tag(_));
        let works_on_cpu = measured.states.iter().map(|state| state.busy_cpu_percent.is_some());
        let by_work = instances.iter().copied().zip(works_on_cpu).filter(|_| is_whole);
        let (on_cpu, others): (Vec<_>, Vec<_>) = by_work.partition(|(_, is_on_cpu)| *is_on_cpu);
        if on_cpu.is_empty() || others.is_empty() {
            return self.workload(key, instances, measured, found);
        }
        for (members, instances) in [(MemberSet::Main, others), (MemberSet::OnCpu, on_cpu)] {
            let instances: Vec<&Instance> = instances.into_iter().map(|(held, _)| held).collect();
            let measured = self.measure(&instances, shape);
            let key = WorkloadKey { members, ..key.clone() };
            self.workload(key, &instances, measured, found);
        }
    }

    fn workload(
        &self,
        key: WorkloadKey,
        instances: &[&Instance],
        measured: MeasuredGroup,
        (workloads, week, gaps): &mut Found,
    ) {
        let id = key.id();
        if let Some(timeline) = &measured.week {
            week.add(timeline);
        }
        let shape = instance_shape(self.estate, &key.instance_type).cloned();
        if shape.is_none() {
            let cause = Cause::of(CauseKind::TypeUnknown, [&key.instance_type]);
            gaps.push(Gap::of(GapSubject::InstanceType, &id, cause));
        }
        let tags = common_tags(instances);
        let name = name(&key.group, instances);
        let (kind, kind_basis) = kinds::kind(&tags, &[name.as_str()]);
        let running = key.running;
        let (cost, unpriced) = match running.then(|| self.cost(instances, &measured.usage)) {
            Some(Ok(cost)) => (Some(cost), None),
            Some(Err(unpriced)) => (None, Some(unpriced)),
            None => (None, None),
        };
        if running {
            usage_gaps(&id, &measured.usage, gaps);
            outage_gaps(
                (&id, &measured.usage),
                measured.utilization.as_ref(),
                (self.policy, self.estate.window.end),
                gaps,
            );
            gaps.extend(kinds::unreadable(&id, instances));
        }
        let idle_storage = if running {
            IdleStorageCosts::default()
        } else {
            idle_storage_costs(instances, self.prices, self.policy)
        };
        for what in &idle_storage.unpriced {
            let cause = Cause::of(CauseKind::NoStoragePrice, [what, &key.region]);
            gaps.push(Gap::of(GapSubject::StoragePrice, &id, cause));
        }
        let members: Vec<Member> = instances
            .iter()
            .zip(measured.states.iter().zip(measured.activities))
            .zip(measured.first_work)
            .map(|((instance, (verdict, activity)), first_work)| Member {
                id: instance.id.clone(),
                zone: instance.zone.clone(),
                is_running: instance.state.is_running(),
                first_seen: instance.first_seen(),
                first_work,
                stopped_at: if instance.state.is_running() {
                    None
                } else {
                    self.stopped_at(instance)
                },
                price_key: instance.price_key().map_or_else(
                    || PriceKey::linux_on_demand(&key.region, &key.instance_type),
                    |key| key.in_zone(None),
                ),
                capacity_reservation: instance.capacity_reservation_id.clone(),
                own_tags: without(&instance.tags, &tags),
                ignored: ignored(instance),
                until: kinds::until(&instance.tags, self.estate.as_of),
                activity,
                state: verdict.state.filter(|_| running),
                busy_cpu_percent: verdict.busy_cpu_percent.filter(|_| running),
                confidence: verdict.confidence.filter(|_| running),
            })
            .collect();
        let are_ignored = members.iter().all(|member| member.ignored.is_some());
        let ignored = members.first().filter(|_| are_ignored);
        let mut workload = Workload {
            name,
            kind,
            kind_basis,
            instances: instances.iter().map(|instance| instance.id.clone()).collect(),
            ignored: ignored.and_then(|member| member.ignored.clone()),
            scaling_group: self.scaling_group(instances),
            component_host: self.component_host(instances),
            opinions: self.opinions(instances),
            has_several_owners: has_several_owners(instances),
            restartable: is_restartable(&tags),
            tags,
            price_key: members.first().map_or_else(
                || PriceKey::linux_on_demand(&key.region, &key.instance_type),
                |member| member.price_key.clone(),
            ),
            members,
            cost,
            unpriced,
            idle_storage,
            running_share: running_share(&measured.usage),
            utilization: measured.utilization,
            profile: None,
            activity: measured.activity,
            usage: measured.usage,
            shape,
            key,
        };
        self.profiles.stand_in(&mut workload, instances);
        let workload = Arc::new(workload);
        let verdict = self.judge(&workload, measured.states);
        let parts = measured.parts.parts(&workload, &verdict, self.policy, self.estate.as_of);
        workloads.push(Grouped { workload, verdict, parts, has_working_peers: false });
    }

    /// What AWS advises about some instances, once about each.
    fn opinions(&self, instances: &[&Instance]) -> Vec<AwsOpinion> {
        let about = instances.iter().filter_map(|instance| self.advised.get(&instance.id));
        let mut about: Vec<&AwsOpinion> = about.flatten().copied().collect();
        about.sort_by(|left, right| left.key().cmp(&right.key()));
        about.dedup();
        AwsOpinion::one_each(about.into_iter().cloned().collect())
    }

    /// The settings of the Auto Scaling group that some instances are in.
    fn scaling_group(&self, instances: &[&Instance]) -> Option<Arc<ScalingGroup>> {
        let first = instances.first()?;
        self.estate.scaling_groups.iter().find(|group| group.has(first)).cloned().map(Arc::new)
    }

    /// What inference components reserve of some instances.
    fn component_host(&self, instances: &[&Instance]) -> Option<Arc<ComponentHost>> {
        let first = instances.first()?;
        self.estate.managed.hosts.iter().find(|host| host.has(first)).cloned().map(Arc::new)
    }

    /// The verdict on a group: its class over all GPUs, its state from the members.
    fn judge(&self, workload: &Workload, members: Vec<Verdict>) -> Verdict {
        if !workload.key.running {
            return Verdict::insufficient("stopped".to_owned());
        }
        let mut verdict = rules::classify(workload.measured(), self.policy, self.estate.as_of);
        if members.len() == 1 || verdict.classification == Classification::InsufficientData {
            return verdict;
        }
        let states: Vec<Option<UsageState>> = members.iter().map(|member| member.state).collect();
        if states.iter().all(|state: &Option<UsageState>| state.is_some_and(UsageState::rests)) {
            // The most cautious of them; each part says its own.
            let cautious = [UsageState::Stalled, UsageState::IdleSoFar, UsageState::IdleHeld];
            let mut cautious = cautious.into_iter();
            verdict.state =
                cautious.find(|state| states.contains(&Some(*state))).or(Some(UsageState::Idle));
            verdict.confidence = members.iter().filter_map(|member| member.confidence).min();
            let busy: Option<Vec<f64>> =
                members.iter().map(|member| member.busy_cpu_percent).collect();
            verdict.busy_cpu_percent = busy.into_iter().flatten().reduce(f64::min);
        } else if states.iter().all(Option::is_none) {
            verdict.state = None;
        }
        verdict
    }

    /// When an instance stopped: what is still stopping does so now.
    fn stopped_at(&self, instance: &Instance) -> Option<Timestamp> {
        if instance.state == InstanceState::Stopping {
            return Some(self.estate.as_of);
        }
        instance.stopped_at()
    }

    /// Every instance by itself, and the statistics and hours over all their GPUs, and
    /// over those of each part.
    fn measure(&self, instances: &[&Instance], shape: Option<&InstanceShape>) -> MeasuredGroup {
        let grid = (self.estate.window, self.estate.period_seconds);
        let offer: Option<&GpuOffer> = shape.and_then(|shape| shape.gpu.as_ref());
        let mut total = PartSum::new(grid);
        let mut gathered = MeasuredGroup {
            usage: Vec::with_capacity(instances.len()),
            states: Vec::with_capacity(instances.len()),
            activities: Vec::with_capacity(instances.len()),
            first_work: Vec::with_capacity(instances.len()),
            utilization: None,
            activity: Timeline::new(grid.0, grid.1).activity(None, grid.0.end),
            week: None,
            parts: PartSums::new(grid),
        };
        for instance in instances {
            let (measured, timeline) = self.profiles.measure(instance, offer);
            let verdict = rules::classify(
                Measured {
                    shape,
                    usage: std::slice::from_ref(&measured),
                    utilization: measured.summary.as_ref(),
                    first_seen: instance.first_seen(),
                    profile: None,
                },
                self.policy,
                self.estate.as_of,
            );
            let kind = measured.signal.map(|(signal, _)| signal);
            let hours = timeline.activity(kind, instance.first_seen());
            gathered.first_work.push(timeline.first_work(kind, instance.first_seen()));
            total.add(&timeline, &measured, instance.first_seen());
            if ignored(instance).is_none() {
                let part = gathered.parts.of(verdict.rest());
                part.add(&timeline, &measured, instance.first_seen());
            }
            gathered.activities.push(hours);
            gathered.states.push(verdict);
            gathered.usage.push(measured);
        }
        let week = total.is_of_utilization().then(|| total.timeline());
        let (utilization, activity) = total.figures();
        // Of one alone the hours are held once.
        let own = gathered.activities.first().filter(|own| **own == activity);
        let activity = own.cloned().unwrap_or(activity);
        MeasuredGroup { week, utilization, activity, ..gathered }
    }

    /// Every instance at its own rate and running time; why not as soon as one
    /// of them is unpriced.
    fn cost(
        &self,
        instances: &[&Instance],
        usage: &[InstanceUsage],
    ) -> Result<WorkloadCost, Unpriced> {
        let unpriced = |kind| Unpriced { cause: Cause::of(kind, [""]) };
        let mut costs = Vec::with_capacity(instances.len());
        for (instance, usage) in instances.iter().zip(usage) {
            let (key, quote) = instance_price(instance, self.prices)?;
            // Observed for no time at all: launched in the current period, and
            // it runs.
            let share = usage.running.share().unwrap_or(Decimal::ONE);
            let monthly_hours = self.policy.hours_per_month * share;
            costs.push(InstanceCost {
                key,
                hourly: quote.rate,
                quote,
                committed: None,
                monthly_hours,
            });
        }
        WorkloadCost::of(costs).ok_or_else(|| unpriced(CauseKind::PricesNotAdded))
    }
}

/// The reason of the tag that takes an instance out of advice.
fn ignored(instance: &Instance) -> Option<String> {
    let reason = instance.tags.get(kinds::IGNORE_TAG)?.trim();
    let given = if reason.is_empty() { "no reason given" } else { reason };
    Some(given.to_owned())
}

fn has_several_owners(instances: &[&Instance]) -> bool {
    let owners = instances.iter().map(|instance| tag_value(&instance.tags, &OWNER_TAGS));
    owners.collect::<BTreeSet<_>>().len() > 1
}

fn without(
    tags: &BTreeMap<String, String>,
    common: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let own = tags.iter().filter(|(key, value)| common.get(*key) != Some(*value));
    own.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn common_tags(instances: &[&Instance]) -> BTreeMap<String, String> {
    let Some((first, rest)) = instances.split_first() else { return BTreeMap::new() };
    let mut common = first.tags.clone();
    common.retain(|key, value| rest.iter().all(|other| other.tags.get(key) == Some(&*value)));
    // What forbids holds for all where one member says it.
    let mut said = instances.iter().filter_map(|instance| tag_value(&instance.tags, &[GPUS_TAG]));
    if said.any(|value| value.trim().eq_ignore_ascii_case(LINKED)) {
        common.retain(|key, _| !key.eq_ignore_ascii_case(GPUS_TAG));
        common.insert(GPUS_TAG.to_owned(), LINKED.to_owned());
    }
    common
}

fn name(group: &Group, instances: &[&Instance]) -> String {
    match group {
        Group::AutoScaling(name) | Group::Tag(name) => name.clone(),
        Group::Alone(id) => {
            instances.first().and_then(|instance| instance.name()).unwrap_or(id.native()).to_owned()
        }
    }
}

/// Mean over the instances, so that it agrees with the cost, where every
/// instance weighs the same however short it was observed.
fn running_share(usage: &[InstanceUsage]) -> Option<Decimal> {
    let shares: Vec<Decimal> = usage.iter().filter_map(|usage| usage.running.share()).collect();
    shares.iter().sum::<Decimal>().checked_div(Decimal::from(shares.len()))
}
