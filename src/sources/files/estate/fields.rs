//! What serde alone does not check, and what an estate states in another layout than the types
//! of the domain.

use super::wire::{
    Cell, ClaimWire, InstanceWire, OpinionWire, PriceWire, SeriesWire, StoragePriceWire,
};
use crate::domain::{
    AwsOpinion, Claim, ClaimState, Clusters, ComponentHost, Currency, DeviceUse, Devices, Gap,
    Holder, HourlyRate, Instalments, Instance, MOST_GPUS, MOST_PER_HOUR, MOST_VOLUME_GIB, Managed,
    Money, PriceBasis, PriceKey, PriceQuote, ProfiledRun, Provider, ResourceId, ScalingGroup,
    SeriesSource, SpotHistory, StorageQuote, StorageResource, TrainingPlan, Window,
};
use crate::sources::files::shared::bounded::AtMost;
use crate::sources::files::shared::same_fields;
use crate::usage::{Points, Series};
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Values of one series: 500 days of minutes, more than any source keeps. More
/// is an error that would fill the memory.
pub(super) const MOST_PERIODS: u64 = 1_000_000;

const HOUR_SECONDS: u32 = 3_600;

/// GPUs of one copy, which is on one instance.
const MOST_GPUS_EACH: Decimal = Decimal::from_parts(1_000, 0, 0, false, 0);

/// Returns what is wrong, in words.
macro_rules! refuse {
    ($($words:tt)+) => {
        return Err(E::custom(format!($($words)+)))
    };
}
pub(super) use refuse;

/// What is checked where it is in a document, so that an error names its place.
pub(super) trait Wire {
    type Value;

    /// The value, or what is wrong.
    fn value<E: de::Error>(self) -> Result<Self::Value, E>;
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
        W::deserialize(deserializer)?.value().map(Self)
    }
}

/// An instance, and whether its tags are stated.
impl Wire for InstanceWire {
    type Value = (Instance, bool);

