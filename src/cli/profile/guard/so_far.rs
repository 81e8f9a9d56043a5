//! What the guard of a run knows so far, and what follows from news. It waits for nothing
//! and starts nothing.

use crate::cli::profile::event::{MarksSeen, SpotNoticeKind};
use crate::domain::{
    Cause, CauseKind, CheckpointBasis, CheckpointCost, Gap, GapSubject, RunCheckpoints, SpotAction,
    SpotInterruption, SpotNotice, SpotRun, SpotWarning,
};
use crate::sources::aws::SpotState;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// How long before an interruption EC2 announces it, at most. What is farther away is so by
/// a clock that is wrong.
const NOTICE: SignedDuration = SignedDuration::from_mins(2);

/// A moment on the clock of the run and on the wall.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub elapsed: Duration,
    pub wall: Timestamp,
}

/// What follows from news.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// The command is to be warned.
    Warn(SpotNoticeKind),
    /// The user is to know.
    Say(String),
    /// Something went wrong, and what it means.
    Complain { error: String, hint: &'static str },
}

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Time between the last moment for a checkpoint and the interruption.
    pub margin: SignedDuration,
    /// Time that a checkpoint takes, as the user states it.
    pub checkpoint_cost: Option<SignedDuration>,
    pub has_marks: bool,
}

#[derive(Debug)]
pub(super) struct SoFar {
    terms: Terms,
    queries: u64,
    failed: u64,
    /// Whether the last query failed.
    is_failing: bool,
    /// Why a query failed last.
    last_failure: Option<String>,
    /// Why nothing is asked.
    unwatched: Option<String>,
    rebalance: Option<SpotWarning>,
    interruption: Option<SpotInterruption>,
    marks: MarksSeen,
    /// When the command was warned last, and after how many checkpoints.
    warned: Option<(Timestamp, u64)>,
    /// How many checkpoints there were when the first after the warning showed.
    answered: Option<u64>,
    /// From a warning to the end of that checkpoint, in seconds.
    response: Option<f64>,
}

