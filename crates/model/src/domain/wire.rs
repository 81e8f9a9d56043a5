//! How documents state times, decimals and lists: each form is for `with` of serde, and has its
//! schema.

use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::marker::PhantomData;

/// A value as text.
pub trait Form {
    type Value: Display;

    /// The value, or what is wrong with the text.
    fn read(text: &str) -> Result<Self::Value, String>;
}

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident($value:ty) = $schema:tt, $read:expr;)+) => {$(
        $(#[$doc])*
        pub enum $name {}

        impl Form for $name {
            type Value = $value;

            fn read(text: &str) -> Result<$value, String> {
                let read: fn(&str) -> Result<$value, String> = $read;
                read(text)
            }
        }

        impl $name {
            pub fn serialize<S: Serializer>(value: &$value, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(value)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$value, D::Error> {
                Self::read(&String::deserialize(from)?).map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

forms! {
    /// RFC 3339.
    Time(Timestamp) = {
        "type": "string", "format": "date-time",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    }, |text| text.parse().map_err(|error| format!("`{text}` is not an RFC 3339 time: {error}"));
    Day(Date) = {
        "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    }, |text| text.parse().map_err(|error| format!("`{text}` is not a date: {error}"));
    /// A decimal from zero.
    Amount(Decimal) = { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$" }, |text| {
        let amount = Change::read(text)?;
        let is_negative = amount.is_sign_negative();
        (!is_negative).then_some(amount).ok_or_else(|| format!("`{text}` is negative"))
    };
    /// A decimal that may be below zero.
    Change(Decimal) = { "type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$" },
        |text| text.parse().map_err(|_| format!("`{text}` is not a decimal number"));
    /// A decimal above zero.
    Price(Decimal) = {
        "type": "string", "pattern": r"^([0-9]*[1-9][0-9]*(\.[0-9]+)?|[0-9]+\.[0-9]*[1-9][0-9]*)$",
    }, Change::read;
}

/// A value as text, or none.
pub struct Maybe<F>(PhantomData<F>);

impl<F: Form> Maybe<F> {
    pub fn serialize<S: Serializer>(
        value: &Option<F::Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(ToString::to_string).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<F::Value>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| F::read(&text)).transpose().map_err(de::Error::custom)
    }
}

/// Elements that a list of one object has at most.
pub const MOST_PARTS: usize = 10_000;

/// A list of at most `MOST_PARTS` elements.
pub struct Parts<T>(PhantomData<T>);

impl<T: DeserializeOwned + Serialize> Parts<T> {
    pub fn serialize<S: Serializer>(parts: &[T], to: S) -> Result<S::Ok, S::Error> {
        parts.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
        at_most::<_, _, MOST_PARTS>(from)
    }
}

/// A list of at most [`MOST_PARTS`] elements, or no key; null is refused.
pub struct StatedParts<T>(PhantomData<T>);

impl<T: DeserializeOwned + Serialize> StatedParts<T> {
    pub fn serialize<S: Serializer>(parts: &Option<Vec<T>>, to: S) -> Result<S::Ok, S::Error> {
        parts.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<T>>, D::Error> {
        Parts::deserialize(from).map(Some)
    }
}

/// Instances of at most `N` types.
pub struct Counts<const N: usize>;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `instance_type` and `count`")]
struct Count {
    instance_type: String,
    count: u32,
}

impl<const N: usize> Counts<N> {
    pub fn serialize<S: Serializer>(
        counts: &[(String, u32)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            counts.iter().map(|(name, count)| Count { instance_type: name.clone(), count: *count }),
        )
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, u32)>, D::Error> {
        let counts = at_most::<_, Count, N>(deserializer)?.into_iter();
        Ok(counts.map(|count| (count.instance_type, count.count)).collect())
    }
}

/// A list of at most `N` elements.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct AtMost<T, const N: usize>(pub Vec<T>);

impl<T: JsonSchema, const N: usize> JsonSchema for AtMost<T, N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Of{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({ "type": "array", "items": items, "maxItems": N })
    }
}

impl<T, const N: usize> Default for AtMost<T, N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for AtMost<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        at_most::<_, _, N>(deserializer).map(Self)
    }
}

/// A list of at most `N` elements, for `deserialize_with`.
///
/// # Errors
/// When it has more.
pub fn at_most<'de, D, T, const N: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(Elements::<T, N>(PhantomData))
}

struct Elements<T, const N: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Elements<T, N> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            if elements.len() == N {
                return Err(de::Error::custom(format!("a list here has at most {N} elements")));
            }
            elements.push(element);
        }
        Ok(elements)
    }
}

macro_rules! has_schema_of {
    ($([$($generics:tt)+] $form:ty => $type:ty;)+) => {$(
        impl<$($generics)+> JsonSchema for $form {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                <$type>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$type>::json_schema(generator)
            }
        }
    )+};
}

has_schema_of! {
    [F: JsonSchema] Maybe<F> => Option<F>;
    [T: JsonSchema] Parts<T> => AtMost<T, MOST_PARTS>;
    [T: JsonSchema] StatedParts<T> => AtMost<T, MOST_PARTS>;
    [const N: usize] Counts<N> => AtMost<Count, N>;
}

/// Lets an object have a key under its earlier name, instead of the one that it has now.
pub fn renamed(earlier: &'static str, now: &'static str) -> impl FnMut(&mut Schema) {
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
        let place = object.get_mut("required").and_then(Json::as_array_mut).and_then(|keys| {
            let place = keys.iter().position(|key| key == now)?;
            Some(keys.remove(place))
        });
        if place.is_some() {
            object.insert("anyOf".to_owned(), names);
        }
    }
}
