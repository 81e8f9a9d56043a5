//! What a run under the spot guard saw: warnings of EC2, and checkpoints of the command.

use super::named::named_enum;
use jiff::Timestamp;

named_enum! {
    /// What EC2 does with a spot instance that it interrupts.
    SpotAction {
        Terminate = "terminate",
        Stop = "stop",
        /// Memory is kept, and processes continue when the instance comes back. It begins with
        /// the notice, without two minutes of warning.
        Hibernate = "hibernate",
    }
}

/// An interruption that EC2 has announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpotNotice {
    pub action: SpotAction,
    /// When EC2 acts, approximately.
    pub time: Timestamp,
}

/// A notice that was passed on to the command.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotWarning {
    /// When the notice was read, in seconds of the run.
    pub noticed_seconds: f64,
    /// How the command was warned: the name of a signal, `file` or `command`; absent where
    /// the notice was only recorded.
    pub warned_by: Option<String>,
    /// Why the command could not be warned.
    pub failure: Option<String>,
}

/// The interruption of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotInterruption {
    pub notice: SpotNotice,
    pub warning: SpotWarning,
    /// When EC2 acts, in seconds of the run.
    pub action_seconds: f64,
    /// Until when the run waits for a checkpoint, in seconds of the run.
    pub deadline_seconds: f64,
}

named_enum! {
    /// Where the time that a checkpoint takes comes from.
    CheckpointBasis {
        /// The user stated it.
        Given = "given",
        /// From the line of a log that begins a checkpoint to the one that ends it.
        Log = "log",
        /// From a warning to the next checkpoint: at most as long, because the command may
        /// finish a step first.
        Warning = "warning",
    }
}

/// Time that one checkpoint takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckpointCost {
    /// The mean of those that were measured.
    pub seconds: f64,
    pub basis: CheckpointBasis,
}

/// The start of a run, in seconds of the run.
const START_SECONDS: f64 = 0.0;

/// Checkpoints that the command marked as finished.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunCheckpoints {
    pub count: u64,
    /// The end of the first, in seconds of the run; absent without any.
    pub first_seconds: Option<f64>,
    /// The end of the last, in seconds of the run; absent without any.
    pub last_seconds: Option<f64>,
}

impl RunCheckpoints {
    /// Mean time from the end of one to the end of the next; absent with fewer than two.
    pub fn interval_seconds(&self) -> Option<f64> {
        let (first, last) = self.first_seconds.zip(self.last_seconds)?;
        let intervals = self.count.checked_sub(1).filter(|count| *count > 0)?;
        Some((last - first) / intervals as f64).filter(|seconds| *seconds > 0.0)
    }
}

/// What the spot guard of a run saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpotRun {
    /// The first recommendation to move to another instance.
    pub rebalance: Option<SpotWarning>,
    pub interruption: Option<SpotInterruption>,
    /// Absent where the user named no mark.
    pub checkpoints: Option<RunCheckpoints>,
    /// Absent where it was neither measured nor stated.
    pub checkpoint_cost: Option<CheckpointCost>,
}

impl SpotRun {
    /// Whether EC2 announced anything, as it does to spot instances alone.
    pub fn is_announced(&self) -> bool {
        self.rebalance.is_some() || self.interruption.is_some()
    }

    /// Seconds of work that an interruption takes at most: from the last checkpoint, or else
    /// the start, to the end of the command (`ended_seconds`), or to the interruption where
    /// the command still ran. Absent without an interruption, where the instance keeps its
    /// memory, and where checkpoints are not marked.
    pub fn lost_seconds(&self, ended_seconds: Option<f64>) -> Option<f64> {
        let interruption = self.interruption.as_ref()?;
        if interruption.notice.action == SpotAction::Hibernate {
            return None;
        }
        // Seconds of the run are counted from its start, to which all work goes back without
        // a checkpoint.
        let kept = self.checkpoints?.last_seconds.unwrap_or(START_SECONDS);
        let end = ended_seconds.unwrap_or(interruption.action_seconds);
        Some((end - kept).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(action: SpotAction, checkpoints: Option<RunCheckpoints>) -> SpotRun {
        SpotRun {
            interruption: Some(SpotInterruption {
                notice: SpotNotice {
                    action,
                    time: Timestamp::UNIX_EPOCH,
                },
                warning: SpotWarning {
                    noticed_seconds: 1_000.0,
                    warned_by: Some("SIGTERM".to_owned()),
                    failure: None,
                },
                action_seconds: 1_120.0,
                deadline_seconds: 1_110.0,
            }),
            checkpoints,
            ..SpotRun::default()
        }
    }

    fn marked(count: u64, first: f64, last: f64) -> RunCheckpoints {
        RunCheckpoints {
            count,
            first_seconds: Some(first),
            last_seconds: Some(last),
        }
    }

    #[test]
    fn what_no_checkpoint_holds_is_lost() {
        let saved = run(SpotAction::Terminate, Some(marked(3, 300.0, 900.0)));
        // The command ended 120 s after its last checkpoint.
        assert_eq!(saved.lost_seconds(Some(1_020.0)), Some(120.0));
        // It still ran: the instance goes away at 1,120 s.
        assert_eq!(saved.lost_seconds(None), Some(220.0));
        // A mark that is later than the end, by a clock that was set, loses nothing.
        assert_eq!(saved.lost_seconds(Some(890.0)), Some(0.0));
        // Without any checkpoint, all of the run is lost.
        let unsaved = run(SpotAction::Stop, Some(RunCheckpoints::default()));
        assert_eq!(unsaved.lost_seconds(Some(1_020.0)), Some(1_020.0));
        // Without a mark, without an interruption and with memory kept, nothing is known to be.
        assert_eq!(run(SpotAction::Stop, None).lost_seconds(None), None);
        let kept = run(SpotAction::Hibernate, Some(marked(3, 300.0, 900.0)));
        assert_eq!(kept.lost_seconds(None), None);
        assert_eq!(SpotRun::default().lost_seconds(Some(1.0)), None);
    }

    #[test]
    fn two_checkpoints_make_an_interval() {
        assert_eq!(marked(3, 300.0, 900.0).interval_seconds(), Some(300.0));
        assert_eq!(marked(1, 300.0, 300.0).interval_seconds(), None);
        assert_eq!(RunCheckpoints::default().interval_seconds(), None);
    }
}
