//! From what series amounted to, to the figures that verdicts are made of.

use super::amount::{Amount, Day};
use super::facts::{CPU_AVERAGE, CPU_MAXIMUM};
use super::grid::{Cadence, Slot};
use super::histogram::{Histogram, Scale};
use super::series::SeriesKey;
use super::together::Moments;
use super::usages::Usage;
use super::{Series, Timeline, distribution, together};
use crate::catalog::{BUSY_POWER_PERCENT, gpu_spec};
use crate::domain::{
    ACTIVE_PERCENT, Distribution, GpuOffer, GpuUsage, Instance, InstanceState, InstanceUsage,
    JoinedBy, Metric, NEARLY_FULL_VRAM_PERCENT, NetworkUse, RESTING_SM_PERCENT, Rejected,
    ResourceId, RunningTime, Signal, Statistic, VramSummary, Window,
};
use jiff::Timestamp;

/// CloudWatch delivers a few minutes late: an instance that runs now and whose
/// newest CPU point is at most this many periods old, or is the last one before another is
/// due, ran until the end.
const DELIVERY_LAG_PERIODS: usize = 3;

const RECEIVED: SeriesKey = (Metric::NetworkIn, None, Statistic::Sum);
const SENT: SeriesKey = (Metric::NetworkOut, None, Statistic::Sum);

/// Measures an instance by its series, in any order.
pub(super) fn measure_series(
    instance: &Instance,
    offer: Option<&GpuOffer>,
    series: &[&Series],
    (window, period_seconds): (Window, u32),
) -> (InstanceUsage, Timeline) {
    let usage = Usage::of(series.iter().copied(), window, period_seconds);
    usage.measure(instance, offer, (window, period_seconds))
}

impl Usage {
    /// What it says of an instance. `offer` is what its type offers; an unknown type is
    /// measured by the GPUs that report. The timeline is handed over apart, because
    /// only the sum over a workload is kept.
    pub fn measure(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        grid: (Window, u32),
    ) -> (InstanceUsage, Timeline) {
        let (mut timeline, running) = self.timeline(instance, offer, grid);
        let ran = running.running_seconds;
        let ran_in: Vec<bool> = timeline.ran().collect();
        let mut cadence = self.cadences(grid, &ran_in);
        let signal = self.signal();
        let (cpu, peak) = (self.amounts.get(&CPU_AVERAGE), self.amounts.get(&CPU_MAXIMUM));
        let cpu_figures = cpu.and_then(|cpu| figures(&cpu.steps));
        let card_mib = offer.and_then(|offer| offer.vram_mib).map(|mib| mib as f64);
        let added = self.added.values();
        let gpus = self.gpus.iter();
        let mut gpus: Vec<GpuUsage> = gpus
            .map(|gpu| self.gpu_figures((&instance.id, *gpu), card_mib, ran, &mut cadence))
            .collect();
        let averages: Vec<&Amount> =
            self.gpus.iter().filter_map(|gpu| self.averages(*gpu)).collect();
        let hour_sums = averages.iter().filter_map(|averages| averages.hours.as_deref());
        let rests = |gpu: &GpuUsage| gpu.works() == Some(false);
        let draw = offer.filter(|_| gpus.iter().all(rests)).and_then(|offer| {
            self.power_percents(timeline.slots.len(), (offer, timeline.period_seconds))
        });
        for gpu in &mut gpus {
            if let Some(reason) = offer.and_then(|offer| contradiction(gpu, offer, draw)) {
                gpu.doubt(reason);
                // Nor is it known when its instance worked and when it did not.
                for slot in &mut timeline.slots {
                    let Slot { gpus, instances, .. } = *slot;
                    *slot = Slot { gpus, instances, ..Slot::default() };
                }
            }
        }
        let usage = InstanceUsage {
            instance: instance.id.clone(),
            running,
            signal,
            summary: signal.and_then(|(signal, source)| timeline.summary(signal, source)),
            gpus,
            gpus_correlation: together::correlation(
                &timeline,
                &averages
                    .iter()
                    .filter_map(|averages| Moments::of(&averages.steps))
                    .collect::<Vec<_>>(),
            ),
            pairs_correlation: together::of_pairs(&hour_sums.collect::<Vec<_>>()),
            cpu_p95: cpu_figures.map(|figures| figures.p95),
            cpu_samples: cpu.and_then(|cpu| cpu.samples(ran, cadence(&CPU_AVERAGE))),
            cpu_max: cpu
                .into_iter()
                .chain(peak)
                .filter_map(|cpu| cpu.steps.max(Scale::Percent))
                .reduce(f64::max),
            cpu_max_samples: peak.and_then(|peak| peak.samples(ran, cadence(&CPU_MAXIMUM))),
            memory_p95_mib: None,
            cpu_is_of_runs: false,
            network_bytes_per_day: self.traffic().and_then(|(received, sent)| {
                let per_day = |traffic: &Amount, cadence| {
                    Some(traffic.sum? as f64 / traffic.counted?.days(cadence))
                };
                let received = per_day(received, cadence(&RECEIVED))?;
                Some(received + per_day(sent, cadence(&SENT))?)
            }),
            network: self.network(ran, &mut cadence),
            joined_by_hostname: added
                .clone()
                .any(|series| matches!(series.joined_by, JoinedBy::Hostname | JoinedBy::Address)),
            rejected: added.fold(Rejected::default(), |sum, series| sum.plus(series.rejected)),
        };
        (usage, timeline)
    }

