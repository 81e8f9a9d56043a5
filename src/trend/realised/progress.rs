//! How far an action is carried out, day by day, by what the inventory or the bill shows.

use super::day::JobDay;
use crate::domain::{ActionKind, Money, RecordedAction, named_enum};
use crate::trend::cents::share;
use jiff::civil::Date;
use rust_decimal::Decimal;

named_enum! {
    /// What became of an action.
    ActionStatus {
        Done = "done",
        Partly = "partly",
        /// It is still advised, and nothing shows that it was carried out.
        NotDone = "not done",
        /// It was carried out, and is not any more.
        Undone = "undone",
        /// It was not carried out, and the last run advised it no more.
        Withdrawn = "no longer advised",
        /// The workload ended otherwise: what that saves is not of this action.
        Ended = "workload ended",
    }
}

/// Days that are taken together, because one says little.
const WINDOW: usize = 7;
/// From these shares on it is done, carried out in part, and undone if it is not any more.
const DONE: Decimal = Decimal::from_parts(9, 0, 0, false, 1);
const PARTLY: Decimal = Decimal::from_parts(2, 0, 0, false, 1);
const MOSTLY: Decimal = Decimal::from_parts(5, 0, 0, false, 1);
/// What an hour on another, less expensive type than the advised one counts: it is a part of the
/// action, whatever it saves, and never all of it.
const OTHER_TYPE: Decimal = Decimal::from_parts(5, 0, 0, false, 1);
/// Months of a day: 12 / 365.
const MONTHS: (Decimal, Decimal) =
    (Decimal::from_parts(12, 0, 0, false, 0), Decimal::from_parts(365, 0, 0, false, 0));

/// What an amount per month is on a mean day, unrounded.
pub(super) fn daily(monthly: Money) -> Decimal {
    monthly.amount() * MONTHS.0 / MONTHS.1
}

/// The volume of the baseline and of a day, in GPU hours where both have them, else in hours
/// of instances.
pub(super) fn volumes(action: &RecordedAction, day: &JobDay) -> (Decimal, Decimal) {
    match (action.baseline.gpu_hours_daily, day.gpu_hours) {
        (Some(before), Some(now)) => (before, now),
        _ => (action.baseline.hours_daily, day.hours),
    }
}

/// An action on its days.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How far it was carried out on each known day, 0 to 1 and beyond; absent where the day
    /// does not say, because nothing ran.
    days: Vec<(Date, Option<Decimal>)>,
    /// Of off-hours the same day by day, of which the above is the mean.
    raw: Vec<Decimal>,
}

/// The mean of the first few; `None` of none.
fn mean<'a>(values: impl Iterator<Item = &'a Decimal>) -> Option<Decimal> {
    let values: Vec<&Decimal> = values.take(WINDOW).collect();
    let number = Decimal::from(values.len());
    values.into_iter().sum::<Decimal>().checked_div(number)
}

impl Progress {
    /// Adds a day, in order.
    pub(super) fn add(&mut self, action: &RecordedAction, day: Date, job_day: &JobDay) {
        let mut own = reached(action, job_day);
        if action.kind == ActionKind::Schedule {
            // Off-hours are of a week, not of a day.
            self.raw.extend(own);
            own = mean(self.raw.iter().rev());
        }
        self.days.push((day, own));
    }

    fn known(&self) -> impl Iterator<Item = Decimal> {
        self.days.iter().rev().filter_map(|(_, own)| *own)
    }

    /// The mean of the last days that say anything.
    fn mean(&self) -> Decimal {
        mean(self.known().take(WINDOW).collect::<Vec<_>>().iter()).unwrap_or_default()
    }

    /// Whether it is carried out, at least in part, on the last day that was added.
    pub(super) fn is_active(&self) -> bool {
        self.known().next().unwrap_or_default() >= PARTLY || self.mean() >= PARTLY
    }

    /// Whether nothing ran on the last days.
    fn has_ended(&self) -> bool {
        let mut last = self.days.iter().rev().take(WINDOW);
        self.days.len() >= WINDOW && last.all(|(_, own)| own.is_none())
    }

    /// What became of it. `is_advised` says whether the last run advised it still.
    pub(super) fn status(&self, is_advised: bool) -> ActionStatus {
        let mean = self.mean();
        let was_done = self.known().any(|own| own >= MOSTLY);
        if self.has_ended() && !was_done {
            ActionStatus::Ended
        } else if mean >= DONE {
            ActionStatus::Done
        } else if mean >= PARTLY {
            ActionStatus::Partly
        } else if was_done {
            ActionStatus::Undone
        } else if is_advised {
            ActionStatus::NotDone
        } else {
            ActionStatus::Withdrawn
        }
    }

    /// Days until the last run that advised it on which it was not carried out, even in part.
    pub(super) fn days_not_done(&self, until: Date) -> u32 {
        let is_idle = |(day, own): &&(Date, Option<Decimal>)| {
            *day <= until && own.is_some_and(|own| own < PARTLY)
        };
        u32::try_from(self.days.iter().filter(is_idle).count()).unwrap_or(u32::MAX)
    }

    /// The first day on which it was carried out at least in part.
    pub(super) fn since(&self) -> Option<Date> {
        self.days.iter().find(|(_, own)| own.is_some_and(|own| own >= PARTLY)).map(|(day, _)| *day)
    }

    /// The first known day after the last on which it was carried out.
    pub(super) fn undone_on(&self) -> Option<Date> {
        let is_done = |own: &Option<Decimal>| own.is_some_and(|own| own >= PARTLY);
        let last = self.days.iter().rposition(|(_, own)| is_done(own))?;
        self.days[last + 1..].iter().find(|(_, own)| own.is_some()).map(|(day, _)| *day)
    }
}

/// The share of an action that a day shows; `None` where it does not say.
fn reached(action: &RecordedAction, day: &JobDay) -> Option<Decimal> {
    let baseline = &action.baseline;
    let daily_cost = baseline.effective_daily().amount();
    let expected = daily(action.expected_monthly);
    match action.kind {
        ActionKind::Stop | ActionKind::Schedule => less_usage(action, day, expected, daily_cost),
        // The expected saving is net of snapshots, which are not in what it costs.
        ActionKind::Release => (daily_cost - day.standing?).checked_div(daily_cost),
        _ if !day.runs() => None,
        ActionKind::Rightsize | ActionKind::Share => {
            let advised = match &action.target {
                Some(target) if target.instance_type != baseline.instance_type => {
                    day.target_hours.checked_div(day.hours)?
                }
                _ => less_usage(action, day, expected, daily_cost)?,
            };
            Some(advised.max((day.other_hours * OTHER_TYPE).checked_div(day.hours)?))
        }
        ActionKind::Spot => day.spot_list.checked_div(day.list?),
        ActionKind::Commit if day.committed_list.is_zero() => Some(Decimal::ZERO),
        ActionKind::Commit => {
            let price = baseline.price.as_ref()?.hourly.amount();
            let before = share(day.list?, baseline.effective_hourly.amount(), price)?;
            let saved = (before - day.effective?).checked_div(before)?;
            saved.checked_div(expected.checked_div(daily_cost)?)
        }
    }
}

/// How much less ran than before, of what the expected saving is of the cost.
fn less_usage(
    action: &RecordedAction,
    day: &JobDay,
    expected: Decimal,
    daily_cost: Decimal,
) -> Option<Decimal> {
    let (before, now) = volumes(action, day);
    (before - now).checked_div(before)?.checked_div(expected.checked_div(daily_cost)?)
}
