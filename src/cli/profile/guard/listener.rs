//! Reacts to news on a thread of its own: what delays a sample, such as a driver that does not
//! answer, delays no warning.

use super::shared::{Note, Shared};
use super::so_far::{Moment, SoFar, Step};
use super::warning::{Warned, Warning};
use crate::cli::profile::clock::{Clock, HostClock};
use crate::cli::profile::event::{Event, News, SpotNoticeKind};
use jiff::SignedDuration;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

/// What the operating system sends when the instance shuts down.
static USUAL: Warning = Warning::Signal("SIGTERM");

pub(super) struct Listener {
    /// Absent for the usual way, which does not end a command whose memory is kept.
    pub(super) on_interrupt: Option<Warning>,
    pub(super) on_rebalance: Option<Warning>,
    /// The command.
    pub(super) pid: u32,
    pub(super) clock: HostClock,
    pub(super) shared: Shared,
    /// Where a warning that fails is reported.
    pub(super) news: Sender<News>,
    /// The run, which shows notes.
    pub(super) events: Sender<Event>,
}

impl Listener {
    /// Reacts until the run is over.
    pub(super) fn start(self, news: Receiver<News>) {
        thread::spawn(move || {
            for one in news {
                if !self.hear(one) {
                    return;
                }
            }
        });
    }

    /// Reacts to news; false once the run is over.
    fn hear(&self, news: News) -> bool {
        // The run does not end between a warning and the note about it.
        let mut watched = self.shared.lock();
        if watched.is_over {
            return false;
        }
        let moment = Moment {
            elapsed: self.clock.elapsed(),
            wall: self.clock.wall(),
        };
        let so_far = &mut watched.so_far;
        let steps = match news {
            News::Spot(answer) => so_far.answered(answer, moment),
            News::Marked(marks) => so_far.marked(marks).into_iter().collect(),
            News::NotWarned(kind, reason) => vec![so_far.not_warned(kind, reason)],
        };
        let notes = steps.into_iter().filter_map(|step| match step {
            Step::Warn(kind) => self.warn(kind, moment, so_far),
            step => Note::of(step),
        });
        let notes: Vec<Note> = notes.collect();
        if !notes.is_empty() {
            watched.notes.extend(notes);
            // It fails once the run is over.
            let _ = self.events.send(Event::Noted);
        }
        true
    }

    fn warn(&self, kind: SpotNoticeKind, moment: Moment, so_far: &mut SoFar) -> Option<Note> {
        let warning = match kind {
            SpotNoticeKind::Interruption => match &self.on_interrupt {
                None if so_far.hibernates() => {
                    let said = "the command is not warned: hibernation keeps its memory";
                    return Some(Note::Said(said.to_owned()));
                }
                None => &USUAL,
                Some(given) => given,
            },
            SpotNoticeKind::Rebalance => self.on_rebalance.as_ref()?,
        };
        let interruption = so_far.interruption().map(|found| {
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
            pid: self.pid,
            interruption,
        };
        warning.pass_on(&warned, &self.news);
        Note::of(so_far.warned(kind, warning.name(), moment.wall))
    }
}
