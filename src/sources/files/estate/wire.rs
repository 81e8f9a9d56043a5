//! What an estate states in another layout than the types of the domain: instances, whose tags
//! may not be stated, prices by key, claims, amounts beside their currency, and series, which are
//! streamed; with the JSON schema of an estate as its readers have it.

use crate::domain::{
    Address, Amount, AtMost, Change, ClaimState, Currency, Day, DeviceUnit, InstanceState,
    JoinedBy, Lifecycle, MOST_GPUS, Maybe, Metric, OperatingSystem, Owner, Parts, Placement, Price,
    PriceBasis, PriceOption, PriceOrigin, Provider, Rejected, ResourceId, SeriesSource,
    SpotHistory, Statistic, StorageResource, Tenancy, Time, Volume,
};
use crate::sources::files::ESTATE_VERSION;
use crate::sources::files::shared::same_fields;
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// An instance.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an instance object")]
pub(super) struct InstanceWire {
    /// Must be unique.
    pub id: ResourceId,
    pub account: String,
    pub region: String,
    /// Such as us-east-1a; determines the spot price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    pub state: InstanceState,
    #[serde(default = "on_demand")]
    pub lifecycle: Lifecycle,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_reservation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_block_id: Option<String>,
    #[serde(default = "linux")]
    pub operating_system: OperatingSystem,
    #[serde(default = "shared")]
    pub tenancy: Tenancy,
    /// Time of the last start.
    #[serde(with = "Time")]
    pub launch_time: Timestamp,
    /// When the primary network interface was attached; taken as the time when the instance was
    /// first seen.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub attached_time: Option<Timestamp>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<Volume>")]
    pub volumes: Vec<Volume>,
    /// Each public address that is billed while the instance is stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<Address>")]
    pub addresses: Vec<Address>,
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

/// A price. Amounts are decimal numbers as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("dependentRequired" = {"upfront": ["recurring_hourly"], "recurring_hourly": ["upfront"]}))]
#[serde(deny_unknown_fields, expecting = "a price object")]
pub(super) struct PriceWire {
    /// `aws` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    pub region: String,
    /// For spot prices of one zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    pub operating_system: OperatingSystem,
    pub tenancy: Tenancy,
    pub option: PriceOption,
    pub currency: Currency,
    /// Per hour and above zero; of a commitment, effective over its term.
    #[serde(with = "Price")]
    pub hourly: Decimal,
    /// What a commitment costs at its beginning; only with `recurring_hourly`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    #[schemars(with = "Amount")]
    pub upfront: Option<Decimal>,
    /// What a commitment costs every hour; only with `upfront`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    #[schemars(with = "Amount")]
    pub recurring_hourly: Option<Decimal>,
    pub origin: PriceOrigin,
    /// `observed` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<PriceBasis>,
    #[serde(with = "Day")]
    pub effective_date: Date,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_history: Option<SpotHistory>,
    /// The day on which it was last seen; the effective date unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Day>")]
    pub seen_on: Option<Date>,
    /// Free text.
    pub source: String,
}

/// A price of storage or of an address.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a storage price object")]
pub(super) struct StoragePriceWire {
    pub region: String,
    pub resource: StorageResource,
    pub currency: Currency,
    /// Per GiB-month, or per hour of an address.
    #[serde(with = "Price")]
    pub unit_price: Decimal,
    pub origin: PriceOrigin,
    #[serde(default, with = "Maybe::<Day>")]
    pub effective_date: Option<Date>,
    /// Free text.
    pub source: String,
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
    pub namespace: String,
    /// Absent for devices that are allocated to no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub resource: String,
    #[serde(default)]
    pub unit: DeviceUnit,
    /// Number of such units.
    pub count: u32,
    pub state: ClaimState,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub since: Option<Timestamp>,
    /// The machine of the node; required unless it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
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
    pub instance: Option<ResourceId>,
    /// In place of `instance`, for those of an Auto Scaling group.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<ResourceId>")]
    pub instances: Vec<ResourceId>,
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default = "usd")]
    pub currency: Currency,
    /// What AWS estimates, per month.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Change>")]
    pub monthly_savings: Option<Decimal>,
}

pub(super) fn usd() -> Currency {
    Currency::Usd
}

/// One metric of one instance, or of one of its GPUs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"properties": {"start": {"type": "string"}, "timestamps": {"type": "null"}}, "allOf": [{"required": ["start"]}]},
    {"properties": {"start": {"type": "null"}, "timestamps": {"type": "array"}}, "allOf": [{"required": ["timestamps"]}]},
]))]
#[serde(deny_unknown_fields, expecting = "a series object")]
pub(super) struct SeriesWire<V = Vec<Cell>> {
    /// ID of one of the instances, including those out of scope.
    pub instance: ResourceId,
    /// Index on the host; absent for metrics of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MOST_GPUS - 1))]
    pub gpu: Option<u16>,
    /// Utilization is 0-100, memory in MiB, power in watts.
    pub metric: Metric,
    pub statistic: Statistic,
    pub source: SeriesSource,
    #[serde(default = "by_instance_id")]
    pub joined_by: JoinedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
    /// Period of this series.
    #[schemars(range(min = 1))]
    pub period_seconds: u32,
    /// Time of the first value; one value per period follows.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub start: Option<Timestamp>,
    /// Instead of `start`: seconds since the epoch, one per value, in any order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<AtMost<i64, MOST_CELLS>>,
    #[schemars(length(max = MOST_CELLS))]
    pub values: V,
}

impl<V> SeriesWire<V> {
    /// The same with its values read.
    ///
    /// # Errors
    /// Those of reading them.
    pub(super) fn with_values<E>(
        self,
        read: impl FnOnce(V) -> Result<Vec<Cell>, E>,
    ) -> Result<SeriesWire, E> {
        Ok(same_fields!(self => SeriesWire {
            instance, gpu, metric, statistic, source, joined_by, rejected, period_seconds, start,
            timestamps;
            values: read(self.values)?,
        }))
    }
}

/// A window holds at most some hundred thousand periods; more is an error that would otherwise
/// fill the memory.
const MOST_TIMES: u32 = 1_000_000;
/// Cells that one series may have.
pub(super) const MOST_CELLS: usize = 1_000_000;

fn by_instance_id() -> JoinedBy {
    JoinedBy::InstanceId
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
            return Number(self.value).serialize(serializer);
        }
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&Number(self.value))?;
        pair.serialize_element(&self.times)?;
        pair.end()
    }
}

/// Whole numbers without a decimal point: most readings are.
struct Number(Option<f64>);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_unit(),
            Some(value) if value.fract() == 0.0 && (0.0..1e9).contains(&value) => {
                serializer.serialize_u32(value as u32)
            }
            Some(value) => serializer.serialize_f64(value),
        }
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
        Ok(Cell { value: None, times: 1 })
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell { value: Some(value), times: 1 })
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
        let Cell { value, .. } =
            pair.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let times: u32 = pair.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        if times == 0 || times > MOST_TIMES {
            return Err(de::Error::custom(format!(
                "a repetition count must be between 1 and {MOST_TIMES}"
            )));
        }
        Ok(Cell { value, times })
    }
}

macro_rules! forms {
    ($( $(#[$doc:meta])* $name:ident = $schema:tt; )*) => {$(
        $(#[$doc])*
        pub(super) enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

forms! {
    Version = { "const": ESTATE_VERSION };
    Positive = { "type": "integer", "minimum": 1 };
    /// Whatever it is.
    Ignored = {};
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
