//! Small cases, calculated by hand. Baselines are 24 hours a day at $1 an hour.

use super::{ActionStatus, Realised, RealisedReport, UnitsByDay, merged};
use crate::domain::{
    ActionKind, CostKind, Currency, DatedPrice, Money, PurchaseOption, RecordedAction, WorkloadDay,
};
use crate::trend::lab::{
    action, day, decimal, ledger, night, on_type, paid, price, row, steady, usd,
};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const NO_LIST: &dyn Fn(&str, &str) -> Option<DatedPrice> = &|_, _| None;

/// Fourteen days: as before until the fifth, and then as a function says. `z` runs throughout,
/// so that today's price of the type is known.
fn history(after: impl Fn(i64) -> Option<WorkloadDay>) -> Vec<WorkloadDay> {
    let mut rows = steady(14, "z", "24");
    rows.extend(steady(5, "a", "24"));
    rows.extend((5..14).filter_map(after));
    rows
}

fn report(rows: Vec<WorkloadDay>, actions: Vec<RecordedAction>) -> RealisedReport {
    RealisedReport::of(&ledger(14, rows), actions, &UnitsByDay::new(), NO_LIST)
}

/// Usage, mix, rate and storage that an action saved.
fn saved(realised: &Realised) -> [Decimal; 4] {
    let (total, parts) = realised.saved.expect("compared");
    let [usage, mix, rate, standing, price] = parts;
    assert_eq!(usage + mix + rate + standing, total.amount());
    assert_eq!(price, Decimal::ZERO);
    [usage, mix, rate, standing]
}

fn four(parts: [&str; 4]) -> [Decimal; 4] {
    parts.map(decimal)
}

/// Advised in the nights after days 2 to 4.
const SEEN: (i64, i64) = (2, 4);

fn stop() -> RecordedAction {
    action((ActionKind::Stop, None), "a", "24", "730", SEEN)
}

#[test]
fn a_stopped_machine_saves_its_hours_from_the_day_on() {
    let measured = report(history(|_| None), vec![stop()]);
    let realised = &measured.actions[0];
    assert_eq!(realised.status, ActionStatus::Done);
    assert_eq!((realised.since, realised.undone_on), (Some(day(5)), None));
    assert_eq!((realised.days, realised.days_unpriced), (9, 0));
    // 9 × 24.
    assert_eq!(saved(realised), four(["216", "0", "0", "0"]));
    assert_eq!(realised.expected.amount(), decimal("216.00"));
    assert_eq!(measured.unclaimed.amount(), Decimal::ZERO);
}

#[test]
fn a_price_cut_is_of_the_cloud() {
    // From the ninth day on the type costs $0.50.
    let mut rows = history(|_| None);
    for row in rows.iter_mut().filter(|row| row.day >= day(8)) {
        row.price = Some(price("0.5"));
        row.list = Some(Money::new(decimal("12"), Currency::Usd));
        row.effective = row.list;
    }
    let measured = report(rows, vec![stop()]);
    // 3 × 24 and 6 × 12; the other 6 × 12 are of the cloud.
    assert_eq!(saved(&measured.actions[0]), four(["144", "0", "0", "0"]));
    assert_eq!(measured.price.amount(), decimal("72"));
    assert_eq!(measured.difference.amount(), decimal("216"));
    assert_eq!(measured.unclaimed.amount(), Decimal::ZERO);
}

#[test]
fn a_price_cut_alone_is_not_claimed() {
    let cut = |number: i64| {
        let mut cut_row = row(number, "a", "24", "12");
        cut_row.list = cut_row.effective;
        cut_row.price = Some(price("0.5"));
        Some(cut_row)
    };
    let commit = action((ActionKind::Commit, None), "a", "24", "292", SEEN);
    let size = (ActionKind::Rightsize, Some(("g6.xlarge", 1)));
    let size = action(size, "a", "24", "292", SEEN);
    let measured = report(history(cut), vec![stop(), commit, size]);
    for realised in &measured.actions {
        assert_eq!(realised.saved, None, "{:?}", realised.action.kind);
        assert_eq!(realised.status, ActionStatus::Withdrawn);
    }
    assert_eq!(measured.claimed.amount(), Decimal::ZERO);
}

