//! One policy over one record of demand.

use super::demand::Demand;
use super::policy::{ScalingPolicy, SpotShare, Trigger, whole};
use jiff::Timestamp;
use std::collections::VecDeque;

/// Work that is less than this many GPU seconds is done.
const NO_WORK: f64 = 1e-6;

/// What a fleet did over a record of demand.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Replay {
    /// Paid time of instances on demand, from launch to end.
    pub on_demand_seconds: i64,
    /// The same of spot instances.
    pub spot_seconds: i64,
    /// Work of one GPU that was asked for.
    pub demand_gpu_seconds: f64,
    /// Of it what found no GPU in its period; with a queue, what waited for longer than is
    /// accepted.
    pub unserved_gpu_seconds: f64,
    /// What would have found no GPU on the instances on demand alone.
    pub unserved_without_spot_gpu_seconds: f64,
    pub most_instances: u32,
    pub launches: u64,
}

impl Replay {
    /// Paid hours of GPUs.
    pub fn gpu_hours(&self, gpus_per_instance: u32) -> f64 {
        let seconds = self.on_demand_seconds + self.spot_seconds;
        seconds as f64 * f64::from(gpus_per_instance) / 3_600.0
    }

    /// Share of the demand that waited or failed, percent; absent without demand.
    pub fn unserved_percent(&self) -> Option<f64> {
        self.percent(self.unserved_gpu_seconds)
    }

    /// The same if every spot instance ended at the same time, all the time.
    pub fn unserved_without_spot_percent(&self) -> Option<f64> {
        self.percent(self.unserved_without_spot_gpu_seconds)
    }

    fn percent(&self, part: f64) -> Option<f64> {
        let total = self.demand_gpu_seconds;
        (total > 0.0).then(|| (part / total * 100.0).clamp(0.0, 100.0))
    }

    /// Mean utilization of what was paid for, percent.
    pub fn utilization_percent(&self, gpus_per_instance: u32) -> Option<f64> {
        let paid = self.gpu_hours(gpus_per_instance) * 3_600.0;
        let served = self.demand_gpu_seconds - self.unserved_gpu_seconds;
        (paid > 0.0).then(|| (served / paid * 100.0).clamp(0.0, 100.0))
    }

    fn pay(&mut self, instances: u32, seconds: i64, spot: &SpotShare) {
        let on_demand = spot.on_demand(instances);
        self.on_demand_seconds += i64::from(on_demand) * seconds;
        self.spot_seconds += i64::from(instances - on_demand) * seconds;
        self.most_instances = self.most_instances.max(instances);
    }
}

/// A fleet whose number of instances is given period by period, up without a wait.
pub(super) fn fixed(
    demand: &Demand,
    instances: impl Iterator<Item = u32>,
    gpus_per_instance: u32,
    spot: &SpotShare,
) -> Replay {
    let mut replay = Replay::default();
    let seconds = demand.period_seconds;
    let mut before = None;
    for (gpus, instances) in demand.gpus.iter().zip(instances) {
        replay.pay(instances, seconds, spot);
        replay.launches += u64::from(instances.saturating_sub(before.unwrap_or(instances)));
        before = Some(instances);
        let excess = (gpus - f64::from(instances) * f64::from(gpus_per_instance)).max(0.0);
        replay.demand_gpu_seconds += gpus * seconds as f64;
        replay.unserved_gpu_seconds += excess * seconds as f64;
    }
    replay.unserved_without_spot_gpu_seconds = replay.unserved_gpu_seconds;
    replay
}

/// Replays a policy. It begins with as many instances as it wants for the first period.
/// With a queue, work that waited for more than `late_after_seconds`, rounded up to
/// periods, counts as unserved.
pub(super) fn replay(
    demand: &Demand,
    policy: &ScalingPolicy,
    gpus_per_instance: u32,
    late_after_seconds: i64,
) -> Replay {
    let period = demand.period_seconds;
    let mut fleet = Fleet::new(demand, policy, gpus_per_instance);
    for (index, gpus) in demand.gpus.iter().enumerate() {
        let from = index as i64 * period;
        fleet.decide(from, demand.at(index));
        fleet.serve(from, *gpus);
    }
    let late_periods = (late_after_seconds + period - 1) / period;
    let Fleet { mut found, served, .. } = fleet;
    if matches!(policy.trigger, Trigger::Queue { .. }) {
        let seconds = period as f64;
        found.unserved_gpu_seconds = late_work(demand, &served, late_periods as usize, seconds);
    }
    found
}

/// Work of a queue, first come first served, that was not done so many periods after
/// that of its arrival. What still waits when the record ends counts as late.
fn late_work(demand: &Demand, served: &[f64], late_periods: usize, seconds: f64) -> f64 {
    let sums = served.iter().scan(0.0, |sum, gpu_seconds| {
        *sum += gpu_seconds;
        Some(*sum)
    });
    let done: Vec<f64> = sums.collect();
    let mut arrived = 0.0;
    let mut late = 0.0;
    for (index, gpus) in demand.gpus.iter().enumerate() {
        let before = arrived;
        arrived += gpus * seconds;
        if let Some(done) = done.get(index + late_periods).or(done.last()) {
            late += (arrived - done.max(before)).max(0.0);
        }
    }
    if late < NO_WORK { 0.0 } else { late }
}

