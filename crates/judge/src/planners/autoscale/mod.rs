//! Autoscaling: a policy replayed over the demand of a workload, beside the fleet as it ran,
//! the least that could have served it, and the same policy with other targets.

mod demand;
mod policy;
mod replay;

pub use demand::{Demand, DemandError, Held, HeldModels, KnownPeriod, MOST_PERIODS};
pub use policy::{ScalingPolicy, ScheduleWindow, SpotShare, Trigger};
pub use replay::Replay;

use super::NoResult;
use crate::domain::{
    HOUR_SECONDS, InterruptionBand, Money, PriceQuote, PurchaseOption, WorkloadKind,
};
use crate::savings::{Interruptions, SpotPrice};
use jiff::civil::Date;
use rust_decimal::Decimal;

/// Targets of utilization that are compared, percent.
const TARGETS: [f64; 8] = [30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 85.0, 90.0];
/// Lengths of a queue that are compared, in parts of the one that was asked about.
const QUEUE_PARTS: [f64; 5] = [0.25, 0.5, 0.75, 1.0, 1.5];

/// What an hour of an instance costs.
#[derive(Debug, Clone, PartialEq)]
pub struct InstancePrices {
    pub on_demand: Option<PriceQuote>,
    pub spot: Option<SpotPrice>,
    pub band: Option<(InterruptionBand, Date)>,
    /// Whether reserved instances or savings plans of the type have a price.
    pub has_commitments: bool,
}

/// Whose demand it is, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoscaleSubject {
    pub name: String,
    /// What a tag declares it to be; absent for a file.
    pub kind: Option<WorkloadKind>,
    pub instance_type: String,
    pub region: String,
    /// The Auto Scaling group that it is.
    pub scaling_group: Option<String>,
    /// Where the demand is from, in words.
    pub source: String,
    /// How its instances are paid for today; absent where nothing says it.
    pub purchase_option: Option<PurchaseOption>,
}

/// What is replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct AutoscaleRequest {
    pub subject: AutoscaleSubject,
    pub demand: Demand,
    pub gpus_per_instance: u32,
    pub held: Held,
    pub policy: ScalingPolicy,
    pub prices: InstancePrices,
    /// With a queue, how long work may wait.
    pub late_after_seconds: i64,
    /// Share of the demand that may wait or fail, percent.
    pub max_unserved_percent: f64,
    /// Interruptions a day and instance to compute with at least.
    pub least_interruptions_per_day: f64,
    pub hours_per_month: Decimal,
}

/// The same policy with another target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherTarget {
    pub trigger: Trigger,
    pub replay: Replay,
}

/// What interruptions of spot instances add.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpotRisk {
    pub rate: Interruptions,
    pub spot_hours: f64,
    /// Interruptions over the record, on average.
    pub expected: f64,
    /// Work that they leave without a GPU on average, at most: each takes one instance
    /// for as long as the next takes to start. GPU hours.
    pub lost_gpu_hours: f64,
}

/// A policy beside what else could have run.
#[derive(Debug, Clone, PartialEq)]
pub struct Autoscale {
    pub request: AutoscaleRequest,
    /// The fleet as it ran; absent where that is unknown.
    pub today: Option<Replay>,
    pub replay: Replay,
    /// As many instances in each period as its demand needs, within the limits of the policy
    /// and bought like its own, up without a wait.
    pub hindsight: Replay,
    /// In order of the target.
    pub others: Vec<OtherTarget>,
    /// The cheapest of them that leaves no more than what is accepted.
    pub cheapest: Option<usize>,
    /// Absent without spot instances.
    pub risk: Option<SpotRisk>,
}

impl Autoscale {
    /// What a replay cost over the record, to the cent; absent without a price of what it
    /// used.
    pub fn cost(&self, replay: &Replay) -> Option<Money> {
        let prices = &self.request.prices;
        let on_demand = prices.on_demand.as_ref()?.rate;
        let hours = |seconds: i64| Decimal::from(seconds) / Decimal::from(HOUR_SECONDS);
        let mut cost = on_demand.times_hours(hours(replay.on_demand_seconds));
        if replay.spot_seconds > 0 {
            let spot = prices.spot.as_ref()?.rate;
            cost = cost.checked_add(spot.times_hours(hours(replay.spot_seconds))).ok()?;
        }
        Some(cost.rounded())
    }

