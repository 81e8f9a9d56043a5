//! What moving to the spot market saves after interruptions, and who may.

use super::spot::SpotPrice;
use super::spot::{Checkpointing, Interruptions};
use crate::domain::{HourlyRate, InterruptionBand, Money, Risk, WorkloadKind};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

/// What is asked about one type and one job.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotCase {
    /// The on-demand price of an instance.
    pub on_demand: HourlyRate,
    /// The spot price; absent where no source has one.
    pub spot: Option<SpotPrice>,
    /// Whether AWS launches new instances of the type, as far as that is known.
    pub is_launchable: bool,
    /// How often AWS took instances of the type back; absent where it is not known.
    pub band: Option<InterruptionBand>,
    /// Instances that stop together when one of them is interrupted.
    pub nodes: u32,
    pub kind: WorkloadKind,
    /// Whether somebody declared that it may be interrupted and restarted.
    pub restartable: bool,
    pub accepted: Risk,
    pub checkpointing: Checkpointing,
    /// Interruptions a day and node to compute with at least (policy).
    pub least_interruptions_per_day: f64,
}

/// Instances of a workload that stop together: all of a training job, unless it
/// leaves GPUs beside its own unused and so does not span instances either;
/// whatever else restarts goes on one by one.
pub fn nodes_of_job(kind: WorkloadKind, instances: usize, runs_on_one_gpu: bool) -> u32 {
    match kind {
        WorkloadKind::Training if !runs_on_one_gpu => {
            u32::try_from(instances.max(1)).unwrap_or(u32::MAX)
        }
        _ => 1,
    }
}

/// Why spot is not for a job.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Ineligible {
    #[error("workload kind not declared: declare the kind, and that it can be restarted")]
    KindUnknown,
    #[error("serving: requests fail when an instance is interrupted")]
    Serving,
    /// No tag says that it may be interrupted.
    #[error("not declared restartable")]
    NotRestartable,
    /// AWS launches no new instances of the type.
    #[error("AWS launches no new instances of the type")]
    NotLaunchable,
    #[error("no spot price is known")]
    NoSpotPrice,
    #[error("spot and on-demand are in different currencies")]
    CurrencyMismatch,
    #[error("spot at {spot} per hour is not below on-demand at {on_demand}")]
    NotCheaper {
        /// Spot per hour.
        spot: Decimal,
        /// On-demand per hour.
        on_demand: Decimal,
    },
    /// It would get nowhere, or more expensive than today.
    #[error("checkpoints and lost work take {overhead_percent}% of the time, more than spot saves")]
    LosesMore {
        /// Of the time, rounded.
        overhead_percent: Decimal,
    },
    /// The plan accepts less risk than this needs.
    #[error("needs `--risk {needed}`{}", if *needed == Risk::High { ": interruption frequency is unknown" } else { "" })]
    Risk {
        /// The least that must be accepted.
        needed: Risk,
    },
}

/// The arithmetic of one job on the spot market, for anybody to follow; whether
/// the job may go there is another question.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotFigures {
    /// On-demand per hour and instance.
    pub on_demand: HourlyRate,
    pub spot: SpotPrice,
    /// Instances that stop together.
    pub nodes: u32,
    pub checkpointing: Checkpointing,
    pub interruptions: Interruptions,
    pub checkpoint_interval: SignedDuration,
    /// Whether it is the best one, and not one that was given.
    pub is_best_interval: bool,
    /// Work and time that one interruption costs on average.
    pub lost_per_interruption: SignedDuration,
    /// Share of the time that is lost to checkpoints and interruptions, 0–1 to six
    /// decimals; 1 and more when the job gets nowhere.
    pub overhead: Decimal,
    /// Share of the time that checkpoints alone take, 0–1 to six decimals.
    pub checkpoint_share: Decimal,
    /// Spot per hour of work done; absent when the job gets nowhere.
    pub effective: Option<HourlyRate>,
    /// Interruptions per hour of the job at which spot costs as much as on-demand
    /// at this interval; absent when the checkpoints alone make it more expensive.
    pub break_even_per_hour: Option<f64>,
}

impl SpotFigures {
    /// What the price alone saves, as a percentage of on-demand; negative when
    /// spot is more expensive.
    pub fn naive_savings_percent(&self) -> Decimal {
        self.savings_percent(self.spot.rate)
    }

    /// What is saved after interruptions, as a percentage of on-demand; negative
    /// when spot is more expensive in the end, absent when the job gets nowhere.
    pub fn effective_savings_percent(&self) -> Option<Decimal> {
        self.effective.map(|rate| self.savings_percent(rate))
    }

    fn savings_percent(&self, rate: HourlyRate) -> Decimal {
        let saved = self.on_demand.amount() - rate.amount();
        (saved / self.on_demand.amount() * Decimal::ONE_HUNDRED).round_dp(4).normalize()
    }

