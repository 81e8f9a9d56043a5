//! `--spot-guard`: warns the command before EC2 interrupts its spot instance, waits for its
//! checkpoint, and measures what is lost. Whatever happens to the guard, the command runs on.

mod args;
mod listener;
mod marks;
mod shared;
mod so_far;
mod warning;
mod watch;

pub(super) use args::GuardArgs;
pub(super) use shared::Note;
pub(super) use warning::Warning;

use super::clock::HostClock;
use super::event::{Event, News};
use crate::domain::{Gap, SpotRun};
use jiff::{SignedDuration, Timestamp};
use listener::Listener;
use marks::{MarkPlace, Marks};
use shared::Shared;
use so_far::{Moment, NOT_WATCHED, SoFar, Terms};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const USUAL_MARGIN: SignedDuration = SignedDuration::from_secs(10);

/// Watches over one command.
pub(super) struct Guard {
    on_interrupt: Option<Warning>,
    on_rebalance: Option<Warning>,
    marks: Option<Marks>,
    shared: Shared,
    news: Sender<News>,
    /// News from before the command runs; taken once it is watched.
    heard: Option<Receiver<News>>,
    events: Sender<Event>,
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
        let (news, heard) = channel();
        Some(Self {
            on_interrupt: args.on_interrupt.clone(),
            on_rebalance: args.on_rebalance.clone(),
            marks: place.map(|place| Marks::watch(place, news.clone())),
            shared: Shared::new(SoFar::new(terms)),
            news,
            heard: Some(heard),
            events: events.clone(),
        })
    }

    /// Watches over the command from now on, and asks for notices. `is_spot` is what is known of
    /// the instance; one that is bought otherwise gets none, and is not asked.
    pub(super) fn watch(
        &mut self,
        (pid, clock): (Option<u32>, HostClock),
        is_spot: Option<bool>,
        service: Result<Option<String>, &str>,
    ) -> Option<Note> {
        if let (Some(pid), Some(heard)) = (pid, self.heard.take()) {
            let listener = Listener {
                on_interrupt: self.on_interrupt.clone(),
                on_rebalance: self.on_rebalance.clone(),
                pid,
                clock,
                shared: self.shared.clone(),
                news: self.news.clone(),
                events: self.events.clone(),
            };
            listener.start(heard);
        }
        let reason = match service {
            Ok(endpoint) if is_spot != Some(false) => {
                watch::watch(endpoint, self.news.clone());
                return None;
            }
            Ok(_) => "this is not a spot instance",
            Err(reason) => reason,
        };
        self.shared.lock().so_far.unwatched(reason);
        Some(Note::Complained {
            error: format!("spot notices are not read: {reason}"),
            hint: NOT_WATCHED,
        })
    }

    /// When the run stops waiting for the command, on the clock of the run.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.shared.lock().so_far.deadline()
    }

    /// What the user was not shown yet.
    pub(super) fn notes(&self) -> Vec<Note> {
        std::mem::take(&mut self.shared.lock().notes)
    }

    /// What is known at the end of the run; the last marks are read. From then on, no warning is
    /// sent.
    pub(super) fn finish(&self, elapsed: Duration, wall: Timestamp) -> SpotRun {
        let seen = self.marks.as_ref().and_then(Marks::last);
        let mut watched = self.shared.lock();
        watched.is_over = true;
        if let Some(seen) = seen {
            watched.so_far.marked(seen);
        }
        watched.so_far.run(Moment { elapsed, wall })
    }

    /// What was not watched, and what cannot be known.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        self.shared.lock().so_far.gaps()
    }
}
