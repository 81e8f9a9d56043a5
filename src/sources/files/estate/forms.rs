//! The forms of texts in an estate, and its JSON schema as its readers have it.

use crate::domain::{
    AcceleratorKind, Architecture, ClaimState, CommitmentTerm, Currency, EstateSource,
    InstanceState, JobStatus, JoinedBy, Lifecycle, Metric, OfferingClass, OperatingSystem,
    PaymentOption, PlanStatus, PoolMaker, PriceBasis, PriceOption, PriceOrigin, Provider,
    SavingsPlanKind, Scheduler, SeriesSource, Statistic, StorageResource, Tenancy,
};
use crate::sources::files::ESTATE_VERSION;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};
use std::borrow::Cow;

macro_rules! schema_of {
    ($name:ident, $schema:tt) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

macro_rules! forms {
    ($( $(#[$doc:meta])* $name:ident = $schema:tt; )*) => {$(
        $(#[$doc])*
        pub(super) enum $name {}

        schema_of!($name, $schema);
    )*};
}

forms! {
    Version = { "const": ESTATE_VERSION };
    /// RFC 3339.
    Time = {
        "type": "string", "format": "date-time",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    };
    Day = { "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" };
    /// A decimal from zero.
    Amount = { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$" };
    /// A decimal that may be below zero.
    Change = { "type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$" };
    /// A decimal above zero.
    Price = { "type": "string", "pattern": r"^([0-9]*[1-9][0-9]*(\.[0-9]+)?|[0-9]+\.[0-9]*[1-9][0-9]*)$" };
    /// Whole GPUs, or a fraction of one.
    Devices = { "type": "string", "pattern": r"^([1-9][0-9]*(\.0+)?|0?\.[0-9]*[1-9][0-9]*)$" };
    CurrencyCode = { "type": "string", "enum": Currency::CODES };
    Term = { "type": "string", "enum": texts(CommitmentTerm::ALL) };
    Offer = { "type": "string", "enum": texts(PriceOption::all()) };
    Positive = { "type": "integer", "minimum": 1 };
    /// Whatever it is.
    Ignored = {};
}

macro_rules! words {
    ($( $name:ident )*) => {$(
        schema_of!($name, { "type": "string", "enum": $name::NAMES });
    )*};
}

words! {
    AcceleratorKind Architecture ClaimState EstateSource InstanceState JobStatus JoinedBy Lifecycle
    Metric OfferingClass OperatingSystem PaymentOption PlanStatus PoolMaker PriceBasis PriceOrigin
    Provider SavingsPlanKind Scheduler SeriesSource Statistic StorageResource Tenancy
}

fn texts(values: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    let values = values.into_iter();
    values.map(|value| value.to_string()).collect()
}

/// Lets an object have a key under its earlier name, instead of the one that it has now.
pub(super) fn renamed(earlier: &'static str, now: &'static str) -> impl FnMut(&mut Schema) {
    move |schema| {
        let object = schema.ensure_object();
        let mut value = object["properties"][now].clone();
        value["deprecated"] = true.into();
        value["description"] = format!("What earlier recordings call {now}.").into();
        object["properties"][earlier] = value;
        let names = json!([{ "required": [now] }, { "required": [earlier] }]);
        // What is null has neither of them.
        let both = json!({ "type": "object", "allOf": names });
        object.insert("not".to_owned(), both);
        let required = object.get_mut("required").and_then(Json::as_array_mut);
        let place = required.and_then(|keys| {
            let place = keys.iter().position(|key| key == now)?;
            Some(keys.remove(place))
        });
        if place.is_some() {
            object.insert("anyOf".to_owned(), names);
        }
    }
}

/// What makes schemas that stand where they are used.
pub(super) fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    settings.into_generator()
}

/// The schema of a value with what it means where it stands, which may be empty.
pub(super) fn described<T: JsonSchema>(generator: &mut SchemaGenerator, meaning: &str) -> Json {
    let mut schema = generator.subschema_for::<T>();
    if !meaning.is_empty() {
        schema.insert("description".to_owned(), meaning.into());
    }
    schema.to_value()
}
