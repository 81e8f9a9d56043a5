//! Average power: from the energy counter where there is one, else from readings
//! weighted with the time that each stands for.

use super::alerts::Moment;
use super::signals::part;
use super::{PowerBasis, PowerFigures};
use crate::domain::{GpuIdentity, GpuReading};
use crate::usage::{Sum, Tally};

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
#[path = "power_tests.rs"]
mod tests;
