//! How utilization ran over a window, in as many steps as a picture has room for.

use super::histogram::percent;
use super::timeline::{Slot, Timeline};
use super::{mean, quantile};
use crate::domain::{DAY_SECONDS, GpuUsage, HOUR_SECONDS, HourlyActivity, Window};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Most steps of a course that has one for several periods.
const MOST_STEPS: i64 = 84;
/// Hours that a step may have.
const STEP_HOURS: [i64; 10] = [1, 2, 3, 4, 6, 8, 12, 24, 48, 168];

/// One step of a course. Percentages are whole ones, 0–100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CourseStep {
    /// Nothing ran.
    Stopped,
    /// It ran, and too little was reported to say how.
    Missing,
    /// `high` is the 95th percentile of the periods of the step, or the largest average of a
    /// day. It is below the mean where less than one in twenty periods was busy.
    Measured { mean: u8, high: u8 },
}

/// How utilization ran over a window. Its size does not depend on the number of GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// When the first step begins.
    pub start: Timestamp,
    pub step_seconds: i64,
    /// The steps, ascending and without a gap. The last may reach beyond the window.
    pub steps: Vec<CourseStep>,
}

impl Course {
    /// The mean over all GPUs, and the 95th percentile over time of that mean. A step in which
    /// less than half of the periods that ran was reported is missing.
    pub fn of(timeline: &Timeline) -> Self {
        let period = i64::from(timeline.period_seconds.max(1));
        let periods = (step_seconds(timeline.window) / period).max(1);
        let slots = timeline.slots.chunks(periods as usize);
        let running = timeline.running_gpus.chunks(periods as usize);
        Self {
            start: timeline.window.start,
            step_seconds: periods * period,
            steps: slots
                .zip(running)
                .map(|(slots, running)| step(slots, running))
                .collect(),
        }
    }

    /// One GPU by day of UTC: the mean of its averages and the largest of them. A day without
    /// an average is missing, unless its instance is known not to have run.
    pub fn of_gpu(gpu: &GpuUsage, activity: &HourlyActivity, window: Window) -> Self {
        let first = window.start.as_second().div_euclid(DAY_SECONDS);
        let end = (window.end.as_second() + DAY_SECONDS - 1).div_euclid(DAY_SECONDS);
        let ran: BTreeSet<i64> = activity
            .hours()
            .filter(|hour| !hour.is_stopped())
            .map(|hour| hour.start.as_second().div_euclid(DAY_SECONDS))
            .collect();
        let step = |day: i64| {
            let found = gpu.days.iter().find(|one| i64::from(one.day) == day);
            match found {
                Some(found) => CourseStep::Measured {
                    mean: whole(percent(found.mean)),
                    high: whole(percent(found.largest)),
                },
                None if activity.is_empty() || ran.contains(&day) => CourseStep::Missing,
                None => CourseStep::Stopped,
            }
        };
        Self {
            start: Timestamp::from_second(first * DAY_SECONDS).unwrap_or(window.start),
            step_seconds: DAY_SECONDS,
            steps: (first..end).map(step).collect(),
        }
    }
}

/// The shortest step of whole hours that gives few enough of them.
fn step_seconds(window: Window) -> i64 {
    let seconds = window.seconds().max(0);
    let fits = |hours: &&i64| seconds <= **hours * HOUR_SECONDS * MOST_STEPS;
    let hours = STEP_HOURS.iter().find(fits).copied();
    let longest = (seconds / HOUR_SECONDS / MOST_STEPS + 1) * HOUR_SECONDS;
    hours.map_or(longest, |hours| hours * HOUR_SECONDS)
}

fn step(slots: &[Slot], running_gpus: &[u32]) -> CourseStep {
    let ran = running_gpus.iter().filter(|gpus| **gpus > 0).count();
    let mut means: Vec<f64> = slots
        .iter()
        .zip(running_gpus)
        .filter(|(slot, gpus)| slot.counts(**gpus))
        .map(|(slot, _)| slot.mean())
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    match (mean(&means), quantile(&means, 0.95)) {
        (Some(average), Some(high)) if means.len() * 2 >= ran => CourseStep::Measured {
            mean: whole(average),
            high: whole(high),
        },
        _ if ran == 0 => CourseStep::Stopped,
        _ => CourseStep::Missing,
    }
}

