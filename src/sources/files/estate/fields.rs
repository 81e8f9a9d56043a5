//! What serde alone does not check, and what an estate states in another layout than the types
//! of the domain.

use super::wire::{Cell, InstanceWire, PriceWire, SeriesWire, StoragePriceWire};
use crate::domain::{
    DeviceUse, Gap, HourlyRate, Instalments, Instance, MOST_GPUS, MOST_PER_HOUR, MOST_VOLUME_GIB,
    Money, PriceBasis, PriceKey, PriceQuote, ProfiledRun, Provider, SeriesSource, SpotHistory,
    StorageQuote, StorageResource, Window,
};
use crate::sources::files::shared::bounded::AtMost;
use crate::usage::{Points, Series};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer};
use std::borrow::Cow;

/// Values of one series: 500 days of minutes, more than any source keeps. More
/// is an error that would fill the memory.
pub(super) const MOST_PERIODS: u64 = 1_000_000;

const HOUR_SECONDS: u32 = 3_600;

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
            return Err(E::custom(format!(
                "volume {} of {} is larger than {MOST_VOLUME_GIB} GiB",
                volume.id, self.id
            )));
        }
        let has_tags = self.tags.is_some();
        let instance = Instance {
            id: self.id,
            account: self.account,
            region: self.region,
            zone: self.zone,
            instance_type: self.instance_type,
            state: self.state,
            lifecycle: self.lifecycle,
            capacity_reservation_id: self.capacity_reservation_id,
            capacity_block_id: self.capacity_block_id,
            operating_system: self.operating_system,
            tenancy: self.tenancy,
            launch_time: self.launch_time,
            attached_time: self.attached_time,
            state_transition_reason: self.state_transition_reason,
            tags: self.tags.unwrap_or_default(),
            auto_scaling_group: self.auto_scaling_group,
            private_dns_name: self.private_dns_name,
            volumes: self.volumes,
            addresses: self.addresses,
        };
        Ok((instance, has_tags))
    }
}

impl Wire for ProfiledRun {
    type Value = Self;

    fn value<E: de::Error>(self) -> Result<Self, E> {
        let name = format!("the profile of {}", self.instance);
        if self.end < self.start {
            return Err(E::custom(format!("{name} ends before it starts")));
        }
        for (key, value, most) in [
            ("gpu_mean_percent", self.gpu_mean_percent, 100.0),
            ("cpu_p95_percent", self.cpu_p95_percent, 100.0),
            ("memory_p95_mib", self.memory_p95_mib, f64::MAX),
        ] {
            if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
                return Err(E::custom(format!("{name} has an invalid `{key}` of {value}")));
            }
        }
        let samples = self.samples;
        if samples.is_some_and(|samples| samples.reported > samples.taken) {
            return Err(E::custom(format!("more samples of {name} reported than were taken")));
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
                let words = format!("the cause `{kind}` needs {needed} `details`");
                Err(E::custom(words))
            }
        }
    }
}

impl Wire for PriceWire {
    type Value = (PriceKey, PriceQuote, Option<SpotHistory>);

    fn value<E: de::Error>(self) -> Result<Self::Value, E> {
        let key = PriceKey {
            provider: self.provider.unwrap_or(Provider::Aws),
            region: self.region,
            instance_type: self.instance_type,
            operating_system: self.operating_system,
            tenancy: self.tenancy,
            option: self.option,
            zone: self.zone,
        };
        let rate = HourlyRate::new(self.hourly, self.currency).ok_or_else(|| {
            E::custom(format!(
                "the price of {key} is not between 0 and {MOST_PER_HOUR}: {}",
                self.hourly
            ))
        })?;
        if self.upfront.is_some() != self.recurring_hourly.is_some() {
            return Err(E::custom(format!(
                "the price of {key} needs both `upfront` and `recurring_hourly`, or neither"
            )));
        }
        let instalments = self.upfront.zip(self.recurring_hourly);
        let quote = PriceQuote {
            rate,
            instalments: instalments.map(|(upfront, hourly)| Instalments { upfront, hourly }),
            origin: self.origin,
            basis: self.basis.unwrap_or(PriceBasis::Observed),
            effective_date: self.effective_date,
            seen_on: self.seen_on.unwrap_or(self.effective_date),
            source: self.source,
        };
        let history =
            self.spot_history.map(|history| SpotHistory { mean: rate.amount(), ..history });
        Ok((key, quote, history))
    }
}

impl Wire for StoragePriceWire {
    type Value = (String, StorageResource, StorageQuote);

    fn value<E: de::Error>(self) -> Result<Self::Value, E> {
        if HourlyRate::new(self.unit_price, self.currency).is_none() {
            return Err(E::custom(format!(
                "the price of {} is not between 0 and {MOST_PER_HOUR}: {}",
                self.resource, self.unit_price
            )));
        }
        let quote = StorageQuote {
            unit_price: Money::new(self.unit_price, self.currency),
            origin: self.origin,
            effective_date: self.effective_date,
            source: self.source,
        };
        Ok((self.region, self.resource, quote))
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
        return Err(E::custom(format!("{name}: an instance has at most {MOST_GPUS} GPUs")));
    }
    // Whole hours may stand on a finer grid.
    let is_on_grid = wire.period_seconds == grid_period
        || (wire.period_seconds == HOUR_SECONDS
            && wire.source != SeriesSource::Profile
            && HOUR_SECONDS.is_multiple_of(grid_period)
            && window.start.as_second() % i64::from(HOUR_SECONDS) == 0);
    if wire.period_seconds == 0 || (metric.is_on_grid() && !is_on_grid) {
        return Err(E::custom(format!(
            "{name} has a period of {} s; the estate has {grid_period} s",
            wire.period_seconds
        )));
    }
    let periods: u64 = wire.values.iter().map(|cell| u64::from(cell.times)).sum();
    if periods > MOST_PERIODS {
        return Err(E::custom(format!(
            "{name} has {periods} values; the maximum is {MOST_PERIODS}"
        )));
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
                return Err(E::custom(format!(
                    "{name} has {} timestamps and {} values",
                    stamps.len(),
                    values.len()
                )));
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
            return Err(E::custom(format!("{name} needs either `start` or `timestamps`")));
        }
    };
    Ok(Series {
        instance: wire.instance,
        gpu: wire.gpu,
        metric,
        statistic: wire.statistic,
        source: wire.source,
        joined_by: wire.joined_by,
        points,
        rejected: rejected.plus(wire.rejected.unwrap_or_default()),
    })
}

fn expand(cells: &[Cell]) -> impl Iterator<Item = Option<f64>> + '_ {
    cells.iter().flat_map(|cell| std::iter::repeat_n(cell.value, cell.times as usize))
}
