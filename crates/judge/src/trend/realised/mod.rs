//! What advised actions really saved: who carried them out, what that took off the cost at
//! today's prices, and what the cloud did by itself.

#[cfg(test)]
mod half_year;
mod progress;
#[cfg(test)]
mod tests;

pub use progress::{ActionStatus, PriceToday, SavedPart, SavedParts};

use super::dates::{date_of, plus_days};
use super::ledger::Ledger;
use super::missing::DayRead;
use super::sums::{add_up, cents, share};
use crate::domain::{ActionKind, Money, RecordedAction, Target, WorkloadDay};
use jiff::civil::Date;
use progress::{JobDay, PastPrices, Progress, daily, volumes};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// How much more may run than before an action, so that both can be compared.
const GREW: Decimal = Decimal::from_parts(105, 0, 0, false, 2);
/// Days before an action over which units of work are a mean.
const UNIT_DAYS: i64 = 14;

/// Units of work by job and day.
pub type UnitsByDay = BTreeMap<String, BTreeMap<Date, Decimal>>;

/// What one action saved so far. Amounts are in cents.
#[derive(Debug, Clone, PartialEq)]
pub struct Realised {
    pub action: RecordedAction,
    pub status: ActionStatus,
    /// The first day on which it was carried out at least in part.
    pub since: Option<Date>,
    /// The first day on which it was not any more; absent while it is.
    pub undone_on: Option<Date>,
    /// Days on which it was carried out and that could be compared and priced.
    pub days: u32,
    /// Days on which it was carried out and more ran than before, without units of work.
    pub days_not_comparable: u32,
    /// Days on which it was carried out and that have no price of today or of then.
    pub days_unpriced: u32,
    /// What it was expected to save on [`Self::days`].
    pub expected: Money,
    /// What it saved on them, with its parts, which add up to it; absent without such a day.
    pub saved: Option<(Money, SavedParts)>,
    /// What it was expected to save on the days on which it was advised and not carried out;
    /// absent without such a day.
    pub missed: Option<Money>,
}

/// What all actions saved.
#[derive(Debug, Clone, PartialEq)]
pub struct RealisedReport {
    /// By what they saved, most first, then by id; those without a day last.
    pub actions: Vec<Realised>,
    /// What the jobs cost less than before on the days of carried-out actions:
    /// `claimed + price + unclaimed`.
    pub difference: Money,
    pub claimed: Money,
    /// Price cuts of the cloud.
    pub price: Money,
    /// Changes that none of the carried-out actions brings about, and cents that rounding
    /// leaves.
    pub unclaimed: Money,
    /// Actions in another currency, which nothing is said about.
    pub other_currencies: u64,
}

impl RealisedReport {
    /// What actions saved, by the days of a history. `units` has work by job, where somebody
    /// counted it.
    pub fn of(
        ledger: &Ledger,
        actions: Vec<RecordedAction>,
        units: &UnitsByDay,
        today: PriceToday<'_>,
    ) -> Self {
        let (own, others): (Vec<_>, Vec<_>) = merged(actions).into_iter().partition(|action| {
            let baseline = action.baseline.effective_hourly.currency();
            [action.expected_monthly.currency(), baseline] == [ledger.currency; 2]
        });
        let mut by_job: BTreeMap<[String; 3], Vec<RecordedAction>> = BTreeMap::new();
        for action in own {
            let job = [&action.account, &action.region, &action.job].map(Clone::clone);
            by_job.entry(job).or_default().push(action);
        }
        let jobs = Jobs::of(ledger);
        let prices = PastPrices::of(ledger, today);
        let mut sums = Sums::default();
        let mut measured = Vec::new();
        for actions in by_job.into_values() {
            let units = actions.first().and_then(|action| units.get(&action.job));
            let job = OneJob { ledger, jobs: &jobs, prices: &prices, units };
            measured.extend(job.actions(actions, &mut sums));
        }
        measured.sort_by(|left, right| {
            let saved = |realised: &Realised| realised.saved.map(|(saved, _)| saved.amount());
            let most = saved(right).cmp(&saved(left));
            most.then_with(|| left.action.action_id.cmp(&right.action.action_id))
        });
        let claimed = measured.iter().filter_map(|realised| realised.saved);
        let claimed: Decimal = claimed.map(|(saved, _)| saved.amount()).sum();
        let (difference, price) = (cents(sums.difference), cents(sums.price));
        Self {
            actions: measured,
            difference: ledger.money(difference),
            claimed: ledger.money(claimed),
            price: ledger.money(price),
            unclaimed: ledger.money(difference - claimed - price),
            other_currencies: others.len() as u64,
        }
    }
}

