//! The written form of what the spot guard of a run saw.

use super::wire::time;
use crate::domain::{SpotAction, SpotInterruption, SpotNotice, SpotRun};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SpotWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<InterruptionWire>,
    /// Left out where notices were read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unread: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptionWire {
    action: String,
    time: String,
    noticed_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warned_by: Option<String>,
    action_seconds: f64,
    deadline_seconds: f64,
}

impl SpotWire {
    pub(super) fn of(spot: &SpotRun) -> Self {
        Self {
            interruption: spot.interruption.as_ref().map(|found| InterruptionWire {
                action: found.notice.action.name().to_owned(),
                time: found.notice.time.to_string(),
                noticed_seconds: found.noticed_seconds,
                warned_by: found.warned_by.clone(),
                action_seconds: found.action_seconds,
                deadline_seconds: found.deadline_seconds,
            }),
            unread: spot.is_unread,
        }
    }

    pub(super) fn into_spot(self) -> Result<SpotRun, String> {
        let interruption = self.interruption.map(InterruptionWire::into_interruption);
        Ok(SpotRun { interruption: interruption.transpose()?, is_unread: self.unread })
    }
}

impl InterruptionWire {
    fn into_interruption(self) -> Result<SpotInterruption, String> {
        let action = SpotAction::from_name(&self.action)
            .ok_or("`action` is not terminate, stop or hibernate")?;
        Ok(SpotInterruption {
            notice: SpotNotice { action, time: time("time", &self.time)? },
            noticed_seconds: self.noticed_seconds,
            warned_by: self.warned_by,
            action_seconds: self.action_seconds,
            deadline_seconds: self.deadline_seconds,
        })
    }
}
