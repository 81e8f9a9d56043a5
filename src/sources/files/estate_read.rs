//! Reading an estate: every slip is named with its place, nothing is guessed.

use super::ESTATE_VERSION;
use super::wire::{
    ApiWire, Cell, GapWire, InstanceWire, PriceWire, RejectedWire, SeriesWire, ShapeWire,
    StoragePriceWire,
};
use crate::domain::{
    AcceleratorKind, Address, ApiUsage, Architecture, Currency, Estate, EstateSource, Gap,
    GpuModel, GpuOffer, GpuShare, HourlyRate, Instance, InstanceId, InstanceShape, InstanceState,
    JoinedBy, Lifecycle, Metric, Money, OperatingSystem, Points, PriceBook, PriceKey, PriceOption,
    PriceOrigin, PriceQuote, Rejected, Series, SeriesSource, Statistic, StorageQuote,
    StorageResource, Tenancy, Volume, Window,
};
use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The demo estate, made by `examples/generate_demo.rs`.
const DEMO: &[u8] = include_bytes!("../../../fixtures/demo/estate.json.gz");

/// Why an estate could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EstateError {
    /// The file could not be opened or read.
    #[error("cannot read the estate {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not an estate, or ends early.
    #[error("{} is not a complete estate", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// A newer program wrote it.
    #[error(
        "{} has estate version {found}; this program reads version {ESTATE_VERSION}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version it has.
        found: String,
    },
}

/// Reads an estate file, plain or gzip-compressed.
///
/// # Errors
/// When it cannot be read, is not a complete estate, or is of another version.
pub fn read_estate(path: &Path) -> Result<Estate, EstateError> {
    let io_error = |source| EstateError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io_error)?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let is_gzip = reader
        .fill_buf()
        .map_err(io_error)?
        .starts_with(&[0x1f, 0x8b]);
    let parsed = if is_gzip {
        parse_estate(BufReader::with_capacity(1 << 16, GzDecoder::new(reader)))
    } else {
        parse_estate(reader)
    };
    parsed.map_err(|source| explain(path, source))
}

/// The estate that ships inside the binary.
///
/// # Errors
/// Never in a released program; a test reads it.
pub fn demo_estate() -> Result<Estate, EstateError> {
    let mut text = Vec::new();
    let path = Path::new("the demo");
    GzDecoder::new(DEMO)
        .read_to_end(&mut text)
        .map_err(|source| EstateError::Io {
            path: path.to_owned(),
            source,
        })?;
    let mut deserializer = serde_json::Deserializer::from_slice(&text);
    EstateSeed
        .deserialize(&mut deserializer)
        .map_err(|source| explain(path, source))
}

/// Reads an estate from JSON text.
///
/// # Errors
/// With line and column, when it is not a complete estate.
pub fn parse_estate(reader: impl Read) -> Result<Estate, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let estate = EstateSeed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(estate)
}

/// Marks the message of another version inside a JSON error, which is the only
/// kind of error that a streaming reader can raise.
const OTHER_VERSION: &str = "estate version ";

fn explain(path: &Path, source: serde_json::Error) -> EstateError {
    let text = source.to_string();
    match text.strip_prefix(OTHER_VERSION) {
        Some(rest) => EstateError::Newer {
            path: path.to_owned(),
            found: rest.split(' ').next().unwrap_or_default().to_owned(),
        },
        None => EstateError::Malformed {
            path: path.to_owned(),
            source,
        },
    }
}

struct EstateSeed;

impl<'de> DeserializeSeed<'de> for EstateSeed {
    type Value = Estate;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Estate, D::Error> {
        deserializer.deserialize_map(EstateVisitor)
    }
}

struct EstateVisitor;

/// The parts of a document as they arrive.
#[derive(Default)]
struct Parts {
    version: Option<String>,
    as_of: Option<Timestamp>,
    window_start: Option<Timestamp>,
    window_end: Option<Timestamp>,
    period_seconds: Option<u32>,
    source: Option<EstateSource>,
    accounts: Vec<String>,
    regions: Vec<String>,
    instances: Vec<Instance>,
    shapes: Vec<InstanceShape>,
    metrics: Vec<Series>,
    unplaced: Vec<SeriesWire<'static>>,
    prices: PriceBook,
    gaps: Vec<Gap>,
    api: ApiUsage,
}

