//! What is shown while a run goes on: nothing, a line, or the whole screen.

use super::guard::Note;
use super::screen::{Screen, StatusLine};
use crate::domain::{Classification, HourlyRate, RunFacts, Sample, safe};
use crate::profiling::{Profiler, RunStatus};
use crate::report::{LiveVerdict, LiveView, alert_line, status_line};
use std::io::{self, Write};
use std::time::Duration;

/// A run so far, where the user wants to see it.
pub(super) struct Display<'a> {
    view: LiveView,
    place: Place<'a>,
}

enum Place<'a> {
    /// A command has the terminal, or there is none.
    Nowhere,
    /// The same, but the guard of the command may say something; or only what went wrong.
    Notes(&'a mut dyn Write, bool),
    /// One line that is written over.
    Line(StatusLine, &'a mut dyn Write),
    /// All of it.
    Screen(Box<Screen>),
}

impl<'a> Display<'a> {
    /// Shows nothing.
    pub(super) fn nowhere(facts: &RunFacts) -> Self {
        Self {
            view: LiveView::new(facts, false),
            place: Place::Nowhere,
        }
    }

    /// Shows what the guard of a command says; where it is to be quiet, only what went wrong.
    pub(super) fn notes(facts: &RunFacts, stderr: &'a mut dyn Write, is_quiet: bool) -> Self {
        Self {
            view: LiveView::new(facts, false),
            place: Place::Notes(stderr, is_quiet),
        }
    }

    /// Shows one line on a terminal.
    pub(super) fn line(facts: &RunFacts, terminal: &'a mut dyn Write) -> Self {
        Self {
            view: LiveView::new(facts, false),
            place: Place::Line(StatusLine::default(), terminal),
        }
    }

    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn screen(facts: &RunFacts, color: bool) -> io::Result<Self> {
        Ok(Self {
            view: LiveView::new(facts, color),
            place: Place::Screen(Box::new(Screen::enter()?)),
        })
    }

    /// What the view cannot know from the samples.
    pub(super) fn about(&mut self, hourly_price: Option<HourlyRate>, length: Option<Duration>) {
        self.view.hourly_price = hourly_price;
        self.view.duration_seconds = length.map(|length| length.as_secs_f64());
    }

    /// Shows a note about the sampling itself.
    pub(super) fn note(&mut self, note: String) {
        self.view.notes.push(note);
    }

    /// Says what the guard of a command found. Reasons come from outside.
    pub(super) fn say(&mut self, note: &Note) {
        let Place::Notes(stderr, is_quiet) = &mut self.place else {
            return;
        };
        let text = match note {
            Note::Said(_) if *is_quiet => return,
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
        matches!(self.place, Place::Screen(_))
    }

    /// Takes a sample in and shows it. A terminal that is gone ends nothing.
    pub(super) fn sample(&mut self, profiler: &Profiler, sample: &Sample, missed: u64) {
        if matches!(self.place, Place::Nowhere | Place::Notes(..)) {
            return;
        }
        self.view.sample(sample);
        self.view.missed_samples = missed;
        self.stand(&profiler.now());
        self.draw();
    }

    /// Whether the user has seen enough.
    pub(super) fn is_quit_asked(&mut self) -> bool {
        let Place::Screen(screen) = &mut self.place else {
            return false;
        };
        let quits = screen.is_quit_asked();
        self.draw();
        quits
    }

    fn draw(&mut self) {
        match &mut self.place {
            Place::Nowhere | Place::Notes(..) => {}
            Place::Line(line, terminal) => {
                let text = status_line(&self.view, StatusLine::columns());
                line.show(&text, *terminal);
            }
            Place::Screen(screen) => {
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

    /// Gives the terminal back.
    pub(super) fn close(self) {
        if let Place::Line(mut line, terminal) = self.place {
            line.clear(terminal);
        }
    }
}
