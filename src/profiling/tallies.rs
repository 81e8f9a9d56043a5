//! Metrics of a GPU of which mean and range are enough.

use super::ActivityFigures;
use crate::domain::{Activity, GpuReading};
use crate::usage::Tally;

/// Tallies of counters by their names, and those of readings, each with where its value is.
macro_rules! tallies {
    ($reading:ident, $activity:ident [$($counter:ident)*] $($tally:ident = $value:expr;)*) => {
        /// Mean and range of each so far.
        #[derive(Debug, Clone, Default)]
        pub(super) struct Tallies {
            $(pub(super) $tally: Tally,)*
            $($counter: Tally,)*
        }

        impl Tallies {
            pub(super) fn add(&mut self, $reading: &GpuReading) {
                let $activity: Activity = $reading.activity.unwrap_or_default();
                $(self.$tally.add($value);)*
                $(self.$counter.add($activity.$counter);)*
            }

            pub(super) fn activity(&self) -> ActivityFigures {
                ActivityFigures { $($counter: self.$counter.range()),* }
            }
        }
    };
}
tallies! {
    reading, activity [
        graphics_percent sm_percent occupancy_percent tensor_percent dram_percent
        nvlink_sent_bytes_per_second nvlink_received_bytes_per_second
    ]
    memory_utilization = reading.memory_utilization_percent;
    temperature = reading.temperature_c;
    sm_clock = reading.sm_clock_mhz;
    memory_clock = reading.memory_clock_mhz;
    pcie_sent = activity.pcie_sent_bytes_per_second.or(reading.pcie_sent_bytes_per_second);
    pcie_received = activity.pcie_received_bytes_per_second.or(reading.pcie_received_bytes_per_second);
    encoder = reading.encoder_percent;
    decoder = reading.decoder_percent;
}
