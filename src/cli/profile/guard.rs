//! `--spot-guard`: signals the command before EC2 interrupts its spot instance, and records
//! the notice. Whatever happens to the guard, the command runs on.

use super::args::GuardArgs;
use super::signals;
use super::signals::Event;
use crate::cli::live::runtime;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, SpotAction, SpotInterruption, SpotNotice, SpotRun,
};
use crate::sources::aws::SpotNotices;
use jiff::{SignedDuration, Timestamp};
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

/// How long before an interruption EC2 announces it, at most. What is farther away is so by
/// a clock that is wrong.
const NOTICE: SignedDuration = SignedDuration::from_mins(2);
/// What the operating system sends when the instance shuts down.
const USUAL_SIGNAL: &str = "SIGTERM";
const USUAL_MARGIN: SignedDuration = SignedDuration::from_secs(10);

/// What it means that notices cannot be read.
const NOT_WATCHED: &str = "`--spot-guard` needs the instance metadata service of an \
     EC2 spot instance (in a container, a hop limit of 2); the command runs on, and is not \
     warned until the service answers";

/// What the user is to read.
#[derive(Debug, PartialEq)]
pub(super) struct Note {
    pub(super) text: String,
    /// What to do, of an error.
    pub(super) hint: Option<&'static str>,
}

impl Note {
    /// An error that keeps notices from being read.
    fn unread(text: String) -> Self {
        Self { text, hint: Some(NOT_WATCHED) }
    }
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Absent for the usual one, which does not end a command whose memory is kept.
    signal: Option<&'static str>,
    /// Time between the deadline and the interruption.
    margin: SignedDuration,
    queries: u64,
    failed: u64,
    /// Whether the last query failed.
    is_failing: bool,
    /// Why a query failed last.
    last_failure: Option<String>,
    /// Why nothing is asked.
    unwatched: Option<String>,
    interruption: Option<SpotInterruption>,
    /// What was not shown yet.
    pub(super) notes: Vec<Note>,
    /// Whether the run is over, after which no signal is sent.
    is_over: bool,
}

impl Seen {
    fn new(signal: Option<&'static str>, margin: Option<SignedDuration>) -> Self {
        Self { signal, margin: margin.unwrap_or(USUAL_MARGIN), ..Self::default() }
    }

