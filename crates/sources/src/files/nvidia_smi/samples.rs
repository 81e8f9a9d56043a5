//! From rows to samples: which row is of which GPU, which rows are one sample, and what could
//! not be used, counted rather than dropped in silence.

use super::super::samples::{ReadOptions, quoted};
use super::figure::Figures;
use super::time::LogClock;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, GpuIdentity, GpuSample, HostReading, RunFacts, Sample,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// GPUs and slices that one log may have: more than that are not of one host.
pub(super) const MOST_GPUS: usize = 1_024;
/// GPUs of a host, where nothing but their order tells them apart.
const MOST_UNNAMED: usize = 16;
/// Rows that are evaluated to find that order.
const MOST_SURVEYED: usize = 4_096;

/// What a row says of the GPU that it is of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gpu {
    pub bus_id: Option<String>,
    pub serial: Option<String>,
    pub index: Option<u16>,
    /// Name of the host that it is in.
    pub host: Option<String>,
    /// All else; its index is that of a log.
    pub identity: GpuIdentity,
}

impl Gpu {
    /// Whether it says which one it is.
    pub(super) fn has_key(&self) -> bool {
        let has_name = self.identity.uuid.is_some() || self.serial.is_some();
        has_name || self.bus_id.is_some() || self.index.is_some()
    }

    /// By what both say. A bus id and an index are unique in one host alone, and a
    /// serial number is that of a board, which may carry two GPUs.
    fn is(&self, other: &Self) -> bool {
        fn same<T: PartialEq>(left: &Option<T>, right: &Option<T>) -> Option<bool> {
            Some(left.as_ref()? == right.as_ref()?)
        }
        let slot =
            |gpu: &Self| gpu.identity.mig.as_ref().map(|slot| (slot.index, slot.gpu_instance));
        let uuid = same(&self.identity.uuid, &other.identity.uuid);
        let bus_id = same(&self.bus_id, &other.bus_id);
        let serial = same(&self.serial, &other.serial);
        let is_told_apart = [uuid, bus_id, serial].contains(&Some(false));
        if is_told_apart || slot(self) != slot(other) {
            return false;
        }
        if uuid == Some(true) {
            return true;
        }
        if same(&self.host, &other.host) == Some(false) {
            return false;
        }
        bus_id.or_else(|| same(&self.index, &other.index)).or(serial).unwrap_or(false)
    }

    fn learn(&mut self, other: &Self) {
        macro_rules! fill {
            ($to:expr, $from:expr => $($field:ident)*) => {
                $(if $to.$field.is_none() {
                    $to.$field.clone_from(&$from.$field);
                })*
            };
        }
        fill!(self, other => bus_id serial index host);
        fill!(self.identity, other.identity => uuid name vram_total_mib power_limit_w
            power_default_limit_w pcie_max_bytes_per_second is_mig_enabled);
    }
}

/// One sample of one GPU.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub gpu: Gpu,
    pub sample: GpuSample,
}

/// The GPUs of a log.
#[derive(Debug, Clone, Default)]
pub(super) struct Roster(Vec<Gpu>);

impl Roster {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a GPU, or what is new about one that is there.
    ///
    /// # Errors
    /// When there are more than one host has.
    pub(super) fn add(&mut self, gpu: &Gpu) -> Result<(), String> {
        match self.position(gpu) {
            Some(known) => self.0[known].learn(gpu),
            None if self.0.len() < MOST_GPUS => self.0.push(gpu.clone()),
            None => {
                return Err(format!("more than {MOST_GPUS} GPUs; one host per log is expected"));
            }
        }
        Ok(())
    }

    /// Adds what is known of the GPU at a position, where only order tells.
    pub(super) fn add_at(&mut self, position: usize, gpu: &Gpu) {
        match self.0.get_mut(position) {
            Some(known) => known.learn(gpu),
            None => self.0.push(gpu.clone()),
        }
    }

    pub(super) fn position(&self, gpu: &Gpu) -> Option<usize> {
        self.0.iter().position(|known| known.is(gpu))
    }

