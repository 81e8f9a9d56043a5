//! JSON in one line, which is how engines read it, that ends with a checksum of the rest.

use crate::sources::store::invalid;
use flate2::Crc;
use serde::Serialize;
use std::io;

/// What is between the rest and the checksum.
const MARK: &[u8] = b",\"crc32\":";
/// What is after it.
const END: &[u8] = b"}\n";

/// The text of an object that has keys.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn sealed<T: Serialize>(object: &T) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(object)?;
    // Its end comes after the checksum.
    text.pop();
    Ok(with_checksum(text))
}

fn with_checksum(mut text: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&text).to_string();
    for part in [MARK, sum.as_bytes(), END] {
        text.extend_from_slice(part);
    }
    text
}

/// Checks that a text is as [`sealed`] wrote it.
///
/// # Errors
/// When it is not.
pub(super) fn check(text: &[u8]) -> io::Result<()> {
    let rest = text.strip_suffix(END).unwrap_or_default();
    let mut parts = rest.windows(MARK.len());
    let is_whole = parts.rposition(|part| part == MARK).is_some_and(|at| {
        let (own, sum) = rest.split_at(at);
        sum.get(MARK.len()..) == Some(checksum(own).to_string().as_bytes())
    });
    if !is_whole {
        return Err(invalid("its checksum is not the one that was written"));
    }
    Ok(())
}

fn checksum(text: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(text);
    crc.sum()
}

/// A text that was changed on purpose, with the checksum of what it is now.
#[cfg(test)]
pub(in crate::sources::files::history) fn resealed(text: &str) -> Vec<u8> {
    let mark = std::str::from_utf8(MARK).expect("it is text");
    let (own, _) = text.rsplit_once(mark).expect("it has a checksum");
    with_checksum(own.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_changed_bit_is_found_and_the_text_is_json() {
        let object = json!({"a": 1, "text": ",\"crc32\":7}\n"});
        let text = sealed(&object).expect("JSON");
        // The CRC-32 of what is before it, by zlib of Python.
        assert!(text.ends_with(b",\"crc32\":3919650846}\n"));
        assert!(check(&text).is_ok());
        let mut read: Value = serde_json::from_slice(&text).expect("JSON");
        let sum = read.as_object_mut().and_then(|all| all.remove("crc32"));
        assert!(sum.is_some());
        assert_eq!(read, object);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut changed = text.clone();
                changed[at] ^= 1_u8 << bit;
                assert!(check(&changed).is_err(), "bit {bit} of byte {at}");
            }
            assert!(check(&text[..at]).is_err(), "{at} bytes");
        }
        assert!(check(b"").is_err());
    }
}
