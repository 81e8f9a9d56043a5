//! Purchases of several accounts: together where they share what they buy, and each for
//! its own hours where they do not.

use super::{WORKS, bought};
use super::{assert_totals, early_half, idle, late_half, working, young};
use crate::rules::builder::{Machine, audited, estate};
use crate::rules::fixtures::decimal;
use gpucost::analysis::{Audit, assess_commitments};
use gpucost::domain::{CommitmentTerm, Money, Policy, PriceOption, SavingsPlan, SavingsPlanKind};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::{Decimal, RoundingStrategy};
use std::collections::BTreeMap;

const A: &str = "111122223333";
const B: &str = "222233334444";
const TERM: CommitmentTerm = CommitmentTerm::ONE_YEAR_NO_UPFRONT;

fn in_account(mut machine: Machine, account: &str) -> Machine {
    machine.instance.account = account.to_owned();
    machine
}

fn of_accounts(machines: Vec<Machine>, is_unshared: bool) -> Estate {
    let mut fleet = estate(machines);
    fleet.accounts = vec![A.to_owned(), B.to_owned()];
    fleet.commitments.is_unshared = is_unshared;
    fleet
}

/// How many the plan buys, by account.
fn by_account(audit: &Audit) -> Vec<(Option<&str>, u32)> {
    let purchases = audit.purchases.iter();
    purchases.map(|purchase| (purchase.account.as_deref(), purchase.count)).collect()
}

#[test]
fn two_halves_of_a_day_are_one_box_only_where_accounts_share() {
    let machines = vec![in_account(early_half("i-1"), A), in_account(late_half("i-2"), B)];
    // 2 × 367.19, of which one reservation takes all: 462.6594 are paid.
    let audit = audited(&of_accounts(machines.clone(), false));
    assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
    assert_eq!(by_account(&audit), [(None, 1)]);
    // Half of the hours of either account are less than 63%.
    let alone = of_accounts(machines, true);
    let audit = audited(&alone);
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert!(audit.purchases.is_empty(), "{:?}", audit.purchases);
    let fleet = assess_commitments(&alone, &Policy::default());
    assert_eq!(fleet.reserved.len(), 2);
    for pool in &fleet.reserved {
        let mut options = pool.options.iter();
        let year = options.find(|option| option.term == TERM).expect("it is sold");
        assert_eq!(year.amount, Decimal::ZERO, "{:?}", pool.account);
    }
}

#[test]
fn a_purchase_names_its_account_and_the_plan_adds_up() {
    let machines = vec![
        in_account(working("i-1"), A),
        in_account(working("i-2"), A),
        in_account(working("i-3"), B),
        in_account(late_half("i-4"), B),
    ];
    // 3 × 734.38 + 367.19 = 2 570.33; 2 × 271.7206 = 543.4412 and 271.7206.
    let audit = audited(&of_accounts(machines, true));
    assert_totals(&audit, ["2570.33", "1755.17", "0", "815.16"]);
    assert_eq!(by_account(&audit), [(Some(A), 2), (Some(B), 1)]);
    let saved: Vec<Decimal> =
        audit.purchases.iter().map(|purchase| purchase.monthly_savings.amount()).collect();
    assert_eq!(saved, [decimal("543.44"), decimal("271.72")]);
    for workload in &audit.workloads {
        let account = &workload.workload.key.account;
        let said = format!("1 year, no-upfront, in account {account}, at ");
        for action in &workload.actions {
            assert!(action.detail().contains(&said), "{}", action.detail());
        }
    }
}

#[test]
fn a_plan_of_unknown_rate_keeps_its_own_account_from_buying() {
    let machines = vec![in_account(working("i-1"), A), in_account(working("i-2"), B)];
    let cases = [(false, vec![]), (true, vec![(Some(B), 1)])];
    for (is_unshared, expected) in cases {
        let mut estate = of_accounts(machines.clone(), is_unshared);
        let until = jiff::SignedDuration::from_hours(24 * 100);
        estate.commitments.savings_plans = vec![SavingsPlan {
            id: "sp-1".to_owned(),
            account: None,
            kind: SavingsPlanKind::Compute,
            region: None,
            family: None,
            currency: gpucost::domain::Currency::Usd,
            commitment_hourly: decimal("0.80"),
            term: TERM,
            start: estate.as_of - until,
            end: estate.as_of + until,
        }];
        estate.commitments.set_owner(A);
        assert_eq!(by_account(&audited(&estate)), expected);
        let fleet = assess_commitments(&estate, &Policy::default());
        let of: Vec<Option<&str>> =
            fleet.reserved.iter().map(|pool| pool.account.as_deref()).collect();
        let expected: Vec<Option<&str>> = expected.iter().map(|(account, _)| *account).collect();
        assert_eq!(of, expected);
    }
}

