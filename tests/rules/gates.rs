//! What a gate did not read never turns it into a pass.

use crate::rules::fixtures::path;
use crate::rules::honest::{cases, draft};
use gpucost::analysis::audit;
use gpucost::analysis::gate::{
    Budget, BudgetBasis, Forbidden, GateOutcome, GatePolicy, Scope, WasteLimit, gate,
};
use gpucost::domain::{
    Cause, CauseKind, Currency, Gap, GapSubject, Metric, Money, Policy, ResourceId, Risk, Severity,
    Statistic,
};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

fn policy(limit: u32) -> GatePolicy {
    let limit = Money::new(Decimal::from(limit), Currency::Usd);
    GatePolicy {
        budgets: vec![Budget {
            name: None,
            scope: Scope::Everything,
            basis: BudgetBasis::RunRate,
            monthly_limit: limit,
            line: 1,
        }],
        waste: Some(WasteLimit {
            monthly: Some((limit, 2)),
            percent: None,
        }),
        ..GatePolicy::default()
    }
}

fn outcome(estate: &Estate, policy: &GatePolicy) -> GateOutcome {
    let audit = audit(estate, &Policy::default(), Risk::Medium);
    gate(&audit, policy, None, None, estate.as_of).outcome
}

/// The same without one part, and with the gap that its reader states.
fn without(estate: &Estate, part: usize, place: usize) -> Estate {
    let mut less = estate.clone();
    let (what, at) = match part {
        0 => {
            let gone = less.instances.remove(place % estate.instances.len());
            (GapSubject::Instance, gone.id.to_string())
        }
        1 => {
            let region = estate.instances[place % estate.instances.len()]
                .region
                .clone();
            less.instances.retain(|one| one.region != region);
            (GapSubject::Region, region)
        }
        2 => {
            less.commitments.reserved_instances.clear();
            (GapSubject::ReservedInstances, "us-east-1".to_owned())
        }
        _ => {
            less.commitments.capacity_reservations.clear();
            (GapSubject::CapacityReservations, "us-east-1".to_owned())
        }
    };
    let cause = Cause::of(CauseKind::InstanceNotReadable, ["state"]);
    less.gaps.push(Gap::of(what, at, cause));
    less
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(48)) })]

    #[test]
    fn what_was_not_read_passes_nothing(
        (boxes, bought) in draft::fleet(),
        part in 0..4_usize,
        place in 0..8_usize,
        limit in prop_oneof![Just(0_u32), 1..20_000_u32, Just(10_000_000_u32)],
    ) {
        let estate = draft::estate_of(&boxes, &bought);
        let policy = policy(limit);
        let whole = outcome(&estate, &policy);
        let less = outcome(&without(&estate, part, place), &policy);
        let passes = |outcome| matches!(outcome, GateOutcome::Clean | GateOutcome::Nothing);
        prop_assert!(!passes(less), "{whole:?} became {less:?}");
    }
}

/// The recording in which a rule fires, and a policy that forbids the findings of another.
fn recorded(fires: &str, forbidden: &str) -> (Estate, GatePolicy) {
    let estate = read_estate(&path(fires, "fires"), Keep::Points);
    let policy = GatePolicy {
        forbidden: vec![Forbidden {
            rule: Some(forbidden.to_owned()),
            severity: Severity::Info,
            line: 1,
        }],
        ..GatePolicy::default()
    };
    (estate.expect("a recording"), policy)
}

#[test]
fn a_forbidden_finding_is_incomplete_without_the_metrics_of_a_gpu() {
    for rule in [
        "growing-vram",
        "hot-gpu",
        "idle-gpu",
        "power-near-limit",
        "stalled-gpu",
        "vram-nearly-full",
    ] {
        let (estate, policy) = recorded(rule, rule);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Violated, "{rule}");
        let gpus: BTreeSet<u16> = estate.metrics.iter().filter_map(|one| one.gpu).collect();
        assert!(!gpus.is_empty(), "{rule}");
        for gpu in gpus {
            let mut less = estate.clone();
            less.metrics.retain(|one| one.gpu != Some(gpu));
            let outcome = outcome(&less, &policy);
            assert_eq!(outcome, GateOutcome::Incomplete, "{rule} without GPU {gpu}");
        }
    }
}

/// Maxima tell how full a card was, but not for how long.
#[test]
fn a_nearly_full_card_is_incomplete_without_averages_of_its_memory() {
    let (mut estate, policy) = recorded("vram-nearly-full", "vram-nearly-full");
    estate
        .metrics
        .retain(|one| (one.metric, one.statistic) != (Metric::GpuMemoryUsed, Statistic::Average));
    assert_eq!(outcome(&estate, &policy), GateOutcome::Incomplete);
}

/// The levers that these rules speak of need the CPU beside the GPUs.
#[test]
fn a_forbidden_offer_is_incomplete_where_its_lever_was_not_evaluated() {
    for rule in ["shareable-gpu", "steady-on-demand"] {
        let (mut estate, policy) = recorded(rule, rule);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Violated, "{rule}");
        let (_, other) = recorded(rule, "off-hours");
        estate
            .metrics
            .retain(|one| one.metric != Metric::CpuUtilization);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Incomplete, "{rule}");
        assert_eq!(outcome(&estate, &other), GateOutcome::Clean, "{rule}");
    }
}

#[test]
fn a_member_that_works_does_not_speak_for_one_that_was_not_measured() {
    let (mut estate, policy) = recorded("power-near-limit", "idle-gpu");
    let mut silent = estate.instances[0].clone();
    silent.id = ResourceId::named("i-silent");
    estate.instances.push(silent);
    for one in &mut estate.instances {
        one.auto_scaling_group = Some("group".to_owned());
    }
    assert_eq!(outcome(&estate, &policy), GateOutcome::Incomplete);
}
