//! The documents behind `gpucost history` and `gpucost history digest`: everything that a history
//! says at once, and what happened between two kept audits of the same scope.

use super::change::{AnomalyLimits, Change, DayReport, judge_last_day};
use super::dates::{Horizon, Span, Step, date_of, plus_days};
use super::forecast::{Forecast, PastForecast, past_forecasts};
use super::ledger::Ledger;
use super::periods::{
    Period, Share, TrendKey, UnitMonth, UnknownUnits, by_step, shares, unit_months, units_by_job,
};
use super::realised::{ActionStatus, PriceToday, Realised, RealisedReport};
use super::sums::Sums;
use crate::domain::{
    DatedUnits, RecordedAction, RecordedRun, WorkloadDay, latest_believed, named_enum,
};
use jiff::Timestamp;
use jiff::civil::Date;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What is asked of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendRequest {
    pub step: Step,
    pub key: TrendKey,
    /// The first day that is shown; all days when absent.
    pub since: Option<Date>,
    /// Until when a forecast goes; none when absent.
    pub horizon: Option<Horizon>,
    pub limits: AnomalyLimits,
}

/// Two spans and why they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compared {
    pub before: Span,
    pub after: Span,
    pub change: Change,
}

/// What a history says.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    pub ledger: Ledger,
    pub ask: TrendRequest,
    /// The days that are shown.
    pub span: Span,
    pub periods: Vec<Period>,
    pub shares: Vec<Share>,
    /// Over all shown days.
    pub sums: Sums,
    /// The shown days beside as many before them, or their two ends; absent with fewer than two.
    pub compared: Option<Compared>,
    pub realised: RealisedReport,
    pub forecast: Option<Forecast>,
    /// Forecasts of months that are over.
    pub past: Vec<PastForecast>,
    pub last_day: Option<DayReport>,
    pub units: Vec<UnitMonth>,
}

impl Overview {
    /// `None` of a history without a day that is asked for.
    ///
    /// # Errors
    /// With units of a name that no workload has.
    pub fn of(
        ledger: Ledger,
        actions: Vec<RecordedAction>,
        units: &[DatedUnits],
        today: PriceToday<'_>,
        ask: TrendRequest,
    ) -> Result<Option<Self>, UnknownUnits> {
        let (Some(first), Some(last)) = (ledger.first_day(), ledger.last_day()) else {
            return Ok(None);
        };
        let first = ask.since.map_or(first, |since| since.max(first));
        if first > last {
            return Ok(None);
        }
        let span = Span { first, last };
        let inside = ledger.rows.iter().filter(|row| span.holds(row.day));
        let by_job = units_by_job(&ledger, units);
        let horizon = ask.horizon;
        Ok(Some(Self {
            periods: by_step(&ledger, ask.step, ask.since),
            shares: shares(&ledger, &ask.key, span),
            sums: Sums::of(&ledger, inside),
            compared: compared(&ledger, &ask),
            realised: RealisedReport::of(&ledger, actions, &by_job, today),
            forecast: horizon.and_then(|horizon| Forecast::of(&ledger, horizon)),
            past: horizon.map_or_else(Vec::new, |_| past_forecasts(&ledger)),
            last_day: judge_last_day(&ledger, ask.limits),
            units: unit_months(&ledger, units)?,
            span,
            ask,
            ledger,
        }))
    }
}

/// Days at each end of a stretch, at most.
const MOST_AT_AN_END: u32 = 7;

impl Compared {
    /// The two ends of a stretch of days, each as long as the other: the days up to one, and
    /// the last whole days of a history.
    pub(super) fn ends(ledger: &Ledger, before: Date) -> Option<Self> {
        let (first, last) = (ledger.first_day()?, ledger.last_whole_day()?);
        let after = Span { first: plus_days(before, 1), last };
        let days = MOST_AT_AN_END.min(after.days()).min(Span { first, last: before }.days());
        let up_to = |last: Date| Span::ending(last, days);
        let has_ends = days > 0 && before >= first && before < last;
        has_ends.then(|| Self::of(ledger, up_to(before), up_to(last)))?
    }

    fn of(ledger: &Ledger, before: Span, after: Span) -> Option<Self> {
        Some(Self { before, after, change: Change::between(ledger, before, after)? })
    }
}

/// The days since the requested one beside as many before them, or, where there are fewer, the two
/// ends of what is shown.
fn compared(ledger: &Ledger, ask: &TrendRequest) -> Option<Compared> {
    let (first, last) = (ledger.first_day()?, ledger.last_whole_day()?);
    let shown = ask.since.map_or(first, |since| since.max(first));
    let days = Span { first: shown, last }.days();
    let after = Span::ending(last, days);
    let before = Some(after.before()).filter(|before| days > 0 && before.first >= first);
    before.and_then(|before| Compared::of(ledger, before, after)).or_else(|| {
        Compared::ends(ledger, plus_days(shown, i64::from(MOST_AT_AN_END.min(days / 2)) - 1))
    })
}

/// Which earlier audit the last one is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The last one of an earlier day.
    Last,
    /// The last one that is so many days older.
    Days(i64),
    /// The last one of a day or before.
    Day(Date),
}

/// What a history keeps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    pub runs: Vec<RecordedRun>,
    pub rows: Vec<WorkloadDay>,
    /// Those of every run.
    pub actions: Vec<RecordedAction>,
}

named_enum! {
    /// What an action did since the earlier audit. The most important first.
    Turn {
        /// It was carried out, at least in part.
        Done = "done",
        Undone = "undone",
        /// It is advised for the first time.
        New = "new",
        /// It is advised still.
        Open = "open",
        /// It is advised no more, and was not carried out.
        Gone = "no longer advised",
    }
}

