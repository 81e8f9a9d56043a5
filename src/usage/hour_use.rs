//! How far one instance was used in each whole hour of UTC.

use super::histogram::percent;
use super::timeline::Slot;
use super::{Timeline, Usage};
use crate::domain::{ACTIVE_PERCENT, GpuOffer, HOUR_SECONDS, Instance, Signal, Window};
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
    fn add(&mut self, slot: &Slot, running_gpus: u32, is_utilization: bool) {
        self.ran += 1;
        if !is_utilization || slot.reported == 0 || slot.reported * 2 < running_gpus {
            return;
        }
        self.measured += 1;
        let largest = slot.maximum.filter(|_| slot.maxima >= running_gpus);
        let rests = largest.is_some_and(|largest| percent(largest) < ACTIVE_PERCENT);
        if rests && !slot.encodes {
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
        let running = self.running_gpus.iter().zip(&self.running_instances);
        let periods = self.slots.iter().zip(running).skip(first).enumerate();
        for (index, (slot, (gpus, instances))) in periods {
            if let Some(hour) = hours.get_mut(index / per_hour)
                && *instances > 0
            {
                hour.add(slot, *gpus, is_utilization);
            }
        }
        hours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            timeline.running_gpus[index] = if *ran { 2 } else { 0 };
            timeline.running_instances[index] = u32::from(*ran);
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
        late.running_instances[0] = 1;
        late.running_instances[1] = 1;
        let ran: Vec<u16> = late.hour_uses(true).iter().map(|hour| hour.ran).collect();
        assert_eq!(ran, [1, 0]);
    }
}
