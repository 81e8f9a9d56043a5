//! The actions of a plan in the order in which they are carried out, with what is known beside the
//! workloads.

mod model;

pub use self::model::{
    Fix, FixChoice, FixTarget, GROUP_RESOURCE, GroupFix, Lowered, MemberFix, ReservationFix,
    WorkloadFix,
};

use self::model::fix;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, ActionKind, CapacityReservation, Claim, Finding, Group, Instance, Member, Node, Owner,
    PlannedResource, Policy, ResourceId, Scheduler, TerraformPlan, Workload,
};
use crate::rules::claims_by_machine;
use crate::savings::{
    GroupSizes, HeldMachines, Purchase, ScopeChange, end_steps, group_end, whole_sizes,
};
use crate::usage::Estate;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The actions of a plan that are asked for, in the order of certainty: what ends first, then
/// schedules, moves and spot, and what is bought last. Of one kind they are in the order of the
/// audit.
pub fn fixes<'a>(
    audit: &'a Audit,
    estate: &'a Estate,
    terraform: Option<&'a TerraformPlan>,
    (policy, choice): (&'a Policy, &FixChoice),
) -> Vec<Fix<'a>> {
    let facts = Facts::of(audit, estate, terraform, policy);
    let mut room = Room::default();
    let mut fixes = Vec::new();
    let chosen = audit.workloads.iter();
    let chosen: Vec<&AuditedWorkload> =
        chosen.filter(|audited| choice.names(&audited.workload)).collect();
    for &audited in &chosen {
        fixes.extend(facts.of_workload(audited, choice, &mut room));
    }
    for row in &audit.unused {
        let is_chosen = choice.has(ActionKind::Release, &[&row.id]) && choice.has_name(&row.id);
        for action in row.actions.iter().filter(|_| is_chosen) {
            let target = ReservationFix {
                row,
                reservation: facts.reservations.get(row.id.as_str()).copied(),
                is_lowered_before: room.is_lowered(&row.id),
            };
            fixes.push(fix(action, FixTarget::Reservation(target), Vec::new()));
        }
    }
    let chosen: BTreeSet<String> = chosen.iter().map(|audited| audited.workload.id()).collect();
    let changes = audit.scope_changes.iter();
    let changes = changes.filter(|change| change.shares.iter().any(|(id, _)| chosen.contains(id)));
    let purchases = audit.purchases.iter();
    let purchases =
        purchases.filter(|purchase| purchase.shares.iter().any(|share| chosen.contains(&share.id)));
    let commitments = changes.map(rescoped).chain(purchases.map(bought));
    fixes.extend(commitments.filter(|fix| choice.has(fix.kind, &[fix.name(), &fix.subject()])));
    // Room of a reservation is released after the machines in it have stopped, and purchases have
    // the order of the plan.
    let saved =
        |fix: &Fix<'_>| matches!(fix.kind.stage(), 1..=3).then_some(fix.monthly_savings.amount());
    fixes.sort_by_cached_key(|fix| (fix.kind.stage(), Reverse(saved(fix))));
    fixes
}

fn rescoped(change: &ScopeChange) -> Fix<'_> {
    Fix {
        kind: ActionKind::Commit,
        target: FixTarget::Scope(change),
        monthly_savings: change.monthly_savings,
        risk: ScopeChange::RISK,
        detail: change.detail(),
        caveats: vec![change.caveat()],
        advice: Vec::new(),
    }
}

fn bought(purchase: &Purchase) -> Fix<'_> {
    Fix {
        kind: ActionKind::Commit,
        target: FixTarget::Purchase(purchase),
        monthly_savings: purchase.monthly_savings,
        risk: purchase.term.risk,
        detail: format!(
            "{} × {} in {}, {}, at {} instead of {} in every hour",
            purchase.count,
            purchase.key.instance_type,
            purchase.key.region,
            purchase.what(),
            purchase.term.effective_hourly,
            purchase.on_demand_hourly
        ),
        caveats: purchase.caveats.clone(),
        advice: Vec::new(),
    }
}

