//! What no sample of a whole file told: absent, which is not zero.

use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, GpuIdentity, GpuLabel, GpuReading, GpuSample, Sample,
};

/// A figure of a GPU that a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sources::files) enum Told {
    Utilization,
    MemoryUtilization,
    VramUsed,
    VramTotal,
    Power,
    PowerLimit,
    Energy,
    Temperature,
    SmClock,
    MemoryClock,
    Throttle,
    Pcie,
    Encoder,
    Decoder,
    Processes,
    Activity,
}

impl Told {
    const ALL: [Self; 16] = [
        Self::Utilization,
        Self::MemoryUtilization,
        Self::VramUsed,
        Self::VramTotal,
        Self::Power,
        Self::PowerLimit,
        Self::Energy,
        Self::Temperature,
        Self::SmClock,
        Self::MemoryClock,
        Self::Throttle,
        Self::Pcie,
        Self::Encoder,
        Self::Decoder,
        Self::Processes,
        Self::Activity,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::Utilization => "utilization",
            Self::MemoryUtilization => "memory utilization",
            Self::VramUsed => "memory in use",
            Self::VramTotal => "memory",
            Self::Power => "power",
            Self::PowerLimit => "power limit",
            Self::Energy => "energy",
            Self::Temperature => "temperature",
            Self::SmClock => "SM clock",
            Self::MemoryClock => "memory clock",
            Self::Throttle => "throttle reasons",
            Self::Pcie => "PCIe throughput",
            Self::Encoder => "video encoder",
            Self::Decoder => "video decoder",
            Self::Processes => "processes",
            Self::Activity => "multiprocessor counters (GPM)",
        }
    }

    fn is_in(self, reading: &GpuReading) -> bool {
        match self {
            Self::Utilization => reading.utilization_percent.is_some() || !reading.fine.is_empty(),
            Self::MemoryUtilization => reading.memory_utilization_percent.is_some(),
            Self::VramUsed => reading.vram_used_mib.is_some(),
            Self::VramTotal => reading.vram_total_mib.is_some(),
            Self::Power => reading.power_w.is_some(),
            Self::Energy => reading.energy_j.is_some(),
            Self::Temperature => reading.temperature_c.is_some(),
            Self::SmClock => reading.sm_clock_mhz.is_some(),
            Self::MemoryClock => reading.memory_clock_mhz.is_some(),
            Self::Throttle => reading.throttle.is_some(),
            Self::Pcie => reading.pcie_sent_bytes_per_second.is_some(),
            Self::Encoder => reading.encoder_percent.is_some(),
            Self::Decoder => reading.decoder_percent.is_some(),
            Self::Processes => reading.processes.is_some(),
            Self::Activity => reading.activity.is_some(),
            Self::PowerLimit => false,
        }
    }

    fn is_of(self, gpu: &GpuIdentity) -> bool {
        match self {
            Self::VramTotal => gpu.vram_total_mib.is_some(),
            Self::PowerLimit => gpu.power_limit_w.is_some() || gpu.power_default_limit_w.is_some(),
            _ => false,
        }
    }
}

/// What the samples of a file told so far, by GPU.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// For each GPU that answered, whether each figure was ever told.
    rows: Vec<Option<[bool; Told::ALL.len()]>>,
}

impl Unread {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.rows.resize(self.rows.len().max(sample.gpus.len()), None);
        for (row, gpu) in self.rows.iter_mut().zip(&sample.gpus) {
            let Some(reading) = GpuSample::reading(gpu) else {
                continue;
            };
            let reported = row.get_or_insert_default();
            for (reported, figure) in reported.iter_mut().zip(Told::ALL) {
                *reported |= figure.is_in(reading);
            }
        }
    }

    /// One gap for GPUs that reported nothing of the same figures.
    pub(super) fn gaps(
        &self,
        gpus: &[GpuIdentity],
        may_tell: impl Fn(Told) -> bool,
        place: &str,
    ) -> Vec<Gap> {
        let mut groups: Vec<(Vec<&str>, Vec<GpuLabel>)> = Vec::new();
        for (row, gpu) in self.rows.iter().zip(gpus) {
            let Some(reported) = row else {
                continue;
            };
            let missing: Vec<&str> = Told::ALL
                .into_iter()
                .zip(reported)
                .filter(|(figure, reported)| !**reported && !figure.is_of(gpu) && may_tell(*figure))
                .map(|(figure, _)| figure.words())
                .collect();
            let label =
                GpuLabel { index: gpu.index, slice: gpu.mig.as_ref().map(|slot| slot.index) };
            match groups.iter_mut().find(|(known, _)| *known == missing) {
                Some((_, labels)) => labels.push(label),
                None => groups.push((missing, vec![label])),
            }
        }
        groups.retain(|(missing, _)| !missing.is_empty());
        groups
            .into_iter()
            .map(|(missing, labels)| {
                let cause = Cause::of(CauseKind::FiguresNotReported, [&missing.join(", ")]);
                Gap::of(GapSubject::Gpus(labels), place, cause)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::FIGURES;

    #[test]
    fn every_figure_is_one_that_causes_know() {
        for figure in Told::ALL {
            assert!(FIGURES.contains(&figure.words()), "{figure:?}");
        }
    }
}
