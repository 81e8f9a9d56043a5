//! `--spot-guard`: signals the command before EC2 interrupts its spot instance, and records
//! the notice. Whatever happens to the guard, the command runs on.

mod seen;

pub(super) use seen::Note;

use super::args::GuardArgs;
use super::clock::Event;
use super::signals;
use crate::cli::live::runtime;
use crate::domain::SpotNotice;
use crate::sources::aws::SpotNotices;
use jiff::Timestamp;
use seen::Seen;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// As often as AWS recommends.
const EVERY: Duration = Duration::from_secs(5);

/// Watches over one command, on a thread of its own: what delays a sample, such as a driver
/// that does not answer, delays no signal.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    seen: Arc<Mutex<Seen>>,
    /// The run, which shows notes.
    events: Sender<Event>,
}

impl Guard {
    /// A guard by the flags; `None` without `--spot-guard`.
    pub(super) fn of(args: &GuardArgs, events: &Sender<Event>) -> Option<Self> {
        let seen = Seen::new(args.on_interrupt, args.interrupt_margin);
        args.spot_guard.then(|| Self { seen: Arc::new(Mutex::new(seen)), events: events.clone() })
    }

    /// What it saw so far.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for notices from now on. `is_spot` is what is known of the instance; one that is
    /// bought otherwise gets none, and is not asked.
    pub(super) fn watch(
        &self,
        (pid, clock): (Option<u32>, Instant),
        is_spot: Option<bool>,
        service: Result<Option<String>, &str>,
    ) -> Option<Note> {
        let reason = match service {
            Ok(endpoint) if is_spot != Some(false) => {
                let guard = self.clone();
                thread::spawn(move || guard.ask_again(endpoint.as_deref(), (pid?, clock)));
                return None;
            }
            Ok(_) => "this is not a spot instance",
            Err(reason) => reason,
        };
        self.seen().unwatched = Some(reason.to_owned());
        Some(Note::unread(format!("spot notices are not read: {reason}")))
    }

    /// Asks until the run is over.
    fn ask_again(&self, endpoint: Option<&str>, command: (u32, Instant)) -> Option<()> {
        let runtime = runtime();
        let mut service = None;
        loop {
            let answer = match &runtime {
                Ok(runtime) => runtime.block_on(ask(&mut service, endpoint)),
                Err(error) => Err(error.to_string()),
            };
            self.hear(answer, command)?;
            thread::sleep(EVERY);
        }
    }

    /// Reacts to an answer; `None` once the run is over.
    fn hear(
        &self,
        answer: Result<Option<SpotNotice>, String>,
        (pid, clock): (u32, Instant),
    ) -> Option<()> {
        // The run does not end between a signal and the note about it.
        let mut seen = self.seen();
        if seen.is_over {
            return None;
        }
        if let Some(signal) = seen.answered(answer, clock.elapsed(), Timestamp::now()) {
            signals::send(signal, pid);
        }
        if !seen.notes.is_empty() {
            // It fails once the run is over.
            let _ = self.events.send(Event::Noted);
        }
        Some(())
    }
}

/// Asks once. After a failure, the next connection and token are new ones.
async fn ask(
    service: &mut Option<SpotNotices>,
    endpoint: Option<&str>,
) -> Result<Option<SpotNotice>, String> {
    let notices = match service.take() {
        Some(notices) => notices,
        None => SpotNotices::new(endpoint)?,
    };
    let answer = notices.ask().await?;
    *service = Some(notices);
    Ok(answer)
}