    /// Mean and 95th percentile of the power of all its GPUs together, percent of their limits.
    fn power_percents(
        &self,
        periods: usize,
        (offer, period_seconds): (&GpuOffer, u32),
    ) -> Option<Distribution> {
        let visible = u32::from(offer.share.visible_devices());
        let (slots, ..) =
            self.grid(Signal::GpuPowerUtilization, visible, (periods, period_seconds));
        let measured = slots.iter().filter(|slot| slot.reported > 0);
        distribution(measured.map(Slot::mean).collect())
    }

    /// Its signal over the window with the periods in which it ran, and how long that
    /// was.
    pub fn timeline(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        (window, period_seconds): (Window, u32),
    ) -> (Timeline, RunningTime) {
        let visible = offer.map_or(self.gpus.len().max(1) as u32, |offer| {
            u32::from(offer.share.visible_devices())
        });
        let mut timeline = Timeline::new(window, period_seconds);
        let mut ran = vec![false; timeline.slots.len()];
        if let Some((signal, _)) = self.signal() {
            let grid = (timeline.slots.len(), period_seconds);
            (timeline.slots, ran, timeline.step) = self.grid(signal, visible, grid);
        }
        if !self.has_cpu() {
            ran = timeline.slots.iter().map(|slot| slot.reported > 0).collect();
        }
        let running = self.mark_running(&mut timeline, ran, instance, visible);
        (timeline, running)
    }

    /// Marks the periods in which the instance ran: those with a GPU sample, and those that a
    /// CPU point stands for; without any CPU point, those since its launch.
    fn mark_running(
        &self,
        timeline: &mut Timeline,
        mut ran: Vec<bool>,
        instance: &Instance,
        visible: u32,
    ) -> RunningTime {
        let window = timeline.window;
        let period = i64::from(timeline.period_seconds.max(1));
        let length = timeline.slots.len();
        let slot_at = |instant: Timestamp| {
            ((instant.as_second() - window.start.as_second()).max(0) / period) as usize
        };
        let launched = slot_at(instance.launch_time).min(length);
        if self.has_cpu() {
            let (marks, step) = self.cpu_marks(timeline.period_seconds, length);
            for (ran, marked) in ran.iter_mut().zip(marks) {
                *ran |= marked;
            }
            if let Some(newest) = ran.iter().rposition(|ran| *ran)
                && instance.state.is_running()
                && newest + 1 + DELIVERY_LAG_PERIODS.max(step) >= length
            {
                ran[newest..].fill(true);
            }
            // The sample before the window stands for its first periods.
            if let Some(oldest) = ran.iter().position(|ran| *ran)
                && oldest < step
                && launched == 0
            {
                ran[..oldest].fill(true);
            }
        } else if instance.state.is_running() {
            ran[launched..].fill(true);
        } else {
            // It ran from its last start until it stopped, which it does now or did then.
            let until = match instance.state {
                InstanceState::Stopping => length,
                _ => instance.stopped_at().map_or(launched, slot_at).min(length),
            };
            if launched < until {
                ran[launched..until].fill(true);
            }
        }
        timeline.run_in(|index| ran[index], visible);
        if timeline.step > 1 {
            // A sample stands for no period after its instance stopped.
            let stopped = timeline.slots.iter_mut().zip(&ran);
            stopped.filter(|(_, ran)| !**ran).for_each(|(slot, _)| *slot = Slot::default());
        }
        let observed = window.starting_at(instance.first_seen()).seconds();
        let count = |ran: &[bool]| ran.iter().filter(|ran| **ran).count() as i64 * period;
        let is_of_launch =
            !self.has_cpu() && instance.state.is_running() && !ran.first().copied().unwrap_or(true);
        let running = if is_of_launch {
            // Whole periods would round a launch inside one up.
            count(&ran[..launched]) + window.starting_at(instance.launch_time).seconds()
        } else {
            count(&ran)
        };
        RunningTime {
            running_seconds: running.min(observed),
            observed_seconds: observed,
            proved: self.has_cpu(),
        }
    }

