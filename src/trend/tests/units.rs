//! What units of work cost.

use crate::domain::{DatedUnits, WorkUnits};
use crate::trend::lab::{day, decimal, ledger, row, steady, usd};
use crate::trend::{UnknownUnits, unit_months, units_by_job};

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
