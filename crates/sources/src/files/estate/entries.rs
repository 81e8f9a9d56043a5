//! What an estate states of instances, claims, opinions and the rest, where serde alone does not
//! check it or the types of the domain have another layout; with its part of the JSON schema.

use crate::domain::{
    Address, AwsOpinion, Change, Claim, ClaimState, Clusters, ComponentHost, Currency, DeviceUnit,
    DeviceUse, Devices, Gap, Holder, Instance, InstanceState, Lifecycle, MOST_VOLUME_GIB, Managed,
    Maybe, Money, OperatingSystem, Owner, Parts, Placement, ProfiledRun, Provider, ResourceId,
    ScalingGroup, Tenancy, Time, TrainingPlan, Volume,
};
use crate::files::shared::same_fields;
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// GPUs of one copy, which is on one instance.
const MOST_GPUS_EACH: Decimal = Decimal::from_parts(1_000, 0, 0, false, 0);

/// What is checked where it is in a document, so that an error names its place.
pub(super) trait Wire {
    type Value;

    /// The value, or what is wrong.
    fn value(self) -> Result<Self::Value, String>;
}

/// A value that was checked.
pub(super) struct Of<W: Wire>(pub W::Value);

impl<W: Wire + JsonSchema> JsonSchema for Of<W> {
    fn schema_name() -> Cow<'static, str> {
        W::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        W::json_schema(generator)
    }
}

impl<'de, W: Wire + Deserialize<'de>> Deserialize<'de> for Of<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        W::deserialize(deserializer)?.value().map(Self).map_err(de::Error::custom)
    }
}

/// An instance.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an instance object")]
pub(super) struct InstanceWire {
    /// Must be unique.
    id: ResourceId,
    account: String,
    region: String,
    /// Such as us-east-1a; determines the spot price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    instance_type: String,
    state: InstanceState,
    #[serde(default = "on_demand")]
    lifecycle: Lifecycle,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity_reservation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity_block_id: Option<String>,
    #[serde(default = "linux")]
    operating_system: OperatingSystem,
    #[serde(default = "shared")]
    tenancy: Tenancy,
    /// Time of the last start.
    #[serde(with = "Time")]
    launch_time: Timestamp,
    /// When the primary network interface was attached; taken as the time when the instance was
    /// first seen.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    attached_time: Option<Timestamp>,
    /// The text from EC2; for a stopped instance it states when the instance stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state_transition_reason: Option<String>,
    /// For an instance of `SageMaker`, an empty object states that there are none; without the
    /// key they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<BTreeMap<String, String>>,
    /// Groups instances into a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auto_scaling_group: Option<String>,
    /// The host name that the `CloudWatch` agent uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private_dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<Volume>")]
    volumes: Vec<Volume>,
    /// Each public address that is billed while the instance is stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<Address>")]
    addresses: Vec<Address>,
}

fn on_demand() -> Lifecycle {
    Lifecycle::OnDemand
}

fn linux() -> OperatingSystem {
    OperatingSystem::Linux
}

fn shared() -> Tenancy {
    Tenancy::Shared
}

/// An instance, and whether its tags are stated.
impl Wire for InstanceWire {
    type Value = (Instance, bool);

    fn value(self) -> Result<(Instance, bool), String> {
        let is_too_large = |size: u64| size > MOST_VOLUME_GIB;
        let mut volumes = self.volumes.iter();
        if let Some(volume) = volumes.find(|volume| volume.size_gib.is_some_and(is_too_large)) {
            return Err(format!(
                "volume {} of {} is larger than {MOST_VOLUME_GIB} GiB",
                volume.id, self.id
            ));
        }
        let has_tags = self.tags.is_some();
        let instance = same_fields!(self => Instance {
            id, account, region, zone, instance_type, state, lifecycle, capacity_reservation_id,
            capacity_block_id, operating_system, tenancy, launch_time, attached_time,
            state_transition_reason, auto_scaling_group, private_dns_name, volumes, addresses;
            tags: self.tags.unwrap_or_default(),
        });
        Ok((instance, has_tags))
    }
}

/// An instance as an estate states it.
pub(super) fn instance_wire(instance: &Instance) -> InstanceWire {
    let instance = instance.clone();
    // A gap says where its tags were not read.
    let is_of_sagemaker = instance.id.provider() == Provider::SageMaker;
    same_fields!(instance => InstanceWire {
        id, account, region, zone, instance_type, state, lifecycle, capacity_reservation_id,
        capacity_block_id, operating_system, tenancy, launch_time, attached_time,
        state_transition_reason, auto_scaling_group, private_dns_name, volumes, addresses;
        tags: (!instance.tags.is_empty() || is_of_sagemaker).then_some(instance.tags),
    })
}

