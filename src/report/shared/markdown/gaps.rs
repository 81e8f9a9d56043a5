//! What was not seen, as a table of a page.

use super::escape::{code, text};
use super::page::{Column, Row, words};
use crate::domain::Gap;

pub(in crate::report) const OF_GAPS: &[Column] = &[
    words("missing data"),
    words("where"),
    words("why"),
    words("how to fix"),
];

pub(in crate::report) fn gap_row(gap: &Gap) -> Row {
    Row::of_cells(&[
        text(&gap.what.name()),
        code(&gap.place),
        text(&gap.reason),
        text(&gap.hint),
    ])
}
