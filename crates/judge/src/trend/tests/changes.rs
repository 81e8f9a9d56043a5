//! Why two spans differ, and whether the last day was unusual.

use crate::domain::{CostKind, Currency, Money, PurchaseOption, WorkloadDay};
use crate::trend::lab::{day, decimal, ledger, night, on_type, paid, row, run, steady, usd};
use crate::trend::{AnomalyLimits, Change, ChangePart, DayReport, Ledger, Span, judge_last_day};
use proptest::prelude::*;
use rust_decimal::Decimal;

fn span(first: i64, last: i64) -> Span {
    Span { first: day(first), last: day(last) }
}

fn parts(change: &Change) -> [Decimal; 6] {
    change.parts.map(Money::amount)
}

#[test]
fn a_price_cut_a_move_and_a_commitment_by_hand() {
    // Before: 48 GPU hours of g5 at $1. After: 30 of g5 at a public $0.80, of which half is
    // reserved for $0.50, and 6 of g6 at $0.70, none of which ran before.
    let cut = |mut row: WorkloadDay| {
        row.list = Some(Money::new(row.hours * decimal("0.8"), Currency::Usd));
        row
    };
    let reserved = cut(paid(row(1, "a", "15", "7.50"), PurchaseOption::Reserved));
    let rows = vec![
        row(0, "a", "48", "48"),
        cut(row(1, "a", "15", "12")),
        reserved,
        on_type(row(1, "b", "6", "4.20"), "g6.xlarge", 1, "0.7"),
    ];
    let history = ledger(2, rows);
    let change = Change::between(&history, span(0, 0), span(1, 1)).expect("two days");
    // Usage: 36 of 48 hours at $1. Mix: 30 − 36 hours of g5 at $1, and $4.20 of g6. Price:
    // 30 × (0.80 − 1). Rate: 19.50 − 24.
    let expected = ["-12", "-1.80", "-6", "-4.50", "0", "0"].map(decimal);
    assert_eq!(parts(&change), expected);
    assert_eq!(change.before.amount(), decimal("48"));
    assert_eq!(change.after.amount(), decimal("23.70"));
    assert_eq!(change.total().amount(), decimal("-24.30"));
}

#[test]
fn less_use_is_no_price_cut_and_a_price_cut_is_no_less_use() {
    let mut cheaper = row(1, "a", "48", "36");
    cheaper.list = cheaper.effective;
    let history = ledger(2, vec![row(0, "a", "48", "48"), cheaper]);
    let change = Change::between(&history, span(0, 0), span(1, 1)).expect("two days");
    assert_eq!(parts(&change), ["0", "0", "-12", "0", "0", "0"].map(decimal));
    let history = ledger(2, vec![row(0, "a", "48", "48"), row(1, "a", "36", "36")]);
    let change = Change::between(&history, span(0, 0), span(1, 1)).expect("two days");
    assert_eq!(parts(&change), ["-12", "0", "0", "0", "0", "0"].map(decimal));
    // Without a public price, what changed by the hour is a discount, and no price cut.
    let mut unknown = row(1, "a", "48", "36");
    unknown.list = None;
    let history = ledger(2, vec![row(0, "a", "48", "48"), unknown]);
    let change = Change::between(&history, span(0, 0), span(1, 1)).expect("two days");
    assert_eq!(parts(&change), ["0", "0", "0", "-12", "0", "0"].map(decimal));
}

#[test]
fn what_does_not_run_and_what_one_span_does_not_read_are_apart() {
    let storage = WorkloadDay { kind: CostKind::IdleStorage, ..row(1, "c", "24", "3") };
    let mut foreign = row(1, "d", "24", "24");
    foreign.account = "444455556666".to_owned();
    let rows = vec![row(0, "a", "24", "24"), row(1, "a", "24", "24"), storage, foreign];
    let mut runs = [run(0), run(1)];
    runs[1].accounts.push("444455556666".to_owned());
    let history = Ledger::of(rows, &runs, night(2));
    let change = Change::between(&history, span(0, 0), span(1, 1)).expect("two days");
    assert_eq!(parts(&change), ["0", "0", "0", "0", "3", "24"].map(decimal));
}

#[test]
fn a_span_without_a_day_has_no_change_and_one_from_nothing_is_usage() {
    let history = ledger(2, vec![row(1, "a", "24", "24")]);
    assert_eq!(Change::between(&history, span(5, 6), span(0, 1)), None);
    let change = Change::between(&history, span(0, 0), span(1, 1)).expect("two days");
    assert_eq!(parts(&change), ["24", "0", "0", "0", "0", "0"].map(decimal));
    // Days are means: 24 on one of two days.
    let change = Change::between(&history, span(0, 1), span(1, 1)).expect("days");
    assert_eq!(change.before.amount(), decimal("12"));
}

fn any_row(number: i64) -> impl Strategy<Value = WorkloadDay> {
    let of = (0_usize..4, 0_usize..3, 1_u32..2_400, 0_i64..100_000);
    let with = (0_i64..3, 0_usize..4, any::<bool>());
    (of, with).prop_map(move |((job, kind, hours, cents), (price, option, is_listed))| {
        let hours = Decimal::new(i64::from(hours), 2).to_string();
        let cost = Decimal::new(cents, 3).to_string();
        let mut job_day = row(number, &format!("job-{job}"), &hours, &cost);
        let hourly = ["0.333333", "1", "7.77"][price as usize];
        job_day = on_type(job_day, ["g5.xlarge", "g6.xlarge", "p5.48xlarge"][kind], 1, hourly);
        job_day.option = [
            PurchaseOption::OnDemand,
            PurchaseOption::Spot,
            PurchaseOption::Reserved,
            PurchaseOption::SavingsPlan,
        ][option];
        if !is_listed {
            job_day.list = None;
        }
        if job == 3 {
            job_day.kind = CostKind::IdleStorage;
        }
        job_day
    })
}

proptest! {
    #[test]
    fn the_parts_are_the_difference_to_the_cent(
        before in proptest::collection::vec((0_i64..3).prop_flat_map(any_row), 0..12),
        after in proptest::collection::vec((3_i64..7).prop_flat_map(any_row), 0..12),
    ) {
        let rows: Vec<WorkloadDay> = before.iter().chain(&after).cloned().collect();
        let history = ledger(7, rows);
        let change = Change::between(&history, span(0, 2), span(3, 6)).expect("days");
        let mean = |rows: &[WorkloadDay], days: i64| -> Decimal {
            let sum: Decimal = rows.iter().filter_map(|row| row.effective).map(Money::amount).sum();
            Money::new(sum / Decimal::from(days), Currency::Usd).rounded().amount()
        };
        prop_assert_eq!(change.before.amount(), mean(&before, 3));
        prop_assert_eq!(change.after.amount(), mean(&after, 4));
        let sum: Decimal = parts(&change).into_iter().sum();
        prop_assert_eq!(sum, change.total().amount());
        for part in parts(&change) {
            prop_assert!(part.scale() <= 2, "{} is not in cents", part);
        }
    }
}

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