/// Devices that a pod holds or waits for.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "if" = {"properties": {"state": {"const": "running"}}},
    "then" = {"properties": {"machine": {"type": "string"}}, "allOf": [{"required": ["machine"]}]},
    "else" = {"properties": {"machine": {"type": "null"}}}
))]
#[serde(deny_unknown_fields, expecting = "a claim object")]
pub(super) struct ClaimWire {
    namespace: String,
    /// Absent for devices that are allocated to no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<Owner>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    resource: String,
    #[serde(default)]
    unit: DeviceUnit,
    /// Number of such units.
    count: u32,
    state: ClaimState,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    since: Option<Timestamp>,
    /// The machine of the node; required unless it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    placement: Option<Placement>,
}

impl Wire for ClaimWire {
    type Value = Claim;

    fn value(self) -> Result<Claim, String> {
        if (self.state == ClaimState::Running) != self.machine.is_some() {
            return Err(
                "a `running` claim has a `machine`, and a `pending` one has none".to_owned()
            );
        }
        Ok(Claim {
            holder: same_fields!(self => Holder { namespace, pod, owner, labels, placement }),
            devices: Devices { resource: self.resource, unit: self.unit, count: self.count },
            state: self.state,
            since: self.since,
            machine: self.machine,
        })
    }
}

/// A claim as an estate states it.
pub(super) fn claim_wire(claim: &Claim) -> ClaimWire {
    let Claim { holder, devices, state, since, machine } = claim.clone();
    same_fields!(holder => ClaimWire {
        namespace, pod, owner, labels, placement;
        resource: devices.resource,
        unit: devices.unit,
        count: devices.count,
        state,
        since,
        machine,
    })
}

/// What AWS advises.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"properties": {"instance": {"type": "string"}, "instances": {"maxItems": 0}}, "allOf": [{"required": ["instance"]}]},
    {"properties": {"instance": {"type": "null"}, "instances": {"minItems": 1}}, "allOf": [{"required": ["instances"]}]},
]))]
#[serde(deny_unknown_fields, expecting = "a recommendation of AWS as an object")]
pub(super) struct OpinionWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<ResourceId>,
    /// In place of `instance`, for those of an Auto Scaling group.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<ResourceId>")]
    instances: Vec<ResourceId>,
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default = "usd")]
    currency: Currency,
    /// What AWS estimates, per month.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Change>")]
    monthly_savings: Option<Decimal>,
}

fn usd() -> Currency {
    Currency::Usd
}

impl Wire for OpinionWire {
    type Value = AwsOpinion;

    fn value(self) -> Result<AwsOpinion, String> {
        let amount = self.monthly_savings.map(|amount| {
            AwsOpinion::estimate(amount, self.currency)
                .ok_or_else(|| format!("`monthly_savings` is too large: {amount}"))
        });
        if self.instance.is_some() != self.instances.is_empty() {
            return Err("an opinion has either `instance` or `instances`".to_owned());
        }
        let instances = self.instance.into_iter().chain(self.instances);
        let instances: BTreeSet<ResourceId> = instances.collect();
        Ok(AwsOpinion {
            instances: instances.into_iter().collect(),
            action: self.action,
            to: self.to,
            monthly_savings: amount.transpose()?,
        })
    }
}

/// An opinion as an estate states it.
pub(super) fn opinion_wire(opinion: &AwsOpinion) -> OpinionWire {
    let savings = opinion.monthly_savings;
    let mut instances = opinion.instances.clone();
    let instance = (instances.len() == 1).then(|| instances.remove(0));
    OpinionWire {
        instance,
        instances,
        action: opinion.action.clone(),
        to: opinion.to.clone(),
        currency: savings.map_or_else(usd, Money::currency),
        monthly_savings: savings.map(Money::amount),
    }
}

impl Wire for ProfiledRun {
    type Value = Self;

    fn value(self) -> Result<Self, String> {
        let name = format!("the profile of {}", self.instance);
        if self.end < self.start {
            return Err(format!("{name} ends before it starts"));
        }
        for (key, value, most) in [
            ("gpu_mean_percent", self.gpu_mean_percent, 100.0),
            ("cpu_p95_percent", self.cpu_p95_percent, 100.0),
            ("memory_p95_mib", self.memory_p95_mib, f64::MAX),
        ] {
            if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
                return Err(format!("{name} has an invalid `{key}` of {value}"));
            }
        }
        let samples = self.samples;
        if samples.is_some_and(|samples| samples.reported > samples.taken) {
            return Err(format!("more samples of {name} reported than were taken"));
        }
        Ok(self)
    }
}

impl Wire for DeviceUse {
    type Value = Self;

