//! A CSV of `nvidia-smi --query-gpu`, one look at a time.

use super::super::samples::{Input, Log, ReadOptions, SamplesError, place, quoted};
use super::columns::{Field, has};
use super::csv_rows::{Event, Layout, Row, Rows};
use super::figure::Figure;
use super::looks::{Roster, Survey, clock, clock_gaps, look};
use super::time::{LogClock, LogTime};
use crate::domain::Gap;
use crate::profiling::{GpuSample, RunEnd, RunFacts, Sample};
use jiff::SignedDuration;

/// Columns whose absence a reader of the summary would wonder about.
const EXPECTED: [(Figure, &str); 3] = [
    (Figure::Utilization, "utilization.gpu"),
    (Figure::VramUsed, "memory.used"),
    (Figure::PowerDraw, "power.draw"),
];

/// How a row finds its GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By index, uuid or bus id.
    Named,
    /// By its place in its look, of so many rows, which a pause may end.
    Counted {
        rows: usize,
        pause: Option<SignedDuration>,
    },
}

/// The rows of a look so far.
struct Pending {
    time: Option<LogTime>,
    found: Vec<Option<GpuSample>>,
    last: usize,
    rows: usize,
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
            held: None,
            clock: clock(options),
            options: options.clone(),
            rows,
            layout,
            input,
        })
    }

    /// The place of a row in its look; `None` when it can have none.
    fn position(&self, row: &Row, pending: Option<&Pending>) -> Option<usize> {
        let next = pending.map_or(0, |pending| pending.last + 1);
        match self.order {
            Order::Counted { .. } => Some(next),
            // A lost GPU may not even say which one it is.
            Order::Named if !row.entry.gpu.has_key() => Some(next % self.roster.len()),
            Order::Named => self.roster.position(&row.entry.gpu),
        }
    }

    fn begins_another(&self, pending: &Pending, row: &Row, position: usize) -> bool {
        match self.order {
            Order::Named => position <= pending.last || pending.found[position].is_some(),
            Order::Counted { rows, pause } => {
                position >= rows
                    || pause.is_some_and(|pause| {
                        let mut clock = LogClock::new(self.options.zone.as_ref(), None);
                        clock.at(pending.time);
                        clock.at(row.time).0 >= pause.as_secs_f64()
                    })
            }
        }
    }

    fn next_look(&mut self) -> Result<Option<Sample>, SamplesError> {
        loop {
            let Some(pending) = self.next_pending()? else {
                return Ok(None);
            };
            let is_short = match self.order {
                Order::Named => false,
                Order::Counted { rows, .. } => pending.rows != rows,
            };
            let at = self.clock.at(pending.time);
            if is_short {
                self.rows.tally.short_looks += 1;
            } else {
                return Ok(Some(look(pending.found, at)));
            }
        }
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
                    look.last = position;
                    look.rows += 1;
                }
                None => {
                    let mut found = vec![None; self.roster.len()];
                    found[position] = Some(row.entry.sample);
                    pending = Some(Pending {
                        time: row.time,
                        found,
                        last: position,
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
        for (figure, name) in EXPECTED {
            let has_figure = match figure {
                Figure::PowerDraw => [
                    Figure::PowerDraw,
                    Figure::PowerDrawAverage,
                    Figure::PowerDrawInstant,
                ]
                .into_iter()
                .any(|figure| has(columns, Field::Figure(figure))),
                figure => has(columns, Field::Figure(figure)),
            };
            if !has_figure {
                gaps.push(Gap::new(
                    name,
                    place.clone(),
                    "the log has no such column",
                    "ask for it in --query-gpu",
                ));
            }
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
            return Err(SamplesError::Empty {
                path: input.path().to_owned(),
                says: rows.tally.first_junk(),
            });
        };
        let (roster, order) = if named.len() > 0 {
            named.sort();
            (named, Order::Named)
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

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.column_gaps();
        gaps.extend(clock_gaps(&self.clock, &self.options, self.input.path()));
        gaps.extend(self.rows.tally.gaps(&place(self.input.path())));
        gaps
    }
}