    /// Traffic in the busiest hour of each direction.
    fn network(
        &self,
        running_seconds: i64,
        mut cadence: impl FnMut(&SeriesKey) -> Cadence,
    ) -> Option<NetworkUse> {
        let (received, sent) = self.traffic()?;
        let (of_received, of_sent) = (cadence(&RECEIVED), cadence(&SENT));
        let samples = received.samples(running_seconds, of_received)?;
        Some(NetworkUse {
            received_gbps: received.max? / f64::from(of_received.step),
            sent_gbps: sent.max? / f64::from(of_sent.step),
            samples: samples.poorer(sent.samples(running_seconds, of_sent)?),
        })
    }

    /// What came in and went out.
    fn traffic(&self) -> Option<(&Amount, &Amount)> {
        self.amounts.get(&RECEIVED).zip(self.amounts.get(&SENT))
    }

    /// Whether points of CPU tell when it ran.
    fn has_cpu(&self) -> bool {
        self.amounts.contains_key(&CPU_AVERAGE)
    }

    /// Averages of the utilization of a GPU.
    fn averages(&self, gpu: u16) -> Option<&Amount> {
        self.amounts.get(&(Metric::GpuUtilization, Some(gpu), Statistic::Average))
    }

    /// Figures of a GPU over a running time, on a card of a known size, by how often each metric
    /// was sampled.
    fn gpu_figures(
        &self,
        (instance, gpu): (&ResourceId, u16),
        card_mib: Option<f64>,
        ran: i64,
        mut cadence: impl FnMut(&SeriesKey) -> Cadence,
    ) -> GpuUsage {
        let mut known = |metric, statistic| {
            let key = (metric, Some(gpu), statistic);
            (self.amounts.get(&key), cadence(&key))
        };
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        let (averages, of_averages) = known(Metric::GpuUtilization, average);
        let (maxima, of_maxima) = known(Metric::GpuUtilization, maximum);
        let (memory, of_memory) = known(Metric::GpuMemoryUsed, average);
        let (memory_maxima, of_memory_maxima) = known(Metric::GpuMemoryUsed, maximum);
        let (power, of_power) = known(Metric::GpuPowerDraw, average);
        let (sm, of_sm) = known(Metric::GpuSmActivity, average);
        let (sessions, of_sessions) = known(Metric::GpuEncoderSessions, maximum);
        let mut largest = |metric| known(metric, maximum).0?.max;
        let total_mib = largest(Metric::GpuMemoryTotal).or(card_mib);
        let (fullest, of_fullest) = match memory_maxima {
            Some(_) => (memory_maxima, of_memory_maxima),
            None => (memory, of_memory),
        };
        GpuUsage {
            instance: instance.clone(),
            index: gpu,
            samples: averages
                .and_then(|sampled| sampled.samples(ran, of_averages))
                .unwrap_or_default(),
            utilization: averages.and_then(|sampled| figures(&sampled.steps)),
            contradiction: None,
            demand_peak: averages.and_then(Amount::demand_peak),
            maxima: maxima.and_then(|maxima| maxima.maxima(ran, of_maxima)),
            vram: fullest.and_then(|fullest| {
                Some(VramSummary {
                    peak_mib: fullest.max?,
                    p95_mib: memory.and_then(Amount::p95_mib),
                    samples: fullest.samples(ran, of_fullest)?,
                    total_mib,
                    is_reserved: total_mib.is_some_and(|total| fullest.is_reserved(memory, total)),
                })
            }),
            vram_nearly_full_seconds: memory.zip(total_mib).and_then(|(memory, total)| {
                memory.seconds_above(total * NEARLY_FULL_VRAM_PERCENT / 100.0, of_memory)
            }),
            vram_days: fullest.map_or_else(Vec::new, |memory| {
                memory.daily.iter().map(|day| (day.day, day.largest)).collect()
            }),
            power: power.and_then(|power| power.power(ran, of_power)),
            sm: sm.and_then(|sm| sm.sm(ran, of_sm)),
            temperature_max_c: largest(Metric::GpuTemperature),
            encoder_sessions_max: sessions.and_then(|sessions| sessions.max),
            encoder_samples: sessions.and_then(|sessions| sessions.samples(ran, of_sessions)),
            days: averages
                .map(|sampled| sampled.daily.iter().filter_map(Day::figures).collect())
                .unwrap_or_default(),
        }
    }
}