    /// Takes in what the metadata service said after so much of the run, or why it said
    /// nothing. The signal that the command gets now.
    fn answered(
        &mut self,
        answer: Result<Option<SpotNotice>, String>,
        elapsed: Duration,
        wall: Timestamp,
    ) -> Option<&'static str> {
        self.queries += 1;
        let notice = match answer {
            Err(reason) => {
                self.failed += 1;
                if !std::mem::replace(&mut self.is_failing, true) {
                    self.notes.push(Note::unread(format!("spot notices cannot be read: {reason}")));
                }
                self.last_failure = Some(reason);
                return None;
            }
            Ok(notice) => notice,
        };
        if std::mem::take(&mut self.is_failing) {
            self.say("spot notices can be read again");
        }
        let notice = notice.filter(|_| self.interruption.is_none())?;
        let left = notice.time.duration_since(wall).clamp(SignedDuration::ZERO, NOTICE);
        let to_deadline = (left - self.margin).max(SignedDuration::ZERO);
        let SpotNotice { action, time } = notice;
        self.say(&format!("EC2 will {action} this instance at {time}, in {} s", left.as_secs()));
        let hibernates = action == SpotAction::Hibernate;
        let signal = self.signal.or((!hibernates).then_some(USUAL_SIGNAL));
        match signal {
            None => self.say("the command is not warned: hibernation keeps its memory"),
            Some(name) if hibernates => self.say(&format!("warned the command ({name})")),
            Some(name) => self.say(&format!(
                "warned the command ({name}); waiting {} s for it at most",
                to_deadline.as_secs()
            )),
        }
        let noticed_seconds = elapsed.as_secs_f64();
        self.interruption = Some(SpotInterruption {
            notice,
            noticed_seconds,
            warned_by: signal.map(str::to_owned),
            action_seconds: noticed_seconds + left.as_secs_f64(),
            deadline_seconds: noticed_seconds + to_deadline.as_secs_f64(),
        });
        signal
    }

    fn say(&mut self, text: &str) {
        self.notes.push(Note { text: text.to_owned(), hint: None });
    }

    /// When the run stops waiting for the command. A hibernated command continues later.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let interruption = self.interruption.as_ref()?;
        let waits = interruption.notice.action != SpotAction::Hibernate;
        Duration::try_from_secs_f64(waits.then_some(interruption.deadline_seconds)?).ok()
    }

    /// What is known at the end of the run. From then on, no signal is sent.
    pub(super) fn finish(&mut self) -> SpotRun {
        self.is_over = true;
        self.run()
    }

    fn run(&self) -> SpotRun {
        SpotRun {
            interruption: self.interruption.clone(),
            is_unread: self.unwatched.is_some() || self.queries == 0 || self.is_failing,
        }
    }

    /// What was not watched.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let unwatched = self.unwatched.as_ref();
        let unwatched = unwatched.map(|reason| Cause::of(CauseKind::SpotNoticesNotAsked, [reason]));
        let unread = self.last_failure.as_ref().map(|reason| {
            Cause::of(
                CauseKind::SpotNoticesNotRead,
                [&self.failed.to_string(), &self.queries.to_string(), reason],
            )
        });
        let causes = unwatched.into_iter().chain(unread);
        causes.map(|cause| Gap::of(GapSubject::SpotNotices, "instance metadata", cause)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_764_000_000;

    fn wall(seconds: i64) -> Timestamp {
        Timestamp::from_second(START + seconds).expect("in range")
    }

    /// An answer after so many seconds of the run.
    fn answered(
        seen: &mut Seen,
        answer: Result<Option<SpotNotice>, String>,
        seconds: i64,
    ) -> Option<&'static str> {
        let elapsed = Duration::from_secs(seconds.unsigned_abs());
        seen.answered(answer, elapsed, wall(seconds))
    }

    fn notice(action: SpotAction, seconds: i64) -> Result<Option<SpotNotice>, String> {
        let time = wall(seconds);
        Ok(Some(SpotNotice { action, time }))
    }

    #[test]
    fn an_interruption_warns_once_and_has_a_deadline() {
        let mut seen = Seen::new(None, None);
        assert_eq!(answered(&mut seen, Ok(None), 0), None);
        assert_eq!(seen.deadline(), None);
        let terminate = || notice(SpotAction::Terminate, 1_118);
        assert_eq!(answered(&mut seen, terminate(), 1_000), Some("SIGTERM"));
        // 118 s are left, 10 s of which are the margin.
        assert_eq!(seen.deadline(), Some(Duration::from_secs(1_108)));
        let interruption = seen.run().interruption.expect("noticed");
        assert_eq!(interruption.action_seconds, 1_118.0);
        assert_eq!(seen.notes.len(), 2);
        // The notice stays; it is said once.
        assert_eq!(answered(&mut seen, terminate(), 1_005), None);
        assert_eq!(seen.notes.len(), 2);
    }

    #[test]
    fn clocks_that_are_wrong_change_a_deadline_within_two_minutes_only() {
        for (time, deadline) in [(9_000, 1_110), (1_000, 1_000), (0, 1_000), (1_004, 1_000)] {
            let mut seen = Seen::new(None, None);
            answered(&mut seen, notice(SpotAction::Stop, time), 1_000);
            let expected = Duration::from_secs(deadline);
            assert_eq!(seen.deadline(), Some(expected), "{time}");
        }
    }

    #[test]
    fn a_hibernated_command_gets_a_signal_on_request_alone_and_is_not_waited_for() {
        for signal in [None, Some("SIGUSR1")] {
            let mut seen = Seen::new(signal, None);
            let sent = answered(&mut seen, notice(SpotAction::Hibernate, 1_000), 1_000);
            assert_eq!(sent, signal);
            assert_eq!(seen.deadline(), None);
        }
    }

    #[test]
    fn notices_that_were_not_read_to_the_end_are_unknown() {
        let mut seen = Seen::new(None, None);
        assert!(seen.run().is_unread, "nothing was asked");
        answered(&mut seen, Ok(None), 0);
        assert!(!seen.run().is_unread);
        answered(&mut seen, Err("refused".to_owned()), 5);
        assert!(seen.run().is_unread, "an interruption may have come since");
        answered(&mut seen, Ok(None), 10);
        assert!(!seen.run().is_unread, "a notice would still be there");
        seen.unwatched = Some("this is not a spot instance".to_owned());
        assert!(seen.run().is_unread);
    }

    #[test]
    fn a_service_that_fails_is_reported_when_it_begins_and_ends() {
        let mut seen = Seen::new(None, None);
        for _ in 0..2 {
            answered(&mut seen, Err("refused".to_owned()), 0);
            assert!(matches!(&seen.notes[..], [Note { hint: Some(_), .. }]));
        }
        answered(&mut seen, Ok(None), 10);
        let notes = &seen.notes[..];
        assert!(matches!(notes, [_, Note { hint: None, .. }]), "{notes:?}");
        let gaps = seen.gaps();
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].reason, "2 of 3 queries failed: refused");
        // It still hears an interruption.
        let sent = answered(&mut seen, notice(SpotAction::Stop, 100), 15);
        assert_eq!(sent, Some("SIGTERM"));
    }
}
