//! One signal of one instance, period by period: its figures, how often it was sampled, and when
//! it was not.

use super::histogram::{Column, percent};
use crate::domain::{ACTIVE_PERCENT, DAY_SECONDS, HOUR_SECONDS, Outage, Window};
use jiff::Timestamp;

/// Average of a period from which a GPU worked in it.
const WORKING_PERCENT: f64 = 5.0;

/// Hundredths in a point.
const HUNDREDTHS: f64 = 100.0;

/// One period of one instance or workload. Percentages are in hundredths of a point,
/// so that sums are the same in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Slot {
    /// Sum of the averages over the GPUs that reported.
    pub(super) sum: u64,
    /// How many GPUs reported.
    pub(super) reported: u32,
    /// How many GPUs delivered a maximum of their own.
    pub(super) maxima: u32,
    /// Largest maximum over them; absent when no maximum was delivered.
    pub(super) maximum: Option<u16>,
    /// Whether the average of any of them was that of work.
    pub(super) works: bool,
    /// Whether any of them encoded: media work is work, though no kernel runs.
    pub(super) encodes: bool,
    /// How many GPUs ran, whether they reported or not.
    pub(super) gpus: u32,
    /// How many instances ran.
    pub(super) instances: u32,
}

impl Slot {
    pub(super) fn add_average(&mut self, hundredths: u16) {
        self.sum += u64::from(hundredths);
        self.reported += 1;
        self.works |= percent(hundredths) >= WORKING_PERCENT;
    }

    pub(super) fn add_maximum(&mut self, hundredths: u16) {
        self.maximum = self.maximum.max(Some(hundredths));
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.reported += other.reported;
        self.maximum = self.maximum.max(other.maximum);
        self.maxima += other.maxima;
        self.works |= other.works;
        self.encodes |= other.encodes;
        self.add_running(other);
    }

    /// Adds what ran, and not what it did.
    pub(super) fn add_running(&mut self, other: &Self) {
        self.gpus += other.gpus;
        self.instances += other.instances;
    }

    /// Whether at least half of the GPUs that ran reported.
    pub(super) fn counts(&self) -> bool {
        self.reported > 0 && self.reported * 2 >= self.gpus
    }

    /// Whether no GPU that ran worked; `None` where the maximum of one is missing.
    pub(super) fn rests(&self) -> Option<bool> {
        let is_whole = self.maxima >= self.gpus;
        let maximum = self.maximum.filter(|_| is_whole)?;
        Some(!self.encodes && percent(maximum) < ACTIVE_PERCENT)
    }

    /// Mean over the GPUs that reported, percent.
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / HUNDREDTHS / f64::from(self.reported)
    }
}

/// One signal of one instance on the grid of the window, as one source measured it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    sums: Column,
    reported: Column,
    /// One more than the maximum; 0 where there is none.
    maxima: Column,
    own_maxima: Column,
    works: Column,
    names_gpus: bool,
    /// How many periods of the grid a point stands for, at most.
    pub(super) step: u32,
}

/// The same while series are added.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenGrid {
    pub(super) slots: Vec<Slot>,
    /// Whether any series names a GPU; else one speaks for all of the instance.
    pub(super) names_gpus: bool,
    /// How many periods of the grid a point stands for; of several series the most.
    pub(super) step: u32,
}

/// Gives periods without a sample the figures of the sample before that stands for them.
pub(super) fn spread(slots: &mut [Slot], step: u32) {
    let mut last: Option<(usize, Slot)> = None;
    for (place, own) in slots.iter_mut().enumerate() {
        if *own != Slot::default() {
            last = Some((place, *own));
        } else if let Some((from, slot)) = last
            && place - from < step as usize
        {
            *own = slot;
        }
    }
}

impl OpenGrid {
    pub(super) fn new(periods: usize) -> Self {
        Self { slots: vec![Slot::default(); periods], names_gpus: false, step: 1 }
    }

    pub(super) fn pack(&self) -> Grid {
        let column = |of: fn(&Slot) -> u32| Column::of(self.slots.iter().map(of));
        Grid {
            sums: column(|slot| u32::try_from(slot.sum).unwrap_or(u32::MAX >> 1)),
            reported: column(|slot| slot.reported),
            maxima: column(|slot| slot.maximum.map_or(0, |maximum| u32::from(maximum) + 1)),
            own_maxima: column(|slot| slot.maxima),
            works: column(|slot| u32::from(slot.works)),
            names_gpus: self.names_gpus,
            step: self.step,
        }
    }

    /// Adds one whose first period is another of this one.
    pub(super) fn add_from(&mut self, first: usize, other: &Grid) {
        self.names_gpus |= other.names_gpus;
        self.step = self.step.max(other.step);
        for (slot, added) in self.slots.iter_mut().skip(first).zip(other.slots()) {
            slot.add(&added);
        }
    }

    /// Adds one of which the figures of each period are given.
    pub(super) fn add_slots(&mut self, other: &Grid, slots: impl Iterator<Item = Slot>) {
        self.names_gpus |= other.names_gpus;
        for (slot, added) in self.slots.iter_mut().zip(slots) {
            slot.add(&added);
        }
    }

    /// The figures of an instance whose guest sees so many GPUs. What no GPU is
    /// named for speaks for every one of them, and its maximum for the only one.
    pub(super) fn into_slots(mut self, visible: u32) -> Vec<Slot> {
        if self.names_gpus && visible > 1 {
            return self.slots;
        }
        for slot in &mut self.slots {
            if !self.names_gpus && visible > 1 && slot.reported > 0 {
                slot.sum *= u64::from(visible);
                slot.reported = visible;
            }
            if visible == 1 && slot.maximum.is_some() {
                slot.maxima = slot.maxima.max(1);
            }
        }
        self.slots
    }
}

