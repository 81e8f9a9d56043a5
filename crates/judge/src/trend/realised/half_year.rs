//! Half a year of nightly audits of a fleet in which actions are carried out or not, some of
//! them undone, prices cut and workloads grown, with what really happened known beside.

use super::{ActionStatus, RealisedReport, UnitsByDay};
use crate::domain::{ActionKind, Currency, Money, PurchaseOption, RecordedAction, WorkloadDay};
use crate::trend::lab::{action, day, ledger, on_type, paid, price, row};
use fastrand::Rng;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const NIGHTS: i64 = 182;
/// The day of the price cut, and what is left of the price.
const CUT: i64 = 90;
const LEFT: (i64, u32) = (56, 2);

/// What is planned for one job.
#[derive(Debug, Clone)]
struct Plan {
    job: String,
    kind: ActionKind,
    hours: Decimal,
    advised: i64,
    done: Option<i64>,
    undone: Option<i64>,
    grows: Option<i64>,
}

impl Plan {
    fn any(place: usize, rng: &mut Rng) -> Self {
        let kinds = [ActionKind::Stop, ActionKind::Rightsize, ActionKind::Spot, ActionKind::Commit];
        let advised = rng.i64(5..40);
        let done = (rng.u8(0..10) < 7).then(|| rng.i64(advised + 1..140));
        let undone = done.filter(|_| rng.u8(0..10) < 4).map(|done| rng.i64(done + 10..done + 30));
        Self {
            job: format!("job-{place}"),
            kind: kinds[place % kinds.len()],
            hours: Decimal::new(rng.i64(100..9_600), 2),
            advised,
            done,
            undone,
            grows: (rng.u8(0..10) < 2).then(|| rng.i64(60..170)),
        }
    }

    fn is_carried_out(&self, night: i64) -> bool {
        let begun = self.done.is_some_and(|done| done <= night);
        begun && self.undone.is_none_or(|undone| night < undone)
    }

    fn hours_on(&self, night: i64) -> Decimal {
        let grown = self.grows.is_some_and(|day| day <= night);
        if grown { self.hours * Decimal::TWO } else { self.hours }
    }

    /// What the job runs on a night.
    fn row(&self, night: i64) -> Option<WorkloadDay> {
        let hours = self.hours_on(night);
        let list = listed(hours, night);
        let times = |share: Decimal| (list * share).to_string();
        let at_price = |cost: &str| priced(row(night, &self.job, &hours.to_string(), cost), night);
        if !self.is_carried_out(night) {
            return Some(at_price(&list.to_string()));
        }
        match self.kind {
            ActionKind::Stop => None,
            ActionKind::Rightsize => {
                // A type of $0.25 whose price is not cut.
                let cost = hours * Decimal::new(25, 2);
                let own = row(night, &self.job, &hours.to_string(), &cost.to_string());
                Some(on_type(own, "g4dn.xlarge", 1, "0.25"))
            }
            ActionKind::Spot => {
                let row = at_price(&times(Decimal::new(3, 1)));
                Some(paid(row, PurchaseOption::Spot))
            }
            _ => {
                let row = at_price(&times(Decimal::new(6, 1)));
                Some(paid(row, PurchaseOption::Reserved))
            }
        }
    }

    /// What of the cost is expected to go.
    fn share(&self) -> Decimal {
        match self.kind {
            ActionKind::Stop => Decimal::ONE,
            ActionKind::Rightsize => Decimal::new(75, 2),
            ActionKind::Spot => Decimal::new(7, 1),
            _ => Decimal::new(4, 1),
        }
    }

    fn action(&self) -> RecordedAction {
        let monthly = self.hours * self.share() * Decimal::from(365) / Decimal::from(12);
        let target = (self.kind == ActionKind::Rightsize).then_some(("g4dn.xlarge", 1));
        let last = self.done.map_or(NIGHTS - 1, |done| done - 1);
        let (hours, monthly) = (self.hours.to_string(), monthly.round_dp(2).to_string());
        let kind = (self.kind, target);
        action(kind, &self.job, &hours, &monthly, (self.advised, last))
    }
}

/// Hours at the public price of a night.
fn listed(hours: Decimal, night: i64) -> Decimal {
    if night < CUT { hours } else { hours * Decimal::new(LEFT.0, LEFT.1) }
}

