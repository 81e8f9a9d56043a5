//! A CSV of `nvidia-smi --query-gpu`, one look at a time.

use super::super::samples::{Input, Log, ReadOptions, SamplesError, Told, place, quoted};
use super::columns::{Field, has, missing, tells};
use super::csv_rows::{Event, Layout, Row, Rows};
use super::looks::{Roster, Survey, clock, clock_gaps, look};
use super::time::{LogClock, LogTime};
use crate::domain::Gap;
use crate::profiling::{GpuSample, RunEnd, RunFacts, Sample};
use jiff::SignedDuration;

/// How a row finds its GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By index, uuid or bus id.
    Named {
        /// From how long a pause on a row begins another look; absent where rows
        /// of one look are as far apart as looks.
        pause: Option<SignedDuration>,
    },
    /// By its place in its look, of so many rows, which a pause may end.
    Counted {
        rows: usize,
        pause: Option<SignedDuration>,
    },
}

/// The rows of a look so far.
struct Pending {
    line: u64,
    time: Option<LogTime>,
    last_time: Option<LogTime>,
    found: Vec<Option<GpuSample>>,
    /// Whose turn the last row was.
    last: usize,
    rows: usize,
}

impl Pending {
    fn is_told(&self) -> Vec<bool> {
        self.found.iter().map(Option::is_some).collect()
    }
}

/// A CSV log that is read.
pub(in crate::sources::files) struct CsvLog {
    input: Input,
    options: ReadOptions,
    layout: Layout,
    rows: Rows,
    held: Option<Box<Row>>,
    roster: Roster,
    order: Order,
    /// For each GPU, when in a look its row usually comes.
    turns: Vec<usize>,
    /// The GPUs that the look before told of.
    told: Vec<bool>,
    clock: LogClock,
    facts: RunFacts,
}

impl CsvLog {
    pub(in crate::sources::files) fn open(
        input: Input,
        options: &ReadOptions,
    ) -> Result<Self, SamplesError> {
        let layout = Layout::of(&input, options)?;
        let has_time = has(&layout.columns, Field::Time);
        if !has_time && options.interval.is_none() {
            return Err(SamplesError::NoTimes {
                path: input.path().to_owned(),
            });
        }
        let scan = Scan::of(&input, &layout, options)?;
        let rows = Rows::of(&input, &layout)?;
        Ok(Self {
            facts: scan.facts,
            roster: scan.roster,
            order: scan.order,
            turns: scan.turns,
            told: Vec::new(),
            held: None,
            clock: clock(options),
            options: options.clone(),
            rows,
            layout,
            input,
        })
    }

