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

/// Which actions are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixChoice {
    /// Empty for all.
    pub kinds: BTreeSet<ActionKind>,
    /// Ids or names of workloads, and ids of capacity reservations; empty for all.
    pub names: BTreeSet<String>,
}

impl FixChoice {
    pub(super) fn has_kind(&self, kind: ActionKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
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
        let names = self.names.iter().map(String::as_str);
        names.filter(|name| !known.contains(*name)).collect()
    }

    /// Every name that may be chosen.
    pub fn known(audit: &Audit) -> impl Iterator<Item = String> {
        let workloads = audit.workloads.iter();
        let workloads = workloads.flat_map(|one| [one.workload.name.clone(), one.workload.id()]);
        let unused = audit.unused.iter().map(|row| row.id.clone());
        workloads.chain(unused)
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
    /// The ids of the workloads that it is about.
    pub fn workloads(&self) -> Vec<String> {
        match &self.target {
            FixTarget::Workload(one) => vec![one.audited.workload.id()],
            FixTarget::Reservation(_) => Vec::new(),
            FixTarget::Scope(change) => change.workloads.clone(),
            FixTarget::Purchase(purchase) => {
                purchase.shares.iter().map(|one| one.id.clone()).collect()
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