/// One action that several runs advised: how it was expected of the first of them.
pub fn merged(actions: Vec<RecordedAction>) -> Vec<RecordedAction> {
    let mut by_key: BTreeMap<(String, ActionKind, Option<Target>), RecordedAction> =
        BTreeMap::new();
    for action in actions {
        let key = (action.workload.clone(), action.kind, action.target.clone());
        let Some(known) = by_key.get_mut(&key) else {
            by_key.insert(key, action);
            continue;
        };
        let last_seen = known.last_seen.max(action.last_seen);
        if action.first_seen < known.first_seen {
            *known = action;
        }
        known.last_seen = last_seen;
    }
    by_key.into_values().collect()
}

/// Sums over all jobs, unrounded.
#[derive(Debug, Default)]
struct Sums {
    difference: Decimal,
    price: Decimal,
}

/// The rows of a history by job and day.
struct Jobs<'a> {
    rows: BTreeMap<&'a str, BTreeMap<Date, Vec<&'a WorkloadDay>>>,
    /// The jobs of each name in a place.
    by_name: BTreeMap<[&'a str; 3], Vec<&'a str>>,
}

impl<'a> Jobs<'a> {
    fn of(ledger: &'a Ledger) -> Self {
        let mut index = Self { rows: BTreeMap::new(), by_name: BTreeMap::new() };
        for row in &ledger.rows {
            index.rows.entry(row.job.as_str()).or_default().entry(row.day).or_default().push(row);
            let name = [&row.account, &row.region, &row.name].map(String::as_str);
            let jobs = index.by_name.entry(name).or_default();
            if !jobs.contains(&row.job.as_str()) {
                jobs.push(&row.job);
            }
        }
        index
    }

    /// The types that the job of an action ran on before it was advised.
    fn types_before(&self, action: &RecordedAction) -> BTreeSet<&'a str> {
        let days = self.rows.get(action.job.as_str());
        let before = days.map(|days| days.range(..date_of(action.first_seen)));
        let rows = before.into_iter().flatten().flat_map(|(_, rows)| rows);
        rows.map(|row| row.instance_type.as_str()).collect()
    }

    /// The job of an action, and those that took its name after it was advised: a machine
    /// that is replaced has another id. Only where one job had the name until then.
    fn with_successors(&self, action: &RecordedAction, since: Date) -> Vec<&'a str> {
        let name = [&action.account, &action.region, &action.name].map(String::as_str);
        let mut jobs: Vec<&str> = Vec::new();
        jobs.extend(self.rows.get_key_value(action.job.as_str()).map(|(job, _)| *job));
        let others = self.by_name.get(&name).into_iter().flatten().copied();
        let others: Vec<&str> = others.filter(|job| *job != action.job).collect();
        let begins = |job: &&str| self.rows.get(job).and_then(|days| days.keys().next().copied());
        let is_one = others.iter().all(|job| begins(job) > Some(since));
        if !action.name.is_empty() && is_one {
            jobs.extend(others);
        }
        jobs
    }
}

/// The actions of one job.
struct OneJob<'a> {
    ledger: &'a Ledger,
    jobs: &'a Jobs<'a>,
    prices: &'a PastPrices<'a>,
    units: Option<&'a BTreeMap<Date, Decimal>>,
}

/// An action while its days are gone through.
struct Open<'a> {
    action: RecordedAction,
    since: Date,
    /// Types that its job ran on before it was advised.
    earlier_types: BTreeSet<&'a str>,
    progress: Progress,
    claimed: SavedParts,
    /// Days that were compared and priced, in order.
    days: Vec<Date>,
    days_not_comparable: u32,
    days_unpriced: u32,
}

/// What a day of a job comes to.
enum Compared {
    Saved(SavedParts),
    Grew,
    Unpriced,
}

