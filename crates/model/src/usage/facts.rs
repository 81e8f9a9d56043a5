//! What series amounted to in each period of a window: each by its own cadence.

use super::grid::{Cadence, OpenGrid, Slot, outage, spread};
use super::histogram::Column;
use super::series::{SeriesKey, spacing};
use super::usages::Usage;
use crate::domain::{Metric, SeriesSource, Signal, Statistic, Window};
use std::collections::BTreeSet;

/// Proves when an instance ran.
pub(super) const CPU_AVERAGE: SeriesKey = (Metric::CpuUtilization, None, Statistic::Average);
pub(super) const CPU_MAXIMUM: SeriesKey = (Metric::CpuUtilization, None, Statistic::Maximum);

/// The periods in which each of the numbers of a column is 1.
fn marked(column: &Column) -> impl Iterator<Item = u32> + '_ {
    let places = (0..).zip(column.values());
    places.filter(|(_, mark)| *mark == 1).map(|(place, _)| place)
}

impl Usage {
    /// The signal that it is judged on, with its best source; `None` when no average of
    /// any GPU signal arrived.
    pub(super) fn signal(&self) -> Option<(Signal, SeriesSource)> {
        [
            (Metric::GpuUtilization, Signal::GpuUtilization),
            (Metric::GpuPowerUtilization, Signal::GpuPowerUtilization),
        ]
        .into_iter()
        .find_map(|(metric, signal)| {
            let from = (metric, None, Statistic::Average);
            let own =
                self.added.range(from..).take_while(|((measured, ..), _)| *measured == metric);
            let averages = own.filter(|((_, _, statistic), added)| {
                *statistic == Statistic::Average && !added.is_empty
            });
            let source = averages.map(|(_, added)| added.source).min()?;
            Some((signal, source))
        })
    }

    /// A signal over all GPUs of an instance whose guest sees so many of them: in each period
    /// for which a sample stands, and the periods with a sample. Beside them how many periods
    /// a sample stands for, of several series the most.
    pub(super) fn grid(
        &self,
        signal: Signal,
        visible: u32,
        (periods, period_seconds): (usize, u32),
    ) -> (Vec<Slot>, Vec<bool>, u32) {
        let steps = self.steps_of(signal, period_seconds);
        let (mut sum, mut step) = (OpenGrid::new(periods), 1);
        let mut sampled = vec![false; periods];
        let own = self.grids.iter().filter(|((own, ..), _)| *own == signal);
        for ((.., spacing), grid) in own {
            step = step.max(grid.step);
            let mut slots: Vec<Slot> = grid.slots().collect();
            for (sampled, slot) in sampled.iter_mut().zip(&slots) {
                *sampled |= slot.reported > 0;
            }
            if steps.len() > 1 {
                spread(&mut slots, *spacing);
            }
            sum.add_slots(grid, slots.into_iter());
        }
        if let (Some(only), 1) = (steps.first(), steps.len()) {
            spread(&mut sum.slots, *only);
        }
        let step = steps.last().map_or(step, |last| step.max(*last));
        let mut slots = sum.into_slots(visible);
        for (slot, encodes) in slots.iter_mut().zip(self.encodes.values()) {
            slot.encodes = encodes == 1;
        }
        (slots, sampled, step)
    }

    /// Periods between two samples of a series.
    pub(super) fn step_of(&self, key: &SeriesKey, period_seconds: u32) -> u32 {
        let places = self.places.get(key);
        places.map_or(1, |places| spacing(marked(places), period_seconds))
    }

    /// Periods between two samples of each series of a signal, without repetition.
    pub(super) fn steps_of(&self, signal: Signal, period_seconds: u32) -> BTreeSet<u32> {
        let own = self.places.keys().filter(|(metric, ..)| Signal::of(*metric) == Some(signal));
        own.map(|key| self.step_of(key, period_seconds)).collect()
    }

    /// The periods that samples of the CPU stand for, and for how many each does.
    pub(super) fn cpu_marks(&self, period_seconds: u32, periods: usize) -> (Vec<bool>, usize) {
        let step = self.step_of(&CPU_AVERAGE, period_seconds) as usize;
        let mut marks = vec![false; periods];
        for place in self.places.get(&CPU_AVERAGE).into_iter().flat_map(marked) {
            let place = place as usize;
            marks[place.min(periods)..(place + step).min(periods)].fill(true);
        }
        (marks, step)
    }

    /// The cadence of series of an instance that ran in some periods. Series of one instance
    /// are mostly sampled at the same times.
    pub(super) fn cadences<'a>(
        &'a self,
        grid: (Window, u32),
        ran: &'a [bool],
    ) -> impl FnMut(&SeriesKey) -> Cadence + 'a {
        let mut known: Vec<(&Column, Cadence)> = Vec::new();
        move |key| {
            let Some(places) = self.places.get(key) else { return Cadence::EVERY_PERIOD };
            if let Some((_, cadence)) = known.iter().find(|(other, _)| *other == places) {
                return *cadence;
            }
            let step = spacing(marked(places), grid.1);
            let mut since = step;
            let sampled = places.values().map(|mark| {
                since = if mark == 1 { 0 } else { since.saturating_add(1) };
                since < step
            });
            let cadence = Cadence { step, outage: outage(grid, sampled.zip(ran.iter().copied())) };
            known.push((places, cadence));
            cadence
        }
    }
}
