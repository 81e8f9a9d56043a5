//! How far an action is carried out, day by day, by what the inventory or the bill shows of its
//! job; and what its type costs today at the public price, beside what it cost when the action was
//! advised: a price cut of the cloud is not a saving of an action.

use crate::domain::{
    ActionKind, CostKind, DatedPrice, Money, PurchaseOption, RecordedAction, WorkloadDay,
    named_enum,
};
use crate::trend::Ledger;
use crate::trend::sums::{is_committed, share};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

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

/// What a job ran and cost on a day, its successors included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JobDay {
    pub(super) hours: Decimal,
    /// Absent as soon as one row has none.
    pub(super) gpu_hours: Option<Decimal>,
    /// Absent as soon as a row is unpriced.
    pub(super) effective: Option<Decimal>,
    pub(super) list: Option<Decimal>,
    /// Hours on the type that an action leads to.
    pub(super) target_hours: Decimal,
    /// Hours on types that the job did not run on before, and that no action leads to.
    pub(super) other_hours: Decimal,
    /// Public price of those hours; absent as soon as one has none.
    pub(super) other_list: Option<Decimal>,
    /// Public price of the hours on spot, and of those that a commitment paid.
    pub(super) spot_list: Decimal,
    pub(super) committed_list: Decimal,
    /// Cost of storage while it is stopped, and of reserved room that nothing used; absent as
    /// soon as it is unpriced.
    pub(super) standing: Option<Decimal>,
}

impl JobDay {
    /// Of the rows of the job of an action on a day; of none it did not run. `earlier_types` are
    /// those that it ran on before; where they are not known, no type is another one.
    pub(super) fn of<'a>(
        ledger: &Ledger,
        rows: impl Iterator<Item = &'a WorkloadDay>,
        action: &RecordedAction,
        earlier_types: &BTreeSet<&str>,
    ) -> Self {
        let target_type = action.target.as_ref().map(|target| target.instance_type.as_str());
        let is_earlier = |name: &str| {
            earlier_types.is_empty()
                || earlier_types.contains(name)
                || action.baseline.instance_type == name
        };
        let mut day = Self {
            other_list: Some(Decimal::ZERO),
            gpu_hours: Some(Decimal::ZERO),
            effective: Some(Decimal::ZERO),
            list: Some(Decimal::ZERO),
            standing: Some(Decimal::ZERO),
            ..Self::default()
        };
        let plus = |sum: Option<Decimal>, part: Option<Decimal>| Some(sum? + part?);
        for row in rows {
            let (effective, list) = (ledger.amount(row.effective), ledger.amount(row.list));
            match row.kind {
                CostKind::IdleStorage | CostKind::Unused => {
                    day.standing = plus(day.standing, effective);
                }
                CostKind::Compute => {
                    day.hours += row.hours;
                    day.gpu_hours = plus(day.gpu_hours, row.gpu_hours);
                    day.effective = plus(day.effective, effective);
                    day.list = plus(day.list, list);
                    if target_type == Some(row.instance_type.as_str()) {
                        day.target_hours += row.hours;
                    } else if !is_earlier(&row.instance_type) {
                        day.other_hours += row.hours;
                        day.other_list = plus(day.other_list, list);
                    }
                    if row.option == PurchaseOption::Spot {
                        day.spot_list += list.unwrap_or_default();
                    } else if is_committed(row.option) {
                        day.committed_list += list.unwrap_or_default();
                    }
                }
            }
        }
        day
    }

    pub(super) fn runs(&self) -> bool {
        self.hours > Decimal::ZERO
    }
}

named_enum! {
    /// Why a job costs less than it would have.
    SavedPart {
        /// It ran fewer GPU hours.
        Usage = "usage",
        /// It ran on a cheaper type.
        Mix = "mix",
        /// Commitments and spot took more off the price on demand.
        Rate = "rate",
        /// Its storage was released, or reserved room given back.
        Standing = "standing",
        /// The cloud lowered its public price, or one that was negotiated. No action claims it.
        Price = "price",
    }
}

impl SavedPart {
    /// Whether a kind of action can bring it about.
    pub(super) fn is_of(self, kind: ActionKind) -> bool {
        match kind {
            ActionKind::Stop | ActionKind::Schedule => self == Self::Usage,
            ActionKind::Rightsize | ActionKind::Share => matches!(self, Self::Usage | Self::Mix),
            ActionKind::Spot | ActionKind::Commit => self == Self::Rate,
            ActionKind::Release => self == Self::Standing,
        }
    }
}

