//! What has to be served, and the GPUs that it takes: waiting for one of several servers is M/M/c, with
//! Erlang's second formula.

use crate::planners::NoResult;
use crate::planners::capacity::replay::{Between, Replay};
use crate::planners::capacity::{
    CapacityError, Objective, Recording, ServiceTimes, Throughput, Zones,
};
use rust_decimal::Decimal;
use std::ops::RangeInclusive;

/// Requests in flight at the same time, over all GPUs, that are evaluated.
pub const MOST_IN_FLIGHT: u64 = 1_000_000;
/// Figures that differ by less than this part of them are the same: 3.0000000001 GPUs
/// are 3.
const SAME_PART: f64 = 1e-9;

/// How requests arrive.
#[derive(Debug, Clone, Copy)]
pub enum Demand<'a> {
    /// At random, one independent of the other.
    Random,
    /// As they were recorded, at another speed where the rate is another.
    Recorded(&'a Recording),
}

/// What has to be served, and by what.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    pub demand: Demand<'a>,
    /// Requests a second, without headroom.
    pub per_second: f64,
    /// What is planned for beyond that, percent of it.
    pub headroom_percent: f64,
    pub gpu: Throughput,
    /// How busy GPUs may be at the planned rate, percent.
    pub target_percent: f64,
    pub objective: Option<Objective>,
    /// How service times are spread where they are not recorded.
    pub service_times: ServiceTimes,
}

/// The latency of a number of GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// At the percentile of the objective.
    pub seconds: f64,
    /// Of that, what the percentile of the time on a GPU alone comes to.
    pub floor_seconds: f64,
    /// Share of the requests that wait for a GPU, 0–1.
    pub waiting_share: f64,
}

/// GPUs that a load needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    /// Planned requests a second over those of a GPU that is as busy as it may be, rounded up.
    pub gpus_by_rate: u64,
    /// The same, or more where the objective needs them.
    pub gpus: u64,
    /// How busy they are at the planned rate, 0–100.
    pub utilization_percent: f64,
    /// Absent without an objective.
    pub latency: Option<Latency>,
}

