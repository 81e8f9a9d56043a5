//! Samples as CSV: one row per GPU and sample, every row with all that it needs to
//! be read by itself. What is absent is an empty cell; lists are JSON in a cell.

mod log;
mod rows;

pub(super) use log::open;
pub(super) use rows::{Rows, header_line, is_header};
