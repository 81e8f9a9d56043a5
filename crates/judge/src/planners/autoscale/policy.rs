//! What decides how many instances run.

use crate::planners::NoResult;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const MINUTES_OF_A_DAY: u16 = 24 * 60;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// What a policy keeps at a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trigger {
    /// Mean utilization of the GPUs that are up, percent above 0 and at most 100. It
    /// cannot show demand above what is up.
    Utilization { target_percent: f64 },
    /// Requests for each instance, those that wait and those that GPUs work on, one a
    /// GPU. Requests that find no GPU wait, and are all seen.
    Queue {
        requests_per_instance: f64,
        /// Time of one GPU that a request takes.
        request_seconds: f64,
    },
}

/// Hours of a week in which more instances than the minimum are up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleWindow {
    /// From Monday.
    pub days: [bool; 7],
    /// Minutes after midnight.
    pub from_minute: u16,
    /// At most 1,440, which is midnight at the end of the day.
    pub to_minute: u16,
    pub min: u32,
}

impl ScheduleWindow {
    /// Reads `mon-fri@08:00-20:00=4` or `sat,sun@10:00-24:00=1`.
    ///
    /// # Errors
    /// When it is not of that form, or ends before it starts.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected =
            || format!("`{text}` is not a window such as mon-fri@08:00-20:00=4, in 24 hours");
        let (when, min) = text.split_once('=').ok_or_else(expected)?;
        let (days, hours) = when.split_once('@').ok_or_else(expected)?;
        let (from, to) = hours.split_once('-').ok_or_else(expected)?;
        let window = Self {
            days: days_of(days).ok_or_else(expected)?,
            from_minute: minute(from).ok_or_else(expected)?,
            to_minute: minute(to).ok_or_else(expected)?,
            min: min.trim().parse().map_err(|_| expected())?,
        };
        if window.from_minute >= window.to_minute {
            return Err(format!(
                "`{text}` ends before it starts: divide it at midnight, such as \
                 {days}@{from}-24:00={min} and the next day from 00:00"
            ));
        }
        Ok(window)
    }
}

fn days_of(text: &str) -> Option<[bool; 7]> {
    let place = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name.trim()));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (place(first)?, place(last)?);
        for (day, is_named) in days.iter_mut().enumerate() {
            // A span may go round the end of the week.
            *is_named |= (day + 7 - first) % 7 <= (last + 7 - first) % 7;
        }
    }
    Some(days)
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let total = hour.checked_mul(60)?.checked_add(minute)?;
    (minute < 60 && total <= MINUTES_OF_A_DAY).then_some(total)
}

/// The part of a fleet that is bought as spot, as a mixed instances policy of an Auto
/// Scaling group says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpotShare {
    /// Instances that are on demand before any other.
    pub on_demand_base: u32,
    /// Of the instances above the base, 0–100.
    pub spot_percent: f64,
}

impl SpotShare {
    pub const NONE: Self = Self { on_demand_base: 0, spot_percent: 0.0 };
    pub const ALL: Self = Self { on_demand_base: 0, spot_percent: 100.0 };

    /// How many of so many instances are on demand: the base, and of the rest the share
    /// that is not spot, rounded up.
    pub fn on_demand(&self, instances: u32) -> u32 {
        let base = instances.min(self.on_demand_base);
        base + whole(f64::from(instances - base) * (100.0 - self.spot_percent) / 100.0)
    }
}

/// Rounded up, without a hair that arithmetic left.
pub(super) fn whole(instances: f64) -> u32 {
    (instances - 1e-9).ceil().max(0.0) as u32
}

/// A policy. Decisions are made at the end of each period of the demand.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingPolicy {
    pub trigger: Trigger,
    /// Instances end when fewer were wanted for so long: the largest number that was
    /// wanted in this time stays up.
    pub cool_down_seconds: i64,
    /// From a launch until the instance serves: the node, its images and the model. It
    /// is paid for.
    pub start_up_seconds: i64,
    pub min: u32,
    pub max: u32,
    pub windows: Vec<ScheduleWindow>,
    /// Of the windows, with its name.
    pub time_zone: (String, TimeZone),
    pub spot: SpotShare,
}

impl ScalingPolicy {
    /// # Errors
    /// When its limits contradict each other.
    pub fn check(&self) -> Result<(), NoResult> {
        let Self { min, max, .. } = *self;
        refuse! {
            max == 0 => "a maximum of no instances"; "pass `--max 1` or more";
            min > max => "a minimum of {min} instances is above the maximum of {max}"; "pass `--max {min}`, or a lower minimum";
        }
        for ScheduleWindow { min, .. } in &self.windows {
            refuse! {
                *min > max => "a window with {min} instances is above the maximum of {max}"; "pass `--max {min}`, or a lower minimum";
            }
        }
        Ok(())
    }

    /// So many instances at an instant, within the limits.
    pub(super) fn within_limits(&self, instances: u32, at: Timestamp) -> u32 {
        instances.clamp(self.min_at(at).min(self.max), self.max)
    }

    /// The least instances at an instant.
    pub fn min_at(&self, at: Timestamp) -> u32 {
        if self.windows.is_empty() {
            return self.min;
        }
        let local = self.time_zone.1.to_datetime(at);
        let day = local.date().weekday().to_monday_zero_offset() as usize;
        let minute = local.hour() as u16 * 60 + local.minute() as u16;
        let open = self.windows.iter().filter(|window| {
            window.days[day] && (window.from_minute..window.to_minute).contains(&minute)
        });
        open.map(|window| window.min).fold(self.min, u32::max)
    }
}