/// A percentage as a whole one.
pub(super) fn whole(percent: f64) -> u8 {
    percent.round().clamp(0.0, 100.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GpuDay, HourCell, ResourceId, Samples};

    fn window(hours: i64) -> Window {
        let start: Timestamp = "2026-10-18T00:00:00Z".parse().expect("a time");
        let end = start.as_second() + hours * HOUR_SECONDS;
        Window {
            start,
            end: Timestamp::from_second(end).expect("in range"),
        }
    }

    #[test]
    fn a_step_has_whole_hours_and_there_are_few() {
        for (days, hours, steps) in [
            (1, 1, 24),
            (7, 2, 84),
            (14, 4, 84),
            (30, 12, 60),
            (90, 48, 45),
            (588, 168, 84),
        ] {
            let course = Course::of(&Timeline::new(window(days * 24), 300));
            assert_eq!(course.step_seconds, hours * HOUR_SECONDS, "{days} days");
            assert_eq!(course.steps.len(), steps, "{days} days");
            assert!(course.steps.iter().all(|one| *one == CourseStep::Stopped));
        }
    }

    #[test]
    fn a_step_is_measured_missing_or_stopped() {
        // Two weeks by the hour: a step has four periods.
        let mut timeline = Timeline::new(window(14 * 24), 3_600);
        let mut run = |period: usize, percent: Option<u16>| {
            timeline.running_gpus[period] = 2;
            timeline.running_instances[period] = 1;
            for _ in 0..2 {
                if let Some(percent) = percent {
                    timeline.slots[period].add_average(percent * 100);
                }
            }
        };
        // Their mean is 17.5, and 95% of the way along is 20 + 0.85 × 20.
        for (period, percent) in [0, 10, 20, 40].into_iter().enumerate() {
            run(period, Some(percent));
        }
        // One of three that ran.
        run(4, Some(50));
        run(5, None);
        run(6, None);
        // One of two.
        run(8, Some(40));
        run(9, None);
        let steps = Course::of(&timeline).steps;
        assert_eq!(steps[0], CourseStep::Measured { mean: 18, high: 37 });
        assert_eq!(steps[1], CourseStep::Missing);
        assert_eq!(steps[2], CourseStep::Measured { mean: 40, high: 40 });
        assert!(steps[3..].iter().all(|one| *one == CourseStep::Stopped));
    }

    #[test]
    fn a_day_of_a_gpu_is_missing_only_where_its_instance_ran() {
        let window = window(96);
        let first = window.start.as_second() / DAY_SECONDS;
        let gpu = GpuUsage {
            instance: ResourceId::named("i-1"),
            index: 0,
            utilization: None,
            contradiction: None,
            samples: Samples::default(),
            demand_peak: None,
            maxima: None,
            vram: None,
            vram_nearly_full_seconds: None,
            vram_days: Vec::new(),
            power: None,
            temperature_max_c: None,
            encoder_sessions_max: None,
            days: vec![GpuDay {
                day: i32::try_from(first + 1).expect("in range"),
                mean: 1_250,
                largest: 9_949,
            }],
        };
        // It ran on the first two days and on the last hour of the fourth.
        let cells = (0..96).map(|hour| HourCell {
            maximum: None,
            encodes: false,
            instance_periods: if hour < 48 || hour == 95 { 12 } else { 0 },
        });
        let activity = HourlyActivity::new(window.start, 12, cells.collect());
        let course = Course::of_gpu(&gpu, &activity, window);
        assert_eq!(course.start, window.start);
        assert_eq!(
            course.steps,
            [
                CourseStep::Missing,
                CourseStep::Measured { mean: 13, high: 99 },
                CourseStep::Stopped,
                CourseStep::Missing,
            ]
        );
    }
}
