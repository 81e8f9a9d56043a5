//! A CSV of `nvidia-smi --query-gpu`, one sample of a time.

use super::super::samples::{Input, Log, OpenLog, ReadOptions, SamplesError, Told, place, quoted};
use super::columns::{Field, has, missing, reported, tells};
use super::csv_rows::{Event, Layout, Names, Row, Rows};
use super::samples::{Roster, Survey, clock, clock_gaps, facts, sample};
use super::time::{LogClock, LogTime, Repeats};
use crate::domain::{Cause, CauseKind, Gap, GapSubject, GpuSample, Sample};
use jiff::SignedDuration;

/// What the rows of a sample say of one GPU.
#[derive(Clone)]
struct Found {
    line: u64,
    time: Option<LogTime>,
    sample: GpuSample,
    /// More than one of the same time contradict each other.
    rows: u64,
}

/// The rows of a sample so far.
struct Pending {
    line: u64,
    time: Option<LogTime>,
    last_time: Option<LogTime>,
    found: Vec<Option<Found>>,
    /// Whose turn the last row was.
    last: usize,
    rows: usize,
    /// Rows of the same time beyond those of a sample, where only order tells.
    surplus: u64,
}

struct CsvLog {
    input: Input,
    options: ReadOptions,
    layout: Layout,
    rows: Rows,
    held: Option<Box<Row>>,
    roster: Roster,
    /// Rows of a sample, where nothing but their place in it tells their GPU; absent where they
    /// name it by index, uuid, bus id or serial number.
    counted: Option<usize>,
    /// From how long a pause on a row begins another sample; absent where rows of one sample are
    /// as far apart as samples.
    pause: Option<SignedDuration>,
    /// For each GPU, when in a sample its row usually comes.
    turns: Vec<usize>,
    /// The GPUs that the sample before told of.
    reported: Vec<bool>,
    clock: LogClock,
    /// The same for each row.
    row_clock: LogClock,
    repeats: Repeats,
    /// Whether the last row with a time comes again.
    is_again: bool,
    has_samples: bool,
}

pub(in crate::files) fn open(input: Input, options: &ReadOptions) -> Result<OpenLog, SamplesError> {
    let layout = Layout::of(&input, options)?;
    let has_time = has(&layout.columns, Field::Time);
    if !has_time && options.interval.is_none() {
        return Err(SamplesError::no_times(input.path()));
    }
    let mut rows = Rows::of(&input, &layout)?;
    // What a first reading of the whole log finds.
    let mut named = Roster::default();
    let mut survey = Survey::default();
    let mut survey_clock = clock(options);
    let mut first: Option<Box<Row>> = None;
    let (mut hostname, mut driver_version) = (None, None);
    while let Some(event) = rows.next_event()? {
        let Event::Row(row) = event else {
            survey.add_header();
            continue;
        };
        let gpu = &row.entry.gpu;
        if gpu.has_key() {
            named
                .add(gpu)
                .map_err(|message| SamplesError::line(input.path(), row.line, message))?;
        }
        let time = row.time.map(|time| survey_clock.at(Some(time)).1);
        survey.add(time, gpu.identity.name.as_deref(), row.count);
        hostname = hostname.or_else(|| gpu.host.clone());
        driver_version = driver_version.or_else(|| row.driver_version.clone());
        first.get_or_insert(row);
    }
    let Some(first) = first else {
        return Err(match &rows.tally.bad_time {
            Some((line, message)) => SamplesError::time(input.path(), *line, message),
            None => SamplesError::empty(input.path(), rows.tally.first_junk()),
        });
    };
    let mut turns = Vec::new();
    let (roster, counted, pause) = if named.len() > 0 {
        let came = named.clone();
        named.sort();
        turns = named.places_in(&came);
        let pause = survey.pause_after(named.len());
        (named, None, pause)
    } else {
        let (rows, pause) = survey.rows_per_sample();
        (unnamed(&input, &layout, rows)?, Some(rows), pause)
    };
    let hostname = hostname.filter(|_| !roster.has_several_hosts());
    let facts = facts(clock(options).at(first.time).1, hostname, driver_version, &roster);
    let log = CsvLog {
        reported: Vec::new(),
        held: None,
        clock: clock(options),
        row_clock: clock(options),
        repeats: Repeats::default(),
        is_again: false,
        has_samples: false,
        options: options.clone(),
        rows: Rows::of(&input, &layout)?,
        roster,
        counted,
        pause,
        turns,
        layout,
        input,
    };
    Ok((facts, Box::new(log)))
}

