//! Gates of random policies over random fleets, histories and Terraform plans: whatever file,
//! region, permission or resource is not read, what failed or was incomplete never passes.

use crate::rules::builder::as_of;
use crate::rules::fixtures::recorded_rule_ids;
use crate::rules::honest::{cases, draft};
use gpucost::analysis::gate::{
    Allowance, Baseline, Budget, BudgetBasis, CoverageFloor, Forbidden, GateOutcome, GatePolicy,
    Glob, PriceAgeLimit, RequiredTag, Scope, SpendHistory, Suppression, UtilizationFloor,
    WasteLimit, gate, gate_plan, policy_rule,
};
use gpucost::analysis::{audit, price_plan};
use gpucost::catalog::Prices;
use gpucost::domain::{
    Cause, CauseKind, CostKind, CostSource, Currency, Gap, GapSubject, Metric, Missing, Money,
    OperatingSystem, PastGap, PastTotals, PlanAction, PlannedCount, PlannedInstances,
    PlannedResource, Policy, PriceBook, Provider, PurchaseOption, RecordedRun, Risk, Severity,
    Tenancy, TerraformPlan, WorkloadDay, WorkloadKind,
};
use gpucost::usage::Estate;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::Index;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const ACCOUNT: &str = "111122223333";
const REGIONS: [&str; 2] = ["us-east-1", "cn-north-1"];
const TEAMS: [&str; 2] = ["a", "b"];
const PATTERNS: [&str; 5] = ["g5*", "g6*", "p3*", "us-*", "cn-*"];

fn usd(amount: u32) -> Money {
    Money::new(Decimal::from(amount), Currency::Usd)
}