impl Load<'_> {
    /// Requests a second with headroom.
    pub fn planned_per_second(&self) -> f64 {
        self.per_second * (1.0 + self.headroom_percent / 100.0)
    }

    /// Requests a second of a GPU that is as busy as it may be.
    pub fn usable_per_second(&self, gpu: Throughput) -> f64 {
        gpu.per_second() * self.target_percent / 100.0
    }

    /// The GPUs that it needs where each takes `slowdown` times as long for a request.
    ///
    /// # Errors
    /// When a figure is not above zero and finite, when more requests are in flight than are
    /// evaluated, or when no number of GPUs holds the objective.
    pub fn need(&self, slowdown: f64) -> Result<Need, CapacityError> {
        self.need_within(slowdown, Between::ANY)
    }

    /// The same where it is known between how many GPUs the answer is.
    pub(super) fn need_within(
        &self,
        slowdown: f64,
        within: Between,
    ) -> Result<Need, CapacityError> {
        let gpu = Throughput { service_seconds: self.gpu.service_seconds * slowdown, ..self.gpu };
        let planned = self.planned_per_second();
        self.check(planned * gpu.service_seconds)?;
        let gpus = planned / self.usable_per_second(gpu);
        // Below [`MOST_IN_FLIGHT`].
        let gpus_by_rate = (gpus * (1.0 - SAME_PART)).ceil().max(1.0) as u64;
        let (gpus, latency) = match self.objective {
            None => (gpus_by_rate, None),
            Some(objective) => {
                let within = Between { least: within.least.max(gpus_by_rate), ..within };
                let (gpus, latency) = self.for_objective(objective, gpu, slowdown, within)?;
                (gpus, Some(latency))
            }
        };
        Ok(Need {
            gpus_by_rate,
            gpus,
            utilization_percent: planned / (gpus as f64 * gpu.per_second()) * 100.0,
            latency,
        })
    }

    fn for_objective(
        &self,
        objective: Objective,
        gpu: Throughput,
        slowdown: f64,
        within: Between,
    ) -> Result<(u64, Latency), CapacityError> {
        let (planned, batch) = (self.planned_per_second(), u64::from(gpu.batch));
        let (floor_seconds, held) = match self.demand {
            Demand::Random => {
                let times = self.service_times;
                let floor_seconds = objective.floor_seconds(gpu.service_seconds, times);
                let servers = within.least.saturating_mul(batch)..=MOST_IN_FLIGHT.saturating_mul(2);
                let is_possible = objective.seconds >= floor_seconds;
                let queue = is_possible.then(|| fewest(planned, gpu, (objective, times), servers));
                let held = queue.flatten().map(|(gpus, queue)| {
                    let seconds = queue.sojourn_exceeded_by(objective.late_share(), times);
                    (gpus, (seconds, queue.waiting_share))
                });
                (floor_seconds, held)
            }
            Demand::Recorded(recording) => {
                let replay =
                    Replay { recording, stretch: recording.per_second / planned, slowdown };
                let held = replay.fewest(within, batch, objective).map(|gpus| {
                    let servers = usize::try_from(gpus * batch).unwrap_or(usize::MAX);
                    (gpus, replay.latency(servers, objective))
                });
                (replay.floor_seconds(objective), held)
            }
        };
        let (gpus, (seconds, waiting_share)) = held.ok_or(CapacityError::BelowFloor {
            percentile: objective.percentile,
            objective_seconds: objective.seconds,
            floor_seconds,
        })?;
        Ok((gpus, Latency { seconds, floor_seconds, waiting_share }))
    }

    fn check(&self, in_flight: f64) -> Result<(), NoResult> {
        let positive = [
            ("the rate of requests", self.per_second),
            ("the time of a request on a GPU", self.gpu.service_seconds),
            ("the batch", f64::from(self.gpu.batch)),
            ("the target utilization", self.target_percent),
        ];
        let objective = self.objective.map(|objective| ("the objective", objective.seconds));
        let positive = positive.into_iter().chain(objective);
        let figures = positive.map(|(what, value)| (what, value, value <= 0.0));
        let headroom = self.headroom_percent;
        for (what, value, is_low) in figures.chain([("the headroom", headroom, headroom < 0.0)]) {
            refuse! {
                is_low || !value.is_finite() => "{what} is {value}: expected a number above zero"; "check the numbers that were passed";
            }
        }
        refuse! {
            in_flight.is_nan() || in_flight > MOST_IN_FLIGHT as f64 => "{in_flight:.0} requests in flight at the same time: at most {MOST_IN_FLIGHT} are evaluated"; "check `--rate` and the time of a request: rate × time is what is in flight";
        }
        Ok(())
    }
}

/// A load with the terms that it is served on.
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    pub load: Load<'a>,
    /// Requests a second on average, over which costs are divided; absent where that is the
    /// rate of the load.
    pub mean_per_second: Option<f64>,
    pub zones: Zones,
    /// Tokens of a request, prompt and generated; absent where they are not known.
    pub tokens_per_request: Option<f64>,
    pub hours_per_month: Decimal,
}

/// Requests that arrive at random, one independent of the other, and are served first come,
/// first served by the next server that is free.
///
/// A. K. Erlang, *Solution of some problems in the theory of probabilities of significance
/// in automatic telephone exchanges* (1917). With λ arrivals a second, the mean service
/// time 1/μ, c servers and a = λ/μ < c:
///
/// - a request waits with probability `C = B / (1 − (a/c)(1 − B))`, where B is Erlang's
///   first formula by `B(0) = 1, B(n) = a·B(n−1) / (n + a·B(n−1))`;
/// - `P(W > t) = C·e^(−θt)`, θ = cμ − λ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    servers: u64,
    arrivals_per_second: f64,
    service_seconds: f64,
    /// Share of the requests that wait, 0–1.
    pub waiting_share: f64,
}

impl Queue {
    /// The queue of a number of servers; `None` where they do not keep up.
    pub fn new(arrivals_per_second: f64, service_seconds: f64, servers: u64) -> Option<Self> {
        let place = usize::try_from(servers.checked_sub(1)?).ok()?;
        queues(arrivals_per_second, service_seconds).nth(place)?
    }

    /// How much faster the servers are than requests arrive, requests a second.
    fn spare_per_second(self) -> f64 {
        self.servers as f64 / self.service_seconds - self.arrivals_per_second
    }

    /// Probability that a request waits for longer, 0–1.
    pub fn wait_tail(self, seconds: f64) -> f64 {
        self.waiting_share * (-self.spare_per_second() * seconds).exp()
    }