#[test]
fn a_discount_that_is_negotiated_later_is_of_no_action() {
    // From the eighth day on, every hour on demand costs $0.75 of the public $1, and the
    // commitment $0.60 as before.
    let negotiated = |mut row: WorkloadDay| {
        if row.day >= day(8) {
            row.contracted = Some(usd("18"));
            if row.option == PurchaseOption::OnDemand {
                row.effective = row.contracted;
            }
        }
        row
    };
    let reserved = |number| {
        let cost = row(number, "a", "24", "14.40");
        Some(paid(cost, PurchaseOption::Reserved))
    };
    let rows = |after: &dyn Fn(i64) -> Option<WorkloadDay>| -> Vec<WorkloadDay> {
        history(after).into_iter().map(negotiated).collect()
    };
    let commit = action((ActionKind::Commit, None), "a", "24", "292", SEEN);
    let measured = report(rows(&reserved), vec![commit]);
    // 3 × (24 − 14.40) + 6 × (18 − 14.40); the other 6 × 6 are of the contract.
    assert_eq!(saved(&measured.actions[0]), four(["0", "0", "50.40", "0"]));
    assert_eq!(measured.price.amount(), decimal("36"));
    assert_eq!(measured.difference.amount(), decimal("86.40"));
    assert_eq!(measured.unclaimed.amount(), Decimal::ZERO);
    // What is stopped would cost the new price, by the job of the type that runs still.
    let measured = report(rows(&|_| None), vec![stop()]);
    // 3 × 24 + 6 × 18.
    assert_eq!(saved(&measured.actions[0]), four(["180", "0", "0", "0"]));
    assert_eq!(measured.price.amount(), decimal("36"));
}

#[test]
fn a_cheaper_type_is_mix_and_a_discount_is_rate() {
    let smaller = |number| Some(on_type(row(number, "a", "24", "14.40"), "g6.xlarge", 1, "0.6"));
    let size = (ActionKind::Rightsize, Some(("g6.xlarge", 1)));
    let size = action(size, "a", "24", "292", SEEN);
    let measured = report(history(smaller), vec![size.clone()]);
    // 9 × (24 − 14.40).
    assert_eq!(measured.actions[0].status, ActionStatus::Done);
    assert_eq!(saved(&measured.actions[0]), four(["0", "86.40", "0", "0"]));

    let reserved = |number| Some(paid(row(number, "a", "24", "14.40"), PurchaseOption::Reserved));
    let commit = action((ActionKind::Commit, None), "a", "24", "292", SEEN);
    let measured = report(history(reserved), vec![commit.clone()]);
    assert_eq!(measured.actions[0].status, ActionStatus::Done);
    assert_eq!(saved(&measured.actions[0]), four(["0", "0", "86.40", "0"]));

    // Both: 24 → 14.40 at the list, of which 40% are taken off.
    let both = |number| {
        let moved = on_type(row(number, "a", "24", "8.64"), "g6.xlarge", 1, "0.6");
        Some(paid(moved, PurchaseOption::Reserved))
    };
    let mut commit = commit;
    commit.expected_monthly = Money::new(decimal("175.20"), Currency::Usd);
    let measured = report(history(both), vec![size, commit]);
    let of = |kind: ActionKind| {
        let mut actions = measured.actions.iter();
        actions.find(|realised| realised.action.kind == kind).map(saved)
    };
    // 9 × 9.60 and 9 × 5.76.
    assert_eq!(of(ActionKind::Rightsize), Some(four(["0", "86.40", "0", "0"])));
    assert_eq!(of(ActionKind::Commit), Some(four(["0", "0", "51.84", "0"])));
    assert_eq!(measured.difference.amount(), decimal("138.24"));
}

