//! How far a machine and each of its GPUs was used in each whole hour, and the largest mean of
//! each: which peaks come at the same time.

use super::grid::Slot;
use super::timeline::MEASURED_SHARE_OF_AN_HOUR;
use super::{Timeline, Usage};
use crate::domain::{GpuOffer, HOUR_SECONDS, Instance, Metric, Signal, Statistic, Window};
use jiff::Timestamp;

/// One whole hour of an instance, in periods of the grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HourUse {
    /// Periods in which it ran.
    pub ran: u16,
    /// Of these, the periods in which at least half of its GPUs reported their utilization.
    pub measured: u16,
    /// Of these, the periods in which every GPU is known to have stayed below 1%.
    pub idle: u16,
    /// Sum over the other measured periods of the mean utilization of its GPUs, hundredths
    /// of a percent.
    pub useful: u32,
}

impl HourUse {
    fn add(&mut self, slot: &Slot, is_utilization: bool) {
        self.ran += 1;
        if !is_utilization || !slot.counts() {
            return;
        }
        self.measured += 1;
        if slot.rests() == Some(true) {
            self.idle += 1;
        } else {
            self.useful += (slot.sum / u64::from(slot.reported)) as u32;
        }
    }
}

/// The whole hours of UTC of a window. Without whole periods to the hour there are none.
pub fn whole_hours(window: Window, period_seconds: u32) -> Window {
    let period = i64::from(period_seconds.max(1));
    let (from, to) = (window.start.as_second(), window.end.as_second());
    let start = from + (-from).rem_euclid(HOUR_SECONDS);
    let end = (to - to.rem_euclid(HOUR_SECONDS)).max(start);
    let is_on_grid = HOUR_SECONDS % period == 0 && (start - from) % period == 0;
    let at = |second| Timestamp::from_second(second).unwrap_or(window.end);
    Window { start: at(start), end: at(if is_on_grid { end } else { start }) }
}

impl Usage {
    /// How an instance was used in each of the [`whole_hours`] of a window. Only GPU
    /// utilization says so: by power alone no hour is measured.
    pub fn hour_uses(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        grid: (Window, u32),
    ) -> Vec<HourUse> {
        let (timeline, _) = self.timeline(instance, offer, grid);
        let signal = self.signal().map(|(signal, _)| signal);
        timeline.hour_uses(signal == Some(Signal::GpuUtilization))
    }
}

impl Timeline {
    fn hour_uses(&self, is_utilization: bool) -> Vec<HourUse> {
        let whole = whole_hours(self.window, self.period_seconds);
        let period = i64::from(self.period_seconds.max(1));
        let per_hour = (HOUR_SECONDS / period).max(1) as usize;
        let before = whole.start.as_second() - self.window.start.as_second();
        let first = (before.max(0) / period) as usize;
        let mut hours = vec![HourUse::default(); (whole.seconds() / HOUR_SECONDS) as usize];
        for (index, slot) in self.slots.iter().skip(first).enumerate() {
            if let Some(hour) = hours.get_mut(index / per_hour)
                && slot.instances > 0
            {
                hour.add(slot, is_utilization);
            }
        }
        hours
    }
}

impl Timeline {
    /// Of each whole hour of the window, from its start, the largest mean over the GPUs,
    /// percent: 0 where nothing ran, absent where more than a tenth of the periods that ran
    /// has no figure.
    pub fn hour_peaks(&self) -> Vec<Option<f64>> {
        let per_hour = (HOUR_SECONDS as usize / self.period_seconds.max(1) as usize).max(1);
        let mut means: Vec<Option<f64>> = vec![None; self.slots.len()];
        for (index, mean) in self.means() {
            means[index] = Some(mean);
        }
        let ran: Vec<bool> = self.ran().collect();
        let hours = means.chunks(per_hour).zip(ran.chunks(per_hour));
        hours.map(|(means, ran)| peak_of_hour(means, ran)).collect()
    }
}

