//! What a gate did not read never turns it into a pass.

use crate::rules::fixtures::path;
use gpucost::analysis::audit;
use gpucost::analysis::gate::{Forbidden, GateOutcome, GatePolicy, gate};
use gpucost::domain::{
    CommitmentTerm, Currency, Metric, Policy, ResourceId, Risk, SavingsPlan, SavingsPlanKind,
    Severity, Statistic,
};
use gpucost::rules::{Need, RULES};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

fn outcome(estate: &Estate, policy: &GatePolicy) -> GateOutcome {
    let audit = audit(estate, &Policy::default(), Risk::Medium);
    gate(&audit, policy, None, None, (estate.as_of, estate.as_of)).outcome
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
    let is_of_gpu = |need: &Need| {
        [Need::Vram, Need::VramAverages, Need::Power, Need::PowerOrSm, Need::Temperature]
            .contains(need)
    };
    let rules = RULES.iter().map(|rule| rule.meta());
    let rules = rules.filter(|meta| meta.needs.iter().any(is_of_gpu)).map(|meta| meta.id);
    // These speak of levers, or of memory alone.
    for rule in rules.filter(|rule| !["shareable-gpu", "idle-held-gpu"].contains(rule)) {
        let (estate, policy) = recorded(rule, rule);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Violated, "{rule}");
        let gpus: BTreeSet<u16> = estate.metrics.iter().filter_map(|series| series.gpu).collect();
        assert!(!gpus.is_empty(), "{rule}");
        for gpu in gpus {
            let mut less = estate.clone();
            less.metrics.retain(|series| series.gpu != Some(gpu));
            let outcome = outcome(&less, &policy);
            assert_eq!(outcome, GateOutcome::Incomplete, "{rule} without GPU {gpu}");
        }
    }
}

/// Maxima tell how full a card was, but not for how long.
#[test]
fn a_nearly_full_card_is_incomplete_without_averages_of_its_memory() {
    let (mut estate, policy) = recorded("vram-nearly-full", "vram-nearly-full");
    estate.metrics.retain(|series| {
        (series.metric, series.statistic) != (Metric::GpuMemoryUsed, Statistic::Average)
    });
    assert_eq!(outcome(&estate, &policy), GateOutcome::Incomplete);
}

/// The levers that these rules speak of need the CPU beside the GPUs.
#[test]
fn a_forbidden_offer_is_incomplete_where_its_lever_was_not_evaluated() {
    for rule in ["shareable-gpu", "steady-on-demand"] {
        let (mut estate, policy) = recorded(rule, rule);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Violated, "{rule}");
        let (_, other_policy) = recorded(rule, "off-hours");
        estate.metrics.retain(|series| series.metric != Metric::CpuUtilization);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Incomplete, "{rule}");
        assert_eq!(outcome(&estate, &other_policy), GateOutcome::Clean, "{rule}");
    }
}

/// Drawn by chance: fewer metrics made of an incomplete gate a clean one.
#[test]
fn what_a_savings_plan_pays_awaits_no_commitment() {
    let (mut estate, policy) = recorded("steady-on-demand", "steady-on-demand");
    let family = |estate: &Estate| {
        let (family, _) = estate.instances[0].instance_type.split_once('.').expect("a type");
        family.to_owned()
    };
    estate.commitments.savings_plans = vec![SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind: SavingsPlanKind::Ec2Instance,
        region: Some(estate.instances[0].region.clone()),
        family: Some(family(&estate)),
        currency: Currency::Usd,
        commitment_hourly: Decimal::from(1_000),
        term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
        start: estate.as_of - SignedDuration::from_hours(1_000),
        end: estate.as_of + SignedDuration::from_hours(1_000),
    }];
    assert_eq!(outcome(&estate, &policy), GateOutcome::Clean);
    for metric in [Metric::CpuUtilization, Metric::GpuMemoryUsed, Metric::GpuUtilization] {
        estate.metrics.retain(|series| series.metric != metric);
        assert_eq!(outcome(&estate, &policy), GateOutcome::Clean, "without {metric:?}");
    }
}

#[test]
fn a_member_that_works_does_not_speak_for_one_that_was_not_measured() {
    let (mut estate, policy) = recorded("power-near-limit", "idle-gpu");
    let mut silent = estate.instances[0].clone();
    silent.id = ResourceId::named("i-silent");
    estate.instances.push(silent);
    for instance in &mut estate.instances {
        instance.auto_scaling_group = Some("group".to_owned());
    }
    assert_eq!(outcome(&estate, &policy), GateOutcome::Incomplete);
}