    /// What the price alone saves over some hours of one instance.
    pub fn naive_savings(&self, hours: Decimal) -> Money {
        self.savings(self.spot.rate, hours)
    }

    /// What is saved after interruptions over some hours of one instance; absent
    /// when the job gets nowhere.
    pub fn effective_savings(&self, hours: Decimal) -> Option<Money> {
        self.effective.map(|rate| self.savings(rate, hours))
    }

    fn savings(&self, rate: HourlyRate, hours: Decimal) -> Money {
        let saved = self.on_demand.amount() - rate.amount();
        Money::new(saved * hours, self.on_demand.currency()).rounded()
    }
}

/// A move to the spot market that saves money and may be made.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotOffer {
    /// The figures. The effective rate is there, and below on-demand.
    pub figures: SpotFigures,
    /// Spot per hour of work done.
    pub effective: HourlyRate,
    /// Medium, or high where it is not known how often it is interrupted.
    pub risk: Risk,
}

/// The figures of a case, whoever may use them.
///
/// # Errors
/// Without a spot price in the currency of the on-demand price.
pub fn spot_figures(case: &SpotCase) -> Result<SpotFigures, Ineligible> {
    let spot = case.spot.clone().ok_or(Ineligible::NoSpotPrice)?;
    if spot.rate.currency() != case.on_demand.currency() {
        return Err(Ineligible::CurrencyMismatch);
    }
    let nodes = case.nodes.max(1);
    let interruptions = Interruptions::of(case.band, nodes, case.least_interruptions_per_day);
    let checkpointing = &case.checkpointing;
    let interval = checkpointing.kept_interval(interruptions.per_hour);
    let overhead = share(checkpointing.overhead(interval, interruptions.per_hour));
    let price_ratio = (spot.rate.amount() / case.on_demand.amount()).to_f64();
    let lost_seconds = checkpointing.lost_hours(interval) * 3_600.0;
    Ok(SpotFigures {
        on_demand: case.on_demand,
        nodes,
        checkpointing: *checkpointing,
        interruptions,
        checkpoint_interval: interval,
        is_best_interval: checkpointing.interval.is_none(),
        lost_per_interruption: SignedDuration::from_secs(lost_seconds.round() as i64),
        overhead,
        checkpoint_share: share(checkpointing.saving_share(interval)),
        effective: effective(spot.rate, overhead),
        break_even_per_hour: price_ratio
            .and_then(|ratio| checkpointing.interruptions_at(1.0 - ratio, interval)),
        spot,
    })
}

/// A share of time as an exact number, to six decimals: the one place where what
/// money is divided by comes from a float. What exceeds all bounds is a lot.
fn share(value: f64) -> Decimal {
    const A_LOT: i64 = 1_000_000;
    Decimal::from_f64(value)
        .map(|value| value.min(Decimal::from(A_LOT)))
        .unwrap_or(Decimal::from(A_LOT))
        .round_dp(6)
}

/// `spot/(1 - o)`, to six decimals.
fn effective(spot: HourlyRate, overhead: Decimal) -> Option<HourlyRate> {
    let useful = Decimal::ONE - overhead;
    if useful <= Decimal::ZERO {
        return None;
    }
    HourlyRate::new((spot.amount() / useful).round_dp(6), spot.currency())
}

/// What moving a job to the spot market saves, if it may go there and gains by it.
///
/// # Errors
/// The first reason against it: what the job is, the price, what interruptions
/// cost, the accepted risk.
pub fn spot_offer(case: &SpotCase) -> Result<SpotOffer, Ineligible> {
    if !case.is_launchable {
        return Err(Ineligible::NotLaunchable);
    }
    match case.kind {
        WorkloadKind::Unknown => return Err(Ineligible::KindUnknown),
        WorkloadKind::Serving => return Err(Ineligible::Serving),
        WorkloadKind::Training
        | WorkloadKind::Batch
        | WorkloadKind::Evaluation
        | WorkloadKind::Development => {}
    }
    if !case.restartable {
        return Err(Ineligible::NotRestartable);
    }
    let figures = spot_figures(case)?;
    let (spot, on_demand) = (figures.spot.rate.amount(), case.on_demand.amount());
    if spot >= on_demand {
        return Err(Ineligible::NotCheaper {
            spot: spot.normalize(),
            on_demand: on_demand.normalize(),
        });
    }
    let effective =
        figures.effective.filter(|rate| rate.amount() < on_demand).ok_or_else(|| {
            Ineligible::LosesMore {
                overhead_percent: (figures.overhead * Decimal::ONE_HUNDRED).round_dp(1).normalize(),
            }
        })?;
    let risk = if case.band.is_some() { Risk::Medium } else { Risk::High };
    if risk > case.accepted {
        return Err(Ineligible::Risk { needed: risk });
    }
    Ok(SpotOffer { figures, effective, risk })
}

#[cfg(test)]
#[path = "spot_offer_tests.rs"]
mod tests;
