//! Running only in the hours that are used.

use crate::domain::{ActivityHour, HourlyActivity, counted};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::fmt;

/// Hours in a week, and the number of cells: the first is Monday from midnight
/// to one in the morning.
pub const WEEK_HOURS: usize = 168;

/// Shortest window in which a stop and a start are worth it, hours.
const SHORTEST_WINDOW_HOURS: usize = 2;

/// Occurrences in which a cell must have been off.
const LEAST_OCCURRENCES: u32 = 2;

/// Hours of the week, each on or off.
pub type WeekCells = [bool; WEEK_HOURS];

/// A stretch of hours of the week in which nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffWindow {
    /// First hour of the week, from 0 on Monday at midnight.
    pub first_hour: usize,
    /// Its length; it may reach over the end of the week.
    pub hours: usize,
}

impl fmt::Display for OffWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = |hour: usize| {
            let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][hour / 24 % 7];
            format!("{day} {:02}:00", hour % 24)
        };
        let end = self.first_hour + self.hours;
        write!(f, "{}–{}", clock(self.first_hour), clock(end))
    }
}

/// What a week would have lost to a schedule built without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekCounterEvidence {
    /// Its first hour.
    pub start: jiff::Timestamp,
    /// Hours in which a GPU worked and the schedule would have been off.
    pub active_hours_cut: usize,
}

/// When a workload may stand still.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Hours of the week that are off.
    pub off_cells: Box<WeekCells>,
    pub off_hours_per_week: usize,
    /// Over the 168 hours of a week, 0–1.
    pub off_share: Decimal,
    /// Share of today's running time that falls into them, 0–1: the off share
    /// where it runs around the clock, less where it is stopped already. Of several
    /// instances with their own prices, the share of their cost.
    pub saved_share: Decimal,
    /// Hours of the week that were never active and stay on because some of their
    /// occurrences lack data.
    pub unknown_hours_per_week: usize,
    /// Largest maximum of any GPU in the off hours, percent; absent where nothing ran.
    pub largest_maximum: Option<f64>,
    /// Whether each hour of the observation falls into them as a whole.
    pub off_hours: Vec<bool>,
    /// The same hours as windows, in order of their beginning.
    pub windows: Vec<OffWindow>,
    /// Mean running time of each hour of the week, in instance-hours.
    ran: Box<[Decimal; WEEK_HOURS]>,
    /// The hours of the week that each hour of the observation touches.
    touched: Vec<[u8; 2]>,
    /// By week of the observation, the last one maybe shorter than the others.
    pub counter_evidence: Vec<WeekCounterEvidence>,
}

/// A schedule for work that takes longer than today.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowerSchedule {
    /// Hours of the week that it leaves on.
    pub on_hours_per_week: usize,
    /// Share of today's running time that falls into the hours off, 0–1; negative
    /// where slower work takes more hours than it runs today.
    pub saved_share: Decimal,
    /// Whether each hour of the observation falls into them as a whole.
    pub off_hours: Vec<bool>,
}

impl Schedule {
    /// Whether hours are enough to see a habit in them: each of the week twice. A window
    /// that begins inside an hour lacks one of them.
    ///
    /// # Errors
    /// How many there are.
    pub fn suffices(activity: &HourlyActivity) -> Result<(), NoSchedule> {
        let observed_hours = activity.len();
        if observed_hours + 1 < WEEK_HOURS * LEAST_OCCURRENCES as usize {
            return Err(NoSchedule::TooFewWeeks { observed_hours });
        }
        Ok(())
    }

    /// Share of the running time of one of its instances that falls into the hours off,
    /// 0–1.
    pub fn saved_share_of(&self, activity: &HourlyActivity, zone: &TimeZone) -> Decimal {
        let hours: Vec<ActivityHour> = activity.hours().collect();
        saved_share(&mean_running(&hours, zone), &self.off_cells)
    }

    /// The same where the work takes so many times as long: every window in which it
    /// runs grows at its end, to whole hours, and the window off that follows it
    /// shrinks. In an hour that it takes more, as much runs as in the hours before.
    pub fn slower(&self, slowdown: f64) -> SlowerSchedule {
        let mut off = *self.off_cells;
        let mut ran = *self.ran;
        let starts: Vec<usize> = self.windows.iter().map(|window| window.first_hour).collect();
        for (index, window) in self.windows.iter().enumerate() {
            let before = starts[(index + starts.len() - 1) % starts.len()];
            let before_hours = self.windows[(index + starts.len() - 1) % starts.len()].hours;
            let on_from = before + before_hours;
            let on = (window.first_hour + WEEK_HOURS - on_from % WEEK_HOURS) % WEEK_HOURS;
            let longer = (on as f64 * slowdown.max(1.0) - 1e-9).ceil() as usize;
            let more = longer.saturating_sub(on).min(window.hours);
            let level = ran[(window.first_hour + WEEK_HOURS - 1) % WEEK_HOURS];
            for hour in window.first_hour..window.first_hour + more {
                off[hour % WEEK_HOURS] = false;
                ran[hour % WEEK_HOURS] = ran[hour % WEEK_HOURS].max(level);
            }
        }
        let on_in = |ran: &[Decimal; WEEK_HOURS], off: &WeekCells| -> Decimal {
            ran.iter().zip(off).filter(|(_, off)| !**off).map(|(ran, _)| *ran).sum()
        };
        let longer = on_in(&ran, &off).checked_div(on_in(&self.ran, &self.off_cells));
        let on_share = (Decimal::ONE - self.saved_share) * longer.unwrap_or(Decimal::ONE);
        SlowerSchedule {
            on_hours_per_week: off.iter().filter(|off| !**off).count(),
            saved_share: Decimal::ONE - on_share,
            off_hours: self
                .touched
                .iter()
                .map(|cells| cells.iter().all(|cell| off[usize::from(*cell)]))
                .collect(),
        }
    }