/// Sizes of capacity reservations after the actions so far, by id.
#[derive(Default)]
struct Room<'a>(BTreeMap<&'a str, u32>);

impl<'a> Room<'a> {
    fn is_lowered(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Lowers a reservation by some instances.
    fn lower(&mut self, reservation: &'a CapacityReservation, by: u32) -> Lowered<'a> {
        let size = self.0.entry(&reservation.id).or_insert(reservation.total);
        let from = *size;
        *size = from.saturating_sub(by);
        Lowered { reservation, from, to: *size }
    }
}

/// What is known beside the workloads, by id.
struct Facts<'a> {
    /// What commitments pay that other actions free, by workload.
    freed: BTreeMap<String, Action>,
    estate: &'a Estate,
    instances: BTreeMap<&'a ResourceId, &'a Instance>,
    nodes: BTreeMap<&'a ResourceId, &'a Node>,
    held: HeldMachines<'a>,
    /// By machine.
    claims: BTreeMap<&'a ResourceId, Vec<&'a Claim>>,
    reservations: BTreeMap<&'a str, &'a CapacityReservation>,
    /// By workload.
    findings: BTreeMap<&'a str, Vec<&'a Finding>>,
    /// By what AWS calls them.
    planned: BTreeMap<&'a str, Vec<&'a PlannedResource>>,
}

impl<'a> Facts<'a> {
    fn of(
        audit: &'a Audit,
        estate: &'a Estate,
        terraform: Option<&'a TerraformPlan>,
        policy: &'a Policy,
    ) -> Self {
        let nodes = estate.clusters.nodes.iter();
        let nodes = nodes.filter(|node| node.scheduler == Scheduler::Kubernetes);
        let reservations = estate.commitments.capacity_reservations.iter();
        let mut findings: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in &audit.findings {
            findings.entry(finding.workload()).or_default().push(finding);
        }
        let mut planned: BTreeMap<&str, Vec<&PlannedResource>> = BTreeMap::new();
        for resource in terraform.into_iter().flat_map(|plan| &plan.instances) {
            if let Some(native) = resource.native.as_deref() {
                planned.entry(native).or_default().push(resource);
            }
        }
        Self {
            freed: audit.covered_by_existing(true),
            estate,
            instances: estate.instances.iter().map(|instance| (&instance.id, instance)).collect(),
            nodes: nodes.map(|node| (&node.machine, node)).collect(),
            held: HeldMachines::of(&estate.clusters, estate.window.end, policy),
            claims: claims_by_machine(&estate.clusters.claims),
            reservations: reservations
                .map(|reservation| (reservation.id.as_str(), reservation))
                .collect(),
            findings,
            planned,
        }
    }

    fn of_workload(
        &self,
        audited: &'a AuditedWorkload,
        choice: &FixChoice,
        room: &mut Room<'a>,
    ) -> Vec<Fix<'a>> {
        let workload = &*audited.workload;
        let kinds: Vec<ActionKind> = audited.actions.iter().map(Action::kind).collect();
        let ended = ended(audited);
        // Settings start from what a stop leaves, so that they hold only with it.
        let is_known = ended.is_empty() || kinds.contains(&ActionKind::Stop);
        let working = audited.working().filter(|_| is_known);
        let mut sizes = working.and_then(|part| whole_sizes(&part.workload, &ended));
        let mut instance_type = workload.key.instance_type.as_str();
        let id = workload.id();
        let is_selected = |kind: ActionKind| choice.has(kind, &[&workload.name, &id]);
        let mut fixes = Vec::new();
        for (place, action) in audited.actions.iter().enumerate() {
            let kind = action.kind();
            // What is bought is bought for all workloads of a pool at once.
            let freed = self.freed.get(&id).filter(|_| kind == ActionKind::Commit);
            if kind == ActionKind::Commit && freed.is_none() {
                continue;
            }
            let members = self.members(audited, kind);
            let changed = if kind == ActionKind::Stop {
                stopped(workload, &ended)
            } else {
                let offered = audited.proposals.rightsize();
                let is_by_hand = kind == ActionKind::Rightsize
                    && offered.is_some_and(|rightsizing| rightsizing.is_by_hand);
                sizes = sizes.filter(|_| !is_by_hand);
                let after = sizes.map(|sizes| (sizes, resized(sizes, action)));
                sizes = after.map(|(_, after)| after);
                after.map(|sizes| (sizes, false))
            };
            let begins_as = instance_type;
            if let Some(to) = action.target() {
                instance_type = &to.instance_type;
            }
            if !is_selected(kind) {
                continue;
            }
            let group = group(workload, &members, changed);
            let later = kinds[place + 1..].iter().copied();
            let target = WorkloadFix {
                audited,
                to: action.target(),
                instance_type: begins_as,
                lowered: self.lowered(kind, &members, room),
                owners: self.owners(&members),
                planned: self.planned(workload, &members, group),
                is_held: kind == ActionKind::Stop && !self.held.drain_steps(&ended).is_empty(),
                members,
                group,
                before: kinds[..place].to_vec(),
                after: later.filter(|kind| is_selected(*kind)).collect(),
            };
            let advice = self.advice(audited, kind);
            fixes.push(fix(freed.unwrap_or(action), FixTarget::Workload(Box::new(target)), advice));
        }
        fixes
    }

