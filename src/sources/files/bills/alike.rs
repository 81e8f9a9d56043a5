//! Files with the same lines: a bill under two names, packed in another way, or in an export
//! of another version.

use super::error::BillError;
use crate::domain::BillLine;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Fewer lines may be the same by chance.
const LEAST_LINES: u64 = 10;

/// The lines of a file, in order, as one number.
#[derive(Debug, Default)]
pub(super) struct Lines {
    hasher: DefaultHasher,
    count: u64,
}

impl Lines {
    pub(super) fn add(&mut self, line: &BillLine) {
        self.count += 1;
        let times = line.period.map(|period| (period.start, period.end));
        let costs = &line.costs;
        let what = (
            &line.account,
            &line.resource,
            &line.instance_type,
            line.kind,
        );
        let amounts = (line.hours, costs.list, costs.effective, costs.billed);
        (what, times, amounts).hash(&mut self.hasher);
    }
}

/// Files that were read, by their lines.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<(u64, u64), PathBuf>);

impl Seen {
    /// # Errors
    /// When an earlier file has the same lines.
    pub(super) fn add(&mut self, path: &Path, lines: &Lines) -> Result<(), BillError> {
        if lines.count < LEAST_LINES {
            return Ok(());
        }
        let key = (lines.count, lines.hasher.finish());
        match self.0.insert(key, path.to_owned()) {
            None => Ok(()),
            Some(earlier) => Err(BillError::Alike {
                path: path.to_owned(),
                earlier,
            }),
        }
    }
}
