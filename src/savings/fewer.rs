//! What fewer instances run of the hours of a group: they do not run less than the group
//! did while it ran few.

use crate::domain::HourlyActivity;
use rust_decimal::Decimal;

/// What stays of the running time of a group of which fewer instances do the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Fewer {
    /// Of each hour until the end of the window, instances after over instances before.
    pub by_hour: Vec<Decimal>,
    /// Of all of its running time.
    pub share: Decimal,
    /// Instances that run then in each of these hours.
    pub after: Vec<Decimal>,
}

impl Fewer {
    /// At most so many instances at once, as many as ran where that is fewer: in an hour
    /// with `N(t)` of them, `min(N(t), count)`.
    pub fn at_most(activity: &HourlyActivity, count: u32) -> Option<Self> {
        Self::of(activity, |running| running.min(Decimal::from(count)))
    }

    /// So many instances in every hour in which any ran, because each has a part of the
    /// work of all: `count × min(N(t), 1)`.
    pub fn together(activity: &HourlyActivity, count: u32) -> Option<Self> {
        Self::of(activity, |running| running.min(Decimal::ONE) * Decimal::from(count))
    }

    /// `None` where nothing is known to have run.
    fn of(activity: &HourlyActivity, after: impl Fn(Decimal) -> Decimal) -> Option<Self> {
        let running: Vec<Decimal> = activity.hours().map(|hour| hour.instance_hours).collect();
        let total: Decimal = running.iter().sum();
        let after: Vec<Decimal> = running.iter().map(|hour| after(*hour)).collect();
        let hours = after.iter().zip(&running);
        let by_hour = hours.map(|(after, hour)| after.checked_div(*hour).unwrap_or(Decimal::ONE));
        Some(Self {
            by_hour: by_hour.collect(),
            share: after.iter().sum::<Decimal>().checked_div(total)?,
            after,
        })
    }

    /// Share of what they run then that falls into some of these hours, 0–1.
    pub fn share_in(&self, hours: &[bool]) -> Decimal {
        let inside = self.after.iter().zip(hours).filter(|(_, is_in)| **is_in);
        let inside: Decimal = inside.map(|(after, _)| *after).sum();
        let total: Decimal = self.after.iter().sum();
        inside.checked_div(total).unwrap_or_default()
    }
}
