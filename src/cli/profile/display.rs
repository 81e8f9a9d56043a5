//! What is shown while a run goes on: nothing, a line, or the whole screen.

use super::args::ProfileArgs;
use super::command_log::CommandLog;
use super::endpoint::Endpoint;
use super::guard::Note;
use super::screen::{Screen, ScreenRequest, StatusLine};
use crate::cli::{Failure, Io, Outcome, output};
use crate::domain::{Classification, HourlyRate, RunFacts, Sample, safe};
use crate::profiling::{Profiler, RunStatus};
use crate::report::{LiveView, alert_line, live_openmetrics, status_line};
use std::ffi::OsString;
use std::io::Write;

/// A run so far, where the user wants to see it.
pub(super) struct Display<'a> {
    view: LiveView,
    place: Place,
    stderr: &'a mut dyn Write,
    /// Whether only what went wrong is said of the guard of a command.
    is_quiet: bool,
    /// Answers with the view, where a person may ask.
    endpoint: Option<Endpoint>,
    /// What the command writes, where it cannot write to the terminal.
    command_log: Option<CommandLog>,
    /// What the guard said while the screen was taken.
    said: Vec<String>,
}

/// Where a run so far is shown.
enum Place {
    /// A command has the terminal, or there is none.
    Nowhere,
    /// One line that is written over.
    Line(StatusLine),
    /// All of it.
    Screen(Box<Screen>),
}

impl<'a> Display<'a> {
    /// A command has the terminal to itself, unless the live view is wanted beside it. An
    /// endpoint answers at once and after each sample.
    ///
    /// # Errors
    /// When the terminal refuses the live view.
    pub(super) fn of(
        args: &ProfileArgs,
        facts: &RunFacts,
        hourly_price: Option<HourlyRate>,
        endpoint: Option<Endpoint>,
        io: &'a mut Io<'_>,
    ) -> Outcome<Self> {
        let color = args.live && output::color(&args.out, io);
        let (is_quiet, shows) = (args.out.quiet, io.stderr_is_terminal && args.command.is_empty());
        let place = if args.live {
            Place::Screen(Box::new(Screen::enter().map_err(Failure::unexpected)?))
        } else if shows && !is_quiet {
            Place::Line(StatusLine::default())
        } else {
            Place::Nowhere
        };
        let view = LiveView {
            hourly_price,
            duration_seconds: args.duration.map(|length| length.as_secs_f64()),
            ..LiveView::new(facts, color)
        };
        let display = Self {
            view,
            place,
            stderr: io.stderr,
            is_quiet,
            endpoint,
            command_log: None,
            said: Vec::new(),
        };
        display.publish();
        Ok(display)
    }

    /// Shows a command, and the end of what it writes.
    pub(super) fn beside(&mut self, command: &[OsString], log: CommandLog) {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        self.view.command = Some(words.join(" "));
        self.view.output_file = Some(log.name());
        self.command_log = Some(log);
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
        let line = format!("spot guard: {}", note.text);
        if matches!(self.place, Place::Screen(_)) {
            self.said.push(line.clone());
            self.view.notes.push(line);
            return;
        }
        let text = match note.hint {
            None if self.is_quiet => return,
            None => format!("{}\n", safe(&line)),
            Some(hint) => format!("error: {}\nhint: {hint}\n", safe(&note.text)),
        };
        // Who closed stderr reads no notes; the command runs on.
        let _ = self.stderr.write_all(text.as_bytes());
    }

    /// Whether keys are read, so that waiting should not take long.
    pub(super) fn reads_keys(&self) -> bool {
        matches!(self.place, Place::Screen(_))
    }

    /// Takes a sample in and shows it. A terminal that is gone ends nothing.
    pub(super) fn sample(&mut self, profiler: &Profiler, sample: &Sample, missed: u64) {
        if matches!(self.place, Place::Nowhere) && self.endpoint.is_none() {
            return;
        }
        self.view.sample(sample);
        self.view.missed_samples = missed;
        self.stand(&profiler.now());
        self.publish();
        self.draw();
    }

    /// What the user asks for.
    pub(super) fn asked(&mut self) -> Option<ScreenRequest> {
        let Place::Screen(screen) = &mut self.place else { return None };
        let asked = screen.asked();
        self.draw();
        asked
    }

    /// Gives the terminal back while the run goes on.
    pub(super) fn leave(&mut self) {
        self.give_back();
        if let Some(file) = &self.view.output_file {
            let _ = writeln!(self.stderr, "the command runs on; it writes to {file}");
        }
        self.is_quiet = false;
    }

    fn draw(&mut self) {
        match &mut self.place {
            Place::Nowhere => {}
            Place::Line(line) => {
                line.show(&status_line(&self.view, StatusLine::columns()), self.stderr);
            }
            Place::Screen(screen) => {
                if let Some(log) = &mut self.command_log {
                    self.view.output = log.last_lines().to_vec();
                }
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
        let is_early = status.verdict.classification == Classification::InsufficientData;
        view.verdict = (!is_early).then(|| status.verdict.clone());
        let diagnosis = &status.diagnosis;
        view.diagnosis =
            diagnosis.confidence.map(|_| format!("{}: {}", diagnosis.bottleneck, diagnosis.reason));
        let alerts = status.alerts.iter().map(|alert| {
            let gpu = alert.gpu.and_then(|place| view.gpus.get(place));
            alert_line(alert, gpu.map(|gpu| gpu.number.as_str()))
        });
        view.alerts = alerts.collect();
    }

    /// Gives the terminal back, and says what the guard said while it was taken.
    fn give_back(&mut self) {
        match std::mem::replace(&mut self.place, Place::Nowhere) {
            Place::Nowhere => {}
            Place::Line(mut line) => line.clear(self.stderr),
            Place::Screen(screen) => {
                drop(screen);
                for note in &self.said {
                    // Who closed stderr reads no notes.
                    let _ = writeln!(self.stderr, "{}", safe(note));
                }
            }
        }
    }

    /// Gives the terminal back, and answers no more.
    pub(super) fn close(mut self) {
        self.give_back();
    }
}