/// The figures of percentages; `None` of none.
fn figures(percents: &Histogram) -> Option<Distribution> {
    let [p50, p95, p99] = percents.quantiles(Scale::Percent, [0.50, 0.95, 0.99])?;
    Some(Distribution {
        mean: percents.mean_percent()?,
        p50,
        p95,
        p99,
        max: percents.max(Scale::Percent)?,
    })
}

/// Why the utilization of a GPU cannot be right: its counter stands still beside the power of
/// work, in the mean or for more than a twentieth of the time. The draw of a machine stands for
/// a GPU without power of its own.
fn contradiction(gpu: &GpuUsage, offer: &GpuOffer, draw: Option<Distribution>) -> Option<String> {
    if gpu.works() != Some(false) {
        return None;
    }
    let works = gpu.sm.map(|sm| sm.p95_percent);
    if let Some(p95) = works.filter(|p95| *p95 >= RESTING_SM_PERCENT) {
        return Some(format!(
            "utilization of GPU {} stays below {ACTIVE_PERCENT}% beside a p95 SM activity of \
             {p95:.0}%: the metrics contradict each other",
            gpu.index
        ));
    }
    let spec = gpu_spec(offer)?;
    let limit = spec.power_limit_w?;
    let (mean, p95) = match gpu.power {
        Some(power) => (power.mean_w, power.p95_w),
        None => draw.map(|draw| (draw.mean * limit / 100.0, Some(draw.p95 * limit / 100.0)))?,
    };
    let works_above = spec.rests_up_to_watts();
    let at_rest =
        spec.idle_w.map_or_else(String::new, |idle| format!(", where idle is about {idle:.0} W"));
    let works_above = works_above.unwrap_or(limit * BUSY_POWER_PERCENT / 100.0);
    let figures = [("mean", Some(mean)), ("p95", p95)];
    let mut at_work = figures.into_iter().filter_map(|(name, watts)| {
        let watts = watts.filter(|watts| *watts > works_above)?;
        Some((name, watts))
    });
    let (name, watts) = at_work.next()?;
    Some(format!(
        "utilization of GPU {} stays below {ACTIVE_PERCENT}% beside a {name} power of \
         {watts:.0} of {limit:.0} W{at_rest}: the metrics contradict each other",
        gpu.index
    ))
}

impl Timeline {
    /// Ran in some periods and in no other. What is reported beyond the GPUs that ran
    /// must not stand in for those of another instance.
    pub(super) fn run_in(&mut self, is_running: impl Fn(usize) -> bool, visible_gpus: u32) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let ran = is_running(index);
            (slot.gpus, slot.instances) = if ran { (visible_gpus, 1) } else { (0, 0) };
        }
        self.clamp_maxima();
    }

    pub(super) fn clamp_maxima(&mut self) {
        for slot in &mut self.slots {
            slot.maxima = slot.maxima.min(slot.gpus);
        }
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
