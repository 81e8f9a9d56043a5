//! Sums, ratios and breakdowns, and what units of work cost.

use crate::domain::{CostKind, DatedUnits, PurchaseOption, WorkUnits, WorkloadDay};
use crate::trend::lab::{day, decimal, ledger, on_type, paid, row, steady, usd};
use crate::trend::{
    Span, Step, Sums, TrendKey, UnknownUnits, by_step, shares, unit_months, units_by_job,
};
use rust_decimal::Decimal;

fn unused(number: i64, cost: &str) -> WorkloadDay {
    WorkloadDay {
        kind: CostKind::Unused,
        gpu_hours: None,
        list: None,
        useful_gpu_hours: None,
        idle_gpu_hours: None,
        unmeasured_gpu_hours: None,
        ..paid(row(number, "ri-1", "24", cost), PurchaseOption::Reserved)
    }
}

#[test]
fn a_day_by_hand() {
    // 24 h on demand at $1 of which 6 h idle and 12 h useful; 24 h reserved for $14.40;
    // $9.60 of the commitment unused; storage for $2; 10 h on spot for $4, not measured; a
    // type without a price.
    let on_demand = WorkloadDay {
        useful_gpu_hours: Some(decimal("12")),
        idle_gpu_hours: Some(decimal("6")),
        ..row(0, "a", "24", "24")
    };
    let reserved = paid(row(0, "b", "24", "14.40"), PurchaseOption::Reserved);
    let storage = WorkloadDay {
        kind: CostKind::IdleStorage,
        list: None,
        gpu_hours: None,
        ..row(0, "c", "24", "2")
    };
    let spot = WorkloadDay {
        useful_gpu_hours: None,
        idle_gpu_hours: None,
        unmeasured_gpu_hours: Some(decimal("10")),
        ..paid(row(0, "d", "10", "4"), PurchaseOption::Spot)
    };
    let unpriced =
        WorkloadDay { effective: None, list: None, contracted: None, ..row(0, "e", "3", "0") };
    let recorded = ledger(1, vec![on_demand, reserved, unused(0, "9.60"), storage, spot, unpriced]);
    let sums = Sums::of(&recorded, &recorded.rows);
    // 24 + 14.40 + 9.60 + 2 + 4.
    assert_eq!(sums.spend, decimal("54.00"));
    // A quarter of 24, the unused 9.60, and 2.
    assert_eq!(sums.waste, decimal("17.60"));
    assert_eq!(sums.gpu_hours, decimal("61"));
    assert_eq!(sums.useful_gpu_hours, decimal("39"));
    assert_eq!(sums.unmeasured_gpu_hours, decimal("10"));
    assert_eq!(sums.unpriced_hours, decimal("3"));
    // (24 + 14.40) / (12 + 24): what was not measured has no part in it.
    let useful = sums.cost_per_useful_gpu_hour().expect("measured");
    assert_eq!(useful.round_dp(6), decimal("1.066667"));
    // List of what has one: 24 + 24 + 10 = 58; paid 24 + 14.40 + 4 + 9.60 = 52.
    let savings_rate = sums.effective_savings_rate_percent().expect("listed");
    assert_eq!(savings_rate.round_dp(4), decimal("10.3448"));
    // 24 of 48: spot is not eligible.
    assert_eq!(sums.commitment_coverage_percent(), Some(decimal("50")));
    // 14.40 of 24.
    assert_eq!(sums.commitment_utilization_percent(), Some(decimal("60")));
    // 39 useful of 51 measured.
    let used = sums.gpu_utilization_percent().expect("measured");
    assert_eq!(used.round_dp(4), decimal("76.4706"));
}

#[test]
fn nothing_has_no_ratio() {
    let sums = Sums::default();
    assert_eq!(sums.cost_per_useful_gpu_hour(), None);
    assert_eq!(sums.effective_savings_rate_percent(), None);
    assert_eq!(sums.commitment_coverage_percent(), None);
    assert_eq!(sums.commitment_utilization_percent(), None);
    assert_eq!(sums.gpu_utilization_percent(), None);
}

