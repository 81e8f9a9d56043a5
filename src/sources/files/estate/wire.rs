//! The wire form of an estate. Kept apart from the domain types, so that a
//! refactor cannot change the file format by accident.

use super::forms::{Amount, Change, CurrencyCode, Day, Devices, Offer, Price, Time, renamed};
use crate::domain::{
    AcceleratorKind, Architecture, InstanceState, JoinedBy, Lifecycle, MOST_GPUS, Metric,
    OperatingSystem, PriceBasis, PriceOrigin, Provider, SeriesSource, Statistic, StorageResource,
    Tenancy,
};
use crate::sources::files::shared::bounded::{AtMost, at_most};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// An instance.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an instance object")]
pub(super) struct InstanceWire {
    /// Must be unique.
    pub id: String,
    pub account: String,
    pub region: String,
    /// Such as us-east-1a; determines the spot price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    #[schemars(with = "InstanceState")]
    pub state: String,
    #[serde(default = "on_demand")]
    #[schemars(with = "Lifecycle")]
    pub lifecycle: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_reservation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_block_id: Option<String>,
    #[serde(default = "linux")]
    #[schemars(with = "OperatingSystem")]
    pub operating_system: String,
    #[serde(default = "shared")]
    #[schemars(with = "Tenancy")]
    pub tenancy: String,
    /// Time of the last start.
    #[schemars(with = "Time")]
    pub launch_time: String,
    /// When the primary network interface was attached; taken as the time when the instance was
    /// first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    pub attached_time: Option<String>,
    /// The text from EC2; for a stopped instance it states when the instance stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_transition_reason: Option<String>,
    /// For an instance of `SageMaker`, an empty object states that there are none; without the
    /// key they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// Groups instances into a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scaling_group: Option<String>,
    /// The host name that the `CloudWatch` agent uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    pub volumes: Vec<VolumeWire>,
    /// Each public address that is billed while the instance is stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    pub addresses: Vec<AddressWire>,
}

fn on_demand() -> String {
    "on-demand".to_owned()
}

fn linux() -> String {
    "linux".to_owned()
}

fn shared() -> String {
    "shared".to_owned()
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a volume such as {\"id\": \"vol-1\"}"
)]
pub(super) struct VolumeWire {
    pub id: String,
    /// `null` if unknown.
    pub volume_type: Option<String>,
    /// In GiB; `null` if unknown.
    #[schemars(range(max = MOST_VOLUME_GIB))]
    pub size_gib: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an address such as {\"id\": \"eipalloc-1\"}"
)]
pub(super) struct AddressWire {
    /// Such as `eipalloc-0123`.
    pub id: String,
}

/// Samples inside the window.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = renamed("told", "reported"))]
#[serde(
    deny_unknown_fields,
    expecting = "the sample counts of a run as an object"
)]
pub(super) struct SampleCountsWire {
    /// By at least half of the GPUs.
    #[serde(alias = "told")]
    pub reported: u64,
    pub taken: u64,
    pub missed: u64,
}

/// A run of `gpucost profile` on an instance.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = renamed("looks", "samples"))]
#[serde(deny_unknown_fields, expecting = "a profiled run object")]
pub(super) struct ProfileWire {
    /// ID of one of the instances.
    pub instance: String,
    #[schemars(with = "Time")]
    pub start: String,
    /// If the run was cut short, the last sample.
    #[schemars(with = "Time")]
    pub end: String,
    /// Whether the run covers a command from its start to its successful end.
    #[serde(default)]
    pub covers_a_command: bool,
    /// Without these counts the run is not evaluated.
    #[serde(default, alias = "looks", skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleCountsWire>,
    /// Mean over the samples of the mean over all GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub gpu_mean_percent: Option<f64>,
    /// 95th percentile of the host's CPU utilization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub cpu_p95_percent: Option<f64>,
    /// 95th percentile of the memory of the host in use, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub memory_p95_mib: Option<f64>,
}

/// The specification of an instance type.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a shape object")]
pub(super) struct ShapeWire {
    pub instance_type: String,
    #[schemars(with = "AcceleratorKind")]
    pub accelerator: String,
    pub gpu: Option<GpuWire>,
    pub vcpu: u32,
    /// In MiB.
    pub memory_mib: u64,
    #[schemars(with = "Option<Architecture>")]
    pub architecture: Option<String>,
    /// In GB.
    pub local_storage_gb: Option<u64>,
    pub efa: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a GPU with `model`, `count` and `vram_mib`"
)]
pub(super) struct GpuWire {
    pub model: String,
    /// As text: a whole number up to 256, or a fraction of one GPU such as 0.125.
    #[schemars(with = "Devices")]
    pub count: String,
    /// Of each GPU, in MiB.
    pub vram_mib: Option<u64>,
}

