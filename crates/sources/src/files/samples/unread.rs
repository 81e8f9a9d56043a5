//! What no sample of a whole file told: absent, which is not zero.

use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, GpuIdentity, GpuLabel, GpuReading, GpuSample, Sample,
};

/// Whether a reading has a figure.
type IsTold = fn(&GpuReading) -> bool;

macro_rules! told {
    ($($told:ident: $words:literal, $is_told:expr;)*) => {
        /// A figure of a GPU that a file may have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::files) enum Told { $($told,)* }

        /// Each figure, the words for it, and whether a reading has it.
        const TOLD: &[(Told, &str, IsTold)] = &[$((Told::$told, $words, $is_told),)*];
    };
}
told! {
    Utilization: "utilization", |gpu| gpu.utilization_percent.is_some() || !gpu.fine.is_empty();
    MemoryUtilization: "memory utilization", |gpu| gpu.memory_utilization_percent.is_some();
    VramUsed: "memory in use", |gpu| gpu.vram_used_mib.is_some();
    VramTotal: "memory", |gpu| gpu.vram_total_mib.is_some();
    Power: "power", |gpu| gpu.power_w.is_some();
    PowerLimit: "power limit", |_| false;
    Energy: "energy", |gpu| gpu.energy_j.is_some();
    Temperature: "temperature", |gpu| gpu.temperature_c.is_some();
    SmClock: "SM clock", |gpu| gpu.sm_clock_mhz.is_some();
    MemoryClock: "memory clock", |gpu| gpu.memory_clock_mhz.is_some();
    Throttle: "throttle reasons", |gpu| gpu.throttle.is_some();
    Pcie: "PCIe throughput", |gpu| gpu.pcie_sent_bytes_per_second.is_some();
    Encoder: "video encoder", |gpu| gpu.encoder_percent.is_some();
    Decoder: "video decoder", |gpu| gpu.decoder_percent.is_some();
    Processes: "processes", |gpu| gpu.processes.is_some();
    Activity: "multiprocessor counters (GPM)", |gpu| gpu.activity.is_some();
}

impl Told {
    /// Whether a figure of a GPU is known without any sample.
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
    rows: Vec<Option<[bool; TOLD.len()]>>,
}

impl Unread {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.rows.resize(self.rows.len().max(sample.gpus.len()), None);
        for (row, gpu) in self.rows.iter_mut().zip(&sample.gpus) {
            let Some(reading) = GpuSample::reading(gpu) else { continue };
            let reported = row.get_or_insert_default();
            for (reported, (_, _, is_in)) in reported.iter_mut().zip(TOLD) {
                *reported |= is_in(reading);
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
            let Some(reported) = row else { continue };
            let missing: Vec<&str> = TOLD
                .iter()
                .zip(reported)
                .filter(|((figure, ..), reported)| {
                    !**reported && !figure.is_of(gpu) && may_tell(*figure)
                })
                .map(|((_, words, _), _)| *words)
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
        for (figure, words, _) in TOLD {
            assert!(FIGURES.contains(words), "{figure:?}");
        }
    }
}
