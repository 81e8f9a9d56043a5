//! The values of a series, which are nearly all of an estate: read by hand where they
//! are plain numbers, by the parser of everything else where they are not.

use super::wire::{Cell, MOST_CELLS};
use crate::sources::files::shared::bounded::{AtMost, JsonError, read_json};
use std::marker::PhantomData;

/// Powers of ten that a double holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Digits whose number a double holds exactly.
const MOST_DIGITS: usize = 15;

/// The cells of a list of values.
///
/// # Errors
/// With the place in the list, when it is not one, or has too many.
pub(super) fn cells(text: &str) -> Result<Vec<Cell>, JsonError> {
    if let Some(cells) = Plain(text.as_bytes()).list() {
        return Ok(cells);
    }
    let list = PhantomData::<AtMost<Cell, MOST_CELLS>>;
    read_json(text.as_bytes(), text.len(), list).map(|list| list.0)
}

/// What is left of a list of numbers, `null` and `[number, times]`.
struct Plain<'a>(&'a [u8]);

impl Plain<'_> {
    /// All of it; `None` for anything else, and for what may be wrong with it.
    fn list(mut self) -> Option<Vec<Cell>> {
        self.take(b'[')?;
        let mut cells = Vec::new();
        if self.take(b']').is_some() {
            return Some(cells);
        }
        loop {
            cells.push(self.cell()?);
            if self.take(b',').is_none() {
                break;
            }
        }
        self.take(b']')?;
        (self.0.is_empty() && cells.len() <= MOST_CELLS).then_some(cells)
    }

    fn cell(&mut self) -> Option<Cell> {
        if self.take(b'[').is_none() {
            return Some(Cell { value: self.value()?, times: 1 });
        }
        let value = self.value()?;
        self.take(b',')?;
        let times = self.number()?;
        self.take(b']')?;
        let is_count = times.fract() == 0.0 && (1.0..=MOST_CELLS as f64).contains(&times);
        is_count.then_some(Cell { value, times: times as u32 })
    }

    fn value(&mut self) -> Option<Option<f64>> {
        self.skip_space();
        if let Some(rest) = self.0.strip_prefix(b"null") {
            self.0 = rest;
            return Some(None);
        }
        self.number().map(Some)
    }

    /// A number of few digits without an exponent, as the nearest double.
    fn number(&mut self) -> Option<f64> {
        self.skip_space();
        let is_negative = self.0.first() == Some(&b'-');
        let bytes = &self.0[usize::from(is_negative)..];
        let (mut digits, mut mantissa, mut point) = (0, 0_u64, None);
        let mut length = bytes.len();
        for (place, byte) in bytes.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    mantissa = mantissa.wrapping_mul(10) + u64::from(byte - b'0');
                    digits += 1;
                }
                b'.' if point.is_none() => point = Some(digits),
                b'e' | b'E' => return None,
                _ => {
                    length = place;
                    break;
                }
            }
        }
        if digits == 0 || digits > MOST_DIGITS {
            return None;
        }
        self.0 = &bytes[length..];
        let value = mantissa as f64 / TENS[digits - point.unwrap_or(digits)];
        Some(if is_negative { -value } else { value })
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    fn skip_space(&mut self) {
        while let Some((b' ' | b'\t' | b'\n' | b'\r', rest)) = self.0.split_first() {
            self.0 = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_the_parser(text: &str) -> Option<Vec<Cell>> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn what_is_not_plain_is_read_as_well() {
        for text in [
            "[]", " [ 1 , null,\n[2.5, 3] ] ", "[1e3, -1, 0.1, 123456789012345678]",
            "[\"NaN\", [null, 7]]",
        ] {
            let cells = cells(text.trim()).expect("a list of values");
            let expected = by_the_parser(text).expect("a list of values");
            assert_eq!(format!("{cells:?}"), format!("{expected:?}"), "{text}");
        }
    }

    #[test]
    fn an_error_has_its_place_in_the_list() {
        for (text, place) in [
            ("[1, \"much\"]", "[1]"),
            ("[[1, 0]]", "[0]"),
            ("[[1, 1.5]]", "[0][1]"),
            ("{\"a\": 1}", ""),
        ] {
            let error = cells(text).expect_err("it is wrong");
            assert_eq!(error.place, place, "{text}: {}", error.source);
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_parser(
            values in prop::collection::vec((0..1_000_000_000_u64, 0..9_u32, any::<bool>()), 0..40),
        ) {
            let number = |(digits, decimals, negative): &(u64, u32, bool)| {
                let scale = 10_u64.pow(*decimals);
                let sign = if *negative { "-" } else { "" };
                if *decimals == 0 {
                    format!("{sign}{digits}")
                } else {
                    let width = *decimals as usize;
                    format!("{sign}{}.{:0width$}", digits / scale, digits % scale)
                }
            };
            let text = format!("[{}]", values.iter().map(number).collect::<Vec<_>>().join(","));
            let numbers = Plain(text.as_bytes()).list().expect("plain");
            prop_assert_eq!(numbers, by_the_parser(&text).expect("a list"));
        }
    }
}