impl<'de> Visitor<'de> for EstateVisitor {
    type Value = Estate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an estate, a JSON object with `estate_version`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Estate, A::Error> {
        let mut parts = Parts::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "estate_version" => {
                    let version: String = map.next_value()?;
                    if version != ESTATE_VERSION {
                        return Err(de::Error::custom(format!("{OTHER_VERSION}{version} ")));
                    }
                    parts.version = Some(version);
                }
                "as_of" => parts.as_of = Some(time(&map.next_value::<String>()?)?),
                "window_start" => parts.window_start = Some(time(&map.next_value::<String>()?)?),
                "window_end" => parts.window_end = Some(time(&map.next_value::<String>()?)?),
                "period_seconds" => {
                    let period: u32 = map.next_value()?;
                    if period == 0 {
                        return Err(de::Error::custom("`period_seconds` is at least 1"));
                    }
                    parts.period_seconds = Some(period);
                }
                "source" => {
                    let name: String = map.next_value()?;
                    parts.source = Some(named("source", &name, EstateSource::from_name)?);
                }
                "accounts" => parts.accounts = map.next_value()?,
                "regions" => parts.regions = map.next_value()?,
                "instances" => {
                    for wire in map.next_value::<Vec<InstanceWire>>()? {
                        parts.instances.push(instance(wire)?);
                    }
                }
                "shapes" => {
                    for wire in map.next_value::<Vec<ShapeWire>>()? {
                        parts.shapes.push(shape(wire)?);
                    }
                }
                "metrics" => map.next_value_seed(MetricsSeed(&mut parts))?,
                "prices" => {
                    for wire in map.next_value::<Vec<PriceWire>>()? {
                        let (key, quote) = price(wire)?;
                        parts.prices.insert(key, quote);
                    }
                }
                "storage_prices" => {
                    for wire in map.next_value::<Vec<StoragePriceWire>>()? {
                        let (region, resource, quote) = storage_price(wire)?;
                        parts.prices.insert_storage(&region, resource, quote);
                    }
                }
                "gaps" => {
                    parts.gaps = map
                        .next_value::<Vec<GapWire>>()?
                        .into_iter()
                        .map(gap)
                        .collect();
                }
                "api" => parts.api = api(map.next_value()?)?,
                // Read by a later version of this program.
                "commitments" | "gpucost_version" => {
                    map.next_value::<de::IgnoredAny>()?;
                }
                other => {
                    return Err(de::Error::custom(format!("unknown key `{other}`")));
                }
            }
        }
        parts.into_estate()
    }
}

/// Streams the series: each is placed on its grid as soon as it is read, when
/// the window is known by then, so that a large file is never held twice.
struct MetricsSeed<'a>(&'a mut Parts);

impl<'de> DeserializeSeed<'de> for MetricsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MetricsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let grid = self.0.grid();
        while let Some(wire) = all.next_element::<SeriesWire<'static>>()? {
            match grid {
                Some((window, period)) => self.0.metrics.push(series(wire, window, period)?),
                None => self.0.unplaced.push(wire),
            }
        }
        Ok(())
    }
}

/// A fortnight, for documents that state no window.
const DEFAULT_LOOKBACK: SignedDuration = SignedDuration::from_hours(14 * 24);
const DEFAULT_PERIOD_SECONDS: u32 = 300;

impl Parts {
    /// Window and period, once the document has stated when it ends.
    fn grid(&self) -> Option<(Window, u32)> {
        let period = self.period_seconds.unwrap_or(DEFAULT_PERIOD_SECONDS);
        let window = match (self.window_start, self.window_end) {
            (Some(start), Some(end)) => Window { start, end },
            _ => Window::before(self.as_of?, DEFAULT_LOOKBACK, period).ok()?,
        };
        Some((window, period))
    }

    fn into_estate<E: de::Error>(mut self) -> Result<Estate, E> {
        if self.version.is_none() {
            return Err(E::missing_field("estate_version"));
        }
        let as_of = self.as_of.ok_or_else(|| E::missing_field("as_of"))?;
        let (window, period) = self
            .grid()
            .ok_or_else(|| E::custom("`as_of` is out of range"))?;
        if window.seconds() <= 0 || window.seconds() / i64::from(period) > 1_000_000 {
            return Err(E::custom(
                "`window_start` must be before `window_end`, by at most a million periods",
            ));
        }
        for wire in std::mem::take(&mut self.unplaced) {
            self.metrics.push(series(wire, window, period)?);
        }
        let mut ids = BTreeSet::new();
        for instance in &self.instances {
            if !ids.insert(instance.id.clone()) {
                return Err(E::custom(format!("instance {} stands twice", instance.id)));
            }
        }
        if let Some(orphan) = self.metrics.iter().find(|s| !ids.contains(&s.instance)) {
            return Err(E::custom(format!(
                "a series of {} belongs to {}, which is not among the instances",
                orphan.metric, orphan.instance
            )));
        }
        let collect = |mut given: Vec<String>, field: fn(&Instance) -> &String| {
            given.extend(
                self.instances
                    .iter()
                    .map(|instance| field(instance).clone()),
            );
            given.sort();
            given.dedup();
            given
        };
        Ok(Estate {
            as_of,
            window,
            source: self.source.unwrap_or(EstateSource::Estate),
            accounts: collect(self.accounts, |instance| &instance.account),
            regions: collect(self.regions, |instance| &instance.region),
            period_seconds: period,
            instances: self.instances,
            shapes: self
                .shapes
                .into_iter()
                .map(|shape| (shape.instance_type.clone(), shape))
                .collect(),
            metrics: self.metrics,
            prices: self.prices,
            gaps: self.gaps,
            api: self.api,
        })
    }
}

