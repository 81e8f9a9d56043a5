//! Cost by group and by charge: whatever the fleet, nothing is lost or counted
//! twice.

use crate::rules::builder::estate;
use crate::rules::fixtures::root;
use crate::rules::honest::{cases, draft};
use crate::rules::properties::{fleet, machines};
use gpucost::analysis::gate::{
    Budget, BudgetBasis, GateOutcome, GatePolicy, GateReport, Scope, gate,
};
use gpucost::analysis::{
    Audit, AuditedWorkload, Charge, ChargePart, GroupKey, GroupSums, Groups, ListPrices,
    Reconciliation, RunDays, audit, charges, daily_charges, ledger,
};
use gpucost::domain::{Classification, Money, Policy, Risk};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use std::collections::BTreeMap;

fn keys(names: &[&str]) -> Vec<GroupKey> {
    names.iter().map(|name| GroupKey::from_name(name).expect("a key")).collect()
}

fn amount(money: Option<Money>) -> Decimal {
    money.map_or(Decimal::ZERO, Money::amount)
}

const FIGURES: [fn(&GroupSums) -> Option<Money>; 7] = [
    |sums| sums.monthly_cost,
    |sums| sums.useful_cost,
    |sums| sums.idle_cost,
    |sums| sums.unmeasured_cost,
    |sums| sums.stopped_cost,
    |sums| sums.monthly_savings,
    |sums| sums.monthly_waste,
];

fn check_groups(audit: &Audit, names: &[&str]) -> Result<(), TestCaseError> {
    let groups = Groups::of(audit, &keys(names));
    for figure in FIGURES {
        let rows: Decimal = groups.rows.iter().map(|row| amount(figure(&row.sums))).sum();
        prop_assert_eq!(rows, amount(figure(&groups.total)));
        prop_assert_eq!(rows, rows.round_dp(2));
    }
    for sums in groups.rows.iter().map(|row| &row.sums).chain([&groups.total]) {
        let parts = [sums.useful_cost, sums.idle_cost, sums.unmeasured_cost, sums.stopped_cost];
        let parts: Vec<Decimal> = parts.into_iter().map(amount).collect();
        prop_assert!(parts.iter().all(|part| *part >= Decimal::ZERO));
        prop_assert_eq!(parts.iter().sum::<Decimal>(), amount(sums.monthly_cost));
    }
    let totals = &audit.totals;
    prop_assert_eq!(
        groups.total.monthly_cost,
        totals.monthly_cost.filter(|_| !audit.workloads.is_empty())
    );
    prop_assert_eq!(amount(groups.total.monthly_savings), amount(totals.monthly_savings()));
    prop_assert_eq!(amount(groups.total.monthly_waste), amount(totals.monthly_waste));
    prop_assert_eq!(groups.total.gpus, totals.gpus);
    prop_assert_eq!(groups.total.instances, totals.instances);
    let workloads: u64 = groups.rows.iter().map(|row| row.sums.workloads).sum();
    let count = audit.workloads.len() as u64;
    // One whose instances carry several values of a tag is in several rows.
    let has_tags = names.iter().any(|name| name.starts_with("tag:"));
    prop_assert!(workloads == count || (has_tags && workloads > count));
    prop_assert_eq!(groups.total.workloads, count);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(48)) })]

    /// The headline, a budget over everything and a chargeback are sums of one ledger, machine by
    /// machine.
    #[test]
    fn every_dollar_is_in_one_entry((boxes, bought) in draft::fleet()) {
        let mut fleet = draft::estate_of(&boxes, &bought);
        for (place, instance) in fleet.instances.iter_mut().enumerate() {
            instance.tags.insert("team".to_owned(), ["a", "b"][place % 2].to_owned());
        }
        let audit = audit(&fleet, &Policy::default(), Risk::Medium);
        let currency = audit.totals.currency;
        let own = || {
            let entries = ledger(&audit).filter_map(|entry| Some((entry, entry.monthly?)));
            entries.filter(|(_, cost)| cost.currency() == currency)
        };
        let sum: Decimal = own().map(|(_, cost)| cost.amount()).sum();
        prop_assert_eq!(sum, amount(audit.totals.monthly_cost));
        for team in ["a", "b"] {
            let of_team = own().filter(|(entry, _)| entry.tag("team") == Some(team));
            let of_team: Decimal = of_team.map(|(_, cost)| cost.amount()).sum();
            let rows = Groups::of(&audit, &keys(&["tag:team"])).rows;
            let charged = rows.iter().find(|row| row.values == [Some(team.to_owned())]);
            prop_assert_eq!(of_team, charged.map_or(Decimal::ZERO, |row| amount(row.sums.monthly_cost)));
        }
        check_groups(&audit, &["tag:team"])?;
        let headline = Money::new(amount(audit.totals.monthly_cost), currency);
        let cent = Money::new(Decimal::new(1, 2), currency);
        for (limit, fails) in [(Some(headline), false), (headline.checked_sub(cent).ok(), true)] {
            let report = budget_of_everything(&audit, limit.expect("one currency"));
            let observed = report.checks[0].observed.as_deref();
            let expected = format!("{headline} per month");
            prop_assert_eq!(observed, Some(expected.as_str()));
            prop_assert_eq!(report.outcome == GateOutcome::Violated, fails);
        }
    }
}

/// The gate of a policy that states nothing but what everything may cost.
fn budget_of_everything(audit: &Audit, monthly_limit: Money) -> GateReport {
    let budget = Budget {
        name: None,
        scope: Scope::Everything,
        basis: BudgetBasis::RunRate,
        monthly_limit,
        line: 1,
    };
    let policy = GatePolicy { budgets: vec![budget], ..GatePolicy::default() };
    gate(audit, &policy, None, None, (audit.as_of, audit.as_of))
}

