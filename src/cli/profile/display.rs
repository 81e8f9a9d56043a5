//! What is shown while a run goes on: nothing, a line, or the whole screen.

use super::command_log::CommandLog;
use super::endpoint::Endpoint;
use super::guard::Note;
use super::screen::{Asked, Screen, StatusLine};
use crate::domain::{Classification, HourlyRate, RunFacts, Sample, safe};
use crate::profiling::{Profiler, RunStatus};
use crate::report::{LiveVerdict, LiveView, alert_line, live_openmetrics, status_line};
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

/// A run so far, where the user wants to see it.
pub(super) struct Display<'a> {
    view: LiveView,
    place: Place<'a>,
    /// Answers with the view, where a person may ask.
    endpoint: Option<Endpoint>,
    /// What the command writes, where it cannot write to the terminal.
    command_log: Option<CommandLog>,
    /// What the guard said while the screen was taken.
    said: Vec<String>,
}

/// Where a run so far is shown.
pub(super) enum Place<'a> {
    /// A command has the terminal, or there is none.
    Nowhere,
    /// The same, but the guard of the command may say something; or only what went wrong.
    Notes(&'a mut dyn Write, bool),
    /// One line that is written over.
    Line(StatusLine, &'a mut dyn Write),
    /// All of it, and where to write once it is given back.
    Screen(Box<Screen>, &'a mut dyn Write),
}

impl<'a> Display<'a> {
    pub(super) fn of(facts: &RunFacts, color: bool, place: Place<'a>) -> Self {
        Self {
            view: LiveView::new(facts, color),
            place,
            endpoint: None,
            command_log: None,
            said: Vec::new(),
        }
    }

    /// Shows a command, and the end of what it writes.
    pub(super) fn beside(&mut self, command: &[OsString], log: CommandLog) {
        let words = command.iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = words.collect();
        self.view.command = Some(words.join(" "));
        self.view.output_file = Some(log.name());
        self.command_log = Some(log);
    }

    /// What the view cannot know from the samples.
    pub(super) fn about(&mut self, hourly_price: Option<HourlyRate>, length: Option<Duration>) {
        self.view.hourly_price = hourly_price;
        self.view.duration_seconds = length.map(|length| length.as_secs_f64());
    }

    /// Answers at an endpoint too, at once and after each sample.
    pub(super) fn publish_at(&mut self, endpoint: Option<Endpoint>) {
        self.endpoint = endpoint;
        self.publish();
    }

    fn publish(&self) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.publish(live_openmetrics(&self.view));
        }
    }

    /// Shows a note about the sampling itself.
    pub(super) fn note(&mut self, note: String) {
        self.view.notes.push(note);
    }

    /// Says what the guard of a command found. Reasons come from outside.
    pub(super) fn say(&mut self, note: &Note) {
        let (stderr, is_quiet) = match &mut self.place {
            Place::Notes(stderr, is_quiet) => (stderr, *is_quiet),
            Place::Screen(..) => {
                let (Note::Said(text) | Note::Complained { error: text, .. }) = note;
                let note = format!("spot guard: {text}");
                self.said.push(note.clone());
                self.view.notes.push(note);
                return;
            }
            Place::Nowhere | Place::Line(..) => return,
        };
        let text = match note {
            Note::Said(_) if is_quiet => return,
            Note::Said(text) => format!("spot guard: {}\n", safe(text)),
            Note::Complained { error, hint } => {
                format!("error: {}\nhint: {hint}\n", safe(error))
            }
        };
        // Who closed stderr reads no notes; the command runs on.
        let _ = stderr.write_all(text.as_bytes());
    }

    /// Whether keys are read, so that waiting should not take long.
    pub(super) fn reads_keys(&self) -> bool {
        matches!(self.place, Place::Screen(..))
    }

    /// Takes a sample in and shows it. A terminal that is gone ends nothing.
    pub(super) fn sample(&mut self, profiler: &Profiler, sample: &Sample, missed: u64) {
        let is_shown = !matches!(self.place, Place::Nowhere | Place::Notes(..));
        if !is_shown && self.endpoint.is_none() {
            return;
        }
        self.view.sample(sample);
        self.view.missed_samples = missed;
        self.stand(&profiler.now());
        self.publish();
        self.draw();
    }

    /// What the user asks for.
    pub(super) fn asked(&mut self) -> Option<Asked> {
        let Place::Screen(screen, _) = &mut self.place else {
            return None;
        };
        let asked = screen.asked();
        self.draw();
        asked
    }

    /// Gives the terminal back while the run goes on.
    pub(super) fn leave(&mut self) {
        self.place = match std::mem::replace(&mut self.place, Place::Nowhere) {
            Place::Screen(screen, stderr) => {
                drop(screen);
                write_said(&self.said, stderr);
                if let Some(file) = &self.view.output_file {
                    let _ = writeln!(stderr, "the command runs on; it writes to {file}");
                }
                Place::Notes(stderr, false)
            }
            other => other,
        };
    }

    fn draw(&mut self) {
        if let (Place::Screen(..), Some(log)) = (&self.place, &mut self.command_log) {
            let lines = log.last_lines();
            if self.view.output != lines {
                self.view.output = lines.to_vec();
            }
        }
        match &mut self.place {
            Place::Nowhere | Place::Notes(..) => {}
            Place::Line(line, terminal) => {
                let text = status_line(&self.view, StatusLine::columns());
                line.show(&text, *terminal);
            }
            Place::Screen(screen, _) => {
                let _ = screen.draw(&self.view);
            }
        }
    }

    fn stand(&mut self, status: &RunStatus) {
        let view = &mut self.view;
        view.mean_percent = status.utilization_mean_percent;
        for (gpu, status) in view.gpus.iter_mut().zip(&status.gpus) {
            gpu.mean_percent = status.utilization_mean_percent;
            gpu.sm_mean_percent = status.sm_mean_percent;
        }
        let verdict = &status.verdict;
        view.verdict =
            (verdict.classification != Classification::InsufficientData).then(|| LiveVerdict {
                classification: verdict.classification,
                reason: verdict.reason.clone(),
            });
        let diagnosis = &status.diagnosis;
        view.diagnosis = diagnosis
            .confidence
            .map(|_| format!("{}: {}", diagnosis.bottleneck, diagnosis.reason));
        view.alerts = status
            .alerts
            .iter()
            .map(|alert| {
                let gpu = alert.gpu.and_then(|place| view.gpus.get(place));
                alert_line(alert, gpu.map(|gpu| gpu.number.as_str()))
            })
            .collect();
    }

    /// Gives the terminal back, and answers no more.
    pub(super) fn close(self) {
        match self.place {
            Place::Line(mut line, terminal) => line.clear(terminal),
            Place::Screen(screen, stderr) => {
                drop(screen);
                write_said(&self.said, stderr);
            }
            Place::Nowhere | Place::Notes(..) => {}
        }
    }
}

/// What the guard said while the screen was taken, for after it is given back.
fn write_said(said: &[String], stderr: &mut dyn Write) {
    for note in said {
        // Who closed stderr reads no notes.
        let _ = writeln!(stderr, "{}", safe(note));
    }
}
