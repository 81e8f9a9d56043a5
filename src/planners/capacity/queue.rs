//! Waiting for one of several servers: M/M/c, with Erlang's second formula.

use super::{Objective, ServiceTimes, Throughput};
use std::ops::RangeInclusive;

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
    waiting_share: f64,
}

impl Queue {
    /// The queue of a number of servers; `None` where they do not keep up.
    pub fn new(arrivals_per_second: f64, service_seconds: f64, servers: u64) -> Option<Self> {
        let place = usize::try_from(servers.checked_sub(1)?).ok()?;
        queues(arrivals_per_second, service_seconds).nth(place)?
    }

    /// Share of the requests that wait, 0–1.
    pub fn waiting_share(self) -> f64 {
        self.waiting_share
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
pub(super) fn fewest(
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