fn named(pairs: [(&str, &str); 1]) -> BTreeMap<String, String> {
    let pairs = pairs.into_iter();
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn scope() -> impl Strategy<Value = Scope> {
    let tag = |value: &str| Scope::Tag { key: "team".to_owned(), value: value.to_owned() };
    prop_oneof![
        2 => Just(Scope::Everything),
        1 => Just(Scope::Account(ACCOUNT.to_owned())),
        1 => Just(Scope::Region(REGIONS[0].to_owned())),
        2 => Just(tag(TEAMS[0])),
        1 => Just(tag("nobody")),
    ]
}

fn limit() -> impl Strategy<Value = Money> {
    prop_oneof![Just(0_u32), 1..40_000_u32, Just(10_000_000_u32)].prop_map(usd)
}

fn budget() -> impl Strategy<Value = Budget> {
    let basis = prop_oneof![2 => Just(BudgetBasis::RunRate), 1 => Just(BudgetBasis::Forecast)];
    (scope(), basis, limit()).prop_map(|(scope, basis, monthly_limit)| Budget {
        name: None,
        scope,
        basis,
        monthly_limit,
        line: 1,
    })
}

fn allowance() -> impl Strategy<Value = Allowance> {
    let glob = || prop::sample::select(&PATTERNS[..]).prop_map(|pattern| (Glob::new(pattern), 2));
    let globs = move || prop::collection::vec(glob(), 0..2);
    (globs(), globs()).prop_map(|(allowed, denied)| Allowance { allowed, denied })
}

fn forbidden() -> impl Strategy<Value = Forbidden> {
    let severity = vec![Severity::Info, Severity::Warning, Severity::Critical];
    let rule = prop::option::weighted(0.7, prop::sample::select(recorded_rule_ids()));
    (rule, prop::sample::select(severity)).prop_map(|(rule, severity)| Forbidden {
        rule: rule.map(str::to_owned),
        severity,
        line: 3,
    })
}

/// Somebody answers for a rule up to an amount that is known.
fn suppression() -> impl Strategy<Value = Suppression> {
    let rules = vec![policy_rule::BUDGET, policy_rule::BUDGET_FORECAST, policy_rule::WASTE];
    (prop::sample::select(rules), 0..40_000_u32).prop_map(|(rule, most)| Suppression {
        rule: rule.to_owned(),
        workload: Glob::new("*"),
        owner: "drawn".to_owned(),
        reason: "drawn".to_owned(),
        expires: jiff::civil::date(2030, 1, 1),
        monthly_limit: Some(Decimal::from(most)),
        line: 10,
    })
}

/// A policy of up to a dozen rules. What the baseline could not see either is refused: a policy
/// that accepts it says so.
fn policy() -> impl Strategy<Value = GatePolicy> {
    let percent = || prop::option::weighted(0.3, 0..=100_u32);
    let days = prop::option::weighted(0.2, 1..60_i64);
    (
        prop::collection::vec(budget(), 0..3),
        (prop::option::weighted(0.3, limit()), percent()),
        (percent(), percent()),
        (allowance(), allowance()),
        (any::<bool>(), days),
        prop::collection::vec(forbidden(), 0..2),
        prop::collection::vec(suppression(), 0..2),
    )
        .prop_map(
            |(budgets, waste, floors, allowances, (is_tagged, days), forbidden, suppressions)| {
                GatePolicy {
                    suppressions,
                    budgets,
                    waste: Some(WasteLimit {
                        monthly: waste.0.map(|limit| (limit, 4)),
                        percent: waste.1.map(|percent| (Decimal::from(percent), 5)),
                    }),
                    utilization: floors
                        .0
                        .map(|percent| {
                            let floor =
                                UtilizationFloor { mean_percent: f64::from(percent), line: 6 };
                            (WorkloadKind::Training, floor)
                        })
                        .into_iter()
                        .collect(),
                    coverage: floors
                        .1
                        .map(|percent| CoverageFloor { percent: f64::from(percent), line: 7 }),
                    required_tags: is_tagged
                        .then(|| RequiredTag { key: "team".to_owned(), line: 8 })
                        .into_iter()
                        .collect(),
                    types: allowances.0,
                    regions: allowances.1,
                    price_age: days.map(|days| PriceAgeLimit {
                        max_age: SignedDuration::from_hours(24 * days),
                        line: 9,
                    }),
                    forbidden,
                    refuses_known_gaps: true,
                    ..GatePolicy::default()
                }
            },
        )
}

fn gap(what: GapSubject, place: &str) -> Gap {
    let cause = Cause::of(CauseKind::InstanceNotReadable, ["state"]);
    Gap::of(what, place, cause)
}

/// The same without one part, and with the gap that its reader states: metrics have none, since
/// an audit notices them by itself.
fn without(estate: &Estate, part: usize, place: &Index) -> Estate {
    let mut less = estate.clone();
    let instance = &estate.instances[place.index(estate.instances.len())];
    let region = instance.region.as_str();
    let stated = match part {
        0 => {
            less.instances.retain(|kept| kept.id != instance.id);
            Some((GapSubject::Instance, instance.id.to_string()))
        }
        1 => {
            less.instances.retain(|kept| kept.region != region);
            Some((GapSubject::Region, region.to_owned()))
        }
        2 => {
            less.commitments.reserved_instances.clear();
            Some((GapSubject::ReservedInstances, REGIONS[0].to_owned()))
        }
        3 => {
            less.commitments.capacity_reservations.clear();
            Some((GapSubject::CapacityReservations, REGIONS[0].to_owned()))
        }
        4 => {
            less.commitments.savings_plans.clear();
            Some((GapSubject::SavingsPlans, REGIONS[0].to_owned()))
        }
        5 => {
            less.metrics.retain(|series| series.instance != instance.id);
            None
        }
        6 => {
            let metrics = [Metric::GpuUtilization, Metric::GpuMemoryUsed];
            let metric = metrics[place.index(metrics.len())];
            less.metrics.retain(|series| series.metric != metric);
            None
        }
        7 => {
            let gpu = Some(place.index(4) as u16);
            less.metrics.retain(|series| series.gpu != gpu);
            None
        }
        _ => {
            let signs = [Metric::CpuUtilization, Metric::NetworkIn, Metric::GpuPowerDraw];
            let metric = signs[place.index(signs.len())];
            less.metrics.retain(|series| series.metric != metric);
            None
        }
    };
    less.metrics
        .retain(|series| less.instances.iter().any(|instance| instance.id == series.instance));
    less.gaps.extend(stated.map(|(what, place)| gap(what, &place)));
    less
}

/// The first day that is recorded, of the month of the check.
const FIRST_DAY: i8 = 15;

fn day(number: usize) -> Date {
    jiff::civil::date(2026, 10, FIRST_DAY + number as i8)
}

/// Three in the morning after a day of October.
fn night(number: usize) -> Timestamp {
    let text = format!("{}T03:00:00Z", day(number + 1));
    text.parse().expect("a time stamp")
}

fn run(number: usize) -> RecordedRun {
    RecordedRun {
        run_id: format!("run-{number:02}"),
        as_of: night(number),
        scope: "1".to_owned(),
        source: "aws".to_owned(),
        accounts: vec![ACCOUNT.to_owned()],
        regions: REGIONS.map(str::to_owned).to_vec(),
        tag_filters: Vec::new(),
        days: vec![day(number)],
        totals: PastTotals {
            currency: Currency::Usd,
            instances: 2,
            gpus: 2,
            unpriced_instances: 0,
            monthly_cost: None,
            planned_monthly_cost: None,
            monthly_savings: None,
            monthly_waste: None,
        },
        promises: None,
        gaps_count: 0,
        unread: Vec::new(),
        gpucost_version: "0".to_owned(),
        prices_seen_on: None,
    }
}

/// A day of a team's instance in its region.
fn row(number: usize, team: usize, dollars: u32) -> WorkloadDay {
    let hours = Decimal::from(24);
    let job = format!("job-{}", TEAMS[team]);
    WorkloadDay {
        run_id: format!("run-{number:02}"),
        day: day(number),
        provider: Provider::Aws,
        account: ACCOUNT.to_owned(),
        region: REGIONS[team].to_owned(),
        workload: job.clone(),
        job: job.clone(),
        name: job,
        tags: named([("team", TEAMS[team])]),
        kind: CostKind::Compute,
        instance_type: "g5.xlarge".to_owned(),
        gpus_per_instance: Some(Decimal::ONE),
        option: PurchaseOption::OnDemand,
        commitment: None,
        committed_until: None,
        hours,
        gpu_hours: Some(hours),
        list: Some(usd(dollars)),
        contracted: Some(usd(dollars)),
        effective: Some(usd(dollars)),
        useful_gpu_hours: None,
        idle_gpu_hours: None,
        unmeasured_gpu_hours: Some(hours),
        source: CostSource::Estimate,
        price: None,
    }
}

/// Days in a row with what each team spent on them.
fn history() -> impl Strategy<Value = SpendHistory> {
    let dollars = || prop_oneof![2 => Just(24_u32), 1 => 0..2_000_u32];
    prop::collection::vec((dollars(), dollars()), 1..15).prop_map(|days| {
        let rows = days.iter().enumerate();
        SpendHistory {
            place: "history".to_owned(),
            days: rows
                .flat_map(|(number, of)| [row(number, 0, of.0), row(number, 1, of.1)])
                .filter(|row| row.effective != Some(usd(0)))
                .collect(),
            runs: (0..days.len()).map(run).collect(),
            problems: Vec::new(),
        }
    })
}

/// The same without one file or one region on a day, as its reader states it; without any of it
/// where that cannot be listed.
fn history_without(history: &SpendHistory, part: usize, place: &Index) -> Option<SpendHistory> {
    let mut less = history.clone();
    let number = place.index(history.runs.len());
    let lost = day(number);
    match part {
        // The table of a day cannot be read.
        0 => {
            less.days.retain(|row| row.day != lost);
            for run in &mut less.runs {
                run.days.retain(|day| *day != lost);
            }
            less.problems.push("a table is damaged".to_owned());
        }
        // The file of a run cannot be read.
        1 => {
            less.days.retain(|row| row.day != lost);
            less.runs.remove(number);
            less.problems.push("a run is damaged".to_owned());
        }
        // The run was denied a region.
        2 => {
            let region = REGIONS[place.index(REGIONS.len())];
            less.days.retain(|row| row.day != lost || row.region != region);
            less.runs[number].unread.push(PastGap {
                what: GapSubject::Region,
                place: region.to_owned(),
                cause: None,
                reason: String::new(),
            });
        }
        _ => return None,
    }
    Some(less)
}

fn passes(outcome: GateOutcome) -> bool {
    matches!(outcome, GateOutcome::Clean | GateOutcome::Nothing)
}

fn planned_instances() -> impl Strategy<Value = PlannedInstances> {
    let types = vec!["g5.xlarge", "g6.xlarge", "p3.8xlarge", "t3.nano"];
    (
        prop::sample::select(types),
        0..4_u64,
        any::<bool>(),
        prop::sample::select(&REGIONS[..]),
        prop::option::weighted(0.7, prop::sample::select(&TEAMS[..])),
    )
        .prop_map(|(name, count, is_spot, region, team)| PlannedInstances {
            types: vec![name.to_owned()],
            more_types: None,
            count: Ok(count),
            payment: Ok(PlannedCount {
                on_demand: if is_spot { 0 } else { count },
                spot: if is_spot { count } else { 0 },
                capacity_block: 0,
            }),
            most: None,
            region: Ok(region.to_owned()),
            zone: None,
            account: Some(ACCOUNT.to_owned()),
            operating_system: Ok(OperatingSystem::Linux),
            tenancy: Ok(Tenancy::Shared),
            assumed: None,
            service: None,
            tags: team.map(|team| ("team".to_owned(), Some(team.to_owned()))).into_iter().collect(),
            more_tags: false,
        })
}

fn planned() -> impl Strategy<Value = TerraformPlan> {
    let ends = prop_oneof![
        planned_instances().prop_map(|after| (PlanAction::Create, None, Some(after))),
        (planned_instances(), planned_instances()).prop_map(|(before, after)| (
            PlanAction::Update,
            Some(before),
            Some(after)
        )),
        planned_instances().prop_map(|same| (PlanAction::NoOp, Some(same.clone()), Some(same))),
        planned_instances().prop_map(|before| (PlanAction::Delete, Some(before), None)),
    ];
    prop::collection::vec(ends, 1..4).prop_map(|changes| {
        let resources = changes.into_iter().enumerate();
        let instances: Vec<PlannedResource> = resources
            .map(|(place, (action, before, after))| PlannedResource {
                address: format!("aws_instance.{place}"),
                resource_type: "aws_instance".to_owned(),
                native: None,
                type_reference: None,
                action,
                before,
                after,
            })
            .collect();
        TerraformPlan { resources: instances.len() as u64, instances, ..TerraformPlan::default() }
    })
}

/// The same where something of what one resource will be is known only after apply.
fn plan_without(plan: &TerraformPlan, part: usize, place: &Index) -> TerraformPlan {
    let mut less = plan.clone();
    let number = place.index(plan.instances.len());
    let Some(after) = &mut less.instances[number].after else { return less };
    let unknown = || Missing::AfterApply;
    match part {
        0 => {
            after.types.clear();
            after.more_types = Some(unknown());
        }
        1 => {
            after.count = Err(unknown());
            after.payment = Err(unknown());
        }
        2 => after.payment = Err(unknown()),
        3 => after.region = Err(unknown()),
        4 => after.account = None,
        5 => after.tenancy = Err(unknown()),
        6 => {
            after.tags.clear();
            after.more_tags = true;
        }
        _ => {
            after.tags.insert("team".to_owned(), None);
        }
    }
    less
}

fn outcome_of_plan(plan: &TerraformPlan, policy: &GatePolicy) -> GateOutcome {
    let (book, discounts) = (PriceBook::default(), BTreeMap::new());
    let prices = Prices::new(&book, &discounts);
    let change = price_plan(plan, &prices, Decimal::from(730));
    gate_plan(&change, policy, "plan.json", as_of()).outcome
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(150)) })]

    #[test]
    fn an_estate_of_which_less_is_read_passes_nothing_that_failed(
        (boxes, bought) in draft::fleet(),
        policy in policy(),
        (part, place) in (0..9_usize, any::<Index>()),
        baseline in prop::option::of(prop::option::of(any::<Index>())),
    ) {
        let mut estate = draft::estate_of(&boxes, &bought);
        for (place, instance) in estate.instances.iter_mut().enumerate() {
            if let Some(team) = TEAMS.get(place % 3) {
                instance.tags.insert("team".to_owned(), (*team).to_owned());
            }
        }
        let audit_of = |estate: &Estate| audit(estate, &Policy::default(), Risk::Medium);
        let (whole, less) = (audit_of(&estate), audit_of(&without(&estate, part, &place)));
        // What the baseline knew is no new failure, and the same baseline knew it for both: the
        // estate of now, or that before one instance more.
        let past = baseline.map(|gone| {
            let mut old = estate.clone();
            if let Some(gone) = gone {
                let gone = old.instances.remove(gone.index(old.instances.len())).id;
                old.metrics.retain(|series| series.instance != gone);
            }
            audit_of(&old).past()
        });
        let outcome = |audit| {
            let baseline = past.as_ref().map(|past| Baseline::of("old.json".to_owned(), past, audit));
            let baseline = baseline.and_then(Result::ok);
            gate(audit, &policy, baseline.as_ref(), None, (estate.as_of, estate.as_of)).outcome
        };
        let (before, after) = (outcome(&whole), outcome(&less));
        prop_assert!(passes(before) || !passes(after), "{before:?} became {after:?}");
        // Nor does a baseline that is not there any more.
        let alone = gate(&whole, &policy, None, None, (estate.as_of, estate.as_of)).outcome;
        prop_assert!(passes(before) || !passes(alone), "{before:?} became {alone:?}");
    }

    #[test]
    fn a_history_of_which_less_is_read_passes_nothing_that_failed(
        history in history(),
        budgets in prop::collection::vec(budget(), 1..3),
        suppressions in prop::collection::vec(suppression(), 0..2),
        (part, place) in (0..4_usize, any::<Index>()),
        hours in 0..72_i64,
    ) {
        let budgets = budgets.into_iter().map(|budget| Budget { basis: BudgetBasis::Forecast, ..budget });
        let budgets = budgets.collect();
        let policy = GatePolicy { budgets, suppressions, ..GatePolicy::default() };
        let nothing = crate::rules::builder::estate(Vec::new());
        let audit = audit(&nothing, &Policy::default(), Risk::Medium);
        let now = night(history.runs.len() - 1) + SignedDuration::from_hours(hours);
        let outcome = |history: Option<&SpendHistory>| gate(&audit, &policy, None, history, (now, now)).outcome;
        let before = outcome(Some(&history));
        let after = outcome(history_without(&history, part, &place).as_ref());
        prop_assert!(passes(before) || !passes(after), "{before:?} became {after:?}");
    }

    #[test]
    fn a_plan_that_states_less_passes_nothing_that_failed(
        plan in planned(),
        policy in policy(),
        (part, place) in (0..8_usize, any::<Index>()),
    ) {
        let before = outcome_of_plan(&plan, &policy);
        let after = outcome_of_plan(&plan_without(&plan, part, &place), &policy);
        prop_assert!(passes(before) || !passes(after), "{before:?} became {after:?}");
    }
}
