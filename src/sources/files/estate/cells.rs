//! The values of a series, which are nearly all of an estate.

use super::wire::{Cell, MOST_CELLS};
use crate::sources::files::shared::bounded::{AtMost, JsonError, read_json};
use std::marker::PhantomData;

type List = AtMost<Cell, MOST_CELLS>;

/// The cells of a list of values. What names the place of an error takes several times as long,
/// and reads only what is not such a list.
///
/// # Errors
/// With the place in the list, when it is not one, or has too many.
pub(super) fn cells(text: &str) -> Result<Vec<Cell>, JsonError> {
    let list = serde_json::from_str::<List>(text)
        .or_else(|_| read_json(text.as_bytes(), text.len(), PhantomData::<List>));
    list.map(|list| list.0)
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
}
