//! Figures of the host and of a GPU over a run, in constant memory. Power is averaged from the
//! energy counter where there is one, else from readings weighted with the time that each stands
//! for.

use super::alerts::Moment;
use super::signals::part;
use crate::domain::{GpuIdentity, GpuReading, HostReading, named_enum};
use crate::usage::{Figures, Range, Scale, Sketch, Sum, Tally};

named_enum! {
    /// What average power was made from.
    PowerBasis {
        /// The energy counter: what was drawn, all of it.
        EnergyCounter = "energy-counter",
        /// Readings, weighted with the time that each stands for.
        Readings = "readings",
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerFigures {
    pub mean_w: f64,
    /// Largest reading in watts; absent where only the counter was read.
    pub max_w: Option<f64>,
    /// Drawn in the time that was covered, in joules; absent when that is none.
    pub energy_j: Option<f64>,
    /// Seconds behind mean and energy.
    pub seconds: f64,
    /// What they were made from.
    pub basis: PowerBasis,
    /// Mean as a share of the limit out of the factory, else of the one in force;
    /// absent when neither is known.
    pub mean_percent: Option<f64>,
}

/// Figures of a host by their names in readings: those with percentiles, each with its scale, and
/// those of which mean and range are enough.
macro_rules! host_figures {
    (
        sketches { $($(#[$sketch_doc:meta])* $sketch:ident($scale:ident);)* }
        tallies { $($(#[$tally_doc:meta])* $tally:ident;)* }
    ) => {
        /// The host over the run. Absent is what it did not report.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct HostProfile {
            /// Logical CPUs.
            pub cores: Option<u32>,
            pub memory_total_mib: Option<f64>,
            $($(#[$sketch_doc])* pub $sketch: Option<Figures>,)*
            $($(#[$tally_doc])* pub $tally: Option<Range>,)*
        }

        #[derive(Debug, Clone)]
        pub(super) struct HostSoFar {
            cores: Option<u32>,
            memory_total_mib: Option<f64>,
            $($sketch: Sketch,)*
            $($tally: Tally,)*
        }

        impl HostSoFar {
            pub(super) fn new() -> Self {
                Self {
                    cores: None,
                    memory_total_mib: None,
                    $($sketch: Sketch::new(Scale::$scale),)*
                    $($tally: Tally::default(),)*
                }
            }

            pub(super) fn add(&mut self, reading: &HostReading) {
                self.cores = reading.cores.or(self.cores);
                self.memory_total_mib = reading.memory_total_mib.or(self.memory_total_mib);
                $(self.$sketch.add(reading.$sketch);)*
                $(self.$tally.add(reading.$tally);)*
            }

            /// The figures so far.
            pub(super) fn profile(&self) -> HostProfile {
                HostProfile {
                    cores: self.cores,
                    memory_total_mib: self.memory_total_mib,
                    $($sketch: self.$sketch.figures(),)*
                    $($tally: self.$tally.range(),)*
                }
            }

            pub(super) fn size_bytes(&self) -> usize {
                size_of::<Self>() $(+ self.$sketch.size_bytes())*
            }
        }
    };
}

host_figures! {
    sketches {
        /// Mean over all CPUs of the time that they worked.
        cpu_percent(Percent);
        /// The busiest CPU of each sample.
        busiest_core_percent(Percent);
        /// Memory in use; `max` is the peak.
        memory_used_mib(Mebibytes);
    }
    tallies {
        /// Time that a CPU waited for a disk.
        io_wait_percent;
        /// Time that some task waited for a CPU.
        cpu_pressure_percent;
        /// Time that some task waited for a disk.
        io_pressure_percent;
        /// Time that some task waited for memory.
        memory_pressure_percent;
        network_received_bytes_per_second;
        network_sent_bytes_per_second;
        disk_read_bytes_per_second;
        disk_written_bytes_per_second;
    }
}

/// Metrics by their names, each with where its value is.
macro_rules! tallies {
    (|$reading:ident, $activity:ident| $($(#[$doc:meta])* $tally:ident = $value:expr;)*) => {
        /// Mean and range of metrics of a GPU over the run; absent is what the driver did not
        /// report.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct GpuRanges { $($(#[$doc])* pub $tally: Option<Range>,)* }

        /// Mean and range of each so far.
        #[derive(Debug, Clone, Default)]
        pub(super) struct Tallies { $(pub(super) $tally: Tally,)* }

        impl Tallies {
            pub(super) fn add(&mut self, $reading: &GpuReading) {
                let $activity = $reading.activity.unwrap_or_default();
                $(self.$tally.add($value);)*
            }

            pub(super) fn ranges(&self) -> GpuRanges {
                GpuRanges { $($tally: self.$tally.range(),)* }
            }
        }
    };
}
tallies! {
    |reading, activity|
    /// Share of time that memory was read or written.
    memory_utilization_percent = reading.memory_utilization_percent;
    temperature_c = reading.temperature_c;
    /// Clock of the multiprocessors.
    sm_clock_mhz = reading.sm_clock_mhz;
    memory_clock_mhz = reading.memory_clock_mhz;
    pcie_sent_bytes_per_second = activity.pcie_sent_bytes_per_second.or(reading.pcie_sent_bytes_per_second);
    /// Received over PCIe.
    pcie_received_bytes_per_second = activity.pcie_received_bytes_per_second.or(reading.pcie_received_bytes_per_second);
    /// Share of time that the video encoder worked.
    encoder_percent = reading.encoder_percent;
    /// Share of time that the video decoder worked.
    decoder_percent = reading.decoder_percent;
    /// Time that the graphics or compute engine was busy, as this and the next ones are counted
    /// by the multiprocessors of newer models.
    graphics_percent = activity.graphics_percent;
    /// Time that a multiprocessor had at least one warp.
    sm_percent = activity.sm_percent;
    /// Resident warps, of those that fit.
    occupancy_percent = activity.occupancy_percent;
    /// Time that the tensor pipe was busy.
    tensor_percent = activity.tensor_percent;
    /// Time that the memory moved data.
    dram_percent = activity.dram_percent;
    nvlink_sent_bytes_per_second = activity.nvlink_sent_bytes_per_second;
    nvlink_received_bytes_per_second = activity.nvlink_received_bytes_per_second;
}

/// Seconds from which an energy counter says more than readings do (own).
const SHORTEST_COUNT_SECONDS: f64 = 1.0;

/// Power of one GPU so far.
#[derive(Debug, Clone, Default)]
pub(super) struct PowerMeter {
    /// Time and energy counter of the last sample that reported it.
    last_energy: Option<(f64, f64)>,
    counted_j: Sum,
    counted_seconds: f64,
    read_j: Sum,
    read_seconds: f64,
    readings: Tally,
    /// Readings so far for which it is not known yet how long one counts.
    waiting: Tally,
    usual_seconds: Option<f64>,
}

impl PowerMeter {
    /// Adds a reading; gives the mean power since the last one, where it is known.
    pub(super) fn add(&mut self, moment: Moment, reading: &GpuReading) -> Option<f64> {
        let counted = self.count(moment.at_seconds, reading.energy_j);
        if let Some(watts) = reading.power_w.filter(|watts| watts.is_finite()) {
            self.readings.add(Some(watts));
            self.usual_seconds = moment.covered_seconds.or(self.usual_seconds);
            match self.usual_seconds {
                Some(seconds) => self.hold(watts, seconds),
                None => self.waiting.add(Some(watts)),
            }
        }
        counted.or(reading.power_w)
    }

    fn hold(&mut self, watts: f64, seconds: f64) {
        if let Some(mean) = self.waiting.mean() {
            let waited = self.waiting.count() as f64 * seconds;
            self.read_j.add(mean * waited);
            self.read_seconds += waited;
            self.waiting = Tally::default();
        }
        self.read_j.add(watts * seconds);
        self.read_seconds += seconds;
    }

    /// Mean power by the counter since it was last read; nothing across a reset,
    /// which a new load of the driver makes.
    fn count(&mut self, at_seconds: f64, energy_j: Option<f64>) -> Option<f64> {
        let energy_j = energy_j.filter(|energy_j| energy_j.is_finite())?;
        let (last_at, last_j) = self.last_energy.replace((at_seconds, energy_j))?;
        let (seconds, joules) = (at_seconds - last_at, energy_j - last_j);
        if seconds <= 0.0 || joules < 0.0 {
            return None;
        }
        self.counted_j.add(joules);
        self.counted_seconds += seconds;
        Some(joules / seconds)
    }

    /// The figures; the counter counts unless it was there for less than half of
    /// the time, or for too short: drivers move it on in steps. Readings stand for no more than
    /// the run took, although there is one at either end of it.
    pub(super) fn figures(
        &self,
        identity: &GpuIdentity,
        elapsed_seconds: f64,
    ) -> Option<PowerFigures> {
        let is_counted = self.counted_seconds >= SHORTEST_COUNT_SECONDS
            && self.counted_seconds * 2.0 >= self.read_seconds;
        let mean = |joules: f64, seconds: f64| (seconds > 0.0).then(|| joules / seconds);
        let (mean_w, seconds, basis) = if is_counted {
            let mean = mean(self.counted_j.value(), self.counted_seconds);
            (mean, self.counted_seconds, PowerBasis::EnergyCounter)
        } else {
            let mean = mean(self.read_j.value(), self.read_seconds);
            (mean, self.read_seconds.min(elapsed_seconds), PowerBasis::Readings)
        };
        let energy_j = match basis {
            PowerBasis::EnergyCounter => Some(self.counted_j.value()),
            PowerBasis::Readings => mean_w.map(|watts| watts * seconds),
        };
        let mean_w = mean_w.or_else(|| self.readings.mean())?;
        let limit = identity.power_default_limit_w.or(identity.power_limit_w);
        Some(PowerFigures {
            mean_w,
            max_w: self.readings.range().map(|range| range.max),
            energy_j,
            seconds,
            basis,
            mean_percent: part(Some(mean_w), limit),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::gpu;
    use super::*;

    /// Time, time covered, power and energy counter.
    type MeterReading = (f64, Option<f64>, Option<f64>, Option<f64>);

    /// A run that took longer than its readings.
    const LONG: f64 = 1_000.0;

    fn meter(samples: &[MeterReading]) -> PowerMeter {
        let mut meter = PowerMeter::default();
        for (at_seconds, covered_seconds, power_w, energy_j) in samples {
            let moment = Moment { at_seconds: *at_seconds, covered_seconds: *covered_seconds };
            let reading =
                GpuReading { power_w: *power_w, energy_j: *energy_j, ..GpuReading::default() };
            meter.add(moment, &reading);
        }
        meter
    }

    #[test]
    fn the_counter_tells_what_readings_miss() {
        // 100 W at every sample, and 200 W in truth: 400 J in 2 s.
        let meter = meter(&[
            (0.0, None, Some(100.0), Some(5_000.0)),
            (1.0, Some(1.0), Some(100.0), Some(5_250.0)),
            (2.0, Some(1.0), Some(100.0), Some(5_400.0)),
        ]);
        let figures = meter.figures(&gpu(0), LONG).expect("it was read");
        assert_eq!(figures.basis, PowerBasis::EnergyCounter);
        assert_eq!((figures.mean_w, figures.energy_j), (200.0, Some(400.0)));
        assert_eq!((figures.max_w, figures.seconds), (Some(100.0), 2.0));
        assert!((figures.mean_percent.expect("a limit is known") - 200.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_counter_that_begins_anew_loses_one_interval_and_not_the_mean() {
        let meter = meter(&[
            (0.0, None, None, Some(9_000.0)),
            (1.0, Some(1.0), None, Some(9_100.0)),
            (2.0, Some(1.0), None, Some(30.0)),
            (3.0, Some(1.0), None, Some(230.0)),
        ]);
        let figures = meter.figures(&gpu(0), LONG).expect("it was read");
        assert_eq!((figures.mean_w, figures.seconds), (150.0, 2.0));
        assert_eq!(figures.max_w, None);
    }

    #[test]
    fn the_counter_covers_a_gap_without_samples() {
        let meter = meter(&[
            (0.0, None, Some(50.0), Some(0.0)),
            (1.0, Some(1.0), Some(50.0), Some(50.0)),
            (101.0, None, Some(50.0), Some(30_050.0)),
        ]);
        let figures = meter.figures(&gpu(0), LONG).expect("it was read");
        assert_eq!((figures.energy_j, figures.seconds), (Some(30_050.0), 101.0));
    }

    #[test]
    fn readings_count_by_the_time_they_stand_for() {
        // The first stands for as long as the second: (100 + 100 + 3 × 300) / 5.
        let meter = meter(&[
            (0.0, None, Some(100.0), None),
            (1.0, Some(1.0), Some(100.0), None),
            (4.0, Some(3.0), Some(300.0), None),
        ]);
        // A run that goes on for a second after the last one, or ends with it: 4 × 220.
        for (elapsed_seconds, joules) in [(5.0, 1_100.0), (4.0, 880.0)] {
            let figures = meter.figures(&gpu(0), elapsed_seconds);
            let figures = figures.expect("it was read");
            assert_eq!(figures.basis, PowerBasis::Readings);
            assert_eq!((figures.mean_w, figures.energy_j), (220.0, Some(joules)));
            assert_eq!(figures.seconds, elapsed_seconds);
        }
    }

    #[test]
    fn one_reading_is_a_power_and_no_energy() {
        let figures =
            meter(&[(0.0, None, Some(75.0), None)]).figures(&gpu(0), LONG).expect("it was read");
        assert_eq!((figures.mean_w, figures.energy_j), (75.0, None));
        assert_eq!(meter(&[(0.0, None, None, None)]).figures(&gpu(0), LONG), None);
        assert_eq!(meter(&[(0.0, None, None, Some(5.0))]).figures(&gpu(0), LONG), None);
    }
}
