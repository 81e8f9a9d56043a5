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
    first_junk: Option<(u64, String)>,
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

    /// What the first line says that is not a row.
    pub(super) fn first_junk(&self) -> Option<&str> {
        self.first_junk.as_ref().map(|(_, text)| text.as_str())
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
        let of_count =
            |kind, count: u64| (count > 0).then(|| Cause::of(kind, [&count.to_string()]));
        let junk = self.first_junk.as_ref().map(|(line, text)| {
            Cause::of(CauseKind::LinesNotOfLog, [&self.junk.to_string(), &line.to_string(), text])
        });
        let torn = self.torn_line.unwrap_or(0);
        let gaps = [
            (GapSubject::Lines, junk),
            (GapSubject::Figures, of_count(CauseKind::CellsNotValid, self.unreadable)),
            (GapSubject::Figures, of_count(CauseKind::FiguresNotPossible, self.impossible)),
            (GapSubject::Rows, self.conflicts.cause(CauseKind::RowsConflict)),
            (GapSubject::Rows, self.repeats.cause(CauseKind::RowsRepeat)),
            (GapSubject::Rows, self.ambiguous.cause(CauseKind::RowsAmbiguous)),
            (GapSubject::Samples, of_count(CauseKind::SamplesUneven, self.short_samples)),
            (GapSubject::LastSample, of_count(CauseKind::LogTruncated, torn)),
        ];
        gaps.into_iter().filter_map(|(what, cause)| Some(Gap::of(what, place, cause?))).collect()
    }
}
