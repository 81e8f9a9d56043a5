//! Runs of `gpucost profile` on instances, and what a workload is judged by when
//! runs are all there is.

use super::{
    GpuOffer, GpuUsage, Instance, InstanceId, InstanceUsage, Points, Series, Signal, Timeline,
    Window,
};
use jiff::Timestamp;

/// Samples of a run, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Those that reported at least half of the GPUs, or of the one in question.
    pub reported: u64,
    /// Those that were taken.
    pub taken: u64,
    /// Those that were due and not taken.
    pub missed: u64,
}

impl SampleCounts {
    /// Those that were due.
    pub fn due(self) -> u64 {
        self.taken.saturating_add(self.missed)
    }

    /// Share of those that were due that reported, 0–1; 0 where none was due.
    pub fn coverage(self) -> f64 {
        if self.due() == 0 {
            0.0
        } else {
            self.reported as f64 / self.due() as f64
        }
    }
}

/// One run of the sampler on one instance. Its GPU readings are series of the
/// source `profile`; this is what they do not tell.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfiledRun {
    /// The instance.
    pub instance: InstanceId,
    /// When sampling began.
    pub start: Timestamp,
    /// When it ended: of a run that was cut short, the last sample.
    pub end: Timestamp,
    /// Whether it covers a command from its start to its success.
    pub covers_a_command: bool,
    /// Its samples inside the window; absent where a recording does not tell.
    pub samples: Option<SampleCounts>,
    /// Mean over its samples of the mean over all GPUs, percent; absent when it has
    /// no utilization.
    pub gpu_mean_percent: Option<f64>,
    /// 95th percentile of the host's CPU, percent.
    pub cpu_p95_percent: Option<f64>,
    /// 95th percentile of the host's memory in use.
    pub memory_p95_mib: Option<f64>,
}

impl ProfiledRun {
    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.end.duration_since(self.start).as_secs_f64().max(0.0)
    }

    /// Whether a window holds it. The last period may still be running when an
    /// audit reads, so that a run may end inside it.
    pub fn is_inside(&self, window: Window, period_seconds: u32) -> bool {
        let last_second = window.end.as_second() + i64::from(period_seconds);
        self.start >= window.start && self.start < window.end && self.end.as_second() < last_second
    }

    /// The periods of a grid that it touches, as first and last. Its end is not part
    /// of it.
    fn periods(&self, window: Window, period_seconds: u32) -> (u32, u32) {
        let index = |second: i64| {
            let last = (window.seconds() - 1).max(0);
            let offset = (second - window.start.as_second()).clamp(0, last);
            u32::try_from(offset / i64::from(period_seconds.max(1))).unwrap_or(u32::MAX)
        };
        let start = self.start.as_second();
        let end = self.end.as_second() - i64::from(self.end.subsec_nanosecond() == 0);
        (index(start), index(end.max(start)))
    }
}

/// What profiled runs are good for where series alone give no verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileBasis {
    /// Every instance has a run that covers a complete command: the workload is
    /// judged over these.
    Judged {
        /// How many.
        runs: u32,
        /// Their hours together.
        hours: f64,
    },
    /// There are runs, and they are not enough for this reason.
    NotEnough(String),
}

impl ProfileBasis {
    /// The runs that a verdict rests on, such as `one run of 2.4 h`.
    pub fn in_words(&self) -> Option<String> {
        let Self::Judged { runs, hours } = self else {
            return None;
        };
        let length = if *hours >= 1.0 {
            format!("{hours:.1} h")
        } else if *hours * 60.0 >= 1.0 {
            format!("{:.0} min", hours * 60.0)
        } else {
            format!("{:.0} s", hours * 3600.0)
        };
        Some(if *runs == 1 {
            format!("one run of {length}")
        } else {
            format!("{runs} runs, {length} in total")
        })
    }
}

impl InstanceUsage {
    /// The same instance with the GPU readings of profiled runs in place of its
    /// own. When it ran, and so what it costs, stays as it was: a run never
    /// proves a running time.
    pub fn by_profile(
        &self,
        timeline: &Timeline,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        series: &[&Series],
    ) -> (Self, Timeline) {
        let (window, period) = (timeline.window, timeline.period_seconds);
        let (profiled, mut found) = Self::measure(instance, offer, series, window, period);
        found.run_as(timeline);
        (self.with_gpus_of(profiled, &found), found)
    }