    fn value<E: de::Error>(self) -> Result<(Instance, bool), E> {
        let is_too_large = |size: u64| size > MOST_VOLUME_GIB;
        let mut volumes = self.volumes.iter();
        if let Some(volume) = volumes.find(|volume| volume.size_gib.is_some_and(is_too_large)) {
            refuse!("volume {} of {} is larger than {MOST_VOLUME_GIB} GiB", volume.id, self.id);
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

impl Wire for ProfiledRun {
    type Value = Self;

    fn value<E: de::Error>(self) -> Result<Self, E> {
        let name = format!("the profile of {}", self.instance);
        if self.end < self.start {
            refuse!("{name} ends before it starts");
        }
        for (key, value, most) in [
            ("gpu_mean_percent", self.gpu_mean_percent, 100.0),
            ("cpu_p95_percent", self.cpu_p95_percent, 100.0),
            ("memory_p95_mib", self.memory_p95_mib, f64::MAX),
        ] {
            if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
                refuse!("{name} has an invalid `{key}` of {value}");
            }
        }
        let samples = self.samples;
        if samples.is_some_and(|samples| samples.reported > samples.taken) {
            refuse!("more samples of {name} reported than were taken");
        }
        Ok(self)
    }
}

impl Wire for DeviceUse {
    type Value = Self;

    fn value<E: de::Error>(self) -> Result<Self, E> {
        let percents = [self.mean_percent, self.max_percent];
        if !percents.iter().all(|percent| (0.0..=100.0).contains(percent)) {
            return Err(E::custom("a percentage of a use is not between 0 and 100"));
        }
        if self.mean_percent > self.max_percent {
            return Err(E::custom("`mean_percent` is larger than `max_percent`"));
        }
        if self.sample_seconds == 0 {
            return Err(E::custom("`sample_seconds` must be at least 1"));
        }
        Ok(self)
    }
}

/// The reason and the hint of one with a cause are those of the cause.
impl Wire for Gap {
    type Value = Self;

    fn value<E: de::Error>(self) -> Result<Self, E> {
        match self.cause {
            None => Ok(self),
            Some(cause) if cause.is_whole() => Ok(Self::of(self.what, self.place, *cause)),
            Some(cause) => {
                let (kind, needed) = (cause.kind(), cause.kind().details().len());
                Err(E::custom(format!("the cause `{kind}` needs {needed} `details`")))
            }
        }
    }
}

impl Wire for PriceWire {
    type Value = (PriceKey, PriceQuote, Option<SpotHistory>);

    fn value<E: de::Error>(self) -> Result<Self::Value, E> {
        let key = same_fields!(self => PriceKey {
            region, instance_type, operating_system, tenancy, option, zone;
            provider: self.provider.unwrap_or(Provider::Aws),
        });
        let rate = HourlyRate::new(self.hourly, self.currency).ok_or_else(|| {
            E::custom(format!(
                "the price of {key} is not between 0 and {MOST_PER_HOUR}: {}",
                self.hourly
            ))
        })?;
        if self.upfront.is_some() != self.recurring_hourly.is_some() {
            refuse!("the price of {key} needs both `upfront` and `recurring_hourly`, or neither");
        }
        let instalments = self.upfront.zip(self.recurring_hourly);
        let quote = same_fields!(self => PriceQuote {
            origin, effective_date, source;
            rate,
            instalments: instalments.map(|(upfront, hourly)| Instalments { upfront, hourly }),
            basis: self.basis.unwrap_or(PriceBasis::Observed),
            seen_on: self.seen_on.unwrap_or(self.effective_date),
        });
        let history =
            self.spot_history.map(|history| SpotHistory { mean: rate.amount(), ..history });
        Ok((key, quote, history))
    }
}

impl Wire for StoragePriceWire {
    type Value = (String, StorageResource, StorageQuote);

    fn value<E: de::Error>(self) -> Result<Self::Value, E> {
        if HourlyRate::new(self.unit_price, self.currency).is_none() {
            refuse!(
                "the price of {} is not between 0 and {MOST_PER_HOUR}: {}", self.resource,
                self.unit_price
            );
        }
        let quote = same_fields!(self => StorageQuote {
            origin, effective_date, source;
            unit_price: Money::new(self.unit_price, self.currency),
        });
        Ok((self.region, self.resource, quote))
    }
}

impl Wire for ClaimWire {
    type Value = Claim;

    fn value<E: de::Error>(self) -> Result<Claim, E> {
        if (self.state == ClaimState::Running) != self.machine.is_some() {
            return Err(E::custom(
                "a `running` claim has a `machine`, and a `pending` one has none",
            ));
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

impl Wire for ComponentHost {
    type Value = Self;

    fn value<E: de::Error>(mut self) -> Result<Self, E> {
        let copies = self.components.iter().flat_map(|component| &component.copies);
        let mut gpus = copies.filter_map(|copies| copies.gpus_each);
        if let Some(gpus) = gpus.find(|gpus| *gpus > MOST_GPUS_EACH) {
            refuse!("`gpus_each` is not between 0 and {MOST_GPUS_EACH}: `{gpus}`");
        }
        self.components.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(self)
    }
}

impl Wire for TrainingPlan {
    type Value = Self;

    fn value<E: de::Error>(mut self) -> Result<Self, E> {
        self.currency = self.upfront_fee.map(|_| self.currency.unwrap_or(Currency::Usd));
        Ok(self)
    }
}

impl Wire for OpinionWire {
    type Value = AwsOpinion;

    fn value<E: de::Error>(self) -> Result<AwsOpinion, E> {
        let amount = self.monthly_savings.map(|amount| {
            AwsOpinion::estimate(amount, self.currency)
                .ok_or_else(|| E::custom(format!("`monthly_savings` is too large: {amount}")))
        });
        if self.instance.is_some() != self.instances.is_empty() {
            return Err(E::custom("an opinion has either `instance` or `instances`"));
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

impl Wire for ScalingGroup {
    type Value = Self;

    fn value<E: de::Error>(mut self) -> Result<Self, E> {
        if self.min > self.max {
            refuse!("`min` of {} is {}, more than its `max` of {}", self.name, self.min, self.max);
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
pub(super) fn check_clusters<E: de::Error>(clusters: &Clusters) -> Result<(), E> {
    let mut machines = BTreeSet::new();
    for node in &clusters.nodes {
        if !machines.insert(&node.machine) {
            refuse!("several nodes are the machine {}", node.machine);
        }
    }
    let mut held = clusters.claims.iter().filter_map(|claim| claim.machine.as_ref());
    if let Some(machine) = held.find(|machine| !machines.contains(machine)) {
        refuse!("a claim belongs to {machine}, which is not among the nodes");
    }
    Ok(())
}

/// All of it in order.
///
/// # Errors
/// When a host or a plan is there twice.
pub(super) fn sorted_managed<E: de::Error>(mut managed: Managed) -> Result<Managed, E> {
    managed.sort();
    let mut hosts = managed.hosts.windows(2);
    if let Some(pair) = hosts.find(|pair| pair[0].key() == pair[1].key()) {
        let group = &pair[0].group;
        refuse!("duplicate component host {group}");
    }
    let mut plans = managed.plans.windows(2);
    if let Some(pair) = plans.find(|pair| pair[0].key() == pair[1].key()) {
        let id = &pair[0].id;
        refuse!("duplicate training plan {id}");
    }
    Ok(managed)
}

/// The groups in order.
///
/// # Errors
/// When one is there twice.
pub(super) fn sorted_groups<E: de::Error>(
    mut groups: Vec<ScalingGroup>,
) -> Result<Vec<ScalingGroup>, E> {
    groups.sort_by(|left, right| left.key().cmp(&right.key()));
    let mut pairs = groups.windows(2);
    match pairs.find(|pair| pair[0].key() == pair[1].key()) {
        Some(pair) => Err(E::custom(format!("duplicate Auto Scaling group {}", pair[0].name))),
        None => Ok(groups),
    }
}

pub(super) fn series<E: de::Error>(
    wire: SeriesWire,
    window: Window,
    grid_period: u32,
) -> Result<Series, E> {
    let metric = wire.metric;
    let name = format!("series {metric} of {}", wire.instance);
    if wire.gpu.is_some_and(|gpu| gpu >= MOST_GPUS) {
        refuse!("{name}: an instance has at most {MOST_GPUS} GPUs");
    }
    // Whole hours may stand on a finer grid.
    let is_on_grid = wire.period_seconds == grid_period
        || (wire.period_seconds == HOUR_SECONDS
            && wire.source != SeriesSource::Profile
            && HOUR_SECONDS.is_multiple_of(grid_period)
            && window.start.as_second() % i64::from(HOUR_SECONDS) == 0);
    if wire.period_seconds == 0 || (metric.is_on_grid() && !is_on_grid) {
        refuse!("{name} has a period of {} s; the estate has {grid_period} s", wire.period_seconds);
    }
    let periods: u64 = wire.values.iter().map(|cell| u64::from(cell.times)).sum();
    if periods > MOST_PERIODS {
        refuse!("{name} has {periods} values; the maximum is {MOST_PERIODS}");
    }
    let what = (metric, wire.statistic);
    let (points, rejected) = match (wire.start, &wire.timestamps) {
        (Some(start), None) => {
            let cells = wire.values.iter().map(|cell| (cell.value, cell.times));
            Points::regular(start, cells, what, window, wire.period_seconds)
        }
        (None, Some(AtMost(stamps))) => {
            let values: Vec<Option<f64>> = expand(&wire.values).collect();
            if values.len() != stamps.len() {
                refuse!("{name} has {} timestamps and {} values", stamps.len(), values.len());
            }
            let mut raw = Vec::with_capacity(values.len());
            for (second, value) in stamps.iter().zip(values) {
                let instant = Timestamp::from_second(*second)
                    .map_err(|error| E::custom(format!("{name}: {error}")))?;
                raw.extend(value.map(|value| (instant, value)));
            }
            Points::clean(raw, what, window, wire.period_seconds)
        }
        _ => {
            refuse!("{name} needs either `start` or `timestamps`");
        }
    };
    Ok(same_fields!(wire => Series {
        instance, gpu, statistic, source, joined_by;
        metric,
        points,
        rejected: rejected.plus(wire.rejected.unwrap_or_default()),
    }))
}

fn expand(cells: &[Cell]) -> impl Iterator<Item = Option<f64>> + '_ {
    cells.iter().flat_map(|cell| std::iter::repeat_n(cell.value, cell.times as usize))
}