#[test]
fn another_type_than_the_advised_one_is_a_part_of_it() {
    // g6.xlarge at $0.60 is advised, and from the sixth day on g6.2xlarge at $0.80 runs, twelve
    // hours a day on spot at $6.00.
    let other = |number| {
        let moved = on_type(row(number, "a", "12", "6"), "g6.2xlarge", 1, "0.8");
        Some(paid(moved, PurchaseOption::Spot))
    };
    let size = (ActionKind::Rightsize, Some(("g6.xlarge", 1)));
    let size = action(size, "a", "24", "292", SEEN);
    let measured = report(history(other), vec![size.clone()]);
    let realised = &measured.actions[0];
    assert_eq!(realised.status, ActionStatus::Partly);
    assert_eq!((realised.since, realised.days), (Some(day(5)), 9));
    // A day: 12 hours less at $1, 12 × (1 − 0.80), and 12 × 0.80 − 6.00 of spot, which it does
    // not claim: 12 + 2.40 + 3.60 = 24 − 6.
    assert_eq!(saved(realised), four(["108", "21.60", "0", "0"]));
    assert_eq!(measured.unclaimed.amount(), decimal("32.40"));
    assert_eq!(measured.difference.amount(), decimal("162"));

    // Back on the old type from the tenth day on.
    let back = |number: i64| {
        if number < 9 { other(number) } else { Some(row(number, "a", "24", "24")) }
    };
    let mut rows = history(back);
    rows.extend((14..20).flat_map(|number| ["a", "z"].map(|job| row(number, job, "24", "24"))));
    let units = UnitsByDay::new();
    let measured = RealisedReport::of(&ledger(20, rows), vec![size.clone()], &units, NO_LIST);
    let realised = &measured.actions[0];
    assert_eq!(realised.status, ActionStatus::Undone);
    assert_eq!((realised.since, realised.undone_on), (Some(day(5)), Some(day(9))));
    assert_eq!(saved(realised), four(["48", "9.60", "0", "0"]));

    // A more expensive type is none of it, and neither is one that ran all along.
    let expensive = |number| {
        let moved = row(number, "a", "24", "44.664");
        Some(on_type(moved, "g6e.xlarge", 1, "1.861"))
    };
    let measured = report(history(expensive), vec![size.clone()]);
    assert_eq!(measured.actions[0].status, ActionStatus::Withdrawn);
    assert_eq!(measured.actions[0].saved, None);
    let both = |number| on_type(row(number, "a", "12", "6.312"), "g4dn.xlarge", 1, "0.526");
    let mut rows = history(|number| Some(row(number, "a", "24", "24")));
    rows.extend((0..14).map(both));
    let measured = report(rows, vec![size]);
    assert_eq!(measured.actions[0].status, ActionStatus::Withdrawn);
    assert_eq!(measured.actions[0].saved, None);
}

#[test]
fn spot_is_rate_and_its_price_may_move() {
    let spot = |number| {
        let cost = if number < 10 { "7.20" } else { "9.60" };
        Some(paid(row(number, "a", "24", cost), PurchaseOption::Spot))
    };
    let advised = action((ActionKind::Spot, None), "a", "24", "511", SEEN);
    let measured = report(history(spot), vec![advised]);
    // 5 × 16.80 + 4 × 14.40.
    assert_eq!(saved(&measured.actions[0]), four(["0", "0", "141.60", "0"]));
}

#[test]
fn half_of_a_group_is_partly() {
    let half = |number| Some(row(number, "a", "36", "36"));
    let mut rows = steady(14, "z", "24");
    rows.extend((0..5).map(|number| row(number, "a", "48", "48")));
    rows.extend((5..14).filter_map(half));
    // Two of two are idle: 1,460 a month.
    let advised = action((ActionKind::Stop, None), "a", "48", "1460", SEEN);
    let measured = report(rows, vec![advised]);
    assert_eq!(measured.actions[0].status, ActionStatus::Partly);
    // 9 × 12 of 9 × 48 that were expected.
    assert_eq!(saved(&measured.actions[0]), four(["108", "0", "0", "0"]));
    assert_eq!(measured.actions[0].expected.amount(), decimal("432"));
}