/// What the hours of the window cost, from the rates and the running time.
fn window_cost(workload: &AuditedWorkload) -> Option<Decimal> {
    let cost = workload.workload.cost.as_ref()?;
    let hours = workload.workload.usage.iter().map(|usage| usage.running.running_seconds);
    let exact: Decimal = cost
        .instances
        .iter()
        .zip(hours)
        .map(|(instance, seconds)| {
            instance.hourly.amount() * Decimal::from(seconds) / Decimal::from(3_600)
        })
        .sum();
    Some(exact.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero))
}

fn check_charges(audit: &Audit) -> Result<(), TestCaseError> {
    let mut by_workload: BTreeMap<String, Decimal> = BTreeMap::new();
    for charge in charges(audit, Decimal::from(730)) {
        let effective = charge.effective.amount();
        prop_assert!(effective >= Decimal::ZERO);
        prop_assert_eq!(effective, effective.round_dp(2));
        let split = charge.split;
        let parts = [split.useful, split.idle, split.unmeasured, split.idle_storage];
        prop_assert_eq!(parts.map(Money::amount).iter().sum::<Decimal>(), effective);
        prop_assert_eq!(
            charge.billed.amount().is_zero(),
            charge.part.commitment.is_some() || effective.is_zero()
        );
        *by_workload.entry(charge.one.workload.id()).or_default() += effective;
    }
    for workload in audit.workloads.iter().filter(|workload| workload.workload.key.running) {
        let charged = by_workload.get(&workload.workload.id()).copied();
        prop_assert_eq!(charged.unwrap_or_default(), window_cost(workload).unwrap_or_default());
    }
    Ok(())
}

/// What a charge of the window and its days have in common.
type OfCharge = (String, ChargePart);

/// The days of every charge add up to it, to the cent.
fn check_days(estate: &Estate, audit: &Audit) -> Result<(), TestCaseError> {
    let sums = |charges: Vec<Charge<'_>>| {
        let mut sums: BTreeMap<OfCharge, [Decimal; 3]> = BTreeMap::new();
        for charge in charges {
            let of = (charge.one.workload.id(), charge.part);
            let amounts = [charge.effective, charge.list, charge.billed].map(Money::amount);
            let sum = sums.entry(of).or_default();
            for (sum, amount) in sum.iter_mut().zip(amounts) {
                *sum += amount;
            }
        }
        sums
    };
    let month = Decimal::from(730);
    let daily = daily_charges(audit, &RunDays::of(estate), month);
    for charge in &daily {
        let split = charge.split;
        let parts = [split.useful, split.idle, split.unmeasured, split.idle_storage];
        let parts: Decimal = parts.map(Money::amount).iter().sum();
        prop_assert_eq!(parts, charge.effective.amount());
        prop_assert!(charge.period.seconds() <= 86_400);
    }
    prop_assert_eq!(sums(daily), sums(charges(audit, month)));
    Ok(())
}

/// List prices lead to the cost of every workload, and to that of the audit.
fn check_reconciliation(estate: &Estate, audit: &Audit) -> Result<(), TestCaseError> {
    let prices = ListPrices::of(estate, &Policy::default());
    let reconciliation = Reconciliation::of(audit, &prices);
    for row in &reconciliation.rows {
        prop_assert_eq!(row.steps.explained(), row.steps.cost, "{:?}", row);
    }
    let cost = audit.totals.monthly_cost.map_or(Decimal::ZERO, Money::amount);
    prop_assert_eq!(reconciliation.total.cost, cost);
    prop_assert_eq!(reconciliation.total.explained(), cost);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_of_any_fleet_sum_to_the_total(drafts in fleet()) {
        let estate = estate(machines(&drafts));
        let audit = audit(&estate, &Policy::default(), Risk::Medium);
        for names in [
            &["region"][..],
            &["tag:team", "region"],
            &["type", "class", "purchase-option"],
            &["account", "gpu", "kind"],
        ] {
            check_groups(&audit, names)?;
        }
        check_charges(&audit)?;
        check_days(&estate, &audit)?;
        check_reconciliation(&estate, &audit)?;
    }
}

fn demo() -> Estate {
    read_estate(&root().join("fixtures/demo/estate.json.gz"), Keep::Points).expect("the demo")
}

#[test]
fn the_demo_is_split_as_by_hand() {
    let audit = audit(&demo(), &Policy::default(), Risk::Medium);
    let groups = Groups::of(&audit, &keys(&["tag:team", "tag:nobody"]));
    // Cost times mean, and nothing where nobody knows.
    let mut useful: BTreeMap<Option<String>, f64> = BTreeMap::new();
    for workload in &audit.workloads {
        let cost = workload.workload.monthly_cost().expect("a price").amount();
        let measured = workload.workload.utilization.as_ref();
        let mean = measured
            .filter(|_| workload.verdict.classification != Classification::InsufficientData)
            .map_or(0.0, |summary| summary.distribution.mean);
        let cost = cost.to_f64().expect("a number");
        let team = workload.workload.tags.get("team").cloned();
        *useful.entry(team).or_default() += cost * mean / 100.0;
    }
    assert_eq!(groups.rows.len(), useful.len());
    for row in &groups.rows {
        assert_eq!(row.values[1], None, "nobody has that tag");
        let expected = useful[&row.values[0]];
        let useful_cost = amount(row.sums.useful_cost).to_f64().expect("a number");
        // A cent for each workload of the team.
        assert!((useful_cost - expected).abs() < 0.01 * row.sums.workloads as f64, "{row:?}");
    }
    check_groups(&audit, &["tag:team"]).expect("sums");
    check_charges(&audit).expect("charges");
}
