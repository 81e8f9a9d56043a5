//! What a fleet holds in memory, whatever its demand is.

use crate::savings::{Tenant, pack_processes_where};

/// What the GPUs of a workload hold, and whether its instances are copies of one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Held {
    /// Every instance of an Auto Scaling group is like the others.
    Copies,
    /// Each GPU may hold a model of its own.
    Models(HeldModels),
    /// Nothing says what GPUs hold.
    Unknown,
}

/// Models of which each has been on a GPU of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldModels {
    pub models: u32,
    /// Of all of them, headroom included, MiB.
    pub vram_needed_mib: f64,
    /// GPUs that hold all of them: the largest model first, each on the first GPU with room.
    pub gpus: u32,
}

impl HeldModels {
    /// Models that need so much memory each, headroom included, on GPUs that have so much.
    pub fn packed(needed_mib: &[f64], gpu_mib: f64) -> Self {
        let model = |mib: &f64| Tenant { vram_needed_mib: *mib, peak_percent: 0.0 };
        let models: Vec<Tenant> = needed_mib.iter().map(model).collect();
        let gpus = pack_processes_where(&models, gpu_mib, usize::MAX, |_, _| true);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            models: count(models.len()),
            vram_needed_mib: needed_mib.iter().sum(),
            gpus: count(gpus.len()),
        }
    }

    /// Whole instances that hold all of them.
    pub fn instances(self, gpus_per_instance: u32) -> u32 {
        self.gpus.div_ceil(gpus_per_instance.max(1))
    }
}

impl Held {
    /// Instances without which a model would be on none; one where nothing says that there
    /// are several.
    pub fn least_instances(self, gpus_per_instance: u32) -> u32 {
        match self {
            Self::Models(models) => models.instances(gpus_per_instance).max(1),
            Self::Copies | Self::Unknown => 1,
        }
    }
}