/// A price. Amounts are decimal numbers as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("dependentRequired" = {"upfront": ["recurring_hourly"], "recurring_hourly": ["upfront"]}))]
#[serde(deny_unknown_fields, expecting = "a price object")]
pub(super) struct PriceWire {
    /// `aws` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Provider>")]
    pub provider: Option<String>,
    pub region: String,
    /// For spot prices of one zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    #[schemars(with = "OperatingSystem")]
    pub operating_system: String,
    #[schemars(with = "Tenancy")]
    pub tenancy: String,
    #[schemars(with = "Offer")]
    pub option: String,
    #[schemars(with = "CurrencyCode")]
    pub currency: String,
    /// Per hour and above zero; of a commitment, effective over its term.
    #[schemars(with = "Price")]
    pub hourly: String,
    /// What a commitment costs at its beginning; only with `recurring_hourly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Amount")]
    pub upfront: Option<String>,
    /// What a commitment costs every hour; only with `upfront`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Amount")]
    pub recurring_hourly: Option<String>,
    #[schemars(with = "PriceOrigin")]
    pub origin: String,
    /// `observed` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriceBasis>")]
    pub basis: Option<String>,
    #[schemars(with = "Day")]
    pub effective_date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_history: Option<SpotHistoryWire>,
    /// The day on which it was last seen; the effective date unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Day>")]
    pub seen_on: Option<String>,
    /// Free text.
    pub source: String,
}

/// A price of storage or of an address.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a storage price object")]
pub(super) struct StoragePriceWire {
    pub region: String,
    #[schemars(with = "StorageResource")]
    pub resource: String,
    #[schemars(with = "CurrencyCode")]
    pub currency: String,
    /// Per GiB-month, or per hour of an address.
    #[schemars(with = "Price")]
    pub unit_price: String,
    #[schemars(with = "PriceOrigin")]
    pub origin: String,
    #[schemars(with = "Option<Day>")]
    pub effective_date: Option<String>,
    /// Free text.
    pub source: String,
}

/// What a spot price did over the window.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a spot history with `now`, `min`, `max`, `p95` and `volatility_percent`"
)]
pub(super) struct SpotHistoryWire {
    #[schemars(with = "Amount")]
    pub now: String,
    #[schemars(with = "Amount")]
    pub min: String,
    #[schemars(with = "Amount")]
    pub max: String,
    #[schemars(with = "Amount")]
    pub p95: String,
    /// Standard deviation divided by the mean, in percent.
    #[schemars(with = "Amount")]
    pub volatility_percent: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a tag filter with `key`, `value` and `excluded`"
)]
pub(super) struct TagFilterWire {
    pub key: String,
    pub value: String,
    /// Whether instances with it were excluded.
    #[serde(default)]
    pub excluded: bool,
}

/// Something that could not be read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a gap with `what`, `where`, `reason` and `hint`"
)]
pub(super) struct GapWire {
    /// What could not be read.
    pub what: String,
    /// Where.
    #[serde(rename = "where")]
    pub place: String,
    /// Used as it is without a cause.
    pub reason: String,
    /// Used as it is without a cause.
    pub hint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseWire>,
}

/// What the reason and the hint are derived from.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a cause with `kind` and `details`")]
pub(super) struct CauseWire {
    /// Name of the cause.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// As many as the kind has.
    #[serde(default, deserialize_with = "at_most::<_, _, 8>")]
    #[schemars(length(max = 8))]
    pub details: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `calls`, `retries` and `estimated_cost_usd`"
)]
pub(super) struct ApiWire {
    pub calls: u64,
    pub retries: u64,
    /// In USD, as text.
    #[schemars(with = "Change")]
    pub estimated_cost_usd: String,
    #[serde(default)]
    pub by_operation: BTreeMap<String, u64>,
}

/// Data points that were dropped during recording, by reason.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with a number per reason",
    default
)]
pub(super) struct RejectedWire {
    pub not_a_number: u64,
    pub negative: u64,
    pub over_100: u64,
    pub duplicate: u64,
    pub future: u64,
}