struct Fleet<'a> {
    policy: &'a ScalingPolicy,
    period: i64,
    gpus_per_instance: f64,
    up: u32,
    /// Seconds at which launched instances begin to serve, ascending, with their number.
    starting: VecDeque<(i64, u32)>,
    /// How many were wanted lately, with the second at which that was decided; a later
    /// and larger one hides those before it.
    wanted: VecDeque<(i64, u32)>,
    last_wanted: u32,
    /// Work that waits, GPU seconds.
    backlog: f64,
    /// Work done in each period, GPU seconds.
    served: Vec<f64>,
    found: Replay,
}

impl<'a> Fleet<'a> {
    fn new(demand: &Demand, policy: &'a ScalingPolicy, gpus_per_instance: u32) -> Self {
        let mut fleet = Self {
            policy,
            period: demand.period_seconds,
            gpus_per_instance: f64::from(gpus_per_instance),
            up: 0,
            starting: VecDeque::new(),
            wanted: VecDeque::new(),
            last_wanted: 0,
            backlog: 0.0,
            served: Vec::with_capacity(demand.gpus.len()),
            found: Replay::default(),
        };
        let begin = fleet.wants_for(demand.gpus.first().copied().unwrap_or_default(), 0.0);
        fleet.up = policy.within_limits(begin, demand.start);
        fleet.want(0, begin);
        fleet
    }

    /// Instances for so many busy GPUs and so many GPU seconds of waiting work.
    fn wants_for(&self, busy_gpus: f64, backlog: f64) -> u32 {
        match self.policy.trigger {
            Trigger::Utilization { target_percent } => {
                whole(busy_gpus / (self.gpus_per_instance * target_percent / 100.0))
            }
            Trigger::Queue { requests_per_instance, request_seconds } => {
                whole((busy_gpus + backlog / request_seconds) / requests_per_instance)
            }
        }
    }

    fn want(&mut self, second: i64, instances: u32) {
        while self.wanted.back().is_some_and(|(_, n)| *n <= instances) {
            self.wanted.pop_back();
        }
        self.wanted.push_back((second, instances));
        self.last_wanted = instances;
    }

    fn all(&self) -> u32 {
        let starting: u32 = self.starting.iter().map(|(_, number)| number).sum();
        self.up + starting
    }

    /// Launches and ends instances at the beginning of a period.
    fn decide(&mut self, second: i64, at: Timestamp) {
        self.arrive(second);
        let since = second - self.policy.cool_down_seconds;
        while self.wanted.len() > 1 && self.wanted.front().is_some_and(|(at, _)| *at <= since) {
            self.wanted.pop_front();
        }
        let largest = self.wanted.front().map_or(0, |(_, number)| *number);
        let total = self.all();
        let wanted = self.last_wanted.max(largest.min(total));
        let wanted = self.policy.within_limits(wanted, at);
        if wanted > total {
            let launched = wanted - total;
            self.found.launches += u64::from(launched);
            self.starting.push_back((second + self.policy.start_up_seconds, launched));
            self.arrive(second);
        } else {
            self.end(total - wanted);
        }
    }

    /// What has started by a second serves from then on.
    fn arrive(&mut self, second: i64) {
        while let Some((ready, number)) = self.starting.front().copied()
            && ready <= second
        {
            self.up += number;
            self.starting.pop_front();
        }
    }

    /// Ends instances, the newest first.
    fn end(&mut self, mut number: u32) {
        while number > 0
            && let Some((_, starting)) = self.starting.back_mut()
        {
            let ended = number.min(*starting);
            *starting -= ended;
            number -= ended;
            if *starting == 0 {
                self.starting.pop_back();
            }
        }
        self.up -= number.min(self.up);
    }

    /// Serves a period, in pieces between which instances begin to serve.
    fn serve(&mut self, from: i64, gpus: f64) {
        let to = from + self.period;
        let total = self.all();
        self.found.pay(total, self.period, &self.policy.spot);
        self.found.demand_gpu_seconds += gpus * self.period as f64;
        let is_queue = matches!(self.policy.trigger, Trigger::Queue { .. });
        let (mut served, mut capacity) = (0.0, 0.0);
        let mut at = from;
        while at < to {
            self.arrive(at);
            let next = self.starting.front().map_or(to, |(ready, _)| *ready).min(to);
            let seconds = (next - at) as f64;
            let up = f64::from(self.up) * self.gpus_per_instance;
            let on_demand = f64::from(self.policy.spot.on_demand(self.up)) * self.gpus_per_instance;
            let work = if is_queue { self.backlog + gpus * seconds } else { gpus * seconds };
            let done = work.min(up * seconds);
            if is_queue {
                self.backlog = (work - done).max(0.0);
            } else {
                self.found.unserved_gpu_seconds += work - done;
            }
            self.found.unserved_without_spot_gpu_seconds += (gpus - on_demand).max(0.0) * seconds;
            served += done;
            capacity += up * seconds;
            at = next;
        }
        self.served.push(served);
        // Before what starts at the end of the period counts: it was not measured.
        self.want(to, self.wanted_after(gpus, served, capacity));
    }

    /// What the policy wants at the end of a period.
    fn wanted_after(&self, gpus: f64, served: f64, capacity: f64) -> u32 {
        if matches!(self.policy.trigger, Trigger::Queue { .. }) {
            let backlog = if self.backlog < NO_WORK { 0.0 } else { self.backlog };
            return self.wants_for(served / self.period as f64, backlog);
        }
        if capacity > 0.0 {
            // The utilization of what was up, taken for all that was up at the end.
            let busy = served / capacity * f64::from(self.up) * self.gpus_per_instance;
            return self.wants_for(busy, 0.0);
        }
        // Nothing reports utilization at zero: requests start the first instance.
        u32::from(gpus > 0.0)
    }
}
