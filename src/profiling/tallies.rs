//! Metrics of a GPU of which mean and range are enough.

use crate::domain::GpuReading;
use crate::usage::{Range, Tally};

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
