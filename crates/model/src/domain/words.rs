//! Values that documents state as one text: words of closed sets, and names.

use super::{
    AcceleratorKind, Architecture, CauseKind, ClaimState, CommitmentTerm, Currency, EstateSource,
    GapSubject, GpuModel, GpuShare, InstanceState, JobStatus, JoinedBy, Lifecycle, MOST_GPUS,
    Metric, OfferingClass, OperatingSystem, PaymentOption, PlanStatus, PoolMaker, PriceBasis,
    PriceOption, PriceOrigin, Provider, ResourceId, SavingsPlanKind, Scheduler, SeriesSource,
    SpotAction, Statistic, StorageResource, Tenancy,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

macro_rules! texts {
    ($($type:ident $schema:tt $read:expr;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read: fn(&str) -> Result<Self, String> = $read;
                read(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

fn known<T>(value: Option<T>, noun: &str, text: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("`{text}` is not a known {noun}"))
}

macro_rules! words {
    ($($type:ident $noun:literal;)+) => {
        texts! {$(
            $type { "type": "string", "enum": $type::NAMES }
                |text| known($type::from_name(text), $noun, text);
        )+}
    };
}

words! {
    AcceleratorKind "accelerator";
    Architecture "architecture";
    ClaimState "claim state";
    EstateSource "source";
    InstanceState "state";
    JobStatus "status";
    JoinedBy "join method";
    Lifecycle "lifecycle";
    Metric "metric";
    OfferingClass "offering class";
    OperatingSystem "operating system";
    PaymentOption "payment";
    PlanStatus "status";
    PoolMaker "pool maker";
    PriceBasis "price basis";
    PriceOrigin "price origin";
    Provider "provider";
    SavingsPlanKind "savings plan";
    Scheduler "scheduler";
    SeriesSource "series source";
    SpotAction "spot action";
    Statistic "statistic";
    StorageResource "storage resource";
    Tenancy "tenancy";
}

fn all(values: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

texts! {
    CauseKind { "type": "string", "minLength": 1 }
        |text| known(CauseKind::from_name(text), "cause", text);
    CommitmentTerm { "type": "string", "enum": all(CommitmentTerm::ALL) }
        |text| known(CommitmentTerm::from_name(text), "term", text);
    Currency { "type": "string", "enum": Currency::NAMES }
        |text| known(Currency::from_name(text), "currency", text);
    GapSubject { "type": "string" } |text| Ok(GapSubject::named(text));
    GpuModel { "type": "string" } |text| Ok(GpuModel::from_name(text));
    GpuShare { "type": "string", "pattern": r"^([1-9][0-9]*(\.0+)?|0?\.[0-9]*[1-9][0-9]*)$" } |text| {
        text.parse().ok().and_then(GpuShare::from_count).ok_or_else(|| format!(
            "a GPU count must be an integer of at most {MOST_GPUS} or a fraction of one, not \
             `{text}`"
        ))
    };
    PriceOption { "type": "string", "enum": all(PriceOption::all()) }
        |text| known(PriceOption::from_name(text), "price option", text);
    ResourceId { "type": "string" } |text| Ok(ResourceId::named(text));
}