    /// The GPU of a row; `None` when it can be of none.
    fn position(&self, row: &Row, pending: Option<&Pending>) -> Option<usize> {
        let next = pending.map_or(0, |pending| pending.last + 1);
        match self.order {
            Order::Counted { .. } => Some(next),
            // A lost GPU may not even say which one it is.
            Order::Named { .. } if !row.entry.gpu.has_key() => {
                let next = next % self.roster.len();
                self.turns.iter().position(|turn| *turn == next)
            }
            Order::Named { .. } => self.roster.position(&row.entry.gpu),
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
        match self.order {
            Order::Named { .. } if pending.found[position].is_some() => true,
            Order::Named { pause } if self.turn(position) > pending.last => {
                // Such a pause is no slow driver.
                pause.is_some_and(|pause| row.time.is_some() && since_last() >= pause * 12)
            }
            Order::Named { pause } => {
                let least = pause.unwrap_or(SignedDuration::from_nanos(1));
                row.time.is_none() || since_last() >= least
            }
            Order::Counted { rows, pause } => {
                position >= rows || pause.is_some_and(|pause| since_last() >= pause)
            }
        }
    }

    fn next_look(&mut self) -> Result<Option<Sample>, SamplesError> {
        loop {
            let Some(pending) = self.next_pending()? else {
                return Ok(None);
            };
            if let Order::Counted { rows, .. } = self.order
                && pending.rows != rows
            {
                self.clock.at(pending.time);
                self.rows.tally.short_looks += 1;
                continue;
            }
            let told = pending.is_told();
            // Where the log stops nobody knows whether the rows that are missing
            // would have come.
            let is_cut = self.is_at_end()?
                && self
                    .told
                    .iter()
                    .zip(&told)
                    .any(|(before, now)| *before && !now);
            if is_cut {
                self.rows.tally.set_torn(pending.line);
                return Ok(None);
            }
            self.told = told;
            let at = self.clock.at(pending.time);
            return Ok(Some(look(pending.found, at)));
        }
    }

    /// Whether no row follows.
    fn is_at_end(&mut self) -> Result<bool, SamplesError> {
        while self.held.is_none() {
            match self.rows.next_event()? {
                None => return Ok(true),
                Some(Event::Header) => {}
                Some(Event::Row(row)) => self.held = Some(row),
            }
        }
        Ok(false)
    }

    fn next_pending(&mut self) -> Result<Option<Pending>, SamplesError> {
        let mut pending: Option<Pending> = None;
        loop {
            let event = match self.held.take() {
                Some(row) => Some(Event::Row(row)),
                None => self.rows.next_event()?,
            };
            let row = match event {
                None => return Ok(pending),
                Some(Event::Header) if pending.is_some() => return Ok(pending),
                Some(Event::Header) => continue,
                Some(Event::Row(row)) => row,
            };
            let Some(position) = self.position(&row, pending.as_ref()) else {
                self.rows
                    .tally
                    .add_junk(row.line, "a GPU that came while this was read");
                continue;
            };
            match pending.as_mut() {
                Some(look) if self.begins_another(look, &row, position) => {
                    self.held = Some(row);
                    return Ok(pending);
                }
                Some(look) => {
                    look.found[position] = Some(row.entry.sample);
                    look.last = self.turn(position);
                    look.last_time = row.time;
                    look.rows += 1;
                }
                None => {
                    let mut found = vec![None; self.roster.len()];
                    found[position] = Some(row.entry.sample);
                    pending = Some(Pending {
                        line: row.line,
                        time: row.time,
                        last_time: row.time,
                        found,
                        last: self.turn(position),
                        rows: 1,
                    });
                }
            }
        }
    }

    fn column_gaps(&self) -> Vec<Gap> {
        let place = place(self.input.path());
        let columns = &self.layout.columns;
        let mut gaps = Vec::new();
        let without = missing(columns);
        if !without.is_empty() {
            let (columns, them) = match without.len() {
                1 => ("no such column", "it"),
                _ => ("no such columns", "them"),
            };
            gaps.push(Gap::new(
                without.join(", "),
                place.clone(),
                format!("the log has {columns}"),
                format!("ask for {them} in --query-gpu"),
            ));
        }
        let unknown: Vec<String> = columns
            .iter()
            .filter(|column| column.field == Field::Unknown)
            .map(|column| quoted(&column.name))
            .collect();
        if !unknown.is_empty() {
            gaps.push(Gap::new(
                "columns",
                place.clone(),
                format!("not known: {}", unknown.join(", ")),
                "name them as --query-gpu does, or leave them out",
            ));
        }
        if let Some(guessed) = &self.layout.guessed {
            gaps.push(Gap::new(
                "names of the columns",
                place.clone(),
                format!("the log has no header; by their values they are taken as {guessed}"),
                "name them with --read-columns, as they were given to --query-gpu",
            ));
        }
        if !has(columns, Field::Time) {
            gaps.push(Gap::new(
                "timestamp",
                place,
                "the log has no such column; only --interval says how far its looks are apart, \
                 and nothing says on which day they were taken",
                "ask for it in --query-gpu",
            ));
        }
        gaps
    }
}

/// What a first reading of the whole log finds.
struct Scan {
    facts: RunFacts,
    roster: Roster,
    order: Order,
    turns: Vec<usize>,
}

impl Scan {
    fn of(input: &Input, layout: &Layout, options: &ReadOptions) -> Result<Self, SamplesError> {
        let mut rows = Rows::of(input, layout)?;
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
            survey.add(time, gpu.name.as_deref(), row.count);
            hostname = hostname.or_else(|| row.hostname.clone());
            driver_version = driver_version.or_else(|| row.driver_version.clone());
            first.get_or_insert(row);
        }
        let Some(first) = first else {
            if let Some((line, message)) = rows.tally.bad_time() {
                return Err(SamplesError::Time {
                    path: input.path().to_owned(),
                    line,
                    message,
                });
            }
            return Err(SamplesError::Empty {
                path: input.path().to_owned(),
                says: rows.tally.first_junk(),
            });
        };
        let mut turns = Vec::new();
        let (roster, order) = if named.len() > 0 {
            let came = named.clone();
            named.sort();
            turns = named.places_in(&came);
            let pause = survey.pause_after(named.len());
            (named, Order::Named { pause })
        } else {
            let (rows, pause) = survey.rows_per_look();
            (
                unnamed(input, layout, rows)?,
                Order::Counted { rows, pause },
            )
        };
        let facts = RunFacts {
            started: clock(options).at(first.time).1,
            interval_seconds: None,
            hostname,
            instance_id: None,
            instance_type: None,
            region: None,
            driver_version,
            is_command: false,
            gpus: roster.identities(),
        };
        Ok(Self {
            facts,
            roster,
            order,
            turns,
        })
    }
}

/// GPUs that nothing but their place in a look tells apart.
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
    fn facts(&self) -> &RunFacts {
        &self.facts
    }

    fn next_sample(&mut self) -> Option<Result<Sample, SamplesError>> {
        self.next_look().transpose()
    }

    fn end(&self) -> Option<&RunEnd> {
        None
    }

    fn may_tell(&self, figure: Told) -> bool {
        tells(&self.layout.columns, figure)
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.column_gaps();
        gaps.extend(clock_gaps(&self.clock, &self.options, self.input.path()));
        gaps.extend(self.rows.tally.gaps(&place(self.input.path())));
        gaps
    }
}