fn priced(mut row: WorkloadDay, night: i64) -> WorkloadDay {
    let list = Money::new(listed(row.hours, night), Currency::Usd);
    row.list = Some(list);
    row.contracted = Some(list);
    if night >= CUT {
        row.price = Some(price("0.56"));
    }
    row
}

/// What happened on the nights that can be compared: what actions saved at the prices of the
/// night, and what the cloud took off.
#[derive(Debug, Default)]
struct Truth {
    saved: Decimal,
    price: Decimal,
    nights: u32,
    grown: u32,
}

fn truth(plan: &Plan) -> Truth {
    let mut truth = Truth::default();
    // From the day of the run that advised it on.
    for night in plan.advised + 1..NIGHTS {
        if !plan.is_carried_out(night) {
            continue;
        }
        let row = plan.row(night);
        let runs = row.is_some();
        if runs && plan.hours_on(night) > plan.hours {
            truth.grown += 1;
            continue;
        }
        let cost = row.and_then(|row| row.effective).map(Money::amount);
        let repriced = listed(plan.hours, night);
        truth.saved += repriced - cost.unwrap_or_default();
        truth.price += plan.hours - repriced;
        truth.nights += 1;
    }
    truth
}

#[test]
fn every_dollar_of_half_a_year_is_told_apart() {
    let mut rng = Rng::with_seed(20_261_122);
    let plans: Vec<Plan> = (0..60).map(|place| Plan::any(place, &mut rng)).collect();
    let mut rows: Vec<WorkloadDay> = Vec::new();
    for night in 0..NIGHTS {
        rows.push(priced(
            row(night, "other", "24", &listed(Decimal::from(24), night).to_string()),
            night,
        ));
        rows.extend(plans.iter().filter_map(|plan| plan.row(night)));
    }
    let actions = plans.iter().map(Plan::action).collect();
    let none = |_: &str, _: &str| None;
    let ledger = ledger(NIGHTS, rows);
    let report = RealisedReport::of(&ledger, actions, &UnitsByDay::new(), &none);

    let by_job: BTreeMap<&str, &super::Realised> =
        report.actions.iter().map(|realised| (realised.action.job.as_str(), realised)).collect();
    assert_eq!(by_job.len(), plans.len());
    let mut seen = BTreeMap::new();
    for plan in &plans {
        let realised = by_job[plan.job.as_str()];
        let expected = truth(plan);
        *seen.entry(realised.status).or_insert(0) += 1;
        let said = realised.saved.map_or(Decimal::ZERO, |(saved, _)| saved.amount());
        assert!(
            (said - expected.saved).abs() <= Decimal::new(1, 2),
            "{plan:?}: {said} instead of {}",
            expected.saved
        );
        if let Some((total, parts)) = realised.saved {
            assert_eq!(parts.iter().sum::<Decimal>(), total.amount(), "{plan:?}");
            assert_eq!(parts[4], Decimal::ZERO, "a price cut is claimed");
        }
        assert!(realised.days >= expected.nights, "{plan:?}");
        assert!(realised.days_not_comparable >= expected.grown, "{plan:?}");
        let status = match (plan.done, plan.undone) {
            (None, _) => ActionStatus::NotDone,
            (Some(_), Some(undone)) if undone + 7 < NIGHTS => ActionStatus::Undone,
            (Some(_), Some(_)) => continue,
            (Some(_), None) => ActionStatus::Done,
        };
        assert_eq!(realised.status, status, "{plan:?}");
        if status == ActionStatus::Undone {
            assert_eq!(realised.undone_on, plan.undone.map(day));
        }
    }
    // All of it happens in this half-year.
    for status in [ActionStatus::Done, ActionStatus::Undone, ActionStatus::NotDone] {
        assert!(seen.get(&status).is_some_and(|number| *number > 5), "{seen:?}");
    }
    let cut: Decimal = plans.iter().map(|plan| truth(plan).price).sum();
    assert!(cut > Decimal::ONE_HUNDRED);
    let parts = [report.claimed, report.price, report.unclaimed];
    let sum: Decimal = parts.into_iter().map(Money::amount).sum();
    assert_eq!(sum, report.difference.amount());
}
