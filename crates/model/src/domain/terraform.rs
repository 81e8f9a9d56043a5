//! What a Terraform plan does to instances, resource by resource.

use super::named::named_enum;
use super::{Gap, OperatingSystem, Tenancy};
use std::collections::BTreeMap;
use std::fmt;

named_enum! {
    /// What a plan does to a resource.
    PlanAction {
        /// Nothing, and nothing that it launches changes either.
        NoOp = "no-op",
        /// It stays, and Terraform no longer manages it.
        Forget = "forget",
        Create = "create",
        /// It changes in place, or what it launches from does.
        Update = "update",
        /// It is destroyed and made again.
        Replace = "replace",
        Delete = "delete",
    }
}

/// Why a plan does not state something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The provider decides while the plan is applied.
    AfterApply,
    /// It stands elsewhere, or nowhere; in words, such as `no launch template of
    /// the plan has the id lt-1`.
    Elsewhere(String),
}

impl Missing {
    /// In words, such as `its capacity is weighted`.
    pub fn elsewhere(reason: impl Into<String>) -> Self {
        Self::Elsewhere(reason.into())
    }

    /// The plan does not specify something.
    pub fn unspecified(what: impl fmt::Display) -> Self {
        Self::Elsewhere(format!("the plan does not specify {what}"))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterApply => f.write_str("known only after apply"),
            Self::Elsewhere(reason) => f.write_str(reason),
        }
    }
}

/// Something that a plan states or does not.
pub type Planned<T> = Result<T, Missing>;

/// How many instances a resource runs, by how they are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlannedCount {
    pub on_demand: u64,
    pub spot: u64,
    /// In a Capacity Block, paid for ahead.
    pub capacity_block: u64,
}

impl PlannedCount {
    pub fn total(self) -> u64 {
        self.on_demand.saturating_add(self.spot).saturating_add(self.capacity_block)
    }
}

/// The instances of a resource at one end of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedInstances {
    /// The types that the plan names, in its order: several where the provider
    /// chooses among them.
    pub types: Vec<String>,
    /// Why it may run other types than those; absent when they are all. Never
    /// absent where the plan names none.
    pub more_types: Option<Missing>,
    pub count: Planned<u64>,
    /// How many of them are paid for in which way.
    pub payment: Planned<PlannedCount>,
    /// How many a group may grow to; absent for what does not grow by itself, and
    /// where the plan does not say.
    pub most: Option<u64>,
    pub region: Planned<String>,
    /// The zone, where the plan names one.
    pub zone: Option<String>,
    /// The account, where the plan names it.
    pub account: Option<String>,
    /// The operating system; plans name only images, so that it is Linux unless
    /// something else tells.
    pub operating_system: Planned<OperatingSystem>,
    /// Whether the hardware is shared.
    pub tenancy: Planned<Tenancy>,
    /// Why what is usual stands in for payment, system or tenancy, though another
    /// may be written where the plan does not show it; absent when none may.
    pub assumed: Option<Missing>,
    /// What a service bills at prices of its own, such as `fees of Amazon EMR`: in addition
    /// to the instances, or in their place where `payment` is not known. Absent for what
    /// only EC2 bills.
    pub service: Option<String>,
    /// The tags that the instances carry; a value is missing where it is known
    /// only after apply.
    pub tags: BTreeMap<String, Option<String>>,
    /// Whether there may be more tags, known only after apply.
    pub more_tags: bool,
}

impl PlannedInstances {
    /// So many times as many.
    pub fn repeat(&mut self, times: u64) {
        let of = |number: u64| number.saturating_mul(times);
        self.count = self.count.clone().map(of);
        self.payment = self.payment.clone().map(|paid| PlannedCount {
            on_demand: of(paid.on_demand),
            spot: of(paid.spot),
            capacity_block: of(paid.capacity_block),
        });
    }
}

/// What a plan does to one resource that runs instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedResource {
    /// Its address, such as `module.train.aws_instance.node[0]`.
    pub address: String,
    /// Its type, such as `aws_instance`.
    pub resource_type: String,
    /// What AWS calls it today: its id, or the name of an Auto Scaling group.
    pub native: Option<String>,
    /// What the configuration writes for its instance type where that is not a constant, such as
    /// `var.gpu_type`.
    pub type_reference: Option<String>,
    pub action: PlanAction,
    /// Today; absent for what is made.
    pub before: Option<PlannedInstances>,
    /// When the plan has been applied; absent for what is destroyed.
    pub after: Option<PlannedInstances>,
}

/// A Terraform plan, as far as it is about instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerraformPlan {
    /// The version of Terraform that made it.
    pub terraform_version: Option<String>,
    /// Resources of all sorts that it lists, unchanged ones too.
    pub resources: u64,
    /// Those of other providers than AWS among them, by provider.
    pub other_providers: BTreeMap<String, u64>,
    /// Those that run instances, in order of address.
    pub instances: Vec<PlannedResource>,
    /// Launch templates whose type changes and from which nothing in the plan launches, with
    /// the type afterwards, by address.
    pub unused_templates: BTreeMap<String, Planned<String>>,
    /// What could not be read of it.
    pub gaps: Vec<Gap>,
}

/// Providers that run nothing anywhere: they make names, keys, files and waits.
pub const RUNS_NOTHING: [&str; 11] = [
    "archive", "cloudinit", "external", "http", "local", "null", "random", "template", "terraform",
    "time", "tls",
];
