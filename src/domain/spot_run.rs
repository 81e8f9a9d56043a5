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

impl SpotInterruption {
    /// Whether the command ended because it was warned: what ends later, after it was warned,
    /// went on.
    fn ended_by_warning(&self, ended_seconds: Option<f64>) -> bool {
        let warning = &self.warning;
        let is_warned = warning.warned_by.is_some() && warning.failure.is_none();
        let noticed = warning.noticed_seconds;
        let at_once = noticed..=noticed + NOTICE_SECONDS;
        is_warned && ended_seconds.is_some_and(|ended| at_once.contains(&ended))
    }
}

/// The start of a run, in seconds of the run.
const START_SECONDS: f64 = 0.0;
/// How long before an interruption EC2 announces it, at most.
const NOTICE_SECONDS: f64 = 120.0;

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
    /// Whether notices could not be read to the end of the run: what EC2 announced then is
    /// unknown.
    pub is_unread: bool,
}

impl SpotRun {
    /// Whether EC2 announced anything, as it does to spot instances alone.
    pub fn is_announced(&self) -> bool {
        self.rebalance.is_some() || self.interruption.is_some()
    }

    /// Whether an interruption keeps the work in memory: that of a hibernated command, unless
    /// it ended (`ended_seconds`) because it was warned.
    pub fn keeps_memory(&self, ended_seconds: Option<f64>) -> bool {
        self.interruption.as_ref().is_some_and(|found| {
            found.notice.action == SpotAction::Hibernate && !found.ended_by_warning(ended_seconds)
        })
    }

    /// Seconds of work that an interruption takes at most: from the last checkpoint, or else
    /// the start, to the end of the command (`ended_seconds`), or to the interruption where
    /// the command still ran. Absent without an interruption, where memory keeps the work, and
    /// where checkpoints are not marked.
    pub fn lost_seconds(&self, ended_seconds: Option<f64>) -> Option<f64> {
        let interruption = self.interruption.as_ref()?;
        if self.keeps_memory(ended_seconds) {
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

    /// Noticed at 1,000 s, the last checkpoint at 900 s.
    #[test]
    fn hibernation_keeps_what_a_warning_did_not_end() {
        let warned = run(SpotAction::Hibernate, Some(marked(3, 300.0, 900.0)));
        // It ended at once: the warning took what memory would have kept.
        assert!(!warned.keeps_memory(Some(1_002.0)));
        assert_eq!(warned.lost_seconds(Some(1_002.0)), Some(102.0));
        // It went on, and ended an hour later.
        assert!(warned.keeps_memory(Some(4_600.0)));
        assert_eq!(warned.lost_seconds(Some(4_600.0)), None);
        let mut silent = warned.clone();
        if let Some(found) = &mut silent.interruption {
            found.warning.warned_by = None;
        }
        assert_eq!(silent.lost_seconds(Some(1_002.0)), None);
        let mut failed = warned;
        if let Some(found) = &mut failed.interruption {
            found.warning.failure = Some("no such file".to_owned());
        }
        assert!(failed.keeps_memory(Some(1_002.0)));
        assert!(!run(SpotAction::Terminate, None).keeps_memory(None));
        assert!(!SpotRun::default().keeps_memory(None));
    }

    /// A second way: each tenth of a second of a run is work, until a checkpoint holds all
    /// before it. What no checkpoint holds when the command or the instance ends is lost.
    #[test]
    fn lost_work_is_what_a_meter_counts() {
        let mut random = fastrand::Rng::with_seed(22);
        let (mut unsaved, mut cut) = (0, 0);
        for _ in 0..2_000 {
            let mut marks: Vec<u32> = (0..random.usize(0..6))
                .map(|_| random.u32(1..11_000))
                .collect();
            marks.sort_unstable();
            marks.dedup();
            // It ends after the notice at 1,000 s, or still runs at 1,120 s.
            let ended = (random.u32(0..3) > 0).then(|| random.u32(11_000..11_200));
            let (mut lost, mut saved) = (0_u32, marks.iter().peekable());
            for tenth in 1..=ended.unwrap_or(11_200) {
                lost += 1;
                if saved.next_if_eq(&&tenth).is_some() {
                    lost = 0;
                }
            }
            let tenths = |mark: &u32| f64::from(*mark) / 10.0;
            let spot = run(
                SpotAction::Terminate,
                Some(RunCheckpoints {
                    count: marks.len() as u64,
                    first_seconds: marks.first().map(tenths),
                    last_seconds: marks.last().map(tenths),
                }),
            );
            let found = spot
                .lost_seconds(ended.as_ref().map(tenths))
                .expect("marked");
            assert!(
                (found - f64::from(lost) / 10.0).abs() < 1e-6,
                "{marks:?} {ended:?}"
            );
            unsaved += u32::from(marks.is_empty());
            cut += u32::from(ended.is_none());
        }
        assert!(unsaved > 200 && cut > 400);
    }

    #[test]
    fn two_checkpoints_make_an_interval() {
        assert_eq!(marked(3, 300.0, 900.0).interval_seconds(), Some(300.0));
        assert_eq!(marked(1, 300.0, 300.0).interval_seconds(), None);
        assert_eq!(RunCheckpoints::default().interval_seconds(), None);
    }
}