    /// Probability that a request takes longer from its arrival to its end, 0–1.
    ///
    /// With exponential service, the sum of the wait and of an independent exponential
    /// time: `e^(−μt) + C·μ·(e^(−μt) − e^(−θt)) / (θ − μ)`, and for θ = μ its limit
    /// `e^(−μt)·(1 + C·μ·t)`.
    pub fn sojourn_tail(self, seconds: f64, times: ServiceTimes) -> f64 {
        if times == ServiceTimes::Fixed {
            let waited = seconds - self.service_seconds;
            return if waited < 0.0 { 1.0 } else { self.wait_tail(waited) };
        }
        let (service, spare) = (1.0 / self.service_seconds, self.spare_per_second());
        let (slow, gap) = (service.min(spare), (service - spare).abs());
        // (1 − e^(−gap·t)) / gap, also where the gap is next to nothing.
        let between = if gap > 0.0 { -(-gap * seconds).exp_m1() / gap } else { seconds };
        (-service * seconds).exp()
            + self.waiting_share * service * (-slow * seconds).exp() * between
    }

    /// The time that a share of the requests exceeds, in seconds.
    pub fn sojourn_exceeded_by(self, late_share: f64, times: ServiceTimes) -> f64 {
        let mut high = self.service_seconds;
        while self.sojourn_tail(high, times) > late_share && high.is_finite() {
            high *= 2.0;
        }
        let mut low = 0.0;
        // A bisection of doubles ends before that.
        for _ in 0..128 {
            let middle = low + (high - low) / 2.0;
            if self.sojourn_tail(middle, times) > late_share {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// The queues of one server, of two and so on; absent where they do not keep up.
fn queues(arrivals_per_second: f64, service_seconds: f64) -> impl Iterator<Item = Option<Queue>> {
    let load = arrivals_per_second * service_seconds;
    // Erlang's first formula.
    let blocked = (1_u64..).scan(1.0, move |blocked, servers| {
        let lost = load * *blocked;
        *blocked = lost / (servers as f64 + lost);
        Some((servers, *blocked))
    });
    blocked.map(move |(servers, blocked)| {
        let waiting_share = blocked / (1.0 - load / servers as f64 * (1.0 - blocked));
        let queue = Queue { servers, arrivals_per_second, service_seconds, waiting_share };
        (load < servers as f64).then_some(queue)
    })
}

/// The fewest GPUs of so many servers that hold an objective, with their queue; `None` where
/// the most do not. Each GPU is as many servers as requests that it works on at the same time.
fn fewest(
    arrivals_per_second: f64,
    gpu: Throughput,
    (objective, times): (Objective, ServiceTimes),
    within: RangeInclusive<u64>,
) -> Option<(u64, Queue)> {
    let batch = u64::from(gpu.batch);
    let most = usize::try_from(*within.end()).unwrap_or(usize::MAX);
    let mut queues = queues(arrivals_per_second, gpu.service_seconds).take(most).flatten();
    let queue = queues.find(|queue| {
        within.contains(&queue.servers)
            && queue.servers.is_multiple_of(batch)
            && queue.sojourn_tail(objective.seconds, times) <= objective.late_share()
    })?;
    Some((queue.servers / batch, queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_planned_for_the_target_and_not_for_all_of_their_time() {
        let load = |headroom_percent: f64, target_percent: f64| Load {
            demand: Demand::Random,
            per_second: 500.0,
            headroom_percent,
            gpu: Throughput::of_rate(200.0, 1),
            target_percent,
            objective: None,
            service_times: ServiceTimes::Exponential,
        };
        let gpus = |load: Load<'_>| load.need(1.0).expect("an answer").gpus;
        // 500 / (200 × 0.8) = 3.125, and 600 / 160 = 3.75; 600 / 200 are 3 that work all the time.
        assert_eq!(gpus(load(0.0, 80.0)), 4);
        assert_eq!(gpus(load(20.0, 80.0)), 4);
        assert_eq!(gpus(load(20.0, 100.0)), 3);
        // An objective that 3 hold takes the 4 of the rate.
        let objective = Some(Objective { seconds: 1.0, percentile: 95.0 });
        let held = |target_percent: f64| {
            let load = Load { objective, ..load(0.0, target_percent) };
            gpus(load)
        };
        assert_eq!((held(100.0), held(80.0)), (3, 4));
        assert!(load(0.0, 0.0).need(1.0).is_err());
    }
}