impl<'a> OneJob<'a> {
    fn actions(&self, actions: Vec<RecordedAction>, sums: &mut Sums) -> Vec<Realised> {
        let open = actions.into_iter().map(|action| Open {
            since: date_of(action.first_seen),
            earlier_types: self.jobs.types_before(&action),
            action,
            progress: Progress::default(),
            claimed: SavedParts::default(),
            days: Vec::new(),
            days_not_comparable: 0,
            days_unpriced: 0,
        });
        let mut open: Vec<Open<'a>> = open.collect();
        open.sort_by_key(|advised| (advised.since, advised.action.action_id.clone()));
        for (day, read) in self.ledger.days() {
            let Some(first) = open.first() else { break };
            let is_read = self.is_read(&first.action, read, day);
            let is_missing = read.missing.iter().any(|row| row.job == first.action.job);
            if is_read && !is_missing {
                self.go_on(&mut open, day, sums);
            }
        }
        let last = self.ledger.last_day();
        open.into_iter().map(|advised| self.closed(advised, last)).collect()
    }

    /// Whether a day would have the job of an action, as it was last recorded.
    fn is_read(&self, action: &RecordedAction, read: &DayRead, day: Date) -> bool {
        let days = self.jobs.rows.get(action.job.as_str());
        let last = days.and_then(|days| days.range(..=day).next_back()?.1.first());
        match last {
            Some(row) => self.ledger.reads(read, row),
            None => read.reads_place(&action.account, &action.region),
        }
    }

