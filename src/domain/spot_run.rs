//! What a run under the spot guard saw.

use super::named::named_enum;
use super::wire::Time;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpotNotice {
    pub action: SpotAction,
    /// When EC2 acts, approximately.
    #[serde(with = "Time")]
    pub time: Timestamp,
}

/// The interruption of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpotInterruption {
    #[serde(flatten)]
    pub notice: SpotNotice,
    /// When the notice was read, in seconds of the run.
    pub noticed_seconds: f64,
    /// The signal that the command got; absent where the notice was only recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned_by: Option<String>,
    /// When EC2 acts, in seconds of the run.
    pub action_seconds: f64,
    /// Until when the run waits for the command, in seconds of the run.
    pub deadline_seconds: f64,
}

/// How long before an interruption EC2 announces it, at most.
const NOTICE_SECONDS: f64 = 120.0;

/// What the spot guard of a run saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpotRun {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption: Option<SpotInterruption>,
    /// Whether notices could not be read to the end of the run: what EC2 announced then is
    /// unknown.
    #[serde(rename = "unread", skip_serializing_if = "std::ops::Not::not")]
    pub is_unread: bool,
}

impl SpotRun {
    /// Whether an interruption keeps the work in memory: that of a hibernated command, unless
    /// it ended (`ended_seconds`) because it got a signal. What ends later went on.
    pub fn keeps_memory(&self, ended_seconds: Option<f64>) -> bool {
        self.interruption.as_ref().is_some_and(|interruption| {
            let noticed = interruption.noticed_seconds;
            let at_once = noticed..=noticed + NOTICE_SECONDS;
            let ended_at_once = ended_seconds.is_some_and(|ended| at_once.contains(&ended));
            let is_ended = interruption.warned_by.is_some() && ended_at_once;
            interruption.notice.action == SpotAction::Hibernate && !is_ended
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noticed at 1,000 s.
    fn run(action: SpotAction) -> SpotRun {
        SpotRun {
            interruption: Some(SpotInterruption {
                notice: SpotNotice { action, time: Timestamp::UNIX_EPOCH },
                noticed_seconds: 1_000.0,
                warned_by: Some("SIGTERM".to_owned()),
                action_seconds: 1_120.0,
                deadline_seconds: 1_110.0,
            }),
            ..SpotRun::default()
        }
    }

    #[test]
    fn hibernation_keeps_what_a_signal_did_not_end() {
        let warned = run(SpotAction::Hibernate);
        // It ended at once: the signal took what memory would have kept.
        assert!(!warned.keeps_memory(Some(1_002.0)));
        // It went on, and ended an hour later.
        assert!(warned.keeps_memory(Some(4_600.0)));
        let mut silent = warned;
        if let Some(interruption) = &mut silent.interruption {
            interruption.warned_by = None;
        }
        assert!(silent.keeps_memory(Some(1_002.0)));
        assert!(!run(SpotAction::Terminate).keeps_memory(None));
        assert!(!SpotRun::default().keeps_memory(None));
    }
}
