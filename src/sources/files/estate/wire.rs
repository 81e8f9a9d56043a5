//! The wire form of an estate. Kept apart from the domain types, so that a
//! refactor cannot change the file format by accident.

use crate::sources::files::shared::bounded::{AtMost, at_most};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Everything but the metrics, which are streamed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an instance object")]
pub(super) struct InstanceWire {
    pub id: String,
    pub account: String,
    pub region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    pub state: String,
    #[serde(default = "on_demand")]
    pub lifecycle: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_reservation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_block_id: Option<String>,
    #[serde(default = "linux")]
    pub operating_system: String,
    #[serde(default = "shared")]
    pub tenancy: String,
    pub launch_time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_transition_reason: Option<String>,
    /// Absent where there are none, and of SageMaker where they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scaling_group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    pub volumes: Vec<VolumeWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
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

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a volume such as {\"id\": \"vol-1\"}"
)]
pub(super) struct VolumeWire {
    pub id: String,
    pub volume_type: Option<String>,
    pub size_gib: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an address such as {\"id\": \"eipalloc-1\"}"
)]
pub(super) struct AddressWire {
    pub id: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "the sample counts of a run as an object"
)]
pub(super) struct SampleCountsWire {
    /// Earlier recordings call it `told`.
    #[serde(alias = "told")]
    pub reported: u64,
    pub taken: u64,
    pub missed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a profiled run object")]
pub(super) struct ProfileWire {
    pub instance: String,
    pub start: String,
    pub end: String,
    #[serde(default)]
    pub covers_a_command: bool,
    /// Earlier recordings call it `looks`.
    #[serde(default, alias = "looks", skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleCountsWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_mean_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_p95_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_p95_mib: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a shape object")]
pub(super) struct ShapeWire {
    pub instance_type: String,
    pub accelerator: String,
    pub gpu: Option<GpuWire>,
    pub vcpu: u32,
    pub memory_mib: u64,
    pub architecture: Option<String>,
    pub local_storage_gb: Option<u64>,
    pub efa: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a GPU with `model`, `count` and `vram_mib`"
)]
pub(super) struct GpuWire {
    pub model: String,
    /// Decimal as text: whole devices, or a fraction of one.
    pub count: String,
    pub vram_mib: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a price object")]
pub(super) struct PriceWire {
    /// AWS where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    pub operating_system: String,
    pub tenancy: String,
    pub option: String,
    pub currency: String,
    /// Decimal as text, per hour; of a commitment, effective over its term.
    pub hourly: String,
    /// Decimal as text: what a commitment costs at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upfront: Option<String>,
    /// Decimal as text: what a commitment costs every hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recurring_hourly: Option<String>,
    pub origin: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    pub effective_date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_history: Option<SpotHistoryWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_on: Option<String>,
    pub source: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a storage price object")]
pub(super) struct StoragePriceWire {
    pub region: String,
    pub resource: String,
    pub currency: String,
    /// Decimal as text, per GiB-month or address-hour.
    pub unit_price: String,
    pub origin: String,
    pub effective_date: Option<String>,
    pub source: String,
}

/// What a spot price did; its mean is the price. Decimals as text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a spot history with `now`, `min`, `max`, `p95` and `volatility_percent`"
)]
pub(super) struct SpotHistoryWire {
    pub now: String,
    pub min: String,
    pub max: String,
    pub p95: String,
    pub volatility_percent: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a tag filter with `key`, `value` and `excluded`"
)]
pub(super) struct TagFilterWire {
    pub key: String,
    pub value: String,
    #[serde(default)]
    pub excluded: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a gap with `what`, `where`, `reason` and `hint`"
)]
pub(super) struct GapWire {
    pub what: String,
    #[serde(rename = "where")]
    pub place: String,
    pub reason: String,
    pub hint: String,
    /// What the reason and the hint are made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseWire>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a cause with `kind` and `details`")]
pub(super) struct CauseWire {
    pub kind: String,
    #[serde(default, deserialize_with = "at_most::<_, _, 8>")]
    pub details: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `calls`, `retries` and `estimated_cost_usd`"
)]
pub(super) struct ApiWire {
    pub calls: u64,
    pub retries: u64,
    /// Decimal as text.
    pub estimated_cost_usd: String,
    #[serde(default)]
    pub by_operation: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
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

/// One series. Values stand on a regular grid from `start`, or beside explicit
/// `timestamps` (seconds since the epoch) of the same number.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a series object")]
pub(super) struct SeriesWire<'a, V = Vec<Cell>> {
    pub instance: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u16>,
    pub metric: Cow<'a, str>,
    pub statistic: Cow<'a, str>,
    pub source: Cow<'a, str>,
    #[serde(default = "by_instance_id")]
    pub joined_by: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedWire>,
    pub period_seconds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<AtMost<i64, MOST_CELLS>>,
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

/// Volumes or addresses that one instance may have.
pub(super) const MOST_PARTS: usize = 10_000;
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
        // A window holds at most some hundred thousand periods; more is an error
        // that would otherwise fill the memory.
        if times == 0 || times > 1_000_000 {
            return Err(de::Error::custom(
                "a repetition count must be between 1 and 1000000",
            ));
        }
        Ok(Cell { value, times })
    }
}