impl CsvLog {
    /// The GPU of a row; `None` when it can be of none.
    fn position(&self, row: &Row, pending: Option<&Pending>) -> Option<usize> {
        let next = pending.map_or(0, |pending| pending.last + 1);
        if self.counted.is_some() {
            return Some(next);
        }
        if row.entry.gpu.has_key() {
            return self.roster.position(&row.entry.gpu);
        }
        // A lost GPU may not even say which one it is.
        self.turns.iter().position(|turn| *turn == next % self.roster.len())
    }

    /// Whether another row of a sample is of the same time and GPU as this one.
    fn is_conflict(&self, pending: &Pending, row: &Row, position: usize) -> bool {
        let same = |time: Option<LogTime>| row.time.is_some() && time == row.time;
        match self.counted {
            Some(rows) => position >= rows && same(pending.last_time),
            None => {
                let last = pending.found[position].as_ref();
                row.entry.gpu.has_key() && last.is_some_and(|found| same(found.time))
            }
        }
    }

    fn turn(&self, position: usize) -> usize {
        self.turns.get(position).copied().unwrap_or(position)
    }

    fn begins_another(&self, pending: &Pending, row: &Row, position: usize) -> bool {
        let since_last = || {
            let mut clock = LogClock::new(self.options.zone.as_ref(), None);
            clock.at(pending.last_time);
            SignedDuration::from_secs_f64(clock.at(row.time).0)
        };
        match self.counted {
            Some(rows) => position >= rows || self.pause.is_some_and(|pause| since_last() >= pause),
            None if pending.found[position].is_some() => true,
            None if self.turn(position) > pending.last => {
                // A slow driver does not pause for this long.
                self.pause.is_some_and(|pause| row.time.is_some() && since_last() >= pause * 12)
            }
            None => {
                let least = self.pause.unwrap_or(SignedDuration::from_nanos(1));
                row.time.is_none() || since_last() >= least
            }
        }
    }

    /// No sample is left; where rows that contradict each other are why there was
    /// none at all, that is an error.
    fn ended(&self) -> Result<Option<Sample>, SamplesError> {
        let conflicts = self.rows.tally.conflicts;
        match conflicts.first_line.filter(|_| !self.has_samples) {
            Some(line) => Err(SamplesError::conflict(self.input.path(), line, conflicts.rows)),
            None => Ok(None),
        }
    }

