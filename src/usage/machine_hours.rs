//! How far each machine and each of its GPUs was used in every hour: what a grid of days and
//! hours shows.

use super::{Usage, whole_hours};
use crate::domain::{GpuOffer, HOUR_SECONDS, Instance, Metric, Statistic, Window};

/// One hour of a GPU, or of the GPUs of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HourMean {
    /// Nothing ran.
    Stopped,
    /// It ran, and less than half of the hour was measured.
    Missing,
    /// Mean utilization, percent.
    Percent(f64),
}

/// Every whole hour of a window, of a machine and of each of its GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineHours {
    /// The mean over its GPUs.
    pub all: Vec<HourMean>,
    /// Each GPU that has series of its own, by index. Days of a history that were read as
    /// figures of a day have no hours of GPUs: they are missing.
    pub gpus: Vec<(u16, Vec<HourMean>)>,
}

impl Usage {
    /// How a machine and its GPUs were used in each of the [`whole_hours`] of a window.
    pub fn hour_means(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        grid: (Window, u32),
    ) -> MachineHours {
        let uses = self.hour_uses(instance, offer, grid);
        let from = whole_hours(grid.0, grid.1).start.as_second() / HOUR_SECONDS;
        let hour_means = uses.iter().map(|hour| {
            if hour.ran == 0 {
                HourMean::Stopped
            } else if hour.measured * 2 < hour.ran {
                HourMean::Missing
            } else {
                HourMean::Percent(f64::from(hour.useful) / f64::from(hour.measured) / 100.0)
            }
        });
        let gpus = self.gpus.iter().filter_map(|(index, gpu)| {
            let key = (Metric::GpuUtilization, Some(*index), Statistic::Average);
            let step = self.step_of(&key, grid.1);
            let means = gpu.hour_sums()?.means(from, uses.len(), step);
            let hours = uses.iter().zip(means).map(|(hour, mean)| match mean {
                Some(mean) => HourMean::Percent(mean),
                None if hour.ran == 0 => HourMean::Stopped,
                None => HourMean::Missing,
            });
            Some((*index, hours.collect()))
        });
        MachineHours { all: hour_means.collect(), gpus: gpus.collect() }
    }
}
