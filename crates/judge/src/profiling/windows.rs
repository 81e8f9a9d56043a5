//! A run cut into a bounded number of windows of equal length, with sums in each.

use crate::domain::{
    ACTIVE_PERCENT, Activity, GpuIdentity, GpuReading, HostReading, Sample, ThrottleReasons,
};

/// Windows that are kept at most. When there are more, neighbours merge and every
/// window doubles its length.
pub(super) const MOST_WINDOWS: usize = 256;
/// Readings without which nothing is said about a GPU.
pub(super) const FEWEST_READINGS: u32 = 5;
/// Utilization below which a window counts as one without work, percent.
pub(super) const IDLE_BELOW_PERCENT: f64 = 5.0;
/// Utilization below which a reading is a low one of an alternation, percent.
pub(super) const LOW_BELOW_PERCENT: f64 = 10.0;
/// Utilization above which a reading is a high one of an alternation, percent.
pub(super) const HIGH_ABOVE_PERCENT: f64 = 70.0;

/// A mean that can be merged with others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Mean {
    sum: f64,
    pub(super) count: u32,
}

impl Mean {
    pub(super) fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += value;
            self.count = self.count.saturating_add(1);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count = self.count.saturating_add(other.count);
    }

    pub(super) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// The mean, of as many values as a diagnosis needs.
    pub(super) fn of_enough(&self) -> Option<f64> {
        self.value().filter(|_| self.count >= FEWEST_READINGS)
    }
}

/// How often readings were low, high and nothing at all, and how often they went
/// from low to high.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Swings {
    pub(super) readings: u32,
    pub(super) idle: u32,
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) rises: u32,
}

impl Swings {
    fn merge(&mut self, other: &Self) {
        self.readings = self.readings.saturating_add(other.readings);
        self.idle = self.idle.saturating_add(other.idle);
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
        self.rises = self.rises.saturating_add(other.rises);
    }

    /// Counts a reading; `was_low` carries from one to the next whether the last
    /// extreme was a low one.
    fn add(&mut self, percent: f64, was_low: &mut bool) {
        self.readings = self.readings.saturating_add(1);
        self.idle += u32::from(percent < ACTIVE_PERCENT);
        if percent < LOW_BELOW_PERCENT {
            self.low += 1;
            *was_low = true;
        } else if percent > HIGH_ABOVE_PERCENT {
            self.high += 1;
            self.rises += u32::from(*was_low);
            *was_low = false;
        }
    }

    /// A part of the readings, in percent; `None` without any.
    pub(super) fn share_percent(&self, part: u32) -> Option<f64> {
        (self.readings > 0).then(|| f64::from(part) / f64::from(self.readings) * 100.0)
    }
}