/// Two audits of one scope and everything between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    pub before: RecordedRun,
    pub now: RecordedRun,
    /// The days that were kept after the earlier audit.
    pub overview: Overview,
    /// Scopes of the history that this is not about.
    pub other_scopes: u64,
    /// Whether the history does not go back as far as was asked, so that the first audit is
    /// the earlier one.
    pub begins_later: bool,
}

/// Why there is nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoDigest {
    /// No audit was kept.
    Empty,
    /// The last audit is the only one of its scope, or all of them are of one day.
    OneAudit,
    /// No day was kept between the two audits.
    NoDay,
}

impl Digest {
    /// Compares the last audit of a history with an earlier one of the same scope; `today` has
    /// public prices for what actions saved.
    ///
    /// # Errors
    /// When two audits or days between them are missing.
    pub fn of(
        kept: Kept,
        since: Since,
        today: PriceToday<'_>,
        now: Timestamp,
    ) -> Result<Self, NoDigest> {
        let limit = latest_believed(now);
        let known = kept.runs.iter().filter(|run| run.as_of <= limit);
        let last = known.max_by_key(|run| (run.as_of, &run.run_id));
        let last = last.cloned().ok_or(NoDigest::Empty)?;
        let scopes: BTreeSet<&str> = kept.runs.iter().map(|run| run.scope.as_str()).collect();
        let other_scopes = scopes.len() as u64 - 1;
        let mut runs = kept.runs.clone();
        runs.retain(|run| run.scope == last.scope && run.as_of <= limit);
        runs.sort_by(|left, right| (left.as_of, &left.run_id).cmp(&(right.as_of, &right.run_id)));
        let (before, begins_later) = earlier(&runs, &last, since).ok_or(NoDigest::OneAudit)?;
        let last_kept = before.days.last();
        let first = last_kept.map_or_else(|| date_of(before.as_of), |kept| plus_days(*kept, 1));
        let (rows, actions) = of_scope(kept.rows, kept.actions, &runs);
        let ask = TrendRequest {
            step: Step::Day,
            key: TrendKey::Workload,
            since: Some(first),
            horizon: Some(Horizon::Month),
            limits: AnomalyLimits::default(),
        };
        let ledger = Ledger::of(rows, &runs, now);
        // Without units, no name of them can be unknown.
        let mut overview =
            Overview::of(ledger, actions, &[], today, ask).ok().flatten().ok_or(NoDigest::NoDay)?;
        // The totals are those of the two audits, so the change is that between them.
        let ends = Compared::ends(&overview.ledger, plus_days(first, -1));
        overview.compared = ends.or(overview.compared);
        Ok(Self { before: before.clone(), now: last, overview, other_scopes, begins_later })
    }

    /// Actions with news since the earlier audit, and those that are open: by what they did,
    /// then by what they were expected to save, most first.
    pub fn actions(&self) -> Vec<(Turn, &Realised)> {
        let actions = self.overview.realised.actions.iter();
        let mut turned: Vec<(Turn, &Realised)> =
            actions.filter_map(|realised| Some((self.turn_of(realised)?, realised))).collect();
        turned.sort_by_key(|(turn, realised)| {
            let expected = Reverse(realised.action.expected_monthly.amount());
            (*turn, expected, realised.action.action_id.clone())
        });
        turned
    }

    /// `None` of an action that was over before the earlier audit.
    fn turn_of(&self, realised: &Realised) -> Option<Turn> {
        let is_since = |day: Option<Date>| day.is_some_and(|day| day >= self.overview.span.first);
        let turn = match realised.status {
            ActionStatus::Done | ActionStatus::Partly if is_since(realised.since) => Turn::Done,
            ActionStatus::Undone if is_since(realised.undone_on) => Turn::Undone,
            ActionStatus::NotDone if realised.action.first_seen > self.before.as_of => Turn::New,
            ActionStatus::NotDone | ActionStatus::Partly => Turn::Open,
            ActionStatus::Withdrawn | ActionStatus::Ended
                if realised.action.last_seen >= self.before.as_of =>
            {
                Turn::Gone
            }
            _ => return None,
        };
        Some(turn)
    }
}

/// The audit that the last one is compared with, and whether a still earlier one was asked
/// for; `runs` by time.
fn earlier<'a>(
    runs: &'a [RecordedRun],
    last: &RecordedRun,
    since: Since,
) -> Option<(&'a RecordedRun, bool)> {
    let today = date_of(last.as_of);
    let yesterday = plus_days(today, -1);
    let until = match since {
        Since::Last => yesterday,
        Since::Days(days) => plus_days(today, days.saturating_neg()).min(yesterday),
        Since::Day(day) => day.min(yesterday),
    };
    let mut before = runs.iter().filter(|run| date_of(run.as_of) <= yesterday);
    let old_enough =
        before.clone().rfind(|run| date_of(run.as_of) <= until).map(|run| (run, false));
    old_enough.or_else(|| before.next().map(|run| (run, true)))
}

/// Rows and actions of the runs of one scope. An action names no run: it belongs to the scope
/// if one of these runs is of its time, and a row of theirs is of its job.
fn of_scope(
    mut rows: Vec<WorkloadDay>,
    mut actions: Vec<RecordedAction>,
    runs: &[RecordedRun],
) -> (Vec<WorkloadDay>, Vec<RecordedAction>) {
    let ids: BTreeSet<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
    rows.retain(|row| ids.contains(row.run_id.as_str()));
    let times: BTreeSet<Timestamp> = runs.iter().map(|run| run.as_of).collect();
    let jobs: BTreeSet<&str> = rows.iter().map(|row| row.job.as_str()).collect();
    actions
        .retain(|action| times.contains(&action.first_seen) && jobs.contains(action.job.as_str()));
    (rows, actions)
}