    /// The members that an action is about.
    fn members(&self, audited: &'a AuditedWorkload, kind: ActionKind) -> Vec<MemberFix<'a>> {
        let members: Vec<&Member> = match kind {
            ActionKind::Stop => ended(audited),
            ActionKind::Release => audited.workload.members.iter().collect(),
            _ => {
                let part = audited.working();
                part.map_or(Vec::new(), |part| part.workload.members.iter().collect())
            }
        };
        let known = members.into_iter().filter_map(|member| {
            Some(MemberFix {
                member,
                instance: self.instances.get(&member.id).copied()?,
                node: self.nodes.get(&member.id).copied(),
            })
        });
        known.collect()
    }

    /// What made the pods on the nodes among some members.
    fn owners(&self, members: &[MemberFix<'a>]) -> Vec<(&'a str, &'a Owner)> {
        let nodes = members.iter().filter(|member| member.node.is_some());
        let claims = nodes
            .flat_map(|member| self.claims.get(&member.member.id).into_iter().flatten().copied());
        let owners = claims.filter_map(|claim| {
            let holder = &claim.holder;
            Some((holder.namespace.as_str(), holder.owner.as_ref()?))
        });
        let owners: BTreeSet<(&str, &Owner)> = owners.collect();
        owners.into_iter().collect()
    }

    /// The reservations that are lowered with the members that leave them.
    fn lowered(
        &self,
        kind: ActionKind,
        members: &[MemberFix<'a>],
        room: &mut Room<'a>,
    ) -> Vec<Lowered<'a>> {
        let mut by_id: BTreeMap<&str, u32> = BTreeMap::new();
        let leaves = matches!(kind, ActionKind::Stop | ActionKind::Rightsize);
        for member in members.iter().filter(|_| leaves) {
            if let Some(id) = member.member.capacity_reservation.as_deref() {
                *by_id.entry(id).or_insert(0) += 1;
            }
        }
        let known = by_id.into_iter().filter_map(|(id, number)| {
            let reservation = self.reservations.get(id).copied()?;
            reservation.can_be_cancelled(self.estate.as_of).then_some((reservation, number))
        });
        known.map(|(reservation, number)| room.lower(reservation, number)).collect()
    }

    /// The resources of a Terraform plan that are these members or their group.
    fn planned(
        &self,
        workload: &Workload,
        members: &[MemberFix<'a>],
        group: Option<GroupFix<'a>>,
    ) -> Vec<&'a PlannedResource> {
        let region = &workload.key.region;
        let is_here = |resource: &&PlannedResource| {
            let side = resource.before.as_ref();
            let said = side.and_then(|side| side.region.as_ref().ok());
            said.is_none_or(|said| said == region)
        };
        let is_group = |resource: &&PlannedResource| resource.resource_type == GROUP_RESOURCE;
        let named = |name: &str| {
            let resources = self.planned.get(name).into_iter().flatten().copied();
            resources.filter(is_here).collect::<Vec<_>>()
        };
        let of_group = group.map_or(Vec::new(), |group| named(group.name));
        let of_group = of_group.into_iter().filter(is_group);
        let of_members = members.iter().flat_map(|member| named(member.member.id.native()));
        of_group.chain(of_members.filter(|resource| !is_group(resource))).collect()
    }

    /// What the recommendation of an action says to do.
    fn advice(&self, audited: &AuditedWorkload, kind: ActionKind) -> Vec<String> {
        let proposals = &audited.proposals;
        let steps = match kind {
            ActionKind::Stop => match &audited.workload.key.group {
                Group::AutoScaling(name) => {
                    let ended = ended(audited);
                    let mut steps = self.held.drain_steps(&ended);
                    steps.extend(end_steps(name, &audited.workload, &ended));
                    Some(steps)
                }
                Group::Tag(_) | Group::Alone(_) => {
                    Some(self.said(audited, &["idle-gpu", "idle-held-gpu"]))
                }
            },
            ActionKind::Release => Some(self.said(audited, &["stopped-with-storage"])),
            ActionKind::Schedule => proposals.schedule().map(|scheduling| scheduling.steps.clone()),
            ActionKind::Rightsize => {
                proposals.rightsize().map(|rightsizing| rightsizing.steps.clone())
            }
            ActionKind::Share => proposals.share().map(|sharing| sharing.steps.clone()),
            ActionKind::Spot | ActionKind::Commit => None,
        };
        steps.unwrap_or_default()
    }

    /// The steps of the findings of some rules about a workload, each once.
    fn said(&self, audited: &AuditedWorkload, rules: &[&str]) -> Vec<String> {
        let id = audited.workload.id();
        let of_workload = self.findings.get(id.as_str()).into_iter().flatten();
        let mut steps: Vec<String> = Vec::new();
        for finding in of_workload.filter(|finding| rules.contains(&finding.rule())) {
            for step in &finding.recommendation.steps {
                if !steps.contains(step) {
                    steps.push(step.clone());
                }
            }
        }
        steps
    }
}

/// The members that a stop ends.
fn ended(audited: &AuditedWorkload) -> Vec<&Member> {
    let stop = audited.proposals.stop();
    let ids = stop.map_or(&[][..], |stop| stop.members.as_slice());
    audited.workload.members.iter().filter(|member| ids.binary_search(&member.id).is_ok()).collect()
}

/// The sizes of a group at both ends of an action, and whether the rebalancing of its zones is
/// suspended in between.
type Changed = ((GroupSizes, GroupSizes), bool);

/// What the end of some members changes in the group of a workload.
fn stopped(workload: &Workload, ended: &[&Member]) -> Option<Changed> {
    let settings = workload.scaling_group.as_deref()?;
    let today = GroupSizes { desired: settings.desired, min: settings.min };
    let end = group_end(&settings.name, workload, ended)?;
    Some(((today, end.sizes), end.suspends_rebalancing))
}

/// The sizes of a group that an action leaves: another number is set in it.
fn resized(sizes: GroupSizes, action: &Action) -> GroupSizes {
    let count = match action.kind() {
        ActionKind::Rightsize | ActionKind::Share => action.target().map(|to| to.count),
        _ => None,
    };
    let desired = count.map_or(sizes.desired, |count| sizes.desired.min(count));
    GroupSizes { desired, min: sizes.min.min(desired) }
}

/// The group of a workload, or the one that its members are in beside their own group.
fn group<'a>(
    workload: &'a Workload,
    members: &[MemberFix<'a>],
    changed: Option<Changed>,
) -> Option<GroupFix<'a>> {
    if let Group::AutoScaling(name) = &workload.key.group {
        return Some(GroupFix {
            name,
            settings: workload.scaling_group.as_deref(),
            sizes: changed.map(|(sizes, _)| sizes),
            suspends_rebalancing: changed.is_some_and(|(_, suspends)| suspends),
        });
    }
    let name = members.iter().find_map(|member| member.instance.auto_scaling_group.as_deref())?;
    Some(GroupFix { name, settings: None, sizes: None, suspends_rebalancing: false })
}