/// What a job costs less than it would have by each [`SavedPart`], in their order, unrounded.
/// Together they are `baseline − effective`.
pub type SavedParts = [Decimal; 5];

/// Today's public on-demand price of a type in a region, of a price list; `None` where it has
/// none.
pub type PriceToday<'a> = &'a dyn Fn(&str, &str) -> Option<DatedPrice>;

/// Public prices of a job, per hour of one instance.
type Days = BTreeMap<Date, Decimal>;

/// Public prices by region, type and job, as the days of a history had them.
pub(super) struct PastPrices<'a> {
    by_type: ByType<'a>,
    /// The same of what an hour on demand costs after negotiated discounts.
    negotiated: ByType<'a>,
    today: PriceToday<'a>,
}

/// Prices by region and type, and then by job.
type ByType<'a> = BTreeMap<(&'a str, &'a str), BTreeMap<&'a str, Days>>;

impl<'a> PastPrices<'a> {
    pub(super) fn of(ledger: &'a Ledger, today: PriceToday<'a>) -> Self {
        Self {
            by_type: by_type(ledger, price_of),
            negotiated: by_type(ledger, negotiated_of),
            today,
        }
    }

    /// What an hour of the baseline would cost on demand on a day, after negotiated discounts:
    /// by the job itself, else by how another job of the type and region changed since.
    /// `None` where neither tells.
    pub fn on_demand(&self, action: &RecordedAction, since: Date, day: Date) -> Option<Decimal> {
        let key = (action.region.as_str(), action.baseline.instance_type.as_str());
        let jobs = self.negotiated.get(&key)?;
        let own = jobs.get(action.job.as_str())?;
        if let Some(today) = own.get(&day) {
            return Some(*today);
        }
        let then = |days: &Days| days.range(..=since).next_back().map(|(_, price)| *price);
        let changed = jobs.values().find_map(|days| days.get(&day)?.checked_div(then(days)?))?;
        then(own)?.checked_mul(changed)
    }

    /// Today's price over that of the baseline, for a day: by the job itself, by another job
    /// of the same type and region that ran on both days, by one that pays the price of the
    /// baseline, or by the list. `None` where none of them tells.
    pub(super) fn ratio(&self, action: &RecordedAction, since: Date, day: Date) -> Option<Decimal> {
        let (baseline, seen_on) = {
            let price = action.baseline.price.as_ref()?;
            (price.hourly, price.seen_on)
        };
        let instance_type = action.baseline.instance_type.as_str();
        let key = (action.region.as_str(), instance_type);
        let old = baseline.amount();
        if let Some(jobs) = self.by_type.get(&key) {
            let on_day = |days: &Days| days.get(&day).copied();
            let own = jobs.get(action.job.as_str()).and_then(on_day);
            if let Some(own) = own {
                return own.checked_div(old);
            }
            let both = jobs.values().find_map(|days| {
                let then = days.range(..=since).next_back()?.1;
                on_day(days)?.checked_div(*then)
            });
            if both.is_some() {
                return both;
            }
            if jobs.values().filter_map(on_day).any(|price| price == old) {
                return Some(Decimal::ONE);
            }
        }
        let listed = (self.today)(&action.region, instance_type)?;
        if listed.hourly.currency() != baseline.currency() {
            return None;
        }
        // A list does not know the operating system of a machine that is gone. Of Linux, the
        // least expensive one, it claims too little at most.
        let is_old = |day: Date| listed.effective_date.is_none_or(|from| from <= day);
        if is_old(seen_on) || !is_old(day) {
            return Some(Decimal::ONE);
        }
        listed.hourly.amount().checked_div(old)
    }
}

fn by_type(ledger: &Ledger, hourly: fn(&Ledger, &WorkloadDay) -> Option<Decimal>) -> ByType<'_> {
    let mut by_type = ByType::new();
    for row in &ledger.rows {
        let Some(hourly) = hourly(ledger, row) else { continue };
        let key = (row.region.as_str(), row.instance_type.as_str());
        let days = by_type.entry(key).or_default().entry(row.job.as_str()).or_default();
        days.insert(row.day, hourly);
    }
    by_type
}

fn negotiated_of(ledger: &Ledger, row: &WorkloadDay) -> Option<Decimal> {
    let hourly = ledger.amount(row.contracted)?.checked_div(row.hours)?;
    (row.kind == CostKind::Compute && hourly > Decimal::ZERO).then_some(hourly)
}

fn price_of(ledger: &Ledger, row: &WorkloadDay) -> Option<Decimal> {
    let price = row.price.as_ref()?;
    let is_own = price.hourly.currency() == ledger.currency;
    is_own.then(|| price.hourly.amount())
}
