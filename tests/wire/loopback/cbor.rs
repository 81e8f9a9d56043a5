//! The parts of CBOR (RFC 8949) that the CloudWatch protocol uses.
//!
//! Requests are decoded into a tree by `ciborium`, which takes maps and arrays
//! of definite and of indefinite length alike. Answers carry up to 100,800
//! points, so they are written straight into a buffer.

use ciborium::Value;

use super::error::ApiError;

/// Reads a request body; an empty one is an empty map.
pub fn decode(body: &[u8]) -> Result<Value, ApiError> {
    if body.is_empty() {
        return Ok(Value::Map(Vec::new()));
    }
    ciborium::from_reader(body)
        .map_err(|error| ApiError::new(400, "SerializationException", error.to_string()))
}

/// Reading a request tree by member name.
pub trait Members {
    fn member(&self, name: &str) -> Option<&Value>;
    fn text(&self, name: &str) -> Option<&str>;
    fn integer(&self, name: &str) -> Option<i64>;
    fn seconds(&self, name: &str) -> Option<i64>;
    fn items(&self, name: &str) -> &[Value];
}

impl Members for Value {
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.member(name)?.as_text()
    }

    fn integer(&self, name: &str) -> Option<i64> {
        self.member(name)?.as_integer()?.try_into().ok()
    }

    /// A point in time (tag 1), in whole epoch seconds.
    fn seconds(&self, name: &str) -> Option<i64> {
        let (tag, value) = self.member(name)?.as_tag()?;
        if tag != 1 {
            return None;
        }
        match value {
            Value::Integer(seconds) => (*seconds).try_into().ok(),
            Value::Float(seconds) => Some(seconds.floor() as i64),
            _ => None,
        }
    }

    fn items(&self, name: &str) -> &[Value] {
        self.member(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

/// Writes an answer; every map and array states its length first.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn map(&mut self, entries: usize) {
        self.head(5, entries as u64);
    }

    pub fn array(&mut self, items: usize) {
        self.head(4, items as u64);
    }

    pub fn text(&mut self, text: &str) {
        self.head(3, text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    pub fn float(&mut self, value: f64) {
        self.0.push(0xfb);
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// A point in time: tag 1 around epoch seconds.
    pub fn timestamp(&mut self, seconds: i64) {
        self.head(6, 1);
        match u64::try_from(seconds) {
            Ok(seconds) => self.head(0, seconds),
            Err(_) => self.float(seconds as f64),
        }
    }

    /// Adds what another writer holds, for example the items of an array.
    pub fn append(&mut self, items: Self) {
        self.0.extend(items.0);
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The initial byte of an item, with its argument in the shortest form.
    fn head(&mut self, major: u8, argument: u64) {
        let major = major << 5;
        let bytes = argument.to_be_bytes();
        let (short, from) = match argument {
            0..=23 => (bytes[7], 8),
            24..=0xff => (24, 7),
            0x100..=0xffff => (25, 6),
            0x1_0000..=0xffff_ffff => (26, 4),
            _ => (27, 0),
        };
        self.0.push(major | short);
        self.0.extend_from_slice(&bytes[from..]);
    }
}
