//! What in a log could not be used, counted rather than dropped in silence.

use super::super::samples::quoted;
use super::figure::Figures;
use crate::domain::Gap;

/// Rows that are left out.
#[derive(Debug, Clone, Copy, Default)]
struct LeftOut {
    rows: u64,
    first_line: Option<u64>,
}

impl LeftOut {
    fn add(&mut self, line: u64, rows: u64) {
        self.rows += rows;
        self.first_line = Some(self.first_line.map_or(line, |first| first.min(line)));
    }

    /// A gap's reason; `None` when there are none.
    fn reason(&self, why: &str) -> Option<String> {
        let line = self.first_line?;
        let count = counted(self.rows, "row is", "rows are");
        Some(format!(
            "{count} omitted: {why}; the first is on line {line}"
        ))
    }
}

/// Counts of what could not be used.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    junk: u64,
    first_junk: Option<(u64, String)>,
    unreadable: u64,
    impossible: u64,
    torn_line: Option<u64>,
    bad_time: Option<(u64, String)>,
    /// Rows of the same time and GPU as another.
    conflicts: LeftOut,
    /// Rows that a second host or run repeats.
    repeats: LeftOut,
    /// Rows that may be of several GPUs.
    ambiguous: LeftOut,
    /// Samples with another number of rows than there are GPUs, where nothing
    /// says which row is of which GPU.
    pub short_samples: u64,
}

impl Tally {
    /// Counts a line that is no row.
    pub(super) fn add_junk(&mut self, line: u64, text: &str) {
        self.junk += 1;
        self.first_junk.get_or_insert_with(|| (line, quoted(text)));
    }

    /// Counts rows of the same time and GPU; `line` is that of one of them.
    pub(super) fn add_conflict(&mut self, line: u64, rows: u64) {
        self.conflicts.add(line, rows);
    }

    /// Counts a row of a time that its GPU has rows of from before the clock went
    /// back.
    pub(super) fn add_repeat(&mut self, line: u64) {
        self.repeats.add(line, 1);
    }

    /// Counts a row that may be of several GPUs.
    pub(super) fn add_ambiguous(&mut self, line: u64) {
        self.ambiguous.add(line, 1);
    }

    /// The first line of rows of the same time and GPU, and how many they are.
    pub(super) fn conflicts(&self) -> Option<(u64, u64)> {
        Some((self.conflicts.first_line?, self.conflicts.rows))
    }

    /// Counts what was wrong with the figures of one sample of one GPU.
    pub(super) fn add_figures(&mut self, figures: &Figures) {
        self.unreadable += figures.unreadable;
        self.impossible += figures.impossible;
    }

    /// Notes that the log stops in the middle of what begins on a line.
    pub(super) fn set_torn(&mut self, line: u64) {
        let first = self.torn_line.unwrap_or(line);
        self.torn_line = Some(first.min(line));
    }

    /// Notes a time that cannot be read, and why.
    pub(super) fn add_bad_time(&mut self, line: u64, message: String) {
        self.bad_time.get_or_insert((line, message));
    }

    /// The first time that cannot be read.
    pub(super) fn bad_time(&self) -> Option<(u64, String)> {
        self.bad_time.clone()
    }

    /// What the first line says that is no row.
    pub(super) fn first_junk(&self) -> Option<String> {
        self.first_junk.as_ref().map(|(_, text)| text.clone())
    }

    pub(super) fn gaps(&self, place: &str) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut add = |what: &str, reason: String, hint: &str| {
            gaps.push(Gap::new(what, place, reason, hint));
        };
        if let Some((line, text)) = &self.first_junk {
            let count = counted(self.junk, "line is", "lines are");
            add(
                "lines",
                format!("{count} not part of the log; the first is line {line}: `{text}`"),
                "keep warnings out of the log: 2>warnings.txt",
            );
        }
        if self.unreadable > 0 {
            let count = counted(self.unreadable, "cell is", "cells are");
            add(
                "figures",
                format!("{count} not valid for the column"),
                "check that the column names match the query",
            );
        }
        if self.impossible > 0 {
            let count = counted(self.impossible, "figure", "figures");
            add(
                "figures",
                format!("{count} out of range, such as a share above 100%; omitted"),
                "check that the column names match the query",
            );
        }
        let by_itself = "read the log of each host separately, or also query `index` and \
                         `uuid`, so that every row identifies its GPU";
        let other = "the log has another row with the same time and GPU";
        if let Some(reason) = self.conflicts.reason(other) {
            add("rows", reason, by_itself);
        }
        let other = "the clock goes back to a time already logged for the same GPU";
        if let Some(reason) = self.repeats.reason(other) {
            add(
                "rows",
                reason,
                "if the log covers several hosts or runs, read each separately; if daylight \
                 saving time ended, set the time zone with --read-zone",
            );
        }
        let other = "several GPUs have the same index, and nothing else identifies them";
        if let Some(reason) = self.ambiguous.reason(other) {
            add("rows", reason, by_itself);
        }
        if self.short_samples > 0 {
            let count = counted(self.short_samples, "sample has", "samples have");
            add(
                "samples",
                format!("{count} a different number of rows than the others; omitted"),
                "also query `index` or `uuid`, so that every row identifies its GPU",
            );
        }
        if let Some(line) = self.torn_line {
            add(
                "the last sample",
                format!(
                    "the log ends within the sample that begins on line {line}; the sample \
                     is omitted"
                ),
                "no action needed if nvidia-smi was killed; otherwise copy the log again",
            );
        }
        gaps
    }
}

/// A count and its words.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