/// Means over a window by their names, each with what a reading adds to it, and what is summed up
/// beside them.
macro_rules! sums {
    ($($(#[$doc:meta])* $window:ident($($of:ident: $given:ty),*) $(with $beside:ident: $type:ty)? {
        $($(#[$about:meta])* $mean:ident = $value:expr;)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub(super) struct $window {
            $(pub(super) $beside: $type,)?
            $($(#[$about])* pub(super) $mean: Mean,)*
        }

        impl $window {
            pub(super) fn merge(&mut self, other: &Self) {
                $(self.$beside.merge(&other.$beside);)?
                $(self.$mean.merge(&other.$mean);)*
            }

            fn add(&mut self, $($of: $given),*) {
                $(self.$mean.add($value);)*
            }
        }
    )*};
}
sums! {
    /// Sums of one GPU or MIG instance over a window.
    GpuWindow(reading: &GpuReading, activity: &Activity, sample: &SampleFigures) with swings: Swings {
        busy = sample.busy_percent;
        memory_utilization = reading.memory_utilization_percent;
        vram_mib = reading.vram_used_mib;
        power_w = sample.power_w;
        /// 100 where the power cap held the clocks, else 0.
        power_capped = reading.throttle.map(|reasons| if reasons.has(ThrottleReasons::SW_POWER_CAP) { 100.0 } else { 0.0 });
        sm = activity.sm_percent;
        occupancy = activity.occupancy_percent;
        tensor = activity.tensor_percent;
        dram = activity.dram_percent;
        /// The busier direction.
        pcie_bytes_per_second = busier_direction(reading, activity);
    }

    /// Sums of the host over a window.
    HostWindow(reading: &HostReading) {
        cpu = reading.cpu_percent;
        busiest_core = reading.busiest_core_percent;
        io_wait = reading.io_wait_percent;
        io_pressure = reading.io_pressure_percent;
    }
}

/// The larger of what went out and came in over PCIe.
fn busier_direction(reading: &GpuReading, activity: &Activity) -> Option<f64> {
    let sent = activity.pcie_sent_bytes_per_second.or(reading.pcie_sent_bytes_per_second);
    let received =
        activity.pcie_received_bytes_per_second.or(reading.pcie_received_bytes_per_second);
    [sent, received].into_iter().flatten().max_by(f64::total_cmp)
}

/// Figures of one sample that are not in the reading as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SampleFigures {
    /// Share of the time since the last sample in which the GPU or slice worked.
    pub(super) busy_percent: Option<f64>,
    /// Mean power since the last sample, in watts.
    pub(super) power_w: Option<f64>,
}

/// Whether a GPU or slice has utilization at all: one in MIG mode has none, and
/// neither have its slices.
pub(super) fn has_utilization(identity: &GpuIdentity) -> bool {
    identity.mig.is_none() && identity.is_mig_enabled != Some(true)
}

/// Share of the time since the last sample in which it worked: of the driver's own
/// samples where there are any, else its reading, else the engine's counter,
/// which is all that a MIG instance has.
pub(super) fn busy(identity: &GpuIdentity, reading: &GpuReading) -> Option<f64> {
    let counted = || reading.activity?.graphics_percent;
    if !has_utilization(identity) {
        return counted();
    }
    let mut fine = Mean::default();
    for sample in &reading.fine {
        fine.add(Some(sample.utilization_percent));
    }
    fine.value().or(reading.utilization_percent).or_else(counted)
}

/// One window: a multiple of the common length. Windows without a sample are not
/// kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    number: u64,
    pub(super) gpus: Box<[GpuWindow]>,
    pub(super) host: HostWindow,
}

impl Window {
    fn merge(&mut self, other: &Self) {
        for (own, others) in self.gpus.iter_mut().zip(&other.gpus) {
            own.merge(others);
        }
        self.host.merge(&other.host);
    }
}

/// The windows of a run so far, by time.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    pub(super) length_seconds: f64,
    /// By time.
    pub(super) list: Vec<Window>,
    was_low: Box<[bool]>,
}

impl Windows {
    /// No windows yet, of as many GPUs. A window is never shorter than the
    /// interval, so that none but gaps is empty.
    pub(super) fn new(gpus: usize, interval_seconds: Option<f64>) -> Self {
        Self {
            length_seconds: interval_seconds.unwrap_or(1.0).max(1.0),
            list: Vec::new(),
            was_low: vec![false; gpus].into(),
        }
    }

    /// Adds a sample, with the figures of each GPU that answered.
    pub(super) fn add(&mut self, sample: &Sample, samples: &[SampleFigures]) {
        let number = (sample.at_seconds.max(0.0) / self.length_seconds) as u64;
        if self.list.last().is_none_or(|last| last.number < number) {
            self.list.push(Window {
                number,
                gpus: vec![GpuWindow::default(); self.was_low.len()].into(),
                host: HostWindow::default(),
            });
        }
        let Some(window) = self.list.last_mut() else { return };
        window.host.add(&sample.host);
        let rows = window.gpus.iter_mut().zip(&mut self.was_low);
        for ((own, was_low), (gpu, sample)) in rows.zip(sample.gpus.iter().zip(samples)) {
            let Some(reading) = gpu.reading() else { continue };
            own.add(reading, &reading.activity.unwrap_or_default(), sample);
            let by_sample = sample.busy_percent.filter(|_| reading.fine.is_empty());
            let fine = reading.fine.iter().map(|sample| sample.utilization_percent);
            for percent in by_sample.into_iter().chain(fine) {
                own.swings.add(percent, was_low);
            }
        }
        while self.list.len() > MOST_WINDOWS {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.length_seconds *= 2.0;
        for window in &mut self.list {
            window.number /= 2;
        }
        self.list.dedup_by(|later, earlier| {
            let same = later.number == earlier.number;
            if same {
                earlier.merge(later);
            }
            same
        });
    }

    /// When a window begins, in seconds of the run.
    pub(super) fn begin_seconds(&self, window: &Window) -> f64 {
        window.number as f64 * self.length_seconds
    }

    pub(super) fn size_bytes(&self) -> usize {
        let of_one = size_of::<Window>() + self.was_low.len() * size_of::<GpuWindow>();
        self.list.len() * of_one
    }
}
