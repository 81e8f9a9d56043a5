//! The run itself: sample, add up, write, show, wait, until something ends it; and the units of
//! work that its log shows.

use super::args::ProfileArgs;
use super::display::{Display, ScreenRequest};
use super::guard::Guard;
use super::signals::{Event, exit_code, forward, interrupt_all, wait_until};
use crate::cli::{Outcome, refusal};
use crate::domain::{GpuSample, RunEnd, Sample, UnitsDone, shown};
use crate::profiling::{Pacer, Profiler};
use crate::sources::GpuSource;
use crate::sources::files::{SampleFormat, SampleWriter, count_lines_since};
use crate::sources::host::HostSource;
use jiff::SignedDuration;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use std::{fs, io};

/// How long a key may wait for an answer.
const KEYS_AFTER: Duration = Duration::from_millis(100);

/// What a run reads and where it puts what it sees.
pub(super) struct Sampler<'a> {
    pub(super) gpus: &'a mut dyn GpuSource,
    pub(super) host: &'a mut HostSource,
    pub(super) profiler: &'a mut Profiler,
    pub(super) pacer: Pacer,
    pub(super) writer: Option<SampleWriter>,
    /// Why no more samples are written, once writing failed.
    pub(super) write_error: Option<io::Error>,
    pub(super) processes: Processes,
    /// Who watches over the command, if anybody.
    pub(super) guard: Option<Guard>,
    pub(super) units: Option<UnitLog>,
    /// Why units were not counted.
    pub(super) units_error: Option<io::Error>,
}

/// Who holds a GPU: asked once per process.
#[derive(Debug)]
pub(super) struct Processes {
    /// The command that runs under the sampler.
    command: Option<u32>,
    known: BTreeMap<u32, (Option<String>, bool)>,
}

impl Processes {
    /// Not known yet.
    pub(super) fn of(command: Option<u32>) -> Self {
        Self { command, known: BTreeMap::new() }
    }

    /// Names whoever holds a GPU in this sample, and forgets those that are gone:
    /// a process id is used again.
    fn name(&mut self, gpus: &mut [GpuSample], host: &HostSource) {
        let mut seen = BTreeMap::new();
        for gpu in gpus {
            let GpuSample::Read(reading) = gpu else { continue };
            for process in reading.processes.iter_mut().flatten() {
                let (name, is_of_command) = seen.entry(process.pid).or_insert_with(|| {
                    match self.known.remove(&process.pid) {
                        Some(known) => known,
                        None => self.ask(process.pid, host),
                    }
                });
                process.name = process.name.take().or_else(|| name.clone());
                process.is_of_command = *is_of_command;
            }
        }
        self.known = seen;
    }

    fn ask(&self, pid: u32, host: &HostSource) -> (Option<String>, bool) {
        let is_of_command = self.command.is_some_and(|command| host.is_descendant(pid, command));
        (host.process_name(pid), is_of_command)
    }
}

/// A length of time as pure code counts it.
pub(super) fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

/// How a run came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The time that was asked for is over, or the user has seen enough.
    Enough,
    /// The command ended so.
    Command(i32),
    /// The command did not end before its instance is interrupted.
    Deadline,
}

