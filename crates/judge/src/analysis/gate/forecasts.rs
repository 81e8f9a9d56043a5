//! Budgets of the month: what was spent of it, and what it is forecast to end at.

use super::evaluation::{RuleEvaluation, Words};
use super::{Budget, BudgetBasis, GatePolicy, Scope, policy_rule};
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Hidden, Money, NAME_TAG, PastGap, RecordedRun, Severity,
    TagFilter, WorkloadDay, hidden, region_of,
};
use crate::trend::{Forecast, Horizon, Ledger, Span, Sums, date_of};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};

/// What was recorded of earlier days.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpendHistory {
    /// Where it lies, as a command line names it.
    pub place: String,
    pub days: Vec<WorkloadDay>,
    pub runs: Vec<RecordedRun>,
    /// Files of it that cannot be used, each in words.
    pub problems: Vec<String>,
}

/// Whole days that a forecast needs.
const LEAST_DAYS: usize = 7;
/// How many days the last whole day may be before the day of the check.
const MOST_AGE_DAYS: i64 = 3;

/// Every budget of a month, held against its forecast.
pub(super) fn budgets(
    policy: &GatePolicy,
    history: Option<&SpendHistory>,
    audited: &Audited<'_>,
    as_of: Timestamp,
) -> Vec<RuleEvaluation> {
    let of_month = policy.budgets.iter().filter(|budget| budget.basis == BudgetBasis::Forecast);
    of_month.map(|budget| judge(policy, budget, history, (audited, as_of))).collect()
}

/// What the audit beside a history read, all of which a budget may be about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Audited<'a> {
    pub accounts: &'a [String],
    pub regions: &'a [String],
    pub tag_filters: &'a [TagFilter],
}