impl Grid {
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let figures = self.sums.values().zip(self.reported.values());
        let maxima = self.maxima.values().zip(self.own_maxima.values());
        figures.zip(maxima).zip(self.works.values()).map(
            |(((sum, reported), (maximum, maxima)), works)| Slot {
                sum: u64::from(sum),
                reported,
                maxima,
                maximum: maximum.checked_sub(1).map(|maximum| maximum as u16),
                works: works == 1,
                ..Slot::default()
            },
        )
    }
}

/// Days on which an instance must have run in an hour of the day before that hour can be
/// missing by habit.
const LEAST_DAYS: u32 = 3;

/// What the times of its samples tell of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cadence {
    /// Periods that a sample stands for.
    pub(super) step: u32,
    pub(super) outage: Outage,
}

impl Cadence {
    /// A sample in each period.
    pub(super) const EVERY_PERIOD: Self =
        Self { step: 1, outage: Outage { last_sample: None, unseen_seconds: 0, missing_hours: 0 } };
}

/// What is missing of samples, by period of a window: whether one stands for it, and whether
/// the instance ran. What came before the first sample is not missing by habit: nobody
/// measured yet.
pub(super) fn outage(
    (window, period_seconds): (Window, u32),
    periods: impl Iterator<Item = (bool, bool)>,
) -> Outage {
    let (start, period) = (window.start.as_second(), i64::from(period_seconds.max(1)));
    let first_hour = start.div_euclid(HOUR_SECONDS);
    let length = (window.seconds().max(0) / HOUR_SECONDS + 2) as usize;
    // Seconds in which it ran, and whether it was sampled.
    let mut hours = vec![(0_i64, false); length];
    let (mut first, mut last, mut unseen_seconds) = (None, None, 0);
    for (place, (is_sampled, ran)) in (0_i64..).zip(periods) {
        let begin = start + place * period;
        let place = (begin.div_euclid(HOUR_SECONDS) - first_hour) as usize;
        let Some(hour) = hours.get_mut(place) else { break };
        hour.0 += if ran { period } else { 0 };
        if is_sampled {
            hour.1 = true;
            first = first.or(Some(place));
            last = Some((place, begin + period));
            unseen_seconds = 0;
        } else if ran {
            unseen_seconds += period;
        }
    }
    let (Some(first), Some((last, end))) = (first, last) else { return Outage::default() };
    // Days on which it ran in an hour of the day, and those of them without a sample.
    let mut days = [(0_u32, 0_u32); 24];
    for (place, (ran_seconds, is_sampled)) in hours.iter().enumerate().take(last + 1).skip(first) {
        if ran_seconds * 2 >= HOUR_SECONDS {
            let second = (first_hour + place as i64) * HOUR_SECONDS;
            let day = &mut days[(second.rem_euclid(DAY_SECONDS) / HOUR_SECONDS) as usize];
            *day = (day.0 + 1, day.1 + u32::from(!is_sampled));
        }
    }
    let is_habit = |(ran, missing): &(u32, u32)| *ran >= LEAST_DAYS && *missing * 2 >= *ran;
    let missing = (0_u32..).zip(&days).filter(|(_, day)| is_habit(day));
    Outage {
        last_sample: Timestamp::from_second(end).ok(),
        unseen_seconds,
        missing_hours: missing.map(|(hour, _)| 1 << hour).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven days by the hour, which begin at 00:00.
    fn of(sampled: impl Fn(u32) -> bool, ran: impl Fn(u32) -> bool) -> Outage {
        let at = |hour: i64| Timestamp::from_second(hour * HOUR_SECONDS).expect("in range");
        let window = Window { start: at(0), end: at(168) };
        let periods = (0..168).map(|hour| (sampled(hour), ran(hour)));
        outage((window, 3_600), periods)
    }

    fn hours(hours: std::ops::Range<u32>) -> u32 {
        hours.map(|hour| 1 << hour).sum()
    }

    #[test]
    fn the_same_hours_missing_on_half_of_the_days_are_a_habit() {
        let blind =
            |days: u32| move |hour: u32| !((10..18).contains(&(hour % 24)) && hour / 24 < days);
        // Of the seven days, three are fewer than half, and four are not. What is missing on
        // the first days was not missing before anybody measured, which is from 00:00 on.
        assert_eq!(of(blind(3), |_| true).missing_hours, 0);
        assert_eq!(of(blind(4), |_| true).missing_hours, hours(10..18));
        // It does not run in these hours.
        let outage = of(blind(7), blind(7));
        assert_eq!((outage.missing_hours, outage.unseen_seconds), (0, 0));
    }

    #[test]
    fn the_time_that_an_instance_ran_after_its_last_sample_counts() {
        let early = |hour: u32| hour < 84;
        let outage = of(early, |_| true);
        assert_eq!(outage.unseen_seconds, 84 * 3_600);
        let last = outage.last_sample.map(|last| last.as_second());
        assert_eq!(last, Some(84 * 3_600), "its last sample ends after 84 hours");
        // It ran for two of the hours after it.
        let outage = of(early, |hour| hour < 86);
        assert_eq!(outage.unseen_seconds, 2 * 3_600);
        assert_eq!(outage.missing_hours, 0, "what follows the last sample is no habit");
        assert_eq!(of(|_| false, |_| true), Outage::default());
    }
}