    /// The windows in words, such as `Mon 06:00–Tue 02:00`.
    pub fn in_words(&self) -> String {
        let windows: Vec<String> = self.windows.iter().map(OffWindow::to_string).collect();
        windows.join(", ")
    }

    /// Active hours that a schedule from the other weeks would have cut, over all
    /// weeks.
    pub fn active_hours_cut(&self) -> usize {
        self.counter_evidence.iter().map(|week| week.active_hours_cut).sum()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// Most hours of the week were not seen twice.
    #[error(
        "{} observed; two weeks are required to detect a pattern",
        counted(observed_hours, "full hour", "full hours")
    )]
    TooFewWeeks {
        /// Whole hours since it was first seen.
        observed_hours: usize,
    },
    /// No GPU ever worked: that is a stop and not a schedule.
    #[error("no GPU was ever active")]
    NeverActive,
    /// No hour of the week was off every time.
    #[error("no hour of the week was always idle")]
    NeverOff,
    /// An instance of it says too little about its GPUs.
    #[error("GPU utilization of one of its instances was not measured for long enough")]
    Unmeasured,
    /// It would be off in some hours if missing data meant nothing.
    #[error(
        "data is missing for {}, which cannot be assumed idle",
        counted(unknown_hours, "hour", "hours")
    )]
    DataMissing {
        /// Hours in which a GPU that ran delivered no maximum.
        unknown_hours: usize,
    },
    /// Stopping and starting takes longer than it saves.
    #[error("the longest off window is {longest_hours} h; {SHORTEST_WINDOW_HOURS} h is required")]
    WindowsTooShort { longest_hours: usize },
    /// It is stopped in all of them already.
    #[error("already stopped during its off hours")]
    StoppedAlready,
    /// What is covered or committed costs the same when it is off.
    #[error("its hours are committed")]
    CommittedHours,
    /// It is idle as a whole, or nothing can be said of it.
    #[error("it has no verdict, or it is idle and can be stopped")]
    NotWorking,
    /// A run says nothing about the hours without one.
    #[error("only profiled runs were measured")]
    OnlyRuns,
    #[error("it has no price")]
    Unpriced,
}

/// The hours of the week, in a time zone, in which a workload was off every time
/// and at least twice, in windows of at least two hours.
///
/// # Errors
/// With the reason why there are none.
pub fn schedule(activity: &HourlyActivity, zone: &TimeZone) -> Result<Schedule, NoSchedule> {
    Schedule::suffices(activity)?;
    let hours: Vec<ActivityHour> = activity.hours().collect();
    if hours.iter().all(ActivityHour::is_off) {
        return Err(NoSchedule::NeverActive);
    }
    let unknown = |hour: &&ActivityHour| !hour.is_off() && !hour.is_active();
    let unknown_hours = hours.iter().filter(unknown).count();
    if !hours.iter().any(ActivityHour::is_active) {
        return Err(NoSchedule::DataMissing { unknown_hours });
    }
    let off = off_cells(&hours, zone, LEAST_OCCURRENCES, ActivityHour::is_off);
    let best_case = off_cells(&hours, zone, LEAST_OCCURRENCES, |hour| !hour.is_active());
    let all_windows = windows(&off);
    if all_windows.is_empty() {
        return Err(if windows(&best_case).is_empty() {
            NoSchedule::NeverOff
        } else {
            NoSchedule::DataMissing { unknown_hours }
        });
    }
    let kept = long_windows(&off);
    if kept.is_empty() {
        let longest_hours = all_windows.iter().map(|window| window.hours).max();
        return Err(NoSchedule::WindowsTooShort { longest_hours: longest_hours.unwrap_or(0) });
    }
    let unknown_cells = best_case.iter().zip(&off).filter(|(best, off)| **best && !**off);
    let unknown_hours_per_week = unknown_cells.count();
    let off = cells_of(&kept);
    let ran = mean_running(&hours, zone);
    let off_hours_per_week = off.iter().filter(|off| **off).count();
    Ok(Schedule {
        off_hours_per_week,
        unknown_hours_per_week,
        off_share: Decimal::from(off_hours_per_week) / Decimal::from(WEEK_HOURS),
        saved_share: saved_share(&ran, &off),
        touched: hours
            .iter()
            .map(|hour| cells_touched(hour, zone).map(|cell| cell as u8))
            .collect(),
        ran: Box::new(ran),
        off_hours: hours
            .iter()
            .map(|hour| cells_touched(hour, zone).iter().all(|cell| off[*cell]))
            .collect(),
        largest_maximum: hours
            .iter()
            .filter(|hour| off[cells_touched(hour, zone)[0]])
            .filter_map(|hour| hour.maximum)
            .reduce(f64::max),
        windows: kept,
        counter_evidence: counter_evidence(&hours, zone),
        off_cells: Box::new(off),
    })
}