fn time<E: de::Error>(text: &str) -> Result<Timestamp, E> {
    text.parse()
        .map_err(|error| E::custom(format!("`{text}` is not an RFC 3339 time: {error}")))
}

fn named<T, E: de::Error>(
    field: &str,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, E> {
    read(name).ok_or_else(|| E::custom(format!("`{name}` is not a known {field}")))
}

fn decimal<E: de::Error>(field: &str, text: &str) -> Result<rust_decimal::Decimal, E> {
    text.parse()
        .map_err(|_| E::custom(format!("`{field}` is not a decimal number: `{text}`")))
}

fn instance<E: de::Error>(wire: InstanceWire) -> Result<Instance, E> {
    Ok(Instance {
        id: InstanceId::new(wire.id),
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
        tags: wire.tags,
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
    })
}

fn shape<E: de::Error>(wire: ShapeWire) -> Result<InstanceShape, E> {
    let gpu = match wire.gpu {
        None => None,
        Some(gpu) => {
            let count = decimal("count", &gpu.count)?;
            let share = GpuShare::from_count(count).ok_or_else(|| {
                E::custom(format!(
                    "{}: a GPU count is whole or a fraction of one, not {count}",
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

fn series<E: de::Error>(
    wire: SeriesWire<'_>,
    window: Window,
    grid_period: u32,
) -> Result<Series, E> {
    let metric = named("metric", &wire.metric, Metric::from_name)?;
    let name = format!("series {metric} of {}", wire.instance);
    let on_grid = matches!(
        metric,
        Metric::GpuUtilization | Metric::GpuPowerUtilization | Metric::CpuUtilization
    );
    if wire.period_seconds == 0 || (on_grid && wire.period_seconds != grid_period) {
        return Err(E::custom(format!(
            "{name} has period {} s; the estate's is {grid_period} s",
            wire.period_seconds
        )));
    }
    let raw = match (wire.start.as_deref(), &wire.timestamps) {
        (Some(start), None) => regular(time(start)?, wire.period_seconds, &wire.values),
        (None, Some(stamps)) => {
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
            raw
        }
        _ => {
            return Err(E::custom(format!(
                "{name} needs either `start` or `timestamps`"
            )));
        }
    };
    let (points, rejected) = Points::clean(raw, metric, window, wire.period_seconds);
    Ok(Series {
        instance: InstanceId::new(wire.instance),
        gpu: wire.gpu,
        metric,
        statistic: named("statistic", &wire.statistic, Statistic::from_name)?,
        source: named("series source", &wire.source, SeriesSource::from_name)?,
        joined_by: named("way of joining", &wire.joined_by, JoinedBy::from_name)?,
        points,
        rejected: rejected.plus(wire.rejected.map_or_else(Rejected::default, rejected_of)),
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

fn regular(start: Timestamp, period_seconds: u32, cells: &[Cell]) -> Vec<(Timestamp, f64)> {
    expand(cells)
        .enumerate()
        .filter_map(|(index, value)| {
            let offset = i64::try_from(index).ok()? * i64::from(period_seconds);
            let instant = Timestamp::from_second(start.as_second() + offset).ok()?;
            Some((instant, value?))
        })
        .collect()
}

fn price<E: de::Error>(wire: PriceWire) -> Result<(PriceKey, PriceQuote), E> {
    let key = PriceKey {
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
    let rate = HourlyRate::new(amount, currency)
        .ok_or_else(|| E::custom(format!("the price of {key} is not positive: {amount}")))?;
    let quote = PriceQuote {
        rate,
        origin: named("price origin", &wire.origin, PriceOrigin::from_name)?,
        effective_date: date(&wire.effective_date)?,
        source: wire.source,
    };
    Ok((key, quote))
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
    if amount <= rust_decimal::Decimal::ZERO {
        return Err(E::custom(format!(
            "the price of {resource} is not positive: {amount}"
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

fn gap(wire: GapWire) -> Gap {
    Gap::new(wire.what, wire.place, wire.reason, wire.hint)
}

fn api<E: de::Error>(wire: ApiWire) -> Result<ApiUsage, E> {
    Ok(ApiUsage {
        calls: wire.calls,
        retries: wire.retries,
        estimated_cost_usd: decimal("estimated_cost_usd", &wire.estimated_cost_usd)?,
        by_operation: wire.by_operation,
    })
}
