//! Metrics of a GPU of which mean and range are enough.

use super::ActivityFigures;
use crate::domain::GpuReading;
use crate::usage::Tally;

/// Mean and range of each so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Tallies {
    pub(super) memory_utilization: Tally,
    pub(super) temperature: Tally,
    pub(super) sm_clock: Tally,
    pub(super) memory_clock: Tally,
    pub(super) pcie_sent: Tally,
    pub(super) pcie_received: Tally,
    pub(super) encoder: Tally,
    pub(super) decoder: Tally,
    pub(super) graphics: Tally,
    pub(super) sm: Tally,
    pub(super) occupancy: Tally,
    pub(super) tensor: Tally,
    pub(super) dram: Tally,
    pub(super) nvlink_sent: Tally,
    pub(super) nvlink_received: Tally,
}

impl Tallies {
    pub(super) fn add(&mut self, reading: &GpuReading) {
        let activity = reading.activity.unwrap_or_default();
        for (tally, value) in [
            (&mut self.memory_utilization, reading.memory_utilization_percent),
            (&mut self.temperature, reading.temperature_c),
            (&mut self.sm_clock, reading.sm_clock_mhz),
            (&mut self.memory_clock, reading.memory_clock_mhz),
            (
                &mut self.pcie_sent,
                activity.pcie_sent_bytes_per_second.or(reading.pcie_sent_bytes_per_second),
            ),
            (
                &mut self.pcie_received,
                activity.pcie_received_bytes_per_second.or(reading.pcie_received_bytes_per_second),
            ),
            (&mut self.encoder, reading.encoder_percent),
            (&mut self.decoder, reading.decoder_percent),
            (&mut self.graphics, activity.graphics_percent),
            (&mut self.sm, activity.sm_percent),
            (&mut self.occupancy, activity.occupancy_percent),
            (&mut self.tensor, activity.tensor_percent),
            (&mut self.dram, activity.dram_percent),
            (&mut self.nvlink_sent, activity.nvlink_sent_bytes_per_second),
            (&mut self.nvlink_received, activity.nvlink_received_bytes_per_second),
        ] {
            tally.add(value);
        }
    }

    pub(super) fn activity(&self) -> ActivityFigures {
        ActivityFigures {
            graphics_percent: self.graphics.range(),
            sm_percent: self.sm.range(),
            occupancy_percent: self.occupancy.range(),
            tensor_percent: self.tensor.range(),
            dram_percent: self.dram.range(),
            nvlink_sent_bytes_per_second: self.nvlink_sent.range(),
            nvlink_received_bytes_per_second: self.nvlink_received.range(),
        }
    }
}
