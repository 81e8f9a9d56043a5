//! JSON whose errors are values. A parser carries no errors but its own, which are text:
//! what a visitor finds wrong is kept beside the parser until its error arrives above.
//! Values are told apart by what they are, so an enum in a document needs a tag inside.

use super::invalid_json::{InvalidJson, InvalidValue};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use std::cell::Cell;
use std::fmt;

/// An error of the parser, or of what reads its values.
#[derive(Debug)]
pub(super) enum Fault<E> {
    Parser(E),
    /// With the error that took its place in the parser, if it went through one.
    Value(Box<InvalidValue>, Option<E>),
}

impl<E> Fault<E> {
    fn value(value: InvalidValue) -> Self {
        Self::Value(Box::new(value), None)
    }
}

impl<E: fmt::Display> fmt::Display for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parser(error) => fmt::Display::fmt(error, f),
            Self::Value(value, _) => fmt::Display::fmt(value, f),
        }
    }
}

impl<E: de::Error> std::error::Error for Fault<E> {}

impl<E: de::Error> de::Error for Fault<E> {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self::value(InvalidValue::other(words.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::value(InvalidValue::mismatch(unexpected, expected.to_string()))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Self::value(InvalidValue::unknown("kind", name, known))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::value(InvalidValue::unknown("key", name, known))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::custom(format_args!("the key `{name}` is missing"))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::custom(format_args!("duplicate key `{name}`"))
    }
}

impl From<Fault<serde_json::Error>> for InvalidJson {
    fn from(fault: Fault<serde_json::Error>) -> Self {
        match fault {
            Fault::Parser(error) => Self::Text(error),
            Fault::Value(value, None) => Self::Value(*value),
            Fault::Value(value, Some(error)) => Self::Value(value.at(error.line(), error.column())),
        }
    }
}

/// What a visitor found wrong, while the parser carries an error in its place.
#[derive(Default)]
pub(super) struct Lost(Cell<Option<Box<InvalidValue>>>);

impl Lost {
    /// The error that the parser carries. What was just found wrong is named as what the
    /// reader asked for, which the visitor knows only in words of Rust.
    fn keep<E: de::Error>(&self, fault: Fault<E>, expected: Option<&'static str>) -> E {
        let (mut value, error) = match fault {
            Fault::Parser(error) => return error,
            Fault::Value(value, error) => (value, error),
        };
        if let (None, Some(words)) = (&error, expected) {
            value.expecting(words);
        }
        self.0.set(Some(value));
        error.unwrap_or_else(|| E::custom("an invalid value"))
    }

    fn fault<E>(&self, error: E) -> Fault<E> {
        match self.0.take() {
            Some(value) => Fault::Value(value, Some(error)),
            None => Fault::Parser(error),
        }
    }
}

/// What the parser meets, or what meets the parser: each hands the other on wrapped.
pub(super) struct Typed<'a, T> {
    inner: T,
    lost: &'a Lost,
    expected: Option<&'static str>,
}

impl<'a, T> Typed<'a, T> {
    pub(super) fn new(inner: T, lost: &'a Lost) -> Self {
        Self { inner, lost, expected: None }
    }

    fn any<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        expected: Option<&'static str>,
    ) -> Result<V::Value, Fault<T::Error>>
    where
        T: Deserializer<'de>,
    {
        let Self { inner, lost, .. } = self;
        let visitor = Typed { inner: visitor, lost, expected };
        inner.deserialize_any(visitor).map_err(|error| lost.fault(error))
    }
}

const TEXT: &str = "a quoted string";