    /// The same instance over some of its profiled runs alone. Figures of a GPU
    /// that were larger at another time stay as large: what it once needed, it
    /// may need again.
    pub fn over_runs(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        series: &[&Series],
        runs: &[&ProfiledRun],
        (window, period_seconds): (Window, u32),
    ) -> (Self, Timeline) {
        let spans: Vec<(u32, u32)> = runs
            .iter()
            .map(|run| run.periods(window, period_seconds))
            .collect();
        let is_of_run = |index: u32| {
            spans
                .iter()
                .any(|(from, to)| (*from..=*to).contains(&index))
        };
        let kept: Vec<Series> = series
            .iter()
            .map(|one| Series {
                points: one.points.kept(is_of_run),
                ..(*one).clone()
            })
            .collect();
        let kept: Vec<&Series> = kept.iter().collect();
        let (profiled, mut timeline) =
            Self::measure(instance, offer, &kept, window, period_seconds);
        let visible = offer.map_or(profiled.gpus.len().max(1) as u32, |offer| {
            u32::from(offer.share.visible_devices())
        });
        timeline.run_in(is_of_run, visible);
        let whole = Self::measure(instance, offer, series, window, period_seconds).0;
        let mut found = self.with_gpus_of(profiled, &timeline);
        let expected = timeline.ran().filter(|ran| *ran).count() as u64;
        found.expect_samples(expected);
        found.keep_larger(&whole.gpus);
        (found, timeline)
    }

    fn with_gpus_of(&self, profiled: Self, timeline: &Timeline) -> Self {
        let signal = profiled.signal;
        let mut found = Self {
            signal,
            summary: signal.and_then(|(signal, source)| timeline.summary(signal, source)),
            gpus: profiled.gpus,
            joined_by_hostname: self.joined_by_hostname || profiled.joined_by_hostname,
            rejected: self.rejected.plus(profiled.rejected),
            ..self.clone()
        };
        found.keep_larger(&self.gpus);
        found
    }

    /// Says how many samples of each GPU its runs should have brought.
    fn expect_samples(&mut self, expected: u64) {
        for gpu in &mut self.gpus {
            gpu.samples.expected = expected;
            if let Some(maxima) = &mut gpu.maxima {
                maxima.samples.expected = expected;
            }
            if let Some(vram) = &mut gpu.vram {
                vram.samples.expected = expected;
            }
        }
    }

    /// Takes the larger peak of memory, and the activity of a GPU that these
    /// figures did not see working.
    fn keep_larger(&mut self, others: &[GpuUsage]) {
        for other in others {
            let Some(gpu) = self.gpus.iter_mut().find(|gpu| gpu.index == other.index) else {
                self.gpus.push(other.clone());
                self.gpus.sort_by_key(|gpu| gpu.index);
                continue;
            };
            if let (Some(mine), Some(theirs)) = (&mut gpu.vram, other.vram) {
                mine.peak_mib = mine.peak_mib.max(theirs.peak_mib);
            } else if gpu.vram.is_none() {
                gpu.vram = other.vram;
            }
            if gpu.is_active() != Some(true) && other.is_active() == Some(true) {
                gpu.utilization = other.utilization;
                gpu.samples = other.samples;
                gpu.demand_peak = other.demand_peak;
                gpu.maxima = other.maxima;
            }
            let sessions = [gpu.encoder_sessions_max, other.encoder_sessions_max];
            gpu.encoder_sessions_max = sessions.into_iter().flatten().reduce(f64::max);
        }
    }

    /// Whether each of the GPUs of a type delivered its utilization in half of the
    /// periods of a timeline in which the instance ran.
    pub fn sees_every_gpu(&self, visible_gpus: usize, timeline: &Timeline) -> bool {
        let expected = timeline.ran().filter(|ran| *ran).count() as u64;
        let seen = self.gpus.iter().filter(|gpu| {
            gpu.utilization.is_some() && gpu.samples.count > 0 && gpu.samples.count * 2 >= expected
        });
        self.signal
            .is_some_and(|(signal, _)| signal == Signal::GpuUtilization)
            && seen.count() >= visible_gpus.max(1)
    }
}

impl Timeline {
    /// Takes over when another timeline ran.
    fn run_as(&mut self, other: &Self) {
        self.running_gpus.clone_from(&other.running_gpus);
        self.running_instances.clone_from(&other.running_instances);
        self.clamp_maxima();
    }

    /// Ran in some periods and in no other.
    fn run_in(&mut self, is_running: impl Fn(u32) -> bool, visible_gpus: u32) {
        let gpus = self.running_gpus.iter_mut();
        for (index, (gpus, instances)) in (0..).zip(gpus.zip(&mut self.running_instances)) {
            let ran = is_running(index);
            *gpus = if ran { visible_gpus } else { 0 };
            *instances = u32::from(ran);
        }
        self.clamp_maxima();
    }

    fn clamp_maxima(&mut self) {
        for (slot, running) in self.slots.iter_mut().zip(&self.running_gpus) {
            slot.maxima = slot.maxima.min(*running);
        }
    }
}

impl Points {
    /// The points whose place on the grid passes a test.
    fn kept(&self, passes: impl Fn(u32) -> bool) -> Self {
        let grid = Window {
            start: self.start(),
            end: self.start(),
        };
        let mut kept = Self::empty(grid, self.period_seconds());
        for (index, value) in self.iter().filter(|(index, _)| passes(*index)) {
            kept.push(index, value as f32);
        }
        kept
    }
}