    /// One known day of all actions.
    fn go_on(&self, open: &mut [Open<'a>], day: Date, sums: &mut Sums) {
        let mut active: Vec<usize> = Vec::new();
        for (place, advised) in open.iter_mut().enumerate() {
            if advised.since > day {
                continue;
            }
            let job_day = self.on(advised, day);
            advised.progress.add(&advised.action, day, &job_day);
            let is_about_rest = matches!(
                advised.action.kind,
                ActionKind::Stop | ActionKind::Schedule | ActionKind::Release
            );
            if advised.progress.is_active() && (job_day.runs() || is_about_rest) {
                active.push(place);
            }
        }
        let (storage, compute): (Vec<usize>, Vec<usize>) =
            active.into_iter().partition(|place| open[*place].action.kind == ActionKind::Release);
        for group in [storage, compute] {
            let Some(oldest) = group.first().map(|place| &open[*place]) else { continue };
            let compared = self.compared(oldest, day);
            settle(open, &group, (day, &compared), sums);
        }
    }

    fn on(&self, open: &Open<'a>, day: Date) -> JobDay {
        let jobs = self.jobs.with_successors(&open.action, open.since);
        let rows = jobs.iter().filter_map(|job| self.jobs.rows.get(job)?.get(&day));
        let rows = rows.flatten().copied();
        let mut job_day = JobDay::of(self.ledger, rows, &open.action, &open.earlier_types);
        if !self.is_cheaper(open, &job_day, day) {
            job_day.other_hours = Decimal::ZERO;
        }
        job_day
    }

    /// Whether an hour on the other types costs less than one on the type of the baseline, both
    /// at the public price of the day.
    fn is_cheaper(&self, open: &Open<'a>, job_day: &JobDay, day: Date) -> bool {
        let hourly = |list: Decimal| list.checked_div(job_day.other_hours);
        let Some(other) = job_day.other_list.and_then(hourly) else { return false };
        let before = || {
            let then = open.action.baseline.price.as_ref()?.hourly.amount();
            then.checked_mul(self.prices.ratio(&open.action, open.since, day)?)
        };
        before().is_some_and(|before| other < before)
    }

    /// What a day cost less than a day of the baseline, at today's prices.
    fn compared(&self, open: &Open<'a>, day: Date) -> Compared {
        let (action, since) = (&open.action, open.since);
        let job_day = self.on(open, day);
        let before = action.baseline.effective_daily().amount();
        if action.kind == ActionKind::Release {
            let mut parts = SavedParts::default();
            return job_day.standing.map_or(Compared::Unpriced, |standing| {
                parts[SavedPart::Standing as usize] = before - standing;
                Compared::Saved(parts)
            });
        }
        let work = self.work(since, day);
        let (volume, now) = volumes(action, &job_day);
        let grew = |then: Decimal, now: Decimal| now > then * GREW;
        if work.is_none() && grew(volume, now) && grew(action.baseline.hours_daily, job_day.hours) {
            return Compared::Grew;
        }
        let (done, usual) = work.unwrap_or((Decimal::ONE, Decimal::ONE));
        let parts = || {
            let hourly = action.baseline.effective_hourly.amount();
            let public = self.prices.ratio(action, since, day)?;
            // It would not cost more than on demand, which a negotiated discount lowers.
            let on_demand = self.prices.on_demand(action, since, day);
            let on_demand = on_demand.and_then(|today| today.checked_div(hourly));
            let ratio = on_demand.map_or(public, |most| public.min(most));
            let before = share(before, done, usual)?;
            let volume = share(volume, done, usual)?;
            let repriced = before.checked_mul(ratio)?;
            let at_volume = share(repriced, now, volume)?;
            let price = action.baseline.price.as_ref()?.hourly.amount();
            let discounted = share(job_day.list?, hourly, price)?;
            let discounted = share(discounted, ratio, public)?;
            let mut parts = SavedParts::default();
            parts[SavedPart::Usage as usize] = repriced - at_volume;
            parts[SavedPart::Mix as usize] = at_volume - discounted;
            parts[SavedPart::Rate as usize] = discounted - job_day.effective?;
            parts[SavedPart::Price as usize] = before - repriced;
            Some(parts)
        };
        parts().map_or(Compared::Unpriced, Compared::Saved)
    }

    /// Units of work of a day, and of a mean day before an action; `None` where either was
    /// not counted.
    fn work(&self, since: Date, day: Date) -> Option<(Decimal, Decimal)> {
        let units = self.units?;
        let before: Vec<Decimal> =
            units.range(plus_days(since, -UNIT_DAYS)..since).map(|(_, units)| *units).collect();
        let usual = before.iter().sum::<Decimal>().checked_div(Decimal::from(before.len()))?;
        let done = *units.get(&day)?;
        (usual > Decimal::ZERO).then_some((done, usual))
    }

    fn closed(&self, open: Open<'a>, last: Option<Date>) -> Realised {
        let is_advised = last.is_none_or(|last| date_of(open.action.last_seen) > last);
        let status = open.progress.status(is_advised);
        let undone_on =
            (status == ActionStatus::Undone).then(|| open.progress.undone_on()).flatten();
        // Of an action that was undone, the mean of seven days goes on for some days.
        let days = open.days.iter().filter(|day| undone_on.is_none_or(|undone| **day < undone));
        let days = u32::try_from(days.count()).unwrap_or(u32::MAX);
        let expected = daily(open.action.expected_monthly) * Decimal::from(days);
        let idle_days = open.progress.days_not_done(date_of(open.action.last_seen));
        let missed = daily(open.action.expected_monthly) * Decimal::from(idle_days);
        let saved = (!open.days.is_empty()).then(|| {
            let mut parts = open.claimed;
            let total = cents(parts.iter().sum());
            add_up(&mut parts, total);
            (self.ledger.money(total), parts)
        });
        Realised {
            status,
            since: open.progress.since(),
            undone_on,
            days,
            days_not_comparable: open.days_not_comparable,
            days_unpriced: open.days_unpriced,
            expected: self.ledger.money(cents(expected)),
            saved,
            missed: (idle_days > 0).then(|| self.ledger.money(cents(missed))),
            action: open.action,
        }
    }
}

/// Hands the parts of a day to the actions that can have brought them about, in proportion
/// to what was expected of each.
fn settle(
    open: &mut [Open<'_>],
    active: &[usize],
    (day, compared): (Date, &Compared),
    sums: &mut Sums,
) {
    let parts = match compared {
        Compared::Saved(parts) => parts,
        Compared::Grew | Compared::Unpriced => {
            for place in active {
                let is_unpriced = matches!(compared, Compared::Unpriced);
                open[*place].days_unpriced += u32::from(is_unpriced);
                open[*place].days_not_comparable += u32::from(!is_unpriced);
            }
            return;
        }
    };
    sums.difference += parts.iter().sum::<Decimal>();
    sums.price += parts[SavedPart::Price as usize];
    for place in active {
        open[*place].days.push(day);
    }
    for (part, amount) in SavedPart::ALL.iter().zip(parts) {
        let able = |place: &&usize| part.is_of(open[**place].action.kind);
        let able: Vec<usize> = active.iter().filter(able).copied().collect();
        let expected = |advised: &Open<'_>| advised.action.expected_monthly.amount();
        let expected_sum: Decimal = able.iter().map(|place| expected(&open[*place])).sum();
        for place in able {
            if let Some(own) = share(*amount, expected(&open[place]), expected_sum) {
                open[place].claimed[*part as usize] += own;
            }
        }
    }
}