/// The cells that an hour touches: two where a zone is half an hour off.
fn cells_touched(hour: &ActivityHour, zone: &TimeZone) -> [usize; 2] {
    [hour.start, hour.start + SignedDuration::from_secs(3_599)].map(|instant| {
        let local = zone.to_datetime(instant);
        let day = local.date().weekday().to_monday_zero_offset() as usize;
        day * 24 + local.hour() as usize
    })
}

/// The cells in which every hour was off, at least so many times.
fn off_cells(
    hours: &[ActivityHour],
    zone: &TimeZone,
    occurrences: u32,
    is_off: impl Fn(&ActivityHour) -> bool,
) -> WeekCells {
    let mut times = [0_u32; WEEK_HOURS];
    let mut on = [false; WEEK_HOURS];
    for hour in hours {
        let [first, last] = cells_touched(hour, zone);
        times[first] += 1;
        if !is_off(hour) {
            on[first] = true;
            on[last] = true;
        }
    }
    std::array::from_fn(|cell| !on[cell] && times[cell] >= occurrences)
}

/// Every window of a week, which goes round. A week that is off as a whole is
/// one window from Monday.
fn windows(off: &WeekCells) -> Vec<OffWindow> {
    let before = |cell: usize| off[(cell + WEEK_HOURS - 1) % WEEK_HOURS];
    if off.iter().all(|off| *off) {
        return vec![OffWindow { first_hour: 0, hours: WEEK_HOURS }];
    }
    (0..WEEK_HOURS)
        .filter(|cell| off[*cell] && !before(*cell))
        .map(|first_hour| OffWindow {
            first_hour,
            hours: (first_hour..).take_while(|hour| off[hour % WEEK_HOURS]).count(),
        })
        .collect()
}

fn long_windows(off: &WeekCells) -> Vec<OffWindow> {
    let mut kept = windows(off);
    kept.retain(|window| window.hours >= SHORTEST_WINDOW_HOURS);
    kept
}

fn cells_of(windows: &[OffWindow]) -> WeekCells {
    let mut cells = [false; WEEK_HOURS];
    for window in windows {
        for hour in window.first_hour..window.first_hour + window.hours {
            cells[hour % WEEK_HOURS] = true;
        }
    }
    cells
}

/// Mean running time of each cell, in instance-hours.
fn mean_running(hours: &[ActivityHour], zone: &TimeZone) -> [Decimal; WEEK_HOURS] {
    let mut ran = [Decimal::ZERO; WEEK_HOURS];
    let mut times = [0_u32; WEEK_HOURS];
    for hour in hours {
        let [cell, _] = cells_touched(hour, zone);
        ran[cell] += hour.instance_hours;
        times[cell] += 1;
    }
    std::array::from_fn(|cell| ran[cell] / Decimal::from(times[cell].max(1)))
}

/// Mean running time of the off cells over that of all cells.
fn saved_share(ran: &[Decimal; WEEK_HOURS], off: &WeekCells) -> Decimal {
    let total: Decimal = ran.iter().sum();
    let saved: Decimal = ran.iter().zip(off).filter(|(_, off)| **off).map(|(ran, _)| *ran).sum();
    saved.checked_div(total).unwrap_or_default()
}

/// By week from the first hour: what a schedule built from all the others would
/// have cut. With one other week there is one occurrence to build on.
fn counter_evidence(hours: &[ActivityHour], zone: &TimeZone) -> Vec<WeekCounterEvidence> {
    let weeks = hours.chunks(WEEK_HOURS);
    weeks
        .enumerate()
        .filter_map(|(index, week)| {
            let (before, rest) = hours.split_at(index * WEEK_HOURS);
            let others = [before, &rest[week.len()..]].concat();
            let whole_weeks = (others.len() / WEEK_HOURS) as u32;
            let occurrences = whole_weeks.clamp(1, LEAST_OCCURRENCES);
            let off = off_cells(&others, zone, occurrences, ActivityHour::is_off);
            let off = cells_of(&long_windows(&off));
            let is_cut = |hour: &&ActivityHour| {
                let touched = cells_touched(hour, zone);
                hour.is_active() && touched.iter().any(|cell| off[*cell])
            };
            Some(WeekCounterEvidence {
                start: week.first()?.start,
                active_hours_cut: week.iter().filter(is_cut).count(),
            })
        })
        .collect()
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
