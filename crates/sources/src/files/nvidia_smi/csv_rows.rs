//! The rows of a CSV of `nvidia-smi`, one at a time.

use super::super::samples::{Input, Line, Lines, ReadOptions, SamplesError, Told, cells, quoted};
use super::columns::{Column, Field, guess_columns, has, header};
use super::figure::{Cell, Figures, cell, is_enabled, serial, uuid, words};
use super::samples::{Entry, Gpu, Tally};
use super::time::{LogTime, unread_time};
use crate::domain::GpuSample;

/// Lines that are searched for a header.
const MOST_BEFORE_HEADER: usize = 1_000;

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub line: u64,
    pub time: Option<LogTime>,
    pub entry: Entry,
    pub driver_version: Option<String>,
    pub count: Option<u16>,
}

/// What a line is, when it is not junk.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A header: a sample does not go on across it.
    Header,
    Row(Box<Row>),
}

/// How the names of columns are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// From a header; others may follow.
    Header,
    /// Guessed from values, until a header says others.
    Values,
    /// They were given, so that a header says nothing.
    Given,
}

/// The columns of a log.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The first columns.
    pub columns: Vec<Column>,
    pub names: Names,
}

impl Layout {
    /// The columns of a log.
    ///
    /// # Errors
    /// When names are given that are not as many as the cells; when none are, and
    /// neither a header nor the values tell.
    pub(super) fn of(input: &Input, options: &ReadOptions) -> Result<Self, SamplesError> {
        if let Some(names) = &options.columns {
            return Self::given(input, names);
        }
        let mut lines = input.lines()?;
        let mut guessed = None;
        let mut refused = None;
        let mut first = None;
        for _ in 0..MOST_BEFORE_HEADER {
            let Some(line) = lines.next_line()? else { break };
            if line.text.trim().is_empty() {
                continue;
            }
            let cells = cells(&line.text);
            let columns = header(&cells);
            let tells = columns.iter().flatten().any(is_reading);
            if is_of_processes(&cells) && !tells {
                return Err(SamplesError::unknown(input.path(), Some(&quoted(&line.text))));
            }
            if let Some(columns) = columns {
                return Self::checked(input, line.number, columns, Names::Header);
            }
            first.get_or_insert_with(|| quoted(&line.text));
            match guess_columns(&cells) {
                Ok(columns) if guessed.is_none() => guessed = Some((line.number, columns)),
                Err(message) if looks_like_row(&cells) => {
                    refused.get_or_insert((line.number, message));
                }
                _ => {}
            }
        }
        let path = input.path();
        match (guessed, refused) {
            (Some((line, columns)), refused)
                if refused.as_ref().is_none_or(|(other, _)| *other > line) =>
            {
                Self::checked(input, line, columns, Names::Values)
            }
            (_, Some((line, message))) => Err(SamplesError::columns(path, line, &message)),
            _ => Err(SamplesError::unknown(path, first.as_deref())),
        }
    }

    /// The columns by the names that were given, which outrank a header.
    fn given(input: &Input, names: &[String]) -> Result<Self, SamplesError> {
        let mut lines = input.lines()?;
        let (mut fitting, mut others, mut first) = (0_usize, 0_usize, None);
        for _ in 0..MOST_BEFORE_HEADER {
            let Some(line) = lines.next_line()? else { break };
            let cells = cells(&line.text);
            // What stands between the rows has as many cells as it likes.
            if !has_value(&cells) && header(&cells).is_none() {
                continue;
            }
            if cells.len() == names.len() {
                fitting += 1;
            } else {
                others += 1;
                first.get_or_insert((line.number, cells.len()));
            }
        }
        if let Some((line, cells)) = first
            && others > fitting
        {
            let message = format!("--read-columns has {}, and this line {cells}", names.len());
            return Err(SamplesError::columns(input.path(), line, &message));
        }
        let columns = names.iter().map(|name| Column::named(name)).collect();
        Self::checked(input, 1, columns, Names::Given)
    }

    fn checked(
        input: &Input,
        line: u64,
        columns: Vec<Column>,
        names: Names,
    ) -> Result<Self, SamplesError> {
        if !columns.iter().any(is_reading) {
            let message = "no column is a GPU metric, such as `utilization.gpu`";
            return Err(SamplesError::line(input.path(), line, message));
        }
        Ok(Self { columns, names })
    }
}

/// Whether a column tells what a GPU does rather than what it is.
fn is_reading(column: &Column) -> bool {
    let Field::Figure(figure) = column.field else { return false };
    !matches!(figure.told(), None | Some(Told::VramTotal | Told::PowerLimit))
}

/// Whether a line is the header of `--query-compute-apps` or
/// `--query-accounted-apps`.
fn is_of_processes(cells: &[String]) -> bool {
    let is_name = |cell: &String| {
        let name = cell.split('[').next().unwrap_or_default().trim();
        ["pid", "process_name", "used_gpu_memory", "used_memory"].contains(&name)
    };
    cells.iter().filter(|cell| is_name(cell)).count() >= 2
        || (cells.len() > 1 && cells.iter().any(|cell| cell.trim() == "pid"))
}

/// Whether cells are numbers and words in a row rather than a sentence.
fn looks_like_row(cells: &[String]) -> bool {
    let has_absent = || cells.iter().any(|text| cell(text) == Cell::Absent);
    cells.len() > 1 && (has_value(cells) || has_absent())
}