impl SoFar {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            queries: 0,
            failed: 0,
            is_failing: false,
            last_failure: None,
            unwatched: None,
            rebalance: None,
            interruption: None,
            marks: MarksSeen::default(),
            warned: None,
            answered: None,
            response: None,
        }
    }

    /// Takes in what the metadata service said, or why it said nothing.
    pub(super) fn answered(
        &mut self,
        answer: Result<SpotState, String>,
        moment: Moment,
    ) -> Vec<Step> {
        self.queries += 1;
        let mut steps = Vec::new();
        match answer {
            Err(reason) => {
                self.failed += 1;
                if !std::mem::replace(&mut self.is_failing, true) {
                    steps.push(Step::Complain {
                        error: format!("spot notices cannot be read: {reason}"),
                        hint: NOT_WATCHED,
                    });
                }
                self.last_failure = Some(reason);
            }
            Ok(state) => {
                if std::mem::take(&mut self.is_failing) {
                    steps.push(Step::Say("spot notices can be read again".to_owned()));
                }
                self.announced(state, moment, &mut steps);
            }
        }
        steps
    }

    /// Nothing is asked for this reason.
    pub(super) fn unwatched(&mut self, reason: &str) {
        self.unwatched = Some(reason.to_owned());
    }

    fn announced(&mut self, state: SpotState, moment: Moment, steps: &mut Vec<Step>) {
        let warning = SpotWarning {
            noticed_seconds: moment.elapsed.as_secs_f64(),
            warned_by: None,
            failure: None,
        };
        // The interruption first: it leaves less time.
        if let Some(notice) = state.interruption
            && self.interruption.is_none()
        {
            let (interruption, left) = self.interrupted(notice, warning.clone(), moment);
            self.interruption = Some(interruption);
            steps.push(Step::Say(format!(
                "EC2 will {} this instance at {}, in {} s",
                notice.action,
                notice.time,
                left.as_secs(),
            )));
            steps.push(Step::Warn(SpotNoticeKind::Interruption));
        }
        if state.rebalance.is_some() && self.rebalance.is_none() {
            self.rebalance = Some(warning);
            steps.push(Step::Say(
                "EC2 recommends moving to another instance: an interruption is more likely now"
                    .to_owned(),
            ));
            // Whoever is interrupted is warned already.
            if self.interruption.is_none() {
                steps.push(Step::Warn(SpotNoticeKind::Rebalance));
            }
        }
    }

    /// An interruption with its times in the run, and how much is left until then.
    fn interrupted(
        &self,
        notice: SpotNotice,
        warning: SpotWarning,
        moment: Moment,
    ) -> (SpotInterruption, SignedDuration) {
        let left = notice.time.duration_since(moment.wall);
        let left = left.clamp(SignedDuration::ZERO, NOTICE);
        let to_deadline = (left - self.terms.margin).max(SignedDuration::ZERO);
        let interruption = SpotInterruption {
            notice,
            action_seconds: warning.noticed_seconds + left.as_secs_f64(),
            deadline_seconds: warning.noticed_seconds + to_deadline.as_secs_f64(),
            warning,
        };
        (interruption, left)
    }

    fn warning(&mut self, kind: SpotNoticeKind) -> Option<&mut SpotWarning> {
        match kind {
            SpotNoticeKind::Rebalance => self.rebalance.as_mut(),
            SpotNoticeKind::Interruption => {
                self.interruption.as_mut().map(|found| &mut found.warning)
            }
        }
    }

    /// The command is being warned in this way.
    pub(super) fn warned(&mut self, kind: SpotNoticeKind, by: &str, wall: Timestamp) -> Step {
        if let Some(warning) = self.warning(kind) {
            warning.warned_by = Some(by.to_owned());
        }
        self.warned = Some((wall, self.marks.done));
        self.answered = None;
        let waits = self.deadline().is_some() && kind == SpotNoticeKind::Interruption;
        let waiting = self.interruption.as_ref().filter(|_| waits).map(|found| {
            let seconds = found.deadline_seconds - found.warning.noticed_seconds;
            format!("; waiting {seconds:.0} s for it at most")
        });
        let waiting = waiting.unwrap_or_default();
        Step::Say(format!("warned the command ({by}){waiting}"))
    }

    /// The command could not be warned.
    pub(super) fn not_warned(&mut self, kind: SpotNoticeKind, reason: String) -> Step {
        let step = Step::Complain {
            error: format!("the command could not be warned: {reason}"),
            hint: "test what `--on-interrupt` and `--on-rebalance` name before you rely on it",
        };
        if let Some(warning) = self.warning(kind) {
            warning.failure = Some(reason);
        }
        step
    }

    /// Takes in the checkpoints so far.
    pub(super) fn marked(&mut self, marks: MarksSeen) -> Option<Step> {
        self.marks = marks;
        let (warned, before) = self.warned?;
        let last = marks.last.filter(|_| marks.done > before)?;
        let is_new = self.answered.is_none();
        // Its mark may still change while it is written.
        if *self.answered.get_or_insert(marks.done) != marks.done {
            return None;
        }
        let seconds = last.duration_since(warned).as_secs_f64().max(0.0);
        self.response = Some(seconds);
        let text = format!("the command saved a checkpoint {seconds:.1} s after the warning");
        is_new.then_some(Step::Say(text))
    }

    /// Whether the instance goes away with its memory kept.
    pub(super) fn hibernates(&self) -> bool {
        let found = self.interruption.as_ref();
        found.is_some_and(|found| found.notice.action == SpotAction::Hibernate)
    }

    pub(super) fn interruption(&self) -> Option<&SpotInterruption> {
        self.interruption.as_ref()
    }

    /// When the run stops waiting for the command. A hibernated command continues later.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let found = self.interruption.as_ref()?;
        let seconds = Some(found.deadline_seconds).filter(|_| !self.hibernates())?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// What is known at the end.
    pub(super) fn run(&self, end: Moment) -> SpotRun {
        SpotRun {
            rebalance: self.rebalance.clone(),
            interruption: self.interruption.clone(),
            checkpoints: self.terms.has_marks.then(|| RunCheckpoints {
                count: self.marks.done,
                first_seconds: self.marks.first.map(|mark| seconds_of(mark, end)),
                last_seconds: self.marks.last.map(|mark| seconds_of(mark, end)),
            }),
            checkpoint_cost: self.checkpoint_cost(),
            is_unread: self.unwatched.is_some() || self.queries == 0 || self.is_failing,
        }
    }

    fn checkpoint_cost(&self) -> Option<CheckpointCost> {
        let cost =
            |seconds: f64, basis| (seconds > 0.0).then_some(CheckpointCost { seconds, basis });
        let given = self.terms.checkpoint_cost.map(|time| time.as_secs_f64());
        let timed = self.marks.timed_seconds / self.marks.timed.max(1) as f64;
        given
            .and_then(|given| cost(given, CheckpointBasis::Given))
            .or_else(|| cost(timed, CheckpointBasis::Log))
            .or_else(|| cost(self.response?, CheckpointBasis::Warning))
    }

    /// What was not watched, and what cannot be known.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        if let Some(reason) = &self.unwatched {
            let cause = Cause::of(CauseKind::SpotNoticesNotAsked, [reason]);
            gaps.push(Gap::of(GapSubject::SpotNotices, "instance metadata", cause));
        }
        if let Some(reason) = &self.last_failure {
            let cause = Cause::of(
                CauseKind::SpotNoticesNotRead,
                [&self.failed.to_string(), &self.queries.to_string(), reason],
            );
            gaps.push(Gap::of(GapSubject::SpotNotices, "instance metadata", cause));
        }
        if !self.terms.has_marks {
            let cause = Cause::of(CauseKind::CheckpointsNotMarked, []);
            gaps.push(Gap::of(GapSubject::Checkpoints, "this run", cause));
        }
        gaps
    }
}

/// What it means that notices cannot be read.
pub(super) const NOT_WATCHED: &str = "`--spot-guard` needs the instance metadata service of an \
     EC2 spot instance (in a container, a hop limit of 2); the command runs on, and is not \
     warned until the service answers";

/// When a mark was made, in seconds of a run that is at this moment.
fn seconds_of(mark: Timestamp, now: Moment) -> f64 {
    let ago = now.wall.duration_since(mark).as_secs_f64();
    let elapsed = now.elapsed.as_secs_f64();
    (elapsed - ago).clamp(0.0, elapsed)
}

#[cfg(test)]
#[path = "so_far_tests.rs"]
mod tests;