fn judge(
    policy: &GatePolicy,
    budget: &Budget,
    history: Option<&SpendHistory>,
    (audited, as_of): (&Audited<'_>, Timestamp),
) -> RuleEvaluation {
    let today = date_of(as_of);
    let month = Horizon::Month.around(today);
    let mut judge = RuleEvaluation::new(
        policy,
        policy_rule::BUDGET_FORECAST,
        budget.scope.to_string(),
        format!("{} in {}", budget.monthly_limit, name_of(month)),
        budget.line,
    );
    let Some(history) = history else {
        judge.lacks(&missing(budget, CauseKind::NoHistory, []));
        return judge;
    };
    let currency = budget.monthly_limit.currency();
    let recorded = Ledger::in_currency(history.days.clone(), &history.runs, as_of, currency);
    let inside = |row: &WorkloadDay| budget.scope.holds(&row.account, &row.region, &row.tags);
    let ledger = recorded.only(inside);
    let spent = spent_in(&ledger, month);
    if spent.amount() > budget.monthly_limit.amount() {
        judge.observed(format!("{spent} so far"));
        violated(&mut judge, (budget, &history.place), month, spent, true);
        judge.lacks_if_accepted();
    }
    let whole = ledger.days().filter(|(_, read)| read.missing.is_empty());
    let whole = whole.count();
    let Some(forecast) = Forecast::within(&ledger, month) else {
        judge.lacks(&missing(budget, CauseKind::NoHistory, []));
        return judge;
    };
    let age = today.duration_since(forecast.state_day).as_hours() / 24;
    if age > MOST_AGE_DAYS {
        let last = forecast.state_day.to_string();
        judge.lacks(&missing(budget, CauseKind::HistoryStale, [&last]));
        return judge;
    }
    let total = forecast.total();
    let is_over = !judge.violations.is_empty();
    if !is_over {
        judge.observed(format!("{total} forecast, {spent} so far"));
    }
    if whole < LEAST_DAYS {
        let (whole, least) = (whole.to_string(), LEAST_DAYS.to_string());
        judge.lacks(&missing(budget, CauseKind::HistoryShort, [&whole, &least]));
        return judge;
    }
    if !is_over && total.amount() > budget.monthly_limit.amount() {
        violated(&mut judge, (budget, &history.place), month, total, false);
        judge.lacks_if_accepted();
    }
    for problem in &history.problems {
        let hint = format!("`gpucost history verify {}` names its files", history.place);
        let gap = Gap::in_words(GapSubject::Budget, budget.called(), problem, hint);
        judge.lacks(&gap);
    }
    if matches!(&budget.scope, Scope::Tag { key, .. } if key == NAME_TAG) {
        let reason = "recorded days keep the tag Name only where a whole workload shares it";
        let hint = "write the budget for another tag".to_owned();
        judge.lacks(&Gap::in_words(GapSubject::Budget, budget.called(), reason, hint));
    }
    let unpriced = unpriced_hours(&ledger, month, &forecast);
    if !unpriced.is_zero() {
        let hours = unpriced.ceil().to_u64().unwrap_or(u64::MAX).to_string();
        judge.lacks(&missing(budget, CauseKind::HistoryUnpriced, [&hours]));
    }
    if let Some([recorded, over]) = unrecorded(&forecast, month) {
        judge.lacks(&missing(budget, CauseKind::HistoryShort, [&recorded, &over]));
    }
    for ((what, place), day) in
        unread(&ledger, (month, forecast.state_day), (&budget.scope, audited))
    {
        let cause = Cause::of(CauseKind::HistoryUnread, [day.to_string().as_str()]);
        judge.lacks(&Gap::of(what, place, cause));
    }
    for (code, jobs) in other_currencies(history, budget, month, policy) {
        let jobs = jobs.to_string();
        let details = [jobs.as_str(), code, currency.code()];
        judge.lacks(&missing(budget, CauseKind::CostsNotInBudget, details));
    }
    judge
}

fn missing<const N: usize>(budget: &Budget, kind: CauseKind, details: [&str; N]) -> Gap {
    Gap::of(GapSubject::Budget, budget.called(), Cause::of(kind, details))
}

/// The days of a month that were recorded whole, and those until the last whole one, where they
/// are more: on days that nobody recorded anything may have run.
fn unrecorded(forecast: &Forecast, month: Span) -> Option<[String; 2]> {
    let last = Some(forecast.state_day).filter(|day| month.holds(*day))?;
    let recorded = i64::from(forecast.recorded_days);
    let until = last.duration_since(month.first).as_hours() / 24 + 1;
    (recorded < until).then(|| [recorded, until].map(|days| days.to_string()))
}

/// Hours without a price of the recorded days of a month, and of the day whose state goes on.
fn unpriced_hours(ledger: &Ledger, month: Span, forecast: &Forecast) -> Decimal {
    let rows = ledger.rows.iter();
    let earlier = rows.filter(|row| month.holds(row.day) && row.day != forecast.state_day);
    Sums::of(ledger, earlier).unpriced_hours + forecast.unpriced_hours
}

/// What of a scope no run read for the day whose state goes on, or was denied on another day of
/// the month, each with the last such day: more may have run there than is known.
fn unread(
    ledger: &Ledger,
    (month, state_day): (Span, Date),
    (scope, audited): (&Scope, &Audited<'_>),
) -> BTreeMap<(GapSubject, String), Date> {
    let mut dates = BTreeMap::new();
    for (day, read) in ledger.days().filter(|(day, _)| month.holds(*day) || *day == state_day) {
        let gaps = read.unread.iter().filter(|gap| concerns(gap, scope));
        // Runs of several scopes may say the same.
        dates.extend(gaps.map(|gap| ((gap.what.clone(), gap.place.clone()), day)));
        if day != state_day {
            continue;
        }
        let (accounts, regions) = match scope {
            Scope::Account(account) => (std::slice::from_ref(account), audited.regions),
            Scope::Region(region) => (audited.accounts, std::slice::from_ref(region)),
            Scope::Everything | Scope::Tag { .. } => (audited.accounts, audited.regions),
        };
        let accounts = accounts.iter().filter(|account| !read.reads_account(account));
        let accounts = accounts.map(|account| (GapSubject::Account, account.clone()));
        let regions = regions.iter().filter(|region| !read.reads_region(region));
        let regions = regions.map(|region| (GapSubject::Region, region.clone()));
        let is_own = |limit: &TagFilter| match scope {
            Scope::Tag { key, value } => {
                !limit.is_excluded && (key, value) == (&limit.key, &limit.value)
            }
            _ => false,
        };
        let limit = read.limit(audited.tag_filters).filter(|limit| !is_own(limit));
        let limit = limit.map(|limit| {
            let without = if limit.is_excluded { "with" } else { "without" };
            (GapSubject::Tags, format!("what is {without} {}={}", limit.key, limit.value))
        });
        let unasked = accounts.chain(regions).chain(limit);
        dates.extend(unasked.map(|what| (what, day)));
    }
    dates
}

/// Whether what could not be read may be in a scope. The place of a region may have its
/// account before it.
fn concerns(gap: &PastGap, scope: &Scope) -> bool {
    match (&gap.what, scope) {
        (GapSubject::Account, Scope::Account(account)) => {
            gap.place.is_empty() || gap.place == *account
        }
        (GapSubject::Region, Scope::Account(account)) => {
            let own = gap.place.strip_suffix(region_of(&gap.place));
            let own = own.and_then(|before| before.strip_suffix('/'));
            own.is_none_or(|own| own == account)
        }
        (GapSubject::Region, Scope::Region(region)) => region_of(&gap.place) == region,
        (what, _) => hidden(what, gap.cause) != Hidden::Tags || matches!(scope, Scope::Tag { .. }),
    }
}

/// A month as `2026-11`.
fn name_of(month: Span) -> String {
    month.first.strftime("%Y-%m").to_string()
}

/// What recorded days of a month cost, also those with places that were not read.
fn spent_in(ledger: &Ledger, month: Span) -> Money {
    let rows = ledger.rows.iter().filter(|row| month.holds(row.day));
    ledger.money(Sums::of(ledger, rows).spend).rounded()
}

fn violated(
    judge: &mut RuleEvaluation,
    (budget, place): (&Budget, &str),
    month: Span,
    amount: Money,
    is_spent: bool,
) {
    let limit = budget.monthly_limit;
    let over = Money::new(amount.amount() - limit.amount(), limit.currency());
    let (severity, verb, observed) = if is_spent {
        (Severity::Critical, "has spent", format!("{amount} so far"))
    } else {
        (Severity::Warning, "is forecast to end at", format!("{amount} forecast"))
    };
    let words = Words {
        title: format!(
            "{} {verb} {amount} in {}, {over} over its budget of {limit}",
            budget.called(),
            name_of(month)
        ),
        observed,
        monthly: Some(over),
        steps: vec![
            format!(
                "`gpucost history --history {place} --forecast month` shows what the forecast is \
                 made of"
            ),
            "raise the limit in the policy if the spending is intended".to_owned(),
        ],
        aspect: Some(limit.currency().code().to_owned()),
        ..Words::default()
    };
    // A month is not compared with another audit's.
    judge.violated(severity, words, None);
}

/// Workloads of a scope this month in currencies that no forecast budget of it is in, with
/// how many of each.
fn other_currencies(
    history: &SpendHistory,
    budget: &Budget,
    month: Span,
    policy: &GatePolicy,
) -> Vec<(&'static str, usize)> {
    let is_covered = |amount: Money| {
        policy.budgets.iter().any(|other| {
            other.basis == BudgetBasis::Forecast
                && other.scope == budget.scope
                && other.monthly_limit.currency() == amount.currency()
        })
    };
    let mut open: BTreeMap<&'static str, BTreeSet<&str>> = BTreeMap::new();
    for row in history.days.iter().filter(|row| is_of(row, budget, month)) {
        if let Some(amount) = row.effective.filter(|amount| !is_covered(*amount)) {
            open.entry(amount.currency().code()).or_default().insert(row.job.as_str());
        }
    }
    open.into_iter().map(|(code, jobs)| (code, jobs.len())).collect()
}

fn is_of(row: &WorkloadDay, budget: &Budget, month: Span) -> bool {
    month.holds(row.day) && budget.scope.holds(&row.account, &row.region, &row.tags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;
    use crate::trend::lab::{decimal, night, row, run, steady, usd};

    /// A budget of everything for a month, in dollars.
    fn policy(limit: &str) -> GatePolicy {
        GatePolicy {
            budgets: vec![Budget {
                name: None,
                scope: Scope::Everything,
                basis: BudgetBasis::Forecast,
                monthly_limit: usd(limit),
                line: 1,
            }],
            ..GatePolicy::default()
        }
    }

    fn history(nights: i64, days: Vec<WorkloadDay>) -> SpendHistory {
        SpendHistory {
            place: "nights".to_owned(),
            days,
            runs: (0..nights).map(run).collect(),
            problems: Vec::new(),
        }
    }

    /// The amounts, the titles of violations, and what is missing, of the only budget.
    fn judged(
        policy: &GatePolicy,
        history: Option<&SpendHistory>,
        tonight: i64,
    ) -> (Option<String>, Vec<String>, Vec<String>) {
        let evaluations = budgets(policy, history, &Audited::default(), night(tonight));
        assert_eq!(evaluations.len(), 1);
        let violations = evaluations[0].violations.iter();
        let missing = evaluations[0].missing_data.iter();
        (
            evaluations[0].check.observed.clone(),
            violations.map(|violation| violation.violation.title.clone()).collect(),
            missing.map(|gap| gap.reason.clone()).collect(),
        )
    }

    #[test]
    fn a_month_of_720_dollars_passes_at_its_limit_and_not_above() {
        // Ten days of June at $24; 10 × 24 + 20 × 24.
        let nights = history(10, steady(10, "a", "24"));
        let (observed, violations, missing) = judged(&policy("720"), Some(&nights), 10);
        assert_eq!(observed.as_deref(), Some("$720.00 forecast, $240.00 so far"));
        assert!(violations.is_empty() && missing.is_empty(), "{missing:?}");
        let (_, violations, _) = judged(&policy("719.99"), Some(&nights), 10);
        assert_eq!(
            violations,
            ["everything is forecast to end at $720.00 in 2026-06, $0.01 over its budget of \
              $719.99"]
        );
        // What was spent already is over, whatever comes.
        let (observed, violations, _) = judged(&policy("239.99"), Some(&nights), 10);
        assert_eq!(observed.as_deref(), Some("$240.00 so far"));
        assert_eq!(
            violations,
            ["everything has spent $240.00 in 2026-06, $0.01 over its budget of $239.99"]
        );
    }

    #[test]
    fn nothing_passes_for_a_history_that_is_absent_short_or_old() {
        let reasons = |history: Option<&SpendHistory>, tonight| -> Vec<String> {
            let (_, violations, missing) = judged(&policy("1000000"), history, tonight);
            assert!(violations.is_empty());
            missing
        };
        assert_eq!(reasons(None, 10), ["no recorded days were read"]);
        let empty = SpendHistory::default();
        assert_eq!(reasons(Some(&empty), 10), ["no recorded days were read"]);
        let short = history(6, steady(6, "a", "24"));
        assert_eq!(reasons(Some(&short), 6), ["6 days were recorded whole, and 7 are needed"]);
        let week = history(7, steady(7, "a", "24"));
        assert_eq!(reasons(Some(&week), 9), [""; 0]);
        assert_eq!(
            reasons(Some(&week), 10),
            ["the last day that was recorded whole is 2026-06-07"]
        );
        let mut unpriced = steady(8, "a", "24");
        unpriced.push(WorkloadDay {
            effective: None,
            list: None,
            contracted: None,
            ..row(7, "b", "6.5", "0")
        });
        assert_eq!(
            reasons(Some(&history(8, unpriced)), 8),
            ["7 hours of recorded days have no price"]
        );
        // The fourth and the fifth of fourteen days are gone, whatever they cost.
        let mut holed = history(14, steady(14, "a", "24"));
        holed.runs.drain(3..5);
        let gone = [holed.days[3].day, holed.days[4].day];
        holed.days.retain(|row| !gone.contains(&row.day));
        assert_eq!(reasons(Some(&holed), 14), ["12 days were recorded whole, and 14 are needed"]);
    }

    #[test]
    fn currencies_and_scopes_are_judged_apart() {
        let mut rows = steady(10, "a", "24");
        rows.extend(steady(10, "cn", "100").into_iter().map(|mut row| {
            row.effective = Some(Money::new(decimal("100"), Currency::Cny));
            (row.list, row.contracted) = (None, None);
            row.tags.insert("team".to_owned(), "cn".to_owned());
            row
        }));
        let nights = history(10, rows);
        let (_, _, missing) = judged(&policy("1000"), Some(&nights), 10);
        assert_eq!(missing, ["1 workload costs CNY but its budget is in USD"]);
        let mut both = policy("1000");
        both.budgets.push(Budget {
            monthly_limit: Money::new(decimal("2999.99"), Currency::Cny),
            ..both.budgets[0].clone()
        });
        let evaluations = budgets(&both, Some(&nights), &Audited::default(), night(10));
        assert!(evaluations.iter().all(|evaluation| evaluation.missing_data.is_empty()));
        // 30 × 100 yuan.
        assert_eq!([evaluations[0].violations.len(), evaluations[1].violations.len()], [0, 1]);
        let tag = Scope::Tag { key: "team".to_owned(), value: "other".to_owned() };
        let mut of_tag = policy("0");
        of_tag.budgets[0].scope = tag;
        of_tag.budgets[0].name = Some("others".to_owned());
        let (observed, violations, missing) = judged(&of_tag, Some(&nights), 10);
        assert_eq!(observed.as_deref(), Some("$0.00 forecast, $0.00 so far"));
        assert!(violations.is_empty() && missing.is_empty());
        // Recorded days have no names of single instances.
        of_tag.budgets[0].scope = Scope::Tag { key: "Name".to_owned(), value: "a".to_owned() };
        let (_, violations, missing) = judged(&of_tag, Some(&nights), 10);
        assert_eq!((violations.len(), missing.len()), (0, 1));
    }

    #[test]
    fn hours_without_a_price_count_after_they_ran() {
        // It ran 6.5 hours on the third day and is gone since.
        let mut rows = steady(10, "a", "24");
        rows.push(WorkloadDay {
            effective: None,
            list: None,
            contracted: None,
            ..row(2, "b", "6.5", "0")
        });
        let (_, violations, missing) = judged(&policy("1000"), Some(&history(10, rows)), 10);
        assert!(violations.is_empty());
        assert_eq!(missing, ["7 hours of recorded days have no price"]);
    }

    #[test]
    fn what_no_run_could_read_never_passes() {
        let scopes = [
            Scope::Everything,
            Scope::Account("111122223333".to_owned()),
            Scope::Region("us-east-1".to_owned()),
            Scope::Account("999999999999".to_owned()),
            Scope::Region("ap-south-1".to_owned()),
        ];
        let open = |what: GapSubject, place: &str| -> Vec<usize> {
            let mut nights = history(10, steady(10, "a", "24"));
            for run in &mut nights.runs {
                run.unread = vec![PastGap {
                    what: what.clone(),
                    place: place.to_owned(),
                    cause: None,
                    reason: String::new(),
                }];
            }
            let of_scope = |scope: &Scope| {
                let mut policy = policy("1000");
                policy.budgets[0].scope = scope.clone();
                let (_, violations, missing) = judged(&policy, Some(&nights), 10);
                assert!(violations.is_empty());
                missing.len()
            };
            scopes.iter().map(of_scope).collect()
        };
        // On the fourth of ten days, of which the ledger knows no more than of the others.
        let mut nights = history(10, steady(10, "a", "24"));
        nights.runs[3].unread = vec![PastGap {
            what: GapSubject::Region,
            place: "eu-west-1".to_owned(),
            cause: None,
            reason: String::new(),
        }];
        let (_, _, missing) = judged(&policy("1000"), Some(&nights), 10);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].contains("2026-06-04"), "{missing:?}");
        // What no run has in its scope is open whatever was denied: 999999999999, ap-south-1.
        for (what, place, expected) in [
            (GapSubject::Region, "eu-west-1", [1, 1, 0, 2, 1]),
            (GapSubject::Region, "999999999999/eu-west-1", [1, 0, 0, 2, 1]),
            (GapSubject::Account, "444455556666", [1, 0, 1, 1, 2]),
            (GapSubject::Regions, "111122223333", [1, 1, 1, 2, 2]),
        ] {
            assert_eq!(open(what, place), expected, "{place}");
        }
    }

    #[test]
    fn a_history_of_a_part_or_without_its_commitments_passes_for_no_whole() {
        let nights = || history(10, steady(10, "a", "24"));
        let missing = |nights: &SpendHistory, audited: &Audited<'_>, scope: Scope| -> usize {
            let mut policy = policy("1000");
            policy.budgets[0].scope = scope;
            let [evaluation] = &budgets(&policy, Some(nights), audited, night(10))[..] else {
                panic!("one budget");
            };
            evaluation.missing_data.len()
        };
        let of_team = || Scope::Tag { key: "team".to_owned(), value: "a".to_owned() };
        // Runs of the lab read one account and one region.
        let own = ["111122223333".to_owned()];
        let two = ["111122223333".to_owned(), "444455556666".to_owned()];
        let of = |accounts| Audited { accounts, ..Audited::default() };
        assert_eq!(missing(&nights(), &of(&own), Scope::Everything), 0);
        assert_eq!(missing(&nights(), &of(&two), Scope::Everything), 1);
        assert_eq!(missing(&nights(), &of(&two), of_team()), 1);
        assert_eq!(missing(&nights(), &of(&two), Scope::Account(own[0].clone())), 0);
        let mut limited = nights();
        for run in &mut limited.runs {
            run.tag_filters = vec![TagFilter {
                key: "team".to_owned(),
                value: "a".to_owned(),
                is_excluded: false,
            }];
        }
        assert_eq!(missing(&limited, &of(&own), Scope::Everything), 1);
        assert_eq!(missing(&limited, &of(&own), of_team()), 0);
        for (what, of_everything, of_tag) in [
            (GapSubject::CapacityReservations, 1, 1),
            (GapSubject::Volumes, 1, 1),
            (GapSubject::Other("brand new words".into()), 1, 1),
            (GapSubject::Tags, 0, 1),
        ] {
            let mut nights = nights();
            let last = nights.runs.last_mut().expect("ten nights");
            let place = "us-east-1".to_owned();
            last.unread = vec![PastGap { what, place, cause: None, reason: String::new() }];
            assert_eq!(missing(&nights, &of(&own), Scope::Everything), of_everything);
            assert_eq!(missing(&nights, &of(&own), of_team()), of_tag);
        }
    }

    #[test]
    fn a_month_begins_before_the_last_day_of_the_one_before_was_recorded() {
        // On the first of July at 3:00 the thirtieth of June is not over for six hours.
        let nights = history(29, steady(29, "a", "24"));
        let (observed, violations, missing) = judged(&policy("743"), Some(&nights), 30);
        assert_eq!(observed.as_deref(), Some("$744.00 forecast, $0.00 so far"));
        assert_eq!((violations.len(), missing.len()), (1, 0));
    }

    #[test]
    fn a_new_month_begins_with_what_runs() {
        let nights = history(30, steady(30, "a", "24"));
        let (observed, ..) = judged(&policy("1000"), Some(&nights), 30);
        // July has 31 days.
        assert_eq!(observed.as_deref(), Some("$744.00 forecast, $0.00 so far"));
    }
}
