//! The written form of what the spot guard of a run saw.

use super::wire::time;
use crate::domain::{
    CheckpointBasis, CheckpointCost, RunCheckpoints, SpotAction, SpotInterruption, SpotNotice,
    SpotRun, SpotWarning,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SpotWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    rebalance: Option<WarningWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<InterruptionWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<CheckpointsWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_cost: Option<CostWire>,
    /// Left out where notices were read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unread: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WarningWire {
    noticed_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warned_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptionWire {
    action: String,
    time: String,
    warning: WarningWire,
    action_seconds: f64,
    deadline_seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointsWire {
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_seconds: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CostWire {
    seconds: f64,
    basis: String,
}

impl SpotWire {
    pub(super) fn of(spot: &SpotRun) -> Self {
        Self {
            rebalance: spot.rebalance.as_ref().map(WarningWire::of),
            interruption: spot.interruption.as_ref().map(InterruptionWire::of),
            checkpoints: spot.checkpoints.map(|seen| CheckpointsWire {
                count: seen.count,
                first_seconds: seen.first_seconds,
                last_seconds: seen.last_seconds,
            }),
            checkpoint_cost: spot.checkpoint_cost.map(|cost| CostWire {
                seconds: cost.seconds,
                basis: cost.basis.name().to_owned(),
            }),
            unread: spot.is_unread,
        }
    }

    pub(super) fn into_spot(self) -> Result<SpotRun, String> {
        let interruption = self.interruption.map(InterruptionWire::into_interruption);
        let cost = self.checkpoint_cost.map(CostWire::into_cost);
        Ok(SpotRun {
            rebalance: self.rebalance.map(WarningWire::into_warning),
            interruption: interruption.transpose()?,
            checkpoints: self.checkpoints.map(|wire| RunCheckpoints {
                count: wire.count,
                first_seconds: wire.first_seconds,
                last_seconds: wire.last_seconds,
            }),
            checkpoint_cost: cost.transpose()?,
            is_unread: self.unread,
        })
    }
}

impl WarningWire {
    fn of(warning: &SpotWarning) -> Self {
        Self {
            noticed_seconds: warning.noticed_seconds,
            warned_by: warning.warned_by.clone(),
            failure: warning.failure.clone(),
        }
    }

    fn into_warning(self) -> SpotWarning {
        SpotWarning {
            noticed_seconds: self.noticed_seconds,
            warned_by: self.warned_by,
            failure: self.failure,
        }
    }
}

impl InterruptionWire {
    fn of(interruption: &SpotInterruption) -> Self {
        Self {
            action: interruption.notice.action.name().to_owned(),
            time: interruption.notice.time.to_string(),
            warning: WarningWire::of(&interruption.warning),
            action_seconds: interruption.action_seconds,
            deadline_seconds: interruption.deadline_seconds,
        }
    }

    fn into_interruption(self) -> Result<SpotInterruption, String> {
        let action = SpotAction::from_name(&self.action)
            .ok_or("`action` is not terminate, stop or hibernate")?;
        Ok(SpotInterruption {
            notice: SpotNotice {
                action,
                time: time("time", &self.time)?,
            },
            warning: self.warning.into_warning(),
            action_seconds: self.action_seconds,
            deadline_seconds: self.deadline_seconds,
        })
    }
}

impl CostWire {
    fn into_cost(self) -> Result<CheckpointCost, String> {
        let basis = CheckpointBasis::from_name(&self.basis)
            .ok_or("`basis` is not given, log or warning")?;
        if self.seconds <= 0.0 {
            return Err("a checkpoint takes no time".to_owned());
        }
        Ok(CheckpointCost {
            seconds: self.seconds,
            basis,
        })
    }
}