    /// The next header, or row that can be of one GPU and of this run.
    fn next_event(&mut self) -> Result<Option<Event>, SamplesError> {
        while let Some(event) = self.rows.next_event()? {
            let is_left_out = match &event {
                Event::Row(row) => self.is_left_out(row),
                Event::Header => false,
            };
            if !is_left_out {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn is_left_out(&mut self, row: &Row) -> bool {
        let gpu = &row.entry.gpu;
        if self.counted.is_none() && self.roster.is_ambiguous(gpu) {
            self.rows.tally.ambiguous.add(row.line, 1);
            return true;
        }
        let position = if self.counted.is_some() { Some(0) } else { self.roster.position(gpu) };
        if let (Some(position), Some(time)) = (position, row.time) {
            let at = self.row_clock.at(Some(time)).1;
            let is_local = matches!(time, LogTime::Local(_)) && self.options.zone.is_none();
            self.is_again = self.repeats.is_again(position, at, is_local);
        }
        if self.is_again {
            self.rows.tally.repeats.add(row.line, 1);
        }
        self.is_again
    }

    fn is_at_end(&mut self) -> Result<bool, SamplesError> {
        while self.held.is_none() {
            match self.next_event()? {
                None => return Ok(true),
                Some(Event::Header) => {}
                Some(Event::Row(row)) => self.held = Some(row),
            }
        }
        Ok(false)
    }

    fn next_pending(&mut self) -> Result<Option<Pending>, SamplesError> {
        let mut pending: Option<Pending> = None;
        // Whether a header follows the rows so far.
        let mut is_headed = false;
        loop {
            let event = match self.held.take() {
                Some(row) => Some(Event::Row(row)),
                None => self.next_event()?,
            };
            let row = match event {
                None => return Ok(pending),
                Some(Event::Header) => {
                    is_headed = pending.is_some();
                    continue;
                }
                Some(Event::Row(row)) => row,
            };
            let Some(position) = self.position(&row, pending.as_ref()) else {
                self.rows.tally.add_junk(row.line, "a GPU that appeared while the log was read");
                continue;
            };
            if let Some(sample) = &mut pending {
                if self.is_conflict(sample, &row, position) {
                    // A row of the same time and GPU as one that is there.
                    match sample.found.get_mut(position) {
                        Some(Some(found)) => found.rows += 1,
                        _ => sample.surplus += 1,
                    }
                    continue;
                }
                if is_headed || self.begins_another(sample, &row, position) {
                    self.held = Some(row);
                    return Ok(pending);
                }
            }
            let sample = pending.get_or_insert_with(|| Pending {
                line: row.line,
                time: row.time,
                last_time: None,
                found: vec![None; self.roster.len()],
                last: 0,
                rows: 0,
                surplus: 0,
            });
            let Row { line, time, entry, .. } = *row;
            sample.found[position] = Some(Found { line, time, sample: entry.sample, rows: 1 });
            sample.last = self.turn(position);
            sample.last_time = time;
            sample.rows += 1;
        }
    }

    fn column_gaps(&self, place: &str) -> Vec<Gap> {
        let columns = &self.layout.columns;
        let mut gaps = Vec::new();
        let mut add = |what: GapSubject, cause| gaps.push(Gap::of(what, place, cause));
        let without = missing(columns);
        if !without.is_empty() {
            let kind = match without.len() {
                1 => CauseKind::ColumnMissing,
                _ => CauseKind::ColumnsMissing,
            };
            add(GapSubject::MissingColumns(without), Cause::of(kind, []));
        }
        let unknown = columns.iter().filter(|column| column.field == Field::Unknown);
        let unknown: Vec<String> = unknown.map(|column| quoted(&column.name)).collect();
        if !unknown.is_empty() {
            add(GapSubject::Columns, Cause::of(CauseKind::ColumnsUnknown, [&unknown.join(", ")]));
        }
        if self.layout.names == Names::Values {
            let cause = Cause::of(CauseKind::HeaderMissing, [&reported(columns)]);
            add(GapSubject::ColumnNames, cause);
        }
        if self.roster.shares_indices() {
            add(GapSubject::Index, Cause::of(CauseKind::IndexShared, []));
        }
        if !has(columns, Field::Time) {
            add(GapSubject::Timestamp, Cause::of(CauseKind::TimestampMissing, []));
        }
        gaps
    }
}

/// GPUs that nothing but their place in a sample distinguishes.
fn unnamed(input: &Input, layout: &Layout, count: usize) -> Result<Roster, SamplesError> {
    let mut roster = Roster::default();
    let mut rows = Rows::of(input, layout)?;
    while roster.len() < count {
        match rows.next_event()? {
            Some(Event::Row(row)) => roster.add_at(roster.len(), &row.entry.gpu),
            Some(Event::Header) => {}
            None => break,
        }
    }
    while roster.len() < count {
        roster.add_at(roster.len(), &Default::default());
    }
    Ok(roster)
}

impl Log for CsvLog {
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError> {
        loop {
            let Some(pending) = self.next_pending()? else { return self.ended() };
            if pending.surplus > 0 {
                let rows = pending.rows as u64 + pending.surplus;
                self.clock.at(pending.time);
                self.rows.tally.conflicts.add(pending.line, rows);
                continue;
            }
            if self.counted.is_some_and(|rows| pending.rows != rows) {
                self.clock.at(pending.time);
                self.rows.tally.short_samples += 1;
                continue;
            }
            let mut is_believed = false;
            for found in pending.found.iter().flatten() {
                if found.rows > 1 {
                    self.rows.tally.conflicts.add(found.line, found.rows);
                } else {
                    is_believed = true;
                }
            }
            if !is_believed {
                self.clock.at(pending.time);
                continue;
            }
            let reported: Vec<bool> = pending.found.iter().map(Option::is_some).collect();
            // Where the log stops nobody knows whether the rows that are missing
            // would have come.
            let is_cut = self.is_at_end()?
                && self.reported.iter().zip(&reported).any(|(before, now)| *before && !now);
            if is_cut {
                self.rows.tally.set_torn(pending.line);
                return Ok(None);
            }
            self.reported = reported;
            self.has_samples = true;
            let at = self.clock.at(pending.time);
            // One that several rows are of did answer, and which of them is right nobody knows.
            let of_one = |found: Found| {
                if found.rows > 1 { GpuSample::Read(Box::default()) } else { found.sample }
            };
            let samples = pending.found.into_iter().map(|found| found.map(of_one));
            return Ok(Some(sample(samples.collect(), at)));
        }
    }

    fn may_tell(&self, figure: Told) -> bool {
        tells(&self.layout.columns, figure)
    }

    fn gaps(&self) -> Vec<Gap> {
        let place = place(self.input.path());
        let mut gaps = self.column_gaps(&place);
        gaps.extend(clock_gaps(&self.clock, &place));
        gaps.extend(self.rows.tally.gaps(&place));
        gaps
    }
}
