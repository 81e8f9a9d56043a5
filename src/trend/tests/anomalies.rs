//! Whether the last day was unusual.

use crate::trend::lab::{decimal, ledger, row, steady, usd};
use crate::trend::{AnomalyLimits, ChangePart, DayReport, judge_last_day};

/// Sixty days of `a` for $240 and `b` for $24 a day, and a last day that costs otherwise.
fn report(last_a: &str, last_b: &str) -> DayReport {
    let mut rows = steady(60, "a", "240");
    rows.extend(steady(60, "b", "24"));
    rows.push(row(60, "a", last_a, last_a));
    rows.push(row(60, "b", last_b, last_b));
    judge_last_day(&ledger(61, rows), AnomalyLimits::default()).expect("a day")
}

#[test]
fn twice_the_hours_are_unusual_and_the_cause_is_usage() {
    let evaluation = report("480", "24");
    let total = evaluation.total.expect("sixty days");
    assert!(total.is_unusual);
    assert_eq!((total.expected, total.actual), (usd("264"), usd("504")));
    assert_eq!((total.low, total.high), (usd("264"), usd("264")));
    let change = evaluation.change.expect("a day before");
    assert_eq!(
        (change.parts[ChangePart::Usage as usize], change.total()),
        (usd("240"), usd("240"))
    );
    let jobs: Vec<_> = evaluation.jobs.iter().map(|unusual| unusual.job.clone()).collect();
    let own = ("a".to_owned(), "name of a".to_owned());
    assert_eq!(jobs, [Some(own)]);
    assert_eq!(evaluation.movers, [("name of a".to_owned(), usd("240"))]);
}

#[test]
fn little_money_and_few_percent_are_usual() {
    // $36 is below $100, though 150% of its job.
    let evaluation = report("240", "60");
    assert!(!evaluation.total.expect("evaluation").is_unusual);
    assert!(evaluation.jobs.is_empty());
    // $105 is 39.8% of $264 and 43.75% of $240.
    let evaluation = report("345", "24");
    assert!(!evaluation.total.as_ref().expect("evaluation").is_unusual);
    assert_eq!(evaluation.jobs.len(), 1);
    // $105.60 is 40% of $264.
    let evaluation = report("345.60", "24");
    assert!(evaluation.total.expect("evaluation").is_unusual);
    // Less is as unusual as more.
    let evaluation = report("0", "24");
    assert!(evaluation.total.expect("evaluation").is_unusual);
}

#[test]
fn a_cut_price_is_named_as_such() {
    let mut rows = steady(60, "a", "240");
    let mut cheap = row(60, "a", "240", "120");
    cheap.list = cheap.effective;
    rows.push(cheap);
    let evaluation = judge_last_day(&ledger(61, rows), AnomalyLimits::default()).expect("a day");
    let change = evaluation.change.expect("a day before");
    assert_eq!(
        (change.parts[ChangePart::Price as usize], change.parts[ChangePart::Usage as usize]),
        (usd("-120"), usd("0"))
    );
    assert!(evaluation.total.expect("evaluation").is_unusual);
}

#[test]
fn a_short_past_judges_nothing() {
    let limits = AnomalyLimits { amount: decimal("0"), percent: decimal("0") };
    let evaluation = judge_last_day(&ledger(20, steady(20, "a", "24")), limits).expect("a day");
    assert_eq!(evaluation.total, None);
    assert!(evaluation.jobs.is_empty());
    assert!(judge_last_day(&ledger(0, Vec::new()), limits).is_none());
    // The first day has none before it.
    let evaluation = judge_last_day(&ledger(1, steady(1, "a", "24")), limits).expect("a day");
    assert_eq!((evaluation.change, evaluation.movers.len()), (None, 0));
}