    /// Whether a row lacks what tells some of them apart.
    pub(super) fn is_ambiguous(&self, gpu: &Gpu) -> bool {
        self.0.iter().filter(|known| known.is(gpu)).count() > 1
    }

    /// Whether several of them have the same index, as those of several hosts do.
    pub(super) fn shares_indices(&self) -> bool {
        let mut seen = BTreeSet::new();
        let wholes = self.0.iter().filter(|gpu| gpu.identity.mig.is_none());
        wholes.filter_map(|gpu| gpu.index).any(|index| !seen.insert(index))
    }

    /// Whether they are of hosts of several names.
    pub(super) fn has_several_hosts(&self) -> bool {
        self.0.iter().filter_map(|gpu| gpu.host.as_ref()).collect::<BTreeSet<_>>().len() > 1
    }

    /// For each of these GPUs its place among those of another list.
    pub(super) fn places_in(&self, other: &Self) -> Vec<usize> {
        self.0.iter().map(|gpu: &Gpu| other.position(gpu).unwrap_or(other.len())).collect()
    }

    /// Puts them in order: by index, or else as they came; slices after the GPU
    /// that they are of.
    pub(super) fn sort(&mut self) {
        let whole_of = |gpu: &Gpu| {
            let is_whole = |known: &&Gpu| known.bus_id.is_some() && known.bus_id == gpu.bus_id;
            self.0.iter().find(is_whole).cloned()
        };
        let mut keyed: Vec<_> = self
            .0
            .iter()
            .enumerate()
            .map(|(place, gpu)| {
                let whole = whole_of(gpu).and_then(|whole| self.position(&whole));
                let order = gpu.index.map_or(usize::MAX, usize::from);
                let slot = gpu.identity.mig.as_ref().map(|slot| slot.index);
                ((order, whole.unwrap_or(place), slot, place), gpu.clone())
            })
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        self.0 = keyed.into_iter().map(|(_, gpu)| gpu).collect();
    }

    /// What the rows say of each GPU. Where several have the same index, they are
    /// numbered in their order.
    pub(super) fn identities(&self) -> Vec<GpuIdentity> {
        let is_numbered = self.shares_indices();
        let mut wholes = 0_u16;
        let mut identities = Vec::with_capacity(self.0.len());
        for (place, gpu) in self.0.iter().cloned().enumerate() {
            let is_slice = gpu.identity.mig.is_some();
            let is_of_last = place > 0 && is_slice && self.0[place - 1].bus_id == gpu.bus_id;
            if !is_of_last {
                wholes += 1;
            }
            let own_index = gpu.index.filter(|_| !is_numbered);
            let index = own_index.unwrap_or(wholes - 1);
            identities.push(GpuIdentity { index, ..gpu.identity });
        }
        identities
    }
}

/// A sample from what was found of each GPU; what is missing no longer answered.
pub(super) fn sample(found: Vec<Option<GpuSample>>, at: (f64, Timestamp)) -> Sample {
    let missing = || GpuSample::lost("not in this part of the log");
    Sample {
        at_seconds: at.0,
        time: at.1,
        gpus: found.into_iter().map(|sample| sample.unwrap_or_else(missing)).collect(),
        host: HostReading::default(),
    }
}

/// What a log says of its run.
pub(super) fn facts(
    started: Timestamp,
    hostname: Option<String>,
    driver_version: Option<String>,
    roster: &Roster,
) -> RunFacts {
    RunFacts { started, hostname, driver_version, gpus: roster.identities(), ..RunFacts::default() }
}

/// The clock that options ask for.
pub(super) fn clock(options: &ReadOptions) -> LogClock {
    let interval = options.interval.and_then(|interval| SignedDuration::try_from(interval).ok());
    LogClock::new(options.zone.as_ref(), interval)
}

