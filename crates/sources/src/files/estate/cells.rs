//! Values of series with the place of what is wrong among them.

use crate::files::shared::json::{InvalidJson, JsonError, read_json};
use crate::usage::{Cell, Cells, read_cells};
use serde::de;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::marker::PhantomData;

pub(super) struct PlacedCells(pub(super) Vec<Cell>);

impl<'de> Deserialize<'de> for PlacedCells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Box::<RawValue>::deserialize(deserializer)?;
        let cells = placed_cells(list.get()).map_err(|JsonError { place, source }| {
            let words = match source {
                InvalidJson::Value(invalid) => invalid.words,
                // It was read as JSON before, which numbers out of range and halves of
                // surrogate pairs pass.
                InvalidJson::Text(_) => "invalid number or string".to_owned(),
            };
            de::Error::custom(format_args!("{words}, at `values{place}`"))
        });
        cells.map(Self)
    }
}

/// What names the place of an error takes several times as long, and reads only what is not such
/// a list.
fn placed_cells(text: &str) -> Result<Vec<Cell>, JsonError> {
    read_cells(text).or_else(|_| {
        read_json(text.as_bytes(), text.len(), PhantomData::<Cells>).map(|cells| cells.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_the_parser(text: &str) -> Option<Vec<Cell>> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn numbers_absent_values_and_repetitions_are_read() {
        for text in [
            "[]", " [ 1 , null,\n[2.5, 3] ] ", "[1e3, -1, 0.1, 123456789012345678]",
            "[\"NaN\", [null, 7]]",
        ] {
            let cells = placed_cells(text.trim()).expect("a list of values");
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
            let error = placed_cells(text).expect_err("it is wrong");
            assert_eq!(error.place, place, "{text}: {}", error.source);
        }
    }
}
