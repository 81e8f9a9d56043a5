//! An action of a plan with what carrying it out depends on.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, ActionKind, CapacityReservation, Instance, Member, Money, Node, Owner, PlannedResource,
    Risk, ScalingGroup, Target, Workload,
};
use crate::savings::{GroupSizes, Purchase, ScopeChange, UnusedCommitment};
use std::collections::BTreeSet;

/// The Terraform resource of an Auto Scaling group.
pub const GROUP_RESOURCE: &str = "aws_autoscaling_group";

/// Which actions are selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixChoice {
    /// Kinds of actions, each with the name or the ID of what it is about where only that action
    /// is; empty for all.
    pub actions: BTreeSet<(ActionKind, Option<String>)>,
    /// Ids or names of workloads, and ids of capacity reservations; empty for all.
    pub names: BTreeSet<String>,
}

impl FixChoice {
    /// Whether an action is selected on what has these names.
    pub(super) fn has(&self, kind: ActionKind, names: &[&str]) -> bool {
        let mut actions = self.actions.iter();
        self.actions.is_empty()
            || actions.any(|(selected, name)| {
                let name = name.as_deref();
                *selected == kind && name.is_none_or(|name| names.contains(&name))
            })
    }

    /// The first selected action that a plan does not have.
    pub fn unknown_action(&self, plan: &[Fix<'_>]) -> Option<String> {
        self.actions.iter().find_map(|(kind, name)| {
            let name = name.as_deref()?;
            let has_name = |fix: &Fix<'_>| fix.name() == name || fix.subject() == name;
            let is_known = plan.iter().any(|fix| fix.kind == *kind && has_name(fix));
            (!is_known).then(|| format!("{kind}:{name}"))
        })
    }

    pub(super) fn names(&self, workload: &Workload) -> bool {
        self.has_name(&workload.name) || self.has_name(&workload.id())
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }

    /// Names that nothing of an audit has.
    pub fn unknown<'a>(&'a self, audit: &'a Audit) -> Vec<&'a str> {
        let known: BTreeSet<String> = Self::known(audit).collect();
        self.names.iter().map(String::as_str).filter(|name| !known.contains(*name)).collect()
    }

    /// Every name that may be chosen.
    pub fn known(audit: &Audit) -> impl Iterator<Item = String> {
        let workloads = audit.workloads.iter();
        let workloads =
            workloads.flat_map(|audited| [audited.workload.name.clone(), audited.workload.id()]);
        workloads.chain(audit.unused.iter().map(|row| row.id.clone()))
    }
}

/// One action with what carrying it out depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix<'a> {
    pub kind: ActionKind,
    pub target: FixTarget<'a>,
    pub monthly_savings: Money,
    pub risk: Risk,
    /// The action in words, with its arithmetic.
    pub detail: String,
    /// What would stop an engineer, the gravest first.
    pub caveats: Vec<String>,
    /// What its recommendation says to do and to check, in order.
    pub advice: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FixTarget<'a> {
    Workload(Box<WorkloadFix<'a>>),
    /// Room of a capacity reservation that nothing runs in.
    Reservation(ReservationFix<'a>),
    /// A reservation that changes its scope, for all of its workloads.
    Scope(&'a ScopeChange),
    /// A commitment, bought once for all of its workloads.
    Purchase(&'a Purchase),
}

impl Fix<'_> {
    /// Stable across runs: the kind of the action, and what it is about.
    pub fn id(&self) -> String {
        format!("{}:{}", self.kind, self.subject())
    }

    /// The ID of the workload, the reservation or the purchase that it is about.
    pub(super) fn subject(&self) -> String {
        match &self.target {
            FixTarget::Workload(workload) => workload.audited.workload.id(),
            FixTarget::Reservation(reservation) => reservation.row.id.clone(),
            FixTarget::Scope(change) => change.id.clone(),
            FixTarget::Purchase(purchase) => {
                let key = &purchase.key;
                let account = purchase.account.as_deref().unwrap_or("any-account");
                format!(
                    "{}/{}/{}/{}/{}/{account}",
                    purchase.term.option,
                    key.instance_type,
                    key.region,
                    key.operating_system,
                    key.tenancy
                )
            }
        }
    }

    /// What it is about: a workload, a capacity reservation, or what is bought.
    pub fn name(&self) -> &str {
        match &self.target {
            FixTarget::Workload(workload) => &workload.audited.workload.name,
            FixTarget::Reservation(reservation) => &reservation.row.id,
            FixTarget::Scope(change) => &change.id,
            FixTarget::Purchase(purchase) => &purchase.key.instance_type,
        }
    }

    /// The ids of the workloads that it is about.
    pub fn workloads(&self) -> Vec<String> {
        match &self.target {
            FixTarget::Workload(workload) => vec![workload.audited.workload.id()],
            FixTarget::Reservation(_) => Vec::new(),
            FixTarget::Scope(change) => change.shares.iter().map(|(id, _)| id.clone()).collect(),
            FixTarget::Purchase(purchase) => {
                purchase.shares.iter().map(|share| share.id.clone()).collect()
            }
        }
    }
}

/// An action on members of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadFix<'a> {
    pub audited: &'a AuditedWorkload,
    /// Where it leads, when it changes type or number.
    pub to: Option<&'a Target>,
    /// The type that its members have when it begins.
    pub instance_type: &'a str,
    /// The members that it is about, ascending by id.
    pub members: Vec<MemberFix<'a>>,
    pub group: Option<GroupFix<'a>>,
    /// Whether somebody holds devices of members that end, and is moved before.
    pub is_held: bool,
    /// Capacity reservations to lower in the same step.
    pub lowered: Vec<Lowered<'a>>,
    /// What made the pods of Kubernetes on its members, with their namespaces, ascending.
    pub owners: Vec<(&'a str, &'a Owner)>,
    /// Resources of a Terraform plan that manage its members or its group.
    pub planned: Vec<&'a PlannedResource>,
    /// Actions of the plan on the same workload that come before it.
    pub before: Vec<ActionKind>,
    /// Those that come after it, as far as they are asked for.
    pub after: Vec<ActionKind>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberFix<'a> {
    pub member: &'a Member,
    pub instance: &'a Instance,
    /// The node of Kubernetes that it is.
    pub node: Option<&'a Node>,
}

/// The Auto Scaling group of some members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupFix<'a> {
    pub name: &'a str,
    /// Its settings; absent where they were not read.
    pub settings: Option<&'a ScalingGroup>,
    /// Its sizes when the action begins and those that it sets; absent where they hold only
    /// under conditions that the advice names.
    pub sizes: Option<(GroupSizes, GroupSizes)>,
    /// Whether the rebalancing of its zones is suspended before any instance ends.
    pub suspends_rebalancing: bool,
}

/// A capacity reservation that is lowered with the end of instances in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lowered<'a> {
    pub reservation: &'a CapacityReservation,
    /// Its size when the action begins, after the actions before it.
    pub from: u32,
    pub to: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReservationFix<'a> {
    pub row: &'a UnusedCommitment,
    pub reservation: Option<&'a CapacityReservation>,
    /// Whether an action before it lowers it already.
    pub is_lowered_before: bool,
}

/// An action as the plan has it.
pub(super) fn fix<'a>(action: &Action, target: FixTarget<'a>, advice: Vec<String>) -> Fix<'a> {
    Fix {
        kind: action.kind(),
        target,
        monthly_savings: action.monthly_savings(),
        risk: action.risk(),
        detail: action.detail().to_owned(),
        caveats: action.caveats().to_vec(),
        advice,
    }
}