/// One metric of one instance, or of one of its GPUs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"properties": {"start": {"type": "string"}, "timestamps": {"type": "null"}}, "allOf": [{"required": ["start"]}]},
    {"properties": {"start": {"type": "null"}, "timestamps": {"type": "array"}}, "allOf": [{"required": ["timestamps"]}]},
]))]
#[serde(deny_unknown_fields, expecting = "a series object")]
pub(super) struct SeriesWire<'a, V = Vec<Cell>> {
    /// ID of one of the instances, including those out of scope.
    pub instance: Cow<'a, str>,
    /// Index on the host; absent for metrics of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MOST_GPUS - 1))]
    pub gpu: Option<u16>,
    /// Utilization is 0-100, memory in MiB, power in watts.
    #[schemars(with = "Metric")]
    pub metric: Cow<'a, str>,
    #[schemars(with = "Statistic")]
    pub statistic: Cow<'a, str>,
    #[schemars(with = "SeriesSource")]
    pub source: Cow<'a, str>,
    #[serde(default = "by_instance_id")]
    #[schemars(with = "JoinedBy")]
    pub joined_by: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedWire>,
    /// Period of this series.
    #[schemars(range(min = 1))]
    pub period_seconds: u32,
    /// Time of the first value; one value per period follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    pub start: Option<String>,
    /// Instead of `start`: seconds since the epoch, one per value, in any order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<AtMost<i64, MOST_CELLS>>,
    #[schemars(length(max = MOST_CELLS))]
    pub values: V,
}

impl<'a, V> SeriesWire<'a, V> {
    /// The same with its values read.
    ///
    /// # Errors
    /// Those of reading them.
    pub(super) fn with_values<E>(
        self,
        read: impl FnOnce(V) -> Result<Vec<Cell>, E>,
    ) -> Result<SeriesWire<'a>, E> {
        Ok(SeriesWire {
            values: read(self.values)?,
            instance: self.instance,
            gpu: self.gpu,
            metric: self.metric,
            statistic: self.statistic,
            source: self.source,
            joined_by: self.joined_by,
            rejected: self.rejected,
            period_seconds: self.period_seconds,
            start: self.start,
            timestamps: self.timestamps,
        })
    }
}

/// A volume of a pebibyte is beyond what is sold.
pub(super) const MOST_VOLUME_GIB: u64 = 1 << 20;
/// Volumes or addresses that one instance may have.
pub(super) const MOST_PARTS: usize = 10_000;
/// A window holds at most some hundred thousand periods; more is an error that would otherwise
/// fill the memory.
const MOST_TIMES: u32 = 1_000_000;
/// Cells that one series may have.
pub(super) const MOST_CELLS: usize = 1_000_000;

fn by_instance_id() -> Cow<'static, str> {
    Cow::Borrowed("instance-id")
}

/// A value, `null` where there is none, or `[value, times]` for a repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub value: Option<f64>,
    pub times: u32,
}

impl JsonSchema for Cell {
    fn schema_name() -> Cow<'static, str> {
        "Cell".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = "^(NaN|-?Infinity)$";
        json_schema!({
            "description": "A value, null for none, or [value, times] for a repetition; NaN as text is an invalid point.",
            "type": ["number", "null", "array", "string"],
            "pattern": number,
            "prefixItems": [
                { "type": ["number", "null", "string"], "pattern": number },
                { "type": "integer", "minimum": 1, "maximum": MOST_TIMES },
            ],
            "minItems": 2,
            "maxItems": 2,
        })
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.times == 1 {
            return number(self.value).serialize(serializer);
        }
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&number(self.value))?;
        pair.serialize_element(&self.times)?;
        pair.end()
    }
}

/// Whole numbers without a decimal point: most readings are.
#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Whole(u32),
    Decimal(f64),
    Absent(()),
}

fn number(value: Option<f64>) -> Number {
    match value {
        None => Number::Absent(()),
        Some(value) if value.fract() == 0.0 && (0.0..1e9).contains(&value) => {
            Number::Whole(value as u32)
        }
        Some(value) => Number::Decimal(value),
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, null, or [number, times]")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Cell, E> {
        Ok(Cell {
            value: None,
            times: 1,
        })
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell {
            value: Some(value),
            times: 1,
        })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Cell, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Cell, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Cell, E> {
        // JSON has no NaN; some exporters write it as text.
        match text {
            "NaN" | "Infinity" | "-Infinity" => self.visit_f64(f64::NAN),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Cell, A::Error> {
        let Cell { value, .. } = pair
            .next_element()?
            .ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let times: u32 = pair
            .next_element()?
            .ok_or_else(|| de::Error::invalid_length(1, &self))?;
        if times == 0 || times > MOST_TIMES {
            return Err(de::Error::custom(format!(
                "a repetition count must be between 1 and {MOST_TIMES}"
            )));
        }
        Ok(Cell { value, times })
    }
}