#[test]
fn off_hours_are_of_a_week() {
    // Off at night from the sixth day on: half of the hours.
    let nights_off = |number| Some(row(number, "a", "12", "12"));
    let advised = action((ActionKind::Schedule, None), "a", "24", "365", SEEN);
    let measured = report(history(nights_off), vec![advised]);
    assert_eq!(measured.actions[0].status, ActionStatus::Partly);
    // Days 3 and 4 are as before; on the sixth, the mean of three days reaches a third.
    assert_eq!(measured.actions[0].since, Some(day(5)));
    assert_eq!(saved(&measured.actions[0]), four(["108", "0", "0", "0"]));
}

#[test]
fn what_runs_again_is_undone() {
    let mut rows = history(|number| (number >= 8).then(|| row(number, "a", "24", "24")));
    rows.extend(
        (14..20).flat_map(|number| [row(number, "a", "24", "24"), row(number, "z", "24", "24")]),
    );
    let measured = RealisedReport::of(&ledger(20, rows), vec![stop()], &UnitsByDay::new(), NO_LIST);
    let realised = &measured.actions[0];
    assert_eq!(realised.status, ActionStatus::Undone);
    assert_eq!((realised.since, realised.undone_on), (Some(day(5)), Some(day(8))));
    // Three days off, and not those that follow within a week.
    assert_eq!((realised.days, realised.expected.amount()), (3, decimal("72")));
    assert_eq!(saved(realised), four(["72", "0", "0", "0"]));
}

#[test]
fn what_grew_cannot_be_compared_without_units() {
    let grown = |number| Some(on_type(row(number, "a", "48", "28.80"), "g6.xlarge", 1, "0.6"));
    let size = (ActionKind::Rightsize, Some(("g6.xlarge", 1)));
    let size = action(size, "a", "24", "292", SEEN);
    let measured = report(history(grown), vec![size.clone()]);
    let realised = &measured.actions[0];
    assert_eq!((realised.days, realised.days_not_comparable), (0, 9));
    assert_eq!((realised.saved, realised.status), (None, ActionStatus::Done));
    // With twice the work a day it is twice the old cost: 9 × (48 − 28.80).
    let mut units: BTreeMap<_, _> = (0..3).map(|at| (day(at), decimal("100"))).collect();
    units.extend((3..14).map(|at| (day(at), decimal("200"))));
    let units = UnitsByDay::from([("a".to_owned(), units)]);
    let measured = RealisedReport::of(&ledger(14, history(grown)), vec![size], &units, NO_LIST);
    assert_eq!(saved(&measured.actions[0]), four(["0", "172.80", "0", "0"]));
}

#[test]
fn a_machine_that_is_replaced_was_not_stopped() {
    let replaced = |number| {
        let mut successor = row(number, "a-new", "24", "24");
        successor.name = "name of a".to_owned();
        Some(successor)
    };
    let measured = report(history(replaced), vec![stop()]);
    assert_eq!(measured.actions[0].status, ActionStatus::Withdrawn);
    assert_eq!(measured.actions[0].saved, None);
    // Where several had the name, a new one is not the successor of each.
    let mut rows = history(replaced);
    rows.extend((0..14).map(|number| {
        let mut successor = row(number, "twin", "24", "24");
        successor.name = "name of a".to_owned();
        successor
    }));
    let measured = report(rows, vec![stop()]);
    assert_eq!(measured.actions[0].status, ActionStatus::Done);
}

#[test]
fn a_workload_that_ended_was_not_right_sized() {
    let size = (ActionKind::Rightsize, Some(("g6.xlarge", 1)));
    let measured = report(history(|_| None), vec![action(size, "a", "24", "292", SEEN)]);
    assert_eq!(measured.actions[0].status, ActionStatus::Ended);
    assert_eq!(measured.actions[0].saved, None);
    assert_eq!(measured.claimed.amount(), Decimal::ZERO);
}

