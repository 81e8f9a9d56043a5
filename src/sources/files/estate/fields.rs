//! From wire fields to domain values; every error names the field.

use super::wire::{
    ApiWire, Cell, GapWire, InstanceWire, MOST_VOLUME_GIB, PriceWire, ProfileWire, RejectedWire,
    SeriesWire, ShapeWire, SpotHistoryWire, StoragePriceWire, TagFilterWire,
};
use crate::domain::{
    AcceleratorKind, Address, ApiUsage, Architecture, Cause, CauseKind, Currency, Gap, GapSubject,
    GpuModel, GpuOffer, GpuShare, HourlyRate, Instalments, Instance, InstanceShape, InstanceState,
    JoinedBy, Lifecycle, MOST_GPUS, MOST_PER_HOUR, Metric, Money, OperatingSystem, PriceBasis,
    PriceKey, PriceOption, PriceOrigin, PriceQuote, ProfiledRun, Provider, Rejected, ResourceId,
    SampleCounts, SeriesSource, SpotHistory, Statistic, StorageQuote, StorageResource, TagFilter,
    Tenancy, Volume, Window,
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

/// What has a wire form of its own that is checked where it stands, so that an error
/// names its place.
pub(super) trait Wire {
    type Value;

    /// The value, or what is wrong.
    fn value<E: de::Error>(self) -> Result<Self::Value, E>;
}

/// A value from its wire form.
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

macro_rules! wires {
    ($($wire:ty => $value:ty, $read:ident;)+) => {
        $(impl Wire for $wire {
            type Value = $value;

            fn value<E: de::Error>(self) -> Result<$value, E> {
                $read(self)
            }
        })+
    };
}

wires! {
    InstanceWire => (Instance, bool), instance;
    ShapeWire => InstanceShape, shape;
    ProfileWire => ProfiledRun, profile;
    PriceWire => (PriceKey, PriceQuote, Option<SpotHistory>), price;
    StoragePriceWire => (String, StorageResource, StorageQuote), storage_price;
    GapWire => Gap, gap;
    TagFilterWire => TagFilter, tag_filter;
}

pub(super) fn time<E: de::Error>(text: &str) -> Result<Timestamp, E> {
    text.parse()
        .map_err(|error| E::custom(format!("`{text}` is not an RFC 3339 time: {error}")))
}

pub(super) fn named<T, E: de::Error>(
    field: &str,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, E> {
    read(name).ok_or_else(|| E::custom(format!("`{name}` is not a known {field}")))
}

pub(super) fn decimal<E: de::Error>(field: &str, text: &str) -> Result<rust_decimal::Decimal, E> {
    text.parse()
        .map_err(|_| E::custom(format!("`{field}` is not a decimal number: `{text}`")))
}

/// An instance, and whether its tags are stated.
fn instance<E: de::Error>(wire: InstanceWire) -> Result<(Instance, bool), E> {
    if let Some(volume) = wire
        .volumes
        .iter()
        .find(|volume| volume.size_gib.is_some_and(|size| size > MOST_VOLUME_GIB))
    {
        return Err(E::custom(format!(
            "volume {} of {} is larger than {MOST_VOLUME_GIB} GiB",
            volume.id, wire.id
        )));
    }
    let has_tags = wire.tags.is_some();
    let instance = Instance {
        id: ResourceId::named(wire.id),
        account: wire.account,
        region: wire.region,
        zone: wire.zone,
        instance_type: wire.instance_type,
        state: named("state", &wire.state, InstanceState::from_name)?,
        lifecycle: named("lifecycle", &wire.lifecycle, Lifecycle::from_name)?,
        capacity_reservation_id: wire.capacity_reservation_id,
        capacity_block_id: wire.capacity_block_id,
        operating_system: named(
            "operating system",
            &wire.operating_system,
            OperatingSystem::from_name,
        )?,
        tenancy: named("tenancy", &wire.tenancy, Tenancy::from_name)?,
        launch_time: time(&wire.launch_time)?,
        attached_time: wire.attached_time.as_deref().map(time).transpose()?,
        state_transition_reason: wire.state_transition_reason,
        tags: wire.tags.unwrap_or_default(),
        auto_scaling_group: wire.auto_scaling_group,
        private_dns_name: wire.private_dns_name,
        volumes: wire
            .volumes
            .into_iter()
            .map(|volume| Volume {
                id: volume.id,
                volume_type: volume.volume_type,
                size_gib: volume.size_gib,
            })
            .collect(),
        addresses: wire
            .addresses
            .into_iter()
            .map(|address| Address { id: address.id })
            .collect(),
    };
    Ok((instance, has_tags))
}

fn shape<E: de::Error>(wire: ShapeWire) -> Result<InstanceShape, E> {
    let gpu = match wire.gpu {
        None => None,
        Some(gpu) => {
            let count = decimal("count", &gpu.count)?;
            let share = GpuShare::from_count(count).ok_or_else(|| {
                E::custom(format!(
                    "{}: a GPU count must be an integer of at most {MOST_GPUS} or a fraction \
                     of one, not {count}",
                    wire.instance_type
                ))
            })?;
            Some(GpuOffer {
                model: GpuModel::from_name(&gpu.model),
                share,
                vram_mib: gpu.vram_mib,
            })
        }
    };
    Ok(InstanceShape {
        accelerator: named("accelerator", &wire.accelerator, AcceleratorKind::from_name)?,
        architecture: wire
            .architecture
            .as_deref()
            .map(|name| named("architecture", name, Architecture::from_name))
            .transpose()?,
        instance_type: wire.instance_type,
        gpu,
        vcpu: wire.vcpu,
        memory_mib: wire.memory_mib,
        local_storage_gb: wire.local_storage_gb,
        efa: wire.efa,
    })
}

pub(super) fn series<E: de::Error>(
    wire: SeriesWire<'_>,
    window: Window,
    grid_period: u32,
) -> Result<Series, E> {
    let metric = named("metric", &wire.metric, Metric::from_name)?;
    let name = format!("series {metric} of {}", wire.instance);
    if wire.gpu.is_some_and(|gpu| gpu >= MOST_GPUS) {
        return Err(E::custom(format!(
            "{name}: an instance has at most {MOST_GPUS} GPUs"
        )));
    }
    // Whole hours may stand on a finer grid.
    let is_on_grid = wire.period_seconds == grid_period
        || (wire.period_seconds == HOUR_SECONDS
            && wire.source != SeriesSource::Profile.name()
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
    let statistic = named("statistic", &wire.statistic, Statistic::from_name)?;
    let what = (metric, statistic);
    let (points, rejected) = match (wire.start.as_deref(), &wire.timestamps) {
        (Some(start), None) => {
            let cells = wire.values.iter().map(|cell| (cell.value, cell.times));
            Points::regular(time(start)?, cells, what, window, wire.period_seconds)
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
            return Err(E::custom(format!(
                "{name} needs either `start` or `timestamps`"
            )));
        }
    };
    Ok(Series {
        instance: ResourceId::named(wire.instance),
        gpu: wire.gpu,
        metric,
        statistic,
        source: named("series source", &wire.source, SeriesSource::from_name)?,
        joined_by: named("join method", &wire.joined_by, JoinedBy::from_name)?,
        points,
        rejected: rejected.plus(wire.rejected.map_or_else(Rejected::default, rejected_of)),
    })
}

fn profile<E: de::Error>(wire: ProfileWire) -> Result<ProfiledRun, E> {
    let name = format!("the profile of {}", wire.instance);
    let (start, end) = (time(&wire.start)?, time(&wire.end)?);
    if end < start {
        return Err(E::custom(format!("{name} ends before it starts")));
    }
    let figure = |key: &str, value: Option<f64>, most: f64| match value {
        Some(value) if !(0.0..=most).contains(&value) => Err(E::custom(format!(
            "{name} has an invalid `{key}` of {value}"
        ))),
        value => Ok(value),
    };
    let samples = wire.samples.map(|samples| SampleCounts {
        reported: samples.reported,
        taken: samples.taken,
        missed: samples.missed,
    });
    if samples.is_some_and(|samples| samples.reported > samples.taken) {
        return Err(E::custom(format!(
            "more samples of {name} reported than were taken"
        )));
    }
    Ok(ProfiledRun {
        start,
        end,
        covers_a_command: wire.covers_a_command,
        samples,
        gpu_mean_percent: figure("gpu_mean_percent", wire.gpu_mean_percent, 100.0)?,
        cpu_p95_percent: figure("cpu_p95_percent", wire.cpu_p95_percent, 100.0)?,
        memory_p95_mib: figure("memory_p95_mib", wire.memory_p95_mib, f64::MAX)?,
        instance: ResourceId::named(wire.instance),
    })
}

fn rejected_of(wire: RejectedWire) -> Rejected {
    Rejected {
        not_a_number: wire.not_a_number,
        negative: wire.negative,
        over_100: wire.over_100,
        duplicate: wire.duplicate,
        future: wire.future,
    }
}

fn expand(cells: &[Cell]) -> impl Iterator<Item = Option<f64>> + '_ {
    cells
        .iter()
        .flat_map(|cell| std::iter::repeat_n(cell.value, cell.times as usize))
}

fn price<E: de::Error>(wire: PriceWire) -> Result<(PriceKey, PriceQuote, Option<SpotHistory>), E> {
    let key = PriceKey {
        provider: match &wire.provider {
            Some(name) => named("provider", name, Provider::from_name)?,
            None => Provider::Aws,
        },
        region: wire.region,
        instance_type: wire.instance_type,
        operating_system: named(
            "operating system",
            &wire.operating_system,
            OperatingSystem::from_name,
        )?,
        tenancy: named("tenancy", &wire.tenancy, Tenancy::from_name)?,
        option: named("price option", &wire.option, PriceOption::from_name)?,
        zone: wire.zone,
    };
    let currency = named("currency", &wire.currency, Currency::from_code)?;
    let amount = decimal("hourly", &wire.hourly)?;
    let rate = HourlyRate::new(amount, currency).ok_or_else(|| {
        E::custom(format!(
            "the price of {key} is not between 0 and {MOST_PER_HOUR}: {amount}"
        ))
    })?;
    let instalments = match (wire.upfront, wire.recurring_hourly) {
        (None, None) => None,
        (Some(upfront), Some(hourly)) => Some(Instalments {
            upfront: instalment("upfront", &upfront)?,
            hourly: instalment("recurring_hourly", &hourly)?,
        }),
        _ => {
            return Err(E::custom(format!(
                "the price of {key} needs both `upfront` and `recurring_hourly`, or neither"
            )));
        }
    };
    let effective_date = date(&wire.effective_date)?;
    let seen_on = wire.seen_on.as_deref().map(date).transpose()?;
    let basis = wire.basis.as_deref();
    let quote = PriceQuote {
        rate,
        instalments,
        origin: named("price origin", &wire.origin, PriceOrigin::from_name)?,
        basis: basis.map_or(Ok(PriceBasis::Observed), |name| {
            named("price basis", name, PriceBasis::from_name)
        })?,
        effective_date,
        seen_on: seen_on.unwrap_or(effective_date),
        source: wire.source,
    };
    let history = wire.spot_history.as_ref();
    let history = history.map(|history| spot_history(history, quote.rate.amount()));
    Ok((key, quote, history.transpose()?))
}

/// What the price did over the window, where that was recorded.
fn spot_history<E: de::Error>(
    wire: &SpotHistoryWire,
    mean: rust_decimal::Decimal,
) -> Result<SpotHistory, E> {
    Ok(SpotHistory {
        now: instalment("now", &wire.now)?,
        mean,
        min: instalment("min", &wire.min)?,
        max: instalment("max", &wire.max)?,
        p95: instalment("p95", &wire.p95)?,
        volatility_percent: instalment("volatility_percent", &wire.volatility_percent)?,
    })
}

fn instalment<E: de::Error>(field: &str, text: &str) -> Result<rust_decimal::Decimal, E> {
    let amount = decimal(field, text)?;
    if amount.is_sign_negative() {
        return Err(E::custom(format!("`{field}` is negative: {amount}")));
    }
    Ok(amount)
}

fn date<E: de::Error>(text: &str) -> Result<jiff::civil::Date, E> {
    text.parse()
        .map_err(|error| E::custom(format!("`{text}` is not a date: {error}")))
}

fn storage_price<E: de::Error>(
    wire: StoragePriceWire,
) -> Result<(String, StorageResource, StorageQuote), E> {
    let resource = named(
        "storage resource",
        &wire.resource,
        StorageResource::from_name,
    )?;
    let currency = named("currency", &wire.currency, Currency::from_code)?;
    let amount = decimal("unit_price", &wire.unit_price)?;
    if HourlyRate::new(amount, currency).is_none() {
        return Err(E::custom(format!(
            "the price of {resource} is not between 0 and {MOST_PER_HOUR}: {amount}"
        )));
    }
    let quote = StorageQuote {
        unit_price: Money::new(amount, currency),
        origin: named("price origin", &wire.origin, PriceOrigin::from_name)?,
        effective_date: wire.effective_date.as_deref().map(date).transpose()?,
        source: wire.source,
    };
    Ok((wire.region, resource, quote))
}

fn tag_filter<E: de::Error>(wire: TagFilterWire) -> Result<TagFilter, E> {
    Ok(TagFilter {
        key: wire.key,
        value: wire.value,
        is_excluded: wire.excluded,
    })
}

fn gap<E: de::Error>(wire: GapWire) -> Result<Gap, E> {
    let what = GapSubject::named(&wire.what);
    let Some(cause) = wire.cause else {
        return Ok(Gap::in_words(what, wire.place, wire.reason, wire.hint));
    };
    let kind = named("cause", &cause.kind, CauseKind::from_name)?;
    let needed = kind.details().len();
    let cause = Cause::new(kind, cause.details)
        .ok_or_else(|| E::custom(format!("the cause `{kind}` needs {needed} `details`")))?;
    Ok(Gap::of(what, wire.place, cause))
}

pub(super) fn api<E: de::Error>(wire: ApiWire) -> Result<ApiUsage, E> {
    Ok(ApiUsage {
        calls: wire.calls,
        retries: wire.retries,
        estimated_cost_usd: decimal("estimated_cost_usd", &wire.estimated_cost_usd)?,
        by_operation: wire.by_operation,
    })
}
