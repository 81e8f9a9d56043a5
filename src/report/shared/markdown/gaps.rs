//! What was not seen, as a table of a page.

use super::escape::{code, text};
use super::page::{Column, Row, words};
use crate::domain::Gap;
use crate::report::shared::gaps::places;

pub(in crate::report) const OF_GAPS: &[Column] = &[
    words("missing data"),
    words("where"),
    words("why"),
    words("how to fix"),
];

/// A gap, or a group of them that differ in nothing but their place.
pub(in crate::report) fn gap_row(group: &[&Gap]) -> Row {
    let [first, others @ ..] = group else {
        return Row::of_cells(&[]);
    };
    let place = if others.is_empty() {
        code(&first.place)
    } else {
        text(&places(group))
    };
    Row::of_cells(&[
        text(&first.what.name()),
        place,
        text(&first.reason),
        text(&first.hint),
    ])
}