impl Sampler<'_> {
    /// Samples until something ends the run. What the guard has to say of the end is not shown yet.
    pub(super) fn run(
        &mut self,
        clock: Instant,
        events: &Receiver<Event>,
        length: Option<Duration>,
        display: &mut Display<'_>,
    ) -> (Ending, RunEnd) {
        loop {
            let sample = self.sample(clock, display);
            display.sample(self.profiler, &sample, self.pacer.pace().missed.unwrap_or(0));
            let due = self.pacer.due().unsigned_abs();
            let until = length.map_or(due, |length| length.min(due));
            loop {
                // Where a sample took longer than the interval, the next one is due already: what
                // happened meanwhile comes first.
                let is_due = clock.elapsed() >= until;
                match (display.asked(), self.processes.command) {
                    (Some(_), None) => return (Ending::Enough, self.end(clock, None)),
                    // The command runs on, and with it the run.
                    (Some(ScreenRequest::Leave), Some(_)) => display.leave(),
                    (Some(ScreenRequest::Interrupt), Some(_)) => interrupt_all(),
                    (None, _) => {}
                }
                let deadline = self.guard.as_ref().and_then(|guard| guard.seen().deadline());
                if deadline.is_some_and(|deadline| deadline <= clock.elapsed()) {
                    return (Ending::Deadline, self.end(clock, None));
                }
                let wake = if display.reads_keys() {
                    until.min(clock.elapsed() + KEYS_AFTER)
                } else {
                    deadline.map_or(until, |deadline| until.min(deadline))
                };
                match wait_until(clock, wake, events) {
                    None if is_due => break,
                    None => {}
                    Some(Event::Ended(Ok(status))) => {
                        let code = exit_code(status);
                        // What the command did since the last sample counts too.
                        self.sample(clock, display);
                        return (Ending::Command(code), self.end(clock, Some(code)));
                    }
                    Some(Event::Ended(Err(_))) => {
                        return (Ending::Command(1), self.end(clock, None));
                    }
                    Some(Event::Signal { number, to_us_alone }) => match self.processes.command {
                        Some(pid) if to_us_alone => forward(number, pid),
                        Some(_) => {}
                        None => return (Ending::Enough, self.end(clock, None)),
                    },
                    Some(Event::Noted) => self.show_notes(display),
                }
            }
            if length.is_some_and(|length| length <= due && clock.elapsed() >= length) {
                return (Ending::Enough, self.end(clock, None));
            }
        }
    }

    /// What the guard has to say.
    pub(super) fn show_notes(&self, display: &mut Display<'_>) {
        if let Some(guard) = &self.guard {
            let notes = std::mem::take(&mut guard.seen().notes);
            notes.iter().for_each(|note| display.say(note));
        }
    }

    fn sample(&mut self, clock: Instant, display: &mut Display<'_>) -> Sample {
        let at = clock.elapsed();
        let time = Timestamp::now();
        let mut gpus = self.gpus.read(at);
        self.processes.name(&mut gpus, self.host);
        let sample = Sample { at_seconds: at.as_secs_f64(), time, gpus, host: self.host.read(at) };
        self.pacer.sampled(signed(at), time);
        self.profiler.add(&sample);
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.write(&sample)
        {
            display.note(format!("samples are no longer written: {error}"));
            self.write_error = Some(error);
            self.writer = None;
        }
        sample
    }

    fn end(&mut self, clock: Instant, exit_code: Option<i32>) -> RunEnd {
        let elapsed = clock.elapsed();
        self.pacer.ended(signed(elapsed));
        let units = self.units.as_ref().map(UnitLog::count).transpose().unwrap_or_else(|error| {
            self.units_error = Some(error);
            None
        });
        let end = RunEnd {
            elapsed_seconds: elapsed.as_secs_f64(),
            exit_code,
            spot: self.guard.as_ref().map(|guard| guard.seen().finish()),
            units: units.unwrap_or_default(),
        };
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish(&end)
        {
            self.write_error = Some(error);
        }
        end
    }
}

/// Where units are counted, and by which texts.
#[derive(Debug)]
pub(super) struct UnitLog {
    path: PathBuf,
    /// Each unit with the text that its lines contain.
    units: Vec<(String, String)>,
    /// Bytes that the log has when the run begins.
    offset: u64,
}

impl UnitLog {
    /// By the flags; `None` without `--log`. What the log holds already is of an earlier run.
    ///
    /// # Errors
    /// When the log is a pipe or a folder, or the samples could not hold the count.
    pub(super) fn of(args: &ProfileArgs) -> Outcome<Option<Self>> {
        let Some(path) = args.log.clone() else { return Ok(None) };
        if args.samples.as_deref().and_then(SampleFormat::of) == Some(SampleFormat::Csv) {
            return Err(refusal!(
                "`--log-unit` is recorded at the end of samples in JSON lines, and CSV has no end";
                "pass `--samples` with a file name ending in .jsonl"));
        }
        let offset = match fs::metadata(&path) {
            Ok(data) if data.is_file() => data.len(),
            Ok(_) => {
                return Err(refusal!("`--log {}` is not a file", shown(&path);
                    "write the output of the command to a file, and name that"));
            }
            // The command creates it.
            Err(_) => 0,
        };
        Ok(Some(Self { path, units: args.log_unit.clone(), offset }))
    }

    /// What was done so far.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn count(&self) -> io::Result<Vec<UnitsDone>> {
        let counted = self.units.iter().map(|(unit, text)| {
            Ok(UnitsDone {
                unit: unit.clone(),
                count: count_lines_since(&self.path, self.offset, text)?,
            })
        });
        counted.collect()
    }
}
