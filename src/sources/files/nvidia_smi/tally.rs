//! What in a log could not be used, counted rather than dropped in silence.

use super::super::samples::quoted;
use super::figure::Figures;
use crate::domain::{Cause, CauseKind, Gap, GapSubject};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SkippedLines {
    pub rows: u64,
    pub first_line: Option<u64>,
}

impl SkippedLines {
    /// Counts rows; `line` is that of one of them.
    pub(super) fn add(&mut self, line: u64, rows: u64) {
        self.rows += rows;
        self.first_line = Some(self.first_line.map_or(line, |first| first.min(line)));
    }

    /// A gap's cause; `None` when there are none.
    fn cause(&self, kind: CauseKind) -> Option<Cause> {
        let line = self.first_line?;
        Some(Cause::of(kind, [&self.rows.to_string(), &line.to_string()]))
    }
}

/// Counts of what could not be used.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    junk: u64,
    /// The first line that is not a row, and what it says.
    pub first_junk: Option<(u64, String)>,
    unreadable: u64,
    impossible: u64,
    torn_line: Option<u64>,
    /// The first time that cannot be read, and why.
    pub bad_time: Option<(u64, String)>,
    /// Rows of the same time and GPU as another.
    pub conflicts: SkippedLines,
    /// Rows that a second host or run repeats: of a time that their GPU has rows of from before
    /// the clock went back.
    pub repeats: SkippedLines,
    /// Rows that may be of several GPUs.
    pub ambiguous: SkippedLines,
    /// Samples with another number of rows than there are GPUs, where nothing
    /// says which row is of which GPU.
    pub short_samples: u64,
}

impl Tally {
    /// Counts a line that is not a row.
    pub(super) fn add_junk(&mut self, line: u64, text: &str) {
        self.junk += 1;
        self.first_junk.get_or_insert_with(|| (line, quoted(text)));
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

    pub(super) fn gaps(&self, place: &str) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut add = |what: GapSubject, cause| gaps.push(Gap::of(what, place, cause));
        let of_count = |kind, count: u64| Cause::of(kind, [&count.to_string()]);
        if let Some((line, text)) = &self.first_junk {
            let cause = Cause::of(
                CauseKind::LinesNotOfLog,
                [&self.junk.to_string(), &line.to_string(), text],
            );
            add(GapSubject::Lines, cause);
        }
        if self.unreadable > 0 {
            add(GapSubject::Figures, of_count(CauseKind::CellsNotValid, self.unreadable));
        }
        if self.impossible > 0 {
            add(GapSubject::Figures, of_count(CauseKind::FiguresNotPossible, self.impossible));
        }
        for (rows, kind) in [
            (&self.conflicts, CauseKind::RowsConflict),
            (&self.repeats, CauseKind::RowsRepeat),
            (&self.ambiguous, CauseKind::RowsAmbiguous),
        ] {
            if let Some(cause) = rows.cause(kind) {
                add(GapSubject::Rows, cause);
            }
        }
        if self.short_samples > 0 {
            add(GapSubject::Samples, of_count(CauseKind::SamplesUneven, self.short_samples));
        }
        if let Some(line) = self.torn_line {
            add(GapSubject::LastSample, of_count(CauseKind::LogTruncated, line));
        }
        gaps
    }
}