macro_rules! expecting {
    ($($method:ident $words:expr;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.any(visitor, Some($words))
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Typed<'_, D> {
    type Error = Fault<D::Error>;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.any(visitor, None)
    }

    expecting! {
        deserialize_bool "true or false";
        deserialize_u16 "an integer from 0 to 65535";
        deserialize_u32 "an integer from 0 to 4294967295";
        deserialize_u64 "an integer of zero or more";
        deserialize_i64 "an integer";
        deserialize_f64 "a number";
        deserialize_char TEXT;
        deserialize_str TEXT;
        deserialize_string TEXT;
        deserialize_identifier TEXT;
        deserialize_map "an object";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let Self { inner, lost, .. } = self;
        inner.deserialize_option(Typed::new(visitor, lost)).map_err(|error| lost.fault(error))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let Self { inner, lost, .. } = self;
        inner
            .deserialize_newtype_struct(name, Typed::new(visitor, lost))
            .map_err(|error| lost.fault(error))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u128 f32 bytes byte_buf unit unit_struct seq tuple tuple_struct
        struct enum ignored_any
    }
}

macro_rules! visits {
    ($($method:ident($($value:ident: $type:ty)?);)+) => {
        $(fn $method<E: de::Error>(self $(, $value: $type)?) -> Result<V::Value, E> {
            let Self { inner, lost, expected } = self;
            inner.$method($($value)?).map_err(|fault: Fault<E>| lost.keep(fault, expected))
        })+
    };
}

macro_rules! hands_on {
    ($($method:ident($access:ident);)+) => {
        $(fn $method<A: $access<'de>>(self, access: A) -> Result<V::Value, A::Error> {
            let Self { inner, lost, expected } = self;
            inner.$method(Typed::new(access, lost)).map_err(|fault| lost.keep(fault, expected))
        })+
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Typed<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visits! {
        visit_bool(value: bool);
        visit_i64(value: i64);
        visit_f64(value: f64);
        visit_str(value: &str);
        visit_borrowed_str(value: &'de str);
        visit_string(value: String);
        visit_unit();
        visit_none();
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<V::Value, E> {
        let Self { inner, lost, expected } = self;
        // Whoever asks for a name takes its index as well.
        let read = if expected == Some(TEXT) {
            Err(de::Error::invalid_type(Unexpected::Unsigned(value), &TEXT))
        } else {
            inner.visit_u64(value)
        };
        read.map_err(|fault: Fault<E>| lost.keep(fault, expected))
    }

    hands_on! {
        visit_some(Deserializer);
        visit_newtype_struct(Deserializer);
        visit_seq(SeqAccess);
        visit_map(MapAccess);
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Typed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let Self { inner, lost, .. } = self;
        inner.deserialize(Typed::new(deserializer, lost)).map_err(|fault| lost.keep(fault, None))
    }
}

macro_rules! accesses {
    ($($access:ident { $($method:ident -> $value:ty;)+ })+) => {
        $(impl<'de, A: $access<'de>> $access<'de> for Typed<'_, A> {
            type Error = Fault<A::Error>;

            $(fn $method<S: DeserializeSeed<'de>>(
                &mut self,
                seed: S,
            ) -> Result<$value, Self::Error> {
                let read = self.inner.$method(Typed::new(seed, self.lost));
                read.map_err(|error| self.lost.fault(error))
            })+

            fn size_hint(&self) -> Option<usize> {
                self.inner.size_hint()
            }
        })+
    };
}
accesses! {
    SeqAccess { next_element_seed -> Option<S::Value>; }
    MapAccess { next_key_seed -> Option<S::Value>; next_value_seed -> S::Value; }
}

/// A value as a text, or as a number.
pub(in crate::sources) struct TextOrNumber<T> {
    /// What it is, for messages.
    pub expected: &'static str,
    pub of_text: fn(&str) -> Option<T>,
    pub of_number: fn(f64) -> Option<T>,
}

impl<T> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.of_text)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.of_number)(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
}

/// For `deserialize_with`: reads what serde has buffered, as in a tagged enum.
///
/// # Errors
/// In the same words as those of a document, after the keys that lead to the value.
pub(in crate::sources::files) fn typed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let lost = Lost::default();
    let mut track = serde_path_to_error::Track::new();
    let typed = Typed::new(deserializer, &lost);
    let read = T::deserialize(serde_path_to_error::Deserializer::new(typed, &mut track));
    read.map_err(|fault| match fault {
        Fault::Parser(error) => error,
        Fault::Value(value, _) => match track.path().to_string().as_str() {
            "." => de::Error::custom(value),
            place => de::Error::custom(format_args!("`{place}`: {value}")),
        },
    })
}