#[test]
fn months_and_weeks_count_the_days_that_they_have() {
    // June has 30 days, of which the 11th and 12th were not recorded, and July two so far.
    let mut rows = steady(32, "a", "24");
    rows.retain(|row| row.day != day(10) && row.day != day(11));
    let runs: Vec<_> =
        (0..32).filter(|night| ![10, 11].contains(night)).map(crate::trend::lab::run).collect();
    let recorded = crate::trend::Ledger::of(rows, &runs, crate::trend::lab::night(32));
    let months = by_step(&recorded, Step::Month, None);
    let brief: Vec<(u32, u32, Decimal)> = months
        .iter()
        .map(|month| (month.recorded_days, month.missing_days(), month.sums.spend))
        .collect();
    assert_eq!(brief, [(28, 2, decimal("672")), (2, 0, decimal("48"))]);
    // 2026-06-01 is a Monday.
    let weeks = by_step(&recorded, Step::Week, Some(day(9)));
    let days: Vec<(u32, u32)> =
        weeks.iter().map(|week| (week.recorded_days, week.span.days())).collect();
    assert_eq!(days, [(3, 5), (7, 7), (7, 7), (4, 4)]);
    let daily = by_step(&recorded, Step::Day, Some(day(9)));
    assert_eq!(daily.len(), 21);
}

#[test]
fn a_workload_stays_one_when_its_type_and_name_change() {
    let mut rows = steady(2, "a", "24");
    let mut moved = on_type(row(1, "a", "24", "12"), "g6.xlarge", 1, "0.5");
    moved.name = "renamed".to_owned();
    moved.tags.insert("team".to_owned(), "ml".to_owned());
    rows.retain(|row| row.day != day(1));
    rows.push(moved);
    rows.extend(steady(2, "b", "24"));
    let recorded = ledger(2, rows);
    let span = Span { first: day(0), last: day(1) };
    let brief = |key: &TrendKey| -> Vec<(String, Decimal)> {
        let shares = shares(&recorded, key, span).into_iter();
        shares.map(|share| (share.name, share.sums.spend)).collect()
    };
    let pair = |name: &str, spend: &str| (name.to_owned(), decimal(spend));
    assert_eq!(brief(&TrendKey::Workload), [pair("name of b", "48"), pair("renamed", "36")]);
    assert_eq!(brief(&TrendKey::InstanceType), [pair("g5.xlarge", "72"), pair("g6.xlarge", "12")]);
    assert_eq!(brief(&TrendKey::Tag("team".to_owned())), [pair("", "72"), pair("ml", "12")]);
    assert_eq!(brief(&TrendKey::Account), [pair("111122223333", "84")]);
}

fn units(number: i64, name: &str, unit: &str, count: &str) -> DatedUnits {
    DatedUnits {
        day: day(number),
        units: WorkUnits {
            name: name.to_owned(),
            unit: unit.to_owned(),
            count: decimal(count),
            window: None,
        },
    }
}

#[test]
fn a_month_has_the_days_on_which_units_and_cost_are_known() {
    let mut rows = steady(32, "a", "24");
    rows[1].effective = None;
    let recorded = ledger(32, rows);
    // The second day has no price, and the fortieth is not there.
    let counted = [
        units(0, "name of a", "tokens", "3000000"),
        units(1, "name of a", "tokens", "3000000"),
        units(2, "name of a", "tokens", "1000000"),
        units(31, "a", "tokens", "2000000"),
        units(40, "a", "tokens", "2000000"),
    ];
    let months = unit_months(&recorded, &counted).expect("known");
    // Two names of one workload are two rows: of June, 48 dollars for 4 million tokens.
    let brief: Vec<_> =
        months.iter().map(|month| (month.days, month.cost.cost, month.cost.price())).collect();
    assert_eq!(
        brief,
        [(1, Some(usd("24")), Some(usd("12"))), (2, Some(usd("48")), Some(usd("12"))),]
    );
    let error = unit_months(&recorded, &[units(0, "b", "tokens", "1")]).expect_err("unknown");
    let UnknownUnits { name, known } = error;
    assert_eq!((name.as_str(), known[0].as_str()), ("b", "name of a"));
}

#[test]
fn several_jobs_of_a_name_have_no_units_of_their_own() {
    let mut rows = steady(2, "a", "24");
    let mut twin = row(0, "twin", "24", "24");
    twin.name = "name of a".to_owned();
    rows.push(twin);
    let recorded = ledger(2, rows);
    let counted = [
        units(0, "name of a", "jobs", "5"),
        units(0, "twin", "jobs", "7"),
        units(0, "twin", "errors", "1"),
    ];
    let by_job = units_by_job(&recorded, &counted);
    let jobs: Vec<&str> = by_job.keys().map(String::as_str).collect();
    assert_eq!(jobs, ["twin"]);
    // Of two kinds of units the first by name.
    assert_eq!(by_job["twin"][&day(0)], decimal("1"));
}
