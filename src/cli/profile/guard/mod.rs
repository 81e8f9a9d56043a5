//! `--spot-guard`: warns the command before EC2 interrupts its spot instance, waits for its
//! checkpoint, and measures what is lost. Whatever happens to the guard, the command runs on.

mod args;
mod marks;
mod so_far;
mod warning;
mod watch;

pub(super) use args::GuardArgs;
pub(super) use warning::Warning;

use super::event::{Event, SpotNoticeKind};
use crate::domain::{Gap, SpotRun};
use jiff::{SignedDuration, Timestamp};
use marks::{MarkPlace, Marks};
use so_far::{Moment, NOT_WATCHED, SoFar, Step, Terms};
use std::sync::mpsc::Sender;
use std::time::Duration;
use warning::Warned;

const USUAL_WARNING: Warning = Warning::Signal("SIGTERM");
const USUAL_MARGIN: SignedDuration = SignedDuration::from_secs(10);

/// Watches over one command.
pub(super) struct Guard {
    on_interrupt: Warning,
    on_rebalance: Option<Warning>,
    marks: Option<Marks>,
    events: Sender<Event>,
    so_far: SoFar,
}

/// What the user is to read.
#[derive(Debug)]
pub(super) enum Note {
    Said(String),
    Complained { error: String, hint: &'static str },
}

impl Guard {
    /// A guard by the flags; `None` without `--spot-guard`. Marks are read from now on.
    pub(super) fn of(args: &GuardArgs, events: &Sender<Event>) -> Option<Self> {
        if !args.spot_guard {
            return None;
        }
        let place = args
            .checkpoint_mark
            .clone()
            .map(|path| match args.checkpoint_done.clone() {
                None => MarkPlace::File(path),
                Some(done) => MarkPlace::Log {
                    path,
                    done,
                    begin: args.checkpoint_begin.clone(),
                },
            });
        let terms = Terms {
            margin: args.interrupt_margin.unwrap_or(USUAL_MARGIN),
            checkpoint_cost: args.checkpoint_cost,
            has_marks: place.is_some(),
        };
        Some(Self {
            on_interrupt: args.on_interrupt.clone().unwrap_or(USUAL_WARNING),
            on_rebalance: args.on_rebalance.clone(),
            marks: place.map(|place| Marks::watch(place, events.clone())),
            events: events.clone(),
            so_far: SoFar::new(terms),
        })
    }

    /// Asks for notices from now on. `is_spot` is what is known of the instance; one that is
    /// bought otherwise gets none, and is not asked.
    pub(super) fn watch(
        &mut self,
        is_spot: Option<bool>,
        service: Result<Option<String>, &str>,
    ) -> Option<Note> {
        let reason = match service {
            Ok(endpoint) if is_spot != Some(false) => {
                watch::watch(endpoint, self.events.clone());
                return None;
            }
            Ok(_) => "this is not a spot instance",
            Err(reason) => reason,
        };
        self.so_far.unwatched(reason);
        Some(Note::Complained {
            error: format!("spot notices are not read: {reason}"),
            hint: NOT_WATCHED,
        })
    }

    /// When the run stops waiting for the command, on the clock of the run.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.so_far.deadline()
    }

    /// Reacts to news; `pid` is the command.
    pub(super) fn hear(
        &mut self,
        news: Event,
        elapsed: Duration,
        wall: Timestamp,
        pid: Option<u32>,
    ) -> Vec<Note> {
        let moment = Moment { elapsed, wall };
        let steps = match news {
            Event::Spot(answer) => self.so_far.answered(answer, moment),
            Event::Marked(marks) => self.so_far.marked(marks).into_iter().collect(),
            Event::NotWarned(kind, reason) => vec![self.so_far.not_warned(kind, reason)],
            Event::Signal { .. } | Event::Ended(_) => Vec::new(),
        };
        let notes = steps.into_iter().filter_map(|step| match step {
            Step::Warn(kind) => self.warn(kind, moment, pid?),
            step => note(step),
        });
        notes.collect()
    }

    fn warn(&mut self, kind: SpotNoticeKind, moment: Moment, pid: u32) -> Option<Note> {
        let warning = match kind {
            SpotNoticeKind::Interruption => &self.on_interrupt,
            SpotNoticeKind::Rebalance => self.on_rebalance.as_ref()?,
        };
        let found = self.so_far.interruption();
        let interruption = found.map(|found| {
            let left = found.deadline_seconds - moment.elapsed.as_secs_f64();
            let left = SignedDuration::try_from_secs_f64(left).unwrap_or_default();
            let deadline = moment.wall.saturating_add(left);
            (
                found.notice.action.name(),
                deadline.unwrap_or(found.notice.time),
            )
        });
        let warned = Warned {
            kind,
            pid,
            interruption,
        };
        warning.pass_on(&warned, &self.events);
        let by = warning.name();
        note(self.so_far.warned(kind, by, moment.wall))
    }

    /// What is known at the end of the run; the last marks are read.
    pub(super) fn finish(&mut self, elapsed: Duration, wall: Timestamp) -> SpotRun {
        if let Some(seen) = self.marks.as_ref().and_then(Marks::last) {
            self.so_far.marked(seen);
        }
        self.so_far.run(Moment { elapsed, wall })
    }

    /// What was not watched, and what cannot be known.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        self.so_far.gaps()
    }
}

fn note(step: Step) -> Option<Note> {
    match step {
        Step::Say(text) => Some(Note::Said(text)),
        Step::Complain { error, hint } => Some(Note::Complained { error, hint }),
        Step::Warn(_) => None,
    }
}