fn peak_of_hour(means: &[Option<f64>], ran: &[bool]) -> Option<f64> {
    let expected = ran.iter().filter(|ran| **ran).count();
    let known = means.iter().zip(ran).filter(|(mean, ran)| **ran && mean.is_some());
    let is_known = known.count() as f64 >= expected as f64 * MEASURED_SHARE_OF_AN_HOUR;
    let largest = means.iter().flatten().copied().reduce(f64::max);
    is_known.then(|| largest.unwrap_or(0.0))
}

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
        let gpus = self.gpus.iter().filter_map(|index| {
            let key = (Metric::GpuUtilization, Some(*index), Statistic::Average);
            let step = self.step_of(&key, grid.1);
            let sums = self.amounts.get(&key)?.hours.as_ref()?;
            let means = sums.means(from, uses.len(), step);
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

#[cfg(test)]
mod tests {
    use super::{peak_of_hour, *};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn window(start: i64, end: i64) -> Window {
        Window { start: at(start), end: at(end) }
    }

    /// Two GPUs of one instance over two hours by 20 minutes: of each period whether it ran,
    /// and averages and maxima in hundredths.
    fn timeline(periods: &[(bool, &[u16], &[u16])]) -> Timeline {
        let mut timeline = Timeline::new(window(0, 7_200), 1_200);
        for (index, (ran, averages, maxima)) in periods.iter().enumerate() {
            let slot = &mut timeline.slots[index];
            for average in *averages {
                slot.add_average(*average);
            }
            for maximum in *maxima {
                slot.add_maximum(*maximum);
                slot.maxima += 1;
            }
            (slot.gpus, slot.instances) = if *ran { (2, 1) } else { (0, 0) };
        }
        timeline
    }

    #[test]
    fn an_hour_is_idle_useful_or_not_known() {
        let mut sampled = timeline(&[
            // 40% and 60%.
            (true, &[4_000, 6_000], &[9_000, 9_000]),
            // Both rest.
            (true, &[20, 0], &[99, 50]),
            // One of two reported no maximum: it may have worked.
            (true, &[20, 0], &[99]),
            (true, &[], &[]),
            (false, &[], &[]),
            // One of two reported, which is half.
            (true, &[8_000], &[9_000]),
        ]);
        let hours = sampled.hour_uses(true);
        let expected = [
            HourUse {
                ran: 3,
                measured: 3,
                idle: 1,
                // 50% and 0.1%.
                useful: 5_010,
            },
            HourUse { ran: 2, measured: 1, idle: 0, useful: 8_000 },
        ];
        assert_eq!(hours, expected);
        // Power does not say what a GPU did.
        let by_power = sampled.hour_uses(false);
        let ran: Vec<(u16, u16)> = by_power.iter().map(|hour| (hour.ran, hour.measured)).collect();
        assert_eq!(ran, [(3, 0), (2, 0)]);
        // An encoder works without a kernel.
        sampled.slots[1].encodes = true;
        assert_eq!(sampled.hour_uses(true)[0].idle, 0);
    }

    #[test]
    fn hours_are_whole_hours_of_utc() {
        for (start, end, period, hours) in [
            (0, 7_200, 300, (0, 7_200)),
            (300, 7_500, 300, (3_600, 7_200)),
            (3_300, 3_900, 300, (3_600, 3_600)),
            // Hours that no period begins with, and periods that no hour is made of.
            (100, 7_200, 300, (3_600, 3_600)),
            (0, 7_200, 700, (0, 0)),
        ] {
            let rounded = whole_hours(window(start, end), period);
            assert_eq!(rounded, window(hours.0, hours.1), "{start} {end} {period}");
        }
        let mut late = Timeline::new(window(3_000, 10_800), 600);
        late.slots[0].instances = 1;
        late.slots[1].instances = 1;
        let ran: Vec<u16> = late.hour_uses(true).iter().map(|hour| hour.ran).collect();
        assert_eq!(ran, [1, 0]);
    }

    #[test]
    fn an_hour_peaks_with_its_largest_mean() {
        let ran = [true; 4];
        assert_eq!(peak_of_hour(&[Some(5.0), Some(40.0), Some(7.5), Some(0.0)], &ran), Some(40.0));
        // A quarter of it is not known.
        assert_eq!(peak_of_hour(&[Some(5.0), Some(40.0), None, Some(0.0)], &ran), None);
        // It ran for half of the hour, and all of that is known.
        let half = [true, true, false, false];
        assert_eq!(peak_of_hour(&[Some(5.0), Some(9.0), None, None], &half), Some(9.0));
        assert_eq!(peak_of_hour(&[None; 4], &[false; 4]), Some(0.0));
        // Eleven of twelve periods are 91.7%.
        let mut means = [Some(3.0); 12];
        means[4] = None;
        assert_eq!(peak_of_hour(&means, &[true; 12]), Some(3.0));
        means[5] = None;
        assert_eq!(peak_of_hour(&means, &[true; 12]), None);
    }
}
