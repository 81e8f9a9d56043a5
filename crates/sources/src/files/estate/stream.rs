//! A JSON document of which each value is text in memory when it is parsed, which takes a third of
//! the time of a parser that asks for every byte. It names no place: what it does not read is for
//! the parser that does.

use crate::files::shared::bounded::BUFFER_BYTES;
use memchr::{memchr2, memchr3};
use serde::de::{self, DeserializeSeed, MapAccess};
use serde_json::Error;
use std::io::{BufRead, BufReader, Read};

/// Bytes of one value.
const LONGEST_VALUE: usize = 32 << 20;

pub(super) fn invalid() -> Error {
    de::Error::custom("invalid JSON")
}

/// The value of a key that was read before.
pub(super) struct OneValue<'a>(pub(super) &'a [u8]);

impl<'a> MapAccess<'a> for OneValue<'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, _: K) -> Result<Option<K::Value>, Error> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut text = serde_json::Deserializer::from_slice(self.0);
        let value = seed.deserialize(&mut text)?;
        text.end().map(|()| value)
    }
}

pub(super) struct Document<R> {
    input: BufReader<R>,
    /// Bytes of a text or number.
    longest: usize,
    /// The value that was read last.
    pub(super) text: Vec<u8>,
}

impl<R: Read> Document<R> {
    /// A document with texts and numbers of at most so many bytes.
    pub(super) fn new(input: R, longest: usize) -> Self {
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Self { input, longest, text: Vec::new() }
    }

    /// The next byte that is not white space; it is not consumed.
    pub(super) fn next_byte(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let bytes = self.input.fill_buf().map_err(Error::io)?;
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let spaces = bytes.iter().take_while(|byte| is_space(byte)).count();
            let next = bytes.get(spaces).copied();
            let is_end = bytes.is_empty();
            self.input.consume(spaces);
            if next.is_some() || is_end {
                return Ok(next);
            }
        }
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.next_byte()? != Some(byte) {
            return Err(invalid());
        }
        self.input.consume(1);
        Ok(())
    }

    /// Whether another element of an object or list follows; what ends it is consumed.
    pub(super) fn has_next(&mut self, end: u8, is_first: &mut bool) -> Result<bool, Error> {
        if self.next_byte()? == Some(end) {
            self.input.consume(1);
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            self.expect(b',')?;
        }
        Ok(true)
    }

    /// Reads the text of the next value, as far as its own brackets and quotes tell.
    pub(super) fn read_text(&mut self) -> Result<(), Error> {
        let (open, close) = match self.next_byte()?.ok_or_else(invalid)? {
            b'[' => (b'[', b']'),
            b'{' | b'"' => (b'{', b'}'),
            _ => return self.read_word(),
        };
        self.text.clear();
        let (mut depth, mut is_escaped, mut quote) = (0_usize, false, None);
        loop {
            let bytes = self.input.fill_buf().map_err(Error::io)?;
            if bytes.is_empty() || self.text.len() > LONGEST_VALUE {
                return Err(invalid());
            }
            let mut next = usize::from(std::mem::take(&mut is_escaped));
            let mut is_complete = false;
            while let Some(rest) = bytes.get(next..).filter(|_| !is_complete) {
                let found = match quote {
                    Some(_) => memchr2(b'"', b'\\', rest),
                    None => memchr3(open, close, b'"', rest),
                };
                let Some(place) = found.map(|offset| next + offset) else { break };
                next = place + 1;
                match (bytes[place], quote) {
                    (b'\\', _) => {
                        is_escaped = next == bytes.len();
                        next += 1;
                    }
                    (b'"', Some(from)) if self.text.len() + place - from > self.longest => {
                        return Err(invalid());
                    }
                    (b'"', Some(_)) => quote = None,
                    (b'"', None) => quote = Some(self.text.len() + place),
                    (byte, _) if byte == open => depth += 1,
                    _ => depth = depth.checked_sub(1).ok_or_else(invalid)?,
                }
                is_complete = depth == 0 && quote.is_none();
            }
            let length = if is_complete { next } else { bytes.len() };
            self.text.extend_from_slice(&bytes[..length]);
            self.input.consume(length);
            if is_complete {
                return Ok(());
            }
        }
    }

    /// Reads a number, a truth value or null.
    fn read_word(&mut self) -> Result<(), Error> {
        self.text.clear();
        loop {
            let bytes = self.input.fill_buf().map_err(Error::io)?;
            let is_own = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let length = bytes.iter().take_while(|byte| is_own(byte)).count();
            let is_complete = length < bytes.len() || bytes.is_empty();
            self.text.extend_from_slice(&bytes[..length]);
            self.input.consume(length);
            match is_complete {
                true if self.text.is_empty() => return Err(invalid()),
                true => return Ok(()),
                false if self.text.len() > self.longest => return Err(invalid()),
                false => {}
            }
        }
    }
}
