//! Everything that a history says at once: the document behind `gpucost history`.

use super::anomaly::{AnomalyLimits, DayReport, judge_last_day};
use super::change::Change;
use super::dates::{Horizon, Span, Step, plus_days};
use super::forecast::{Forecast, PastForecast, past_forecasts};
use super::ledger::Ledger;
use super::periods::{Period, Share, TrendKey, by_step, shares};
use super::realised::{PriceToday, RealisedReport};
use super::sums::Sums;
use super::units::{UnitMonth, UnknownUnits, unit_months, units_by_job};
use crate::domain::{DatedUnits, RecordedAction};
use jiff::civil::Date;

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
        let inside = ledger.rows().iter().filter(|row| span.holds(row.day));
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