#[test]
fn released_storage_is_what_it_cost() {
    let storage = |number| WorkloadDay {
        kind: CostKind::IdleStorage,
        gpu_hours: None,
        list: None,
        price: None,
        ..row(number, "a", "24", "2.40")
    };
    let rows: Vec<WorkloadDay> = (0..5).map(storage).collect();
    let mut advised = action((ActionKind::Release, None), "a", "24", "73", SEEN);
    advised.baseline.effective_hourly = Money::new(decimal("0.1"), Currency::Usd);
    advised.baseline.gpu_hours_daily = None;
    advised.baseline.price = None;
    let measured = report(rows, vec![advised]);
    assert_eq!(measured.actions[0].status, ActionStatus::Done);
    assert_eq!(saved(&measured.actions[0]), four(["0", "0", "0", "21.60"]));
}

#[test]
fn half_of_the_storage_is_a_part_however_little_the_plan_expected_of_it() {
    // It costs 2.40 a day, of which snapshots may take 1.50: 0.90 × 365 / 12 = 27.375 a month.
    // From the fifth day on half of it is gone, which is more than was expected of all.
    let storage = |number: i64| WorkloadDay {
        kind: CostKind::IdleStorage,
        gpu_hours: None,
        list: None,
        price: None,
        ..row(number, "a", "24", if number < 5 { "2.40" } else { "1.20" })
    };
    let rows: Vec<WorkloadDay> = (0..14).map(storage).collect();
    let mut advised = action((ActionKind::Release, None), "a", "24", "27.375", SEEN);
    advised.baseline.effective_hourly = Money::new(decimal("0.1"), Currency::Usd);
    advised.baseline.gpu_hours_daily = None;
    advised.baseline.price = None;
    let measured = report(rows, vec![advised]);
    assert_eq!(measured.actions[0].status, ActionStatus::Partly);
    // 9 × 1.20.
    assert_eq!(saved(&measured.actions[0]), four(["0", "0", "0", "10.80"]));
}

#[test]
fn without_a_price_of_today_nothing_is_claimed() {
    let rows: Vec<WorkloadDay> = steady(5, "a", "24");
    let measured = report(rows.clone(), vec![stop()]);
    assert_eq!((measured.actions[0].days, measured.actions[0].days_unpriced), (0, 9));
    assert_eq!(measured.actions[0].saved, None);
    // A list of today tells it, from the day on that its price holds.
    let cut = |_: &str, _: &str| {
        let mut listed = price("0.5");
        listed.effective_date = Some(day(8));
        Some(listed)
    };
    let units = UnitsByDay::new();
    let measured = RealisedReport::of(&ledger(14, rows), vec![stop()], &units, &cut);
    assert_eq!(saved(&measured.actions[0]), four(["144", "0", "0", "0"]));
    assert_eq!(measured.price.amount(), decimal("72"));
}

#[test]
fn an_action_is_what_its_first_night_said_and_lasts_until_its_last() {
    let mut later = stop();
    later.first_seen = night(9);
    later.last_seen = night(9);
    later.baseline.hours_daily = decimal("1");
    let other = action((ActionKind::Spot, None), "a", "24", "511", SEEN);
    for actions in
        [vec![later.clone(), stop(), other.clone()], vec![stop(), other.clone(), later.clone()]]
    {
        let kept = merged(actions);
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[0].baseline.hours_daily, decimal("24"));
        assert_eq!((kept[0].first_seen, kept[0].last_seen), (night(3), night(9)));
    }
}

#[test]
fn an_action_in_another_currency_is_counted_and_not_compared() {
    let mut foreign = stop();
    foreign.expected_monthly = Money::new(decimal("5000"), Currency::Cny);
    let measured = report(history(|_| None), vec![foreign]);
    assert!(measured.actions.is_empty());
    assert_eq!(measured.other_currencies, 1);
}

#[test]
fn what_is_still_advised_and_not_done_is_not_done() {
    let mut rows = history(|number| Some(row(number, "a", "24", "24")));
    rows.retain(|row| row.job == "a");
    let mut advised = stop();
    advised.last_seen = night(14);
    let measured = report(rows, vec![advised]);
    assert_eq!(measured.actions[0].status, ActionStatus::NotDone);
    assert_eq!(measured.actions[0].since, None);
}
