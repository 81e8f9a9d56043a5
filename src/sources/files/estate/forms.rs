//! The JSON schema of an estate as its readers have it.

use crate::sources::files::ESTATE_VERSION;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;
use std::borrow::Cow;

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