    /// The same per month of the policy's hours.
    pub fn monthly(&self, replay: &Replay) -> Option<Money> {
        let cost = self.cost(replay)?;
        let demand = &self.request.demand;
        let seconds = Decimal::from(demand.periods()) * Decimal::from(demand.period_seconds);
        let hours = seconds / Decimal::from(HOUR_SECONDS);
        let months = self.request.hours_per_month.checked_div(hours)?;
        Some(Money::new(cost.amount() * months, cost.currency()).rounded())
    }

    /// Whether a replay leaves no more than what is accepted.
    pub fn is_accepted(&self, replay: &Replay) -> bool {
        let most = self.request.max_unserved_percent + 1e-9;
        // Where nothing was asked for, nothing waited.
        replay.unserved_percent().is_none_or(|percent| percent <= most)
    }
}

/// Replays a policy.
///
/// # Errors
/// When its limits contradict each other.
pub fn autoscale(request: AutoscaleRequest) -> Result<Autoscale, NoResult> {
    request.policy.check()?;
    let (demand, gpus) = (&request.demand, request.gpus_per_instance);
    let of =
        |policy: &ScalingPolicy| replay::replay(demand, policy, gpus, request.late_after_seconds);
    let today = demand.ran.as_ref();
    let is_spot = request.subject.purchase_option == Some(PurchaseOption::Spot);
    let paid_as = if is_spot { SpotShare::ALL } else { SpotShare::NONE };
    let today = today.map(|ran| replay::fixed(demand, ran.iter().copied(), gpus, &paid_as));
    let needed = demand.gpus.iter().enumerate().map(|(period, busy)| {
        request.policy.within_limits(policy::whole(busy / f64::from(gpus)), demand.at(period))
    });
    let hindsight = replay::fixed(demand, needed, gpus, &request.policy.spot);
    let other = |trigger| {
        let policy = ScalingPolicy { trigger, ..request.policy.clone() };
        OtherTarget { trigger, replay: of(&policy) }
    };
    let others = triggers(request.policy.trigger).into_iter().map(other).collect();
    let mut answer = Autoscale {
        today,
        replay: of(&request.policy),
        hindsight,
        cheapest: None,
        risk: None,
        others,
        request,
    };
    answer.cheapest = cheapest(&answer);
    answer.risk = risk(&answer);
    Ok(answer)
}

/// Targets to compare.
fn triggers(asked: Trigger) -> Vec<Trigger> {
    match asked {
        Trigger::Utilization { .. } => {
            TARGETS.map(|target_percent| Trigger::Utilization { target_percent }).to_vec()
        }
        Trigger::Queue { requests_per_instance, request_seconds } => QUEUE_PARTS
            .map(|part| Trigger::Queue {
                requests_per_instance: requests_per_instance * part,
                request_seconds,
            })
            .to_vec(),
    }
}

/// By dollars; without prices, by the paid time.
fn cheapest(answer: &Autoscale) -> Option<usize> {
    let others = answer.others.iter().enumerate();
    let accepted = others.filter(|(_, other)| answer.is_accepted(&other.replay));
    let cheapest = accepted.min_by_key(|(index, OtherTarget { replay, .. })| {
        let cost = answer.cost(replay).map(Money::amount);
        (cost.is_none(), cost, replay.on_demand_seconds + replay.spot_seconds, *index)
    });
    cheapest.map(|(index, _)| index)
}

fn risk(answer: &Autoscale) -> Option<SpotRisk> {
    let request = &answer.request;
    let hours = answer.replay.spot_seconds as f64 / HOUR_SECONDS as f64;
    let band = request.prices.band.map(|(band, _)| band);
    let rate = Interruptions::of(band, 1, request.least_interruptions_per_day);
    let expected = rate.per_hour * hours;
    let start_up_hours = request.policy.start_up_seconds as f64 / HOUR_SECONDS as f64;
    (hours > 0.0).then(|| SpotRisk {
        rate,
        spot_hours: hours,
        expected,
        lost_gpu_hours: expected * start_up_hours * f64::from(request.gpus_per_instance),
    })
}

#[cfg(test)]
mod tests;