/// Whether a cell is a number or a time.
fn has_value(cells: &[String]) -> bool {
    let is_value =
        |text: &String| matches!(cell(text), Cell::Number(..)) || LogTime::read(text).is_some();
    cells.iter().any(is_value)
}

/// Whether every cell may be a title.
fn are_words(cells: &[String]) -> bool {
    let is_title = |text: &String| match cell(text) {
        Cell::Text(words) => words.starts_with(|c: char| c.is_alphabetic()),
        _ => false,
    };
    cells.len() > 1 && cells.iter().all(is_title)
}

/// The rows of a log.
pub(super) struct Rows {
    lines: Lines,
    columns: Option<Vec<Column>>,
    is_given: bool,
    /// A header whose names are not known, above columns whose names were given.
    titles: Option<String>,
    has_rows: bool,
    has_units: bool,
    last_line: u64,
    pub tally: Tally,
}

impl Rows {
    pub(super) fn of(input: &Input, layout: &Layout) -> Result<Self, SamplesError> {
        Ok(Self {
            lines: input.lines()?,
            columns: (layout.names != Names::Header).then(|| layout.columns.clone()),
            is_given: layout.names == Names::Given,
            titles: None,
            has_rows: false,
            has_units: false,
            last_line: 1,
            tally: Tally::default(),
        })
    }

    /// The next header or row.
    pub(super) fn next_event(&mut self) -> Result<Option<Event>, SamplesError> {
        loop {
            let Some(line) = self.lines.next_line()? else {
                if self.lines.is_cut {
                    self.tally.set_torn(self.last_line);
                }
                return Ok(None);
            };
            self.last_line = line.number;
            if line.text.trim().is_empty() {
                continue;
            }
            let cells = cells(&line.text);
            if let Some(columns) = header(&cells) {
                if !self.is_given {
                    self.columns = Some(columns);
                }
                return Ok(Some(Event::Header));
            }
            if self.is_given && self.has_titles(&line.text, &cells) {
                return Ok(Some(Event::Header));
            }
            match self.row(&line, &cells) {
                Some(row) => {
                    self.has_rows = true;
                    return Ok(Some(Event::Row(Box::new(row))));
                }
                None if line.is_whole => self.tally.add_junk(line.number, &line.text),
                None => self.tally.set_torn(line.number),
            }
        }
    }

    /// Whether a line is a header whose names are not known: words above the first
    /// row, and the same words again.
    fn has_titles(&mut self, text: &str, cells: &[String]) -> bool {
        if let Some(titles) = &self.titles {
            return titles == text;
        }
        let names = self.columns.as_ref().map_or(0, Vec::len);
        let is_first = !self.has_rows && cells.len() == names && are_words(cells);
        if is_first {
            self.titles = Some(text.to_owned());
        }
        is_first
    }

    fn row(&mut self, line: &Line, cells: &[String]) -> Option<Row> {
        let columns = self.columns.as_ref()?;
        if columns.len() != cells.len() {
            return None;
        }
        let (column, text) = (columns.last()?, cells.last()?);
        let is_bare = matches!(cell(text), Cell::Number(_, ""));
        let has_unit = !column.unit.is_empty();
        if !line.is_whole && self.has_units && has_unit && is_bare {
            return None;
        }
        self.has_units |=
            has_unit && matches!(cell(text), Cell::Number(_, unit) if !unit.is_empty());
        let mut figures = Figures::default();
        let mut row = Row {
            line: line.number,
            time: None,
            entry: Entry { gpu: Gpu::default(), sample: GpuSample::lost(String::new()) },
            driver_version: None,
            count: None,
        };
        for (column, text) in columns.iter().zip(cells) {
            row.put(column, text, &mut figures);
        }
        if figures.is_junk() {
            return None;
        }
        if row.time.is_none() && has(columns, Field::Time) {
            let time = columns.iter().zip(cells).find(|of| of.0.field == Field::Time);
            if let Some(text) = time.and_then(|(_, text)| words(text)) {
                self.tally.bad_time.get_or_insert((line.number, unread_time(&quoted(text))));
            }
            return None;
        }
        self.tally.add_figures(&figures);
        figures.put_limits(&mut row.entry.gpu.identity);
        row.entry.sample = match figures.lost() {
            Some(reason) => GpuSample::lost(reason),
            None => GpuSample::Read(Box::new(figures.reading())),
        };
        Some(row)
    }
}

impl Row {
    fn put(&mut self, column: &Column, text: &str, figures: &mut Figures) {
        let owned = || words(text).map(str::to_owned);
        let number = || words(text).and_then(|words| words.parse().ok());
        let gpu = &mut self.entry.gpu;
        match column.field {
            Field::Time => self.time = LogTime::read(text),
            Field::Index => gpu.index = number(),
            Field::Uuid => gpu.identity.uuid = uuid(text),
            Field::BusId => gpu.bus_id = owned().map(|id| id.to_ascii_lowercase()),
            Field::Serial => gpu.serial = serial(text),
            Field::Name => gpu.identity.name = owned(),
            Field::DriverVersion => self.driver_version = owned(),
            Field::Hostname => gpu.host = owned(),
            Field::Count => self.count = number(),
            Field::MigMode => gpu.identity.is_mig_enabled = is_enabled(text),
            Field::ThrottleMask => figures.put_throttle_mask(text),
            Field::ThrottleBit(bit) => figures.put_throttle_bit(bit, text),
            Field::Figure(figure) => figures.put(figure, &column.unit, text),
            Field::Unused | Field::Unknown => {}
        }
    }
}