/// What its times leave to say about a log.
pub(super) fn clock_gaps(clock: &LogClock, place: &str) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if clock.lacks_zone {
        gaps.push(Gap::of(GapSubject::TimeZone, place, Cause::of(CauseKind::NoTimeZone, [])));
    }
    if clock.steps_back > 0 {
        let cause = Cause::of(CauseKind::ClockGoesBack, [&clock.steps_back.to_string()]);
        gaps.push(Gap::of(GapSubject::Times, place, cause));
    }
    gaps
}

/// What tells how many rows are one sample, where no row says its GPU.
#[derive(Debug, Default)]
pub(super) struct Survey {
    times: Vec<Timestamp>,
    names: Vec<Option<String>>,
    headers: Vec<usize>,
    count: Option<usize>,
}

impl Survey {
    pub(super) fn add_header(&mut self) {
        if self.headers.len() < MOST_SURVEYED {
            self.headers.push(self.names.len());
        }
    }

    pub(super) fn add(&mut self, time: Option<Timestamp>, name: Option<&str>, count: Option<u16>) {
        if self.names.len() < MOST_SURVEYED {
            self.names.push(name.map(str::to_owned));
            self.times.extend(time);
        }
        self.count = self.count.or(count.map(usize::from));
    }

    /// Rows of one sample, and from how long a pause on a row begins another one.
    pub(super) fn rows_per_sample(&self) -> (usize, Option<SignedDuration>) {
        let steps = self.steps();
        let pause_of = |rows: usize| pause_of(&steps, rows);
        let by_time = || (2..=MOST_UNNAMED).find(|rows| pause_of(*rows).is_some());
        let counted = self
            .count
            .or_else(|| self.by_headers())
            .or_else(by_time)
            .or_else(|| self.by_names())
            .filter(|rows| (1..=MOST_UNNAMED).contains(rows));
        let rows = counted.unwrap_or(1);
        (rows, if rows > 1 { pause_of(rows) } else { None })
    }

    /// From how long a pause on a row begins another sample of so many rows.
    pub(super) fn pause_after(&self, rows: usize) -> Option<SignedDuration> {
        pause_of(&self.steps(), rows)
    }

    fn steps(&self) -> Vec<SignedDuration> {
        self.times.windows(2).map(|pair| pair[1].duration_since(pair[0]).abs()).collect()
    }

    fn by_headers(&self) -> Option<usize> {
        let runs: Vec<usize> = self.headers.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if runs.len() < 2 { None } else { usual_of(&runs) }
    }

    /// The shortest cycle of names.
    fn by_names(&self) -> Option<usize> {
        (1..=MOST_UNNAMED.min(self.names.len() / 2)).find(|cycle| {
            self.names.iter().zip(self.names.iter().skip(*cycle)).all(|(name, next)| name == next)
        })
    }
}

/// With so many rows a sample, so many steps are pauses; a quarter of the one in
/// their middle tells them from the others.
fn pause_of(steps: &[SignedDuration], rows: usize) -> Option<SignedDuration> {
    let mut longest_first = steps.to_vec();
    longest_first.sort_unstable_by(|left, right| right.cmp(left));
    let pauses = ((steps.len() + 1) / rows.max(1)).max(1);
    let middle = *longest_first.get(pauses / 2)?;
    let pause = (middle / 4).max(SignedDuration::from_nanos(1));
    (usual_of(&runs(steps, pause)) == Some(rows)).then_some(pause)
}

/// How many rows follow each other without a pause.
fn runs(steps: &[SignedDuration], pause: SignedDuration) -> Vec<usize> {
    let mut runs = vec![1];
    for step in steps {
        match runs.last_mut() {
            Some(run) if *step < pause => *run += 1,
            _ => runs.push(1),
        }
    }
    runs
}

/// The value that most of a list have, if it is most of them by far.
fn usual_of(runs: &[usize]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for run in runs {
        *counts.entry(*run).or_default() += 1;
    }
    let (run, times) = counts.into_iter().max_by_key(|(_, times)| *times)?;
    (times * 3 >= runs.len() * 2).then_some(run)
}

/// Rows that could not be used for one reason.
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