    fn value(self) -> Result<Self, String> {
        let percents = [self.mean_percent, self.max_percent];
        if !percents.iter().all(|percent| (0.0..=100.0).contains(percent)) {
            return Err("a percentage of a use is not between 0 and 100".to_owned());
        }
        if self.mean_percent > self.max_percent {
            return Err("`mean_percent` is larger than `max_percent`".to_owned());
        }
        if self.sample_seconds == 0 {
            return Err("`sample_seconds` must be at least 1".to_owned());
        }
        Ok(self)
    }
}

/// The reason and the hint of one with a cause are those of the cause.
impl Wire for Gap {
    type Value = Self;

    fn value(self) -> Result<Self, String> {
        match self.cause {
            None => Ok(self),
            Some(cause) if cause.is_whole() => Ok(Self::of(self.what, self.place, *cause)),
            Some(cause) => {
                let (kind, needed) = (cause.kind(), cause.kind().details().len());
                Err(format!("the cause `{kind}` needs {needed} `details`"))
            }
        }
    }
}

impl Wire for ComponentHost {
    type Value = Self;

    fn value(mut self) -> Result<Self, String> {
        let copies = self.components.iter().flat_map(|component| &component.copies);
        let mut gpus = copies.filter_map(|copies| copies.gpus_each);
        if let Some(gpus) = gpus.find(|gpus| *gpus > MOST_GPUS_EACH) {
            return Err(format!("`gpus_each` is not between 0 and {MOST_GPUS_EACH}: `{gpus}`"));
        }
        self.components.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(self)
    }
}

impl Wire for TrainingPlan {
    type Value = Self;

    fn value(mut self) -> Result<Self, String> {
        self.currency = self.upfront_fee.map(|_| self.currency.unwrap_or(Currency::Usd));
        Ok(self)
    }
}

impl Wire for ScalingGroup {
    type Value = Self;

    fn value(mut self) -> Result<Self, String> {
        if self.min > self.max {
            return Err(format!(
                "`min` of {} is {}, more than its `max` of {}",
                self.name, self.min, self.max
            ));
        }
        self.suspended.sort();
        self.protected.sort();
        self.in_service.iter_mut().for_each(|ids| ids.sort());
        let queues = self.batch.iter_mut().filter_map(|batch| batch.queues.as_mut());
        queues.for_each(|queues| queues.sort());
        Ok(self)
    }
}

/// Fails where two nodes are one machine, or somebody holds devices of a machine that
/// is not a node. Metrics may name machines whose nodes were not recorded.
pub(super) fn check_clusters(clusters: &Clusters) -> Result<(), String> {
    let mut machines = BTreeSet::new();
    for node in &clusters.nodes {
        if !machines.insert(&node.machine) {
            return Err(format!("several nodes are the machine {}", node.machine));
        }
    }
    let mut held = clusters.claims.iter().filter_map(|claim| claim.machine.as_ref());
    if let Some(machine) = held.find(|machine| !machines.contains(machine)) {
        return Err(format!("a claim belongs to {machine}, which is not among the nodes"));
    }
    Ok(())
}

/// All of it in order.
///
/// # Errors
/// When a host or a plan is there twice.
pub(super) fn sorted_managed(mut managed: Managed) -> Result<Managed, String> {
    managed.sort();
    let mut hosts = managed.hosts.windows(2);
    if let Some(pair) = hosts.find(|pair| pair[0].key() == pair[1].key()) {
        let group = &pair[0].group;
        return Err(format!("duplicate component host {group}"));
    }
    let mut plans = managed.plans.windows(2);
    if let Some(pair) = plans.find(|pair| pair[0].key() == pair[1].key()) {
        let id = &pair[0].id;
        return Err(format!("duplicate training plan {id}"));
    }
    Ok(managed)
}

/// The groups in order.
///
/// # Errors
/// When one is there twice.
pub(super) fn sorted_groups(mut groups: Vec<ScalingGroup>) -> Result<Vec<ScalingGroup>, String> {
    groups.sort_by(|left, right| left.key().cmp(&right.key()));
    let mut pairs = groups.windows(2);
    match pairs.find(|pair| pair[0].key() == pair[1].key()) {
        Some(pair) => Err(format!("duplicate Auto Scaling group {}", pair[0].name)),
        None => Ok(groups),
    }
}

/// What makes schemas that stand where they are used.
pub(super) fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12();
    settings.with(|settings| settings.inline_subschemas = true).into_generator()
}

/// The schema of a value with what it means where it stands, which may be empty.
pub(super) fn described<T: JsonSchema>(generator: &mut SchemaGenerator, meaning: &str) -> Json {
    let mut schema = generator.subschema_for::<T>();
    if !meaning.is_empty() {
        schema.insert("description".to_owned(), meaning.into());
    }
    schema.to_value()
}