/// When a machine runs.
#[derive(Debug, Clone, Copy)]
enum Runs {
    Always,
    SinceEightDays,
    Early,
    Late,
    Idle,
}

impl Runs {
    fn machine(self, id: &str) -> Machine {
        match self {
            Self::Always => working(id),
            Self::SinceEightDays => young(id, 8 * 24, WORKS),
            Self::Early => early_half(id),
            Self::Late => late_half(id),
            Self::Idle => idle(id),
        }
    }
}

fn runs() -> impl Strategy<Value = Runs> {
    prop_oneof![
        Just(Runs::Always),
        Just(Runs::SinceEightDays),
        Just(Runs::Early),
        Just(Runs::Late),
        Just(Runs::Idle),
    ]
}

/// Instances that run in every hour, in the first half of each day, and in the second.
/// What is idle is stopped. A young one that ran in every hour that it was seen ran in all.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    always: u32,
    early: u32,
    late: u32,
}

impl Use {
    fn add(&mut self, runs: Runs) {
        match runs {
            Runs::Always | Runs::SinceEightDays => self.always += 1,
            Runs::Early => self.early += 1,
            Runs::Late => self.late += 1,
            Runs::Idle => {}
        }
    }

    /// Those that run at once in more than 63% of the hours, which is all of them.
    fn worth(self) -> u32 {
        self.always + self.early.min(self.late)
    }

    /// Instance-hours in 14 days.
    fn hours(self) -> Decimal {
        Decimal::from(336 * self.always + 168 * (self.early + self.late))
    }
}

/// 730 × (1.006 − 0.63378) a month for each.
fn saved(count: u32) -> Decimal {
    let savings = decimal("271.7206") * Decimal::from(count);
    savings.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_account_buys_for_its_own_hours(
        fleet in proptest::collection::vec((runs(), prop_oneof![Just(A), Just(B)]), 1..7),
    ) {
        let mut uses: BTreeMap<&str, Use> = BTreeMap::new();
        let mut together = Use::default();
        let mut machines = Vec::new();
        for (index, (runs, account)) in fleet.iter().enumerate() {
            uses.entry(account).or_default().add(*runs);
            together.add(*runs);
            machines.push(in_account(runs.machine(&format!("i-{index}")), account));
        }
        let shared = audited(&of_accounts(machines.clone(), false));
        prop_assert_eq!(bought(&shared), together.worth());
        let estate = of_accounts(machines, true);
        let alone = audited(&estate);
        let expected: Vec<(Option<&str>, u32)> = uses
            .iter()
            .map(|(account, own)| (Some(*account), own.worth()))
            .filter(|(_, count)| *count > 0)
            .collect();
        prop_assert_eq!(by_account(&alone), expected);
        for purchase in &alone.purchases {
            prop_assert_eq!(purchase.term.option, PriceOption::Reserved(TERM));
            let account = purchase.account.as_deref().unwrap_or_default();
            let own = uses[account];
            prop_assert_eq!(purchase.usage.total_hours(), own.hours());
            prop_assert!(purchase.usage.covered_hours(purchase.count) <= own.hours());
            prop_assert_eq!(purchase.monthly_savings.amount(), saved(purchase.count));
            for share in &purchase.shares {
                let mut audited = alone.workloads.iter();
                let of = audited.find(|workload| workload.workload.id() == share.id);
                let of = of.map(|workload| workload.workload.key.account.as_str());
                prop_assert_eq!(of, Some(account));
            }
        }
        // Each by itself never saves more than all together, but for the half cent that
        // each is rounded by.
        let total = |audit: &Audit| -> Decimal {
            audit.purchases.iter().map(|purchase| purchase.monthly_savings.amount()).sum()
        };
        let cent = Decimal::new(1, 2);
        prop_assert!(total(&alone) <= total(&shared) + cent);
        let planned = [&alone, &shared].map(|audit| {
            let planned = audit.totals.planned_monthly_cost.map(Money::amount);
            planned.unwrap_or_default()
        });
        prop_assert!(planned[0] + cent >= planned[1]);
        // What `reserved` would buy for a year in each account is the same.
        let assessed = assess_commitments(&estate, &Policy::default());
        for pool in &assessed.reserved {
            let own = uses[pool.account.as_deref().unwrap_or_default()];
            let mut options = pool.options.iter();
            let year = options.find(|option| option.term == TERM).expect("it is sold");
            prop_assert_eq!(year.amount, Decimal::from(own.worth()));
        }
    }
}
