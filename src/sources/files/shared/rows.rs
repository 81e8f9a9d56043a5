//! Rows of comma-separated values with an end: a reader holds one of them whole.

use super::bounded::too_large;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Bytes of a row. Those of real files have a few thousand.
const MOST_ROW_BYTES: usize = 8 << 20;

/// A text of which no row is longer than a row may be.
pub(in crate::sources) struct ShortRows<R> {
    inner: R,
    since_row: RowEnd,
}

/// Where rows end, which only their reader knows.
#[derive(Debug, Clone, Default)]
pub(in crate::sources) struct RowEnd(Rc<Cell<usize>>);

impl RowEnd {
    /// A whole row was read.
    pub(in crate::sources) fn passed(&self) {
        self.0.set(0);
    }
}

impl<R> ShortRows<R> {
    pub(in crate::sources) fn new(inner: R) -> (Self, RowEnd) {
        let end = RowEnd::default();
        let since_row = end.clone();
        (Self { inner, since_row }, end)
    }
}

impl<R: Read> Read for ShortRows<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(out)?;
        let since_row = self.since_row.0.get() + bytes;
        self.since_row.0.set(since_row);
        if since_row > MOST_ROW_BYTES {
            return Err(too_large(format!(
                "a row of it is longer than {} MiB",
                MOST_ROW_BYTES >> 20
            )));
        }
        Ok(bytes)
    }
}
