//! What a guess may not loosen, what cannot be launched, what was seen too shortly to
//! be idle, and what never worked.

use super::{act, assert_more_risk_saves_no_less, at, considered, daily, moved, sole, to, why_not};
use crate::rules::builder::{
    A10G_MIB, Machine, PERIOD_SECONDS, PERIODS, as_of, estate, flat, g5, last, split,
};
use crate::rules::fixtures::{decimal, dollars, of, only};
use gpucost::analysis::{Audit, SpotJob, assess_type};
use gpucost::catalog::Prices;
use gpucost::domain::{ActionKind, Policy, PriceKey, Risk, WorkloadKind};
use gpucost::savings::Checkpointing;
use gpucost::usage::{Estate, Points};
use jiff::SignedDuration;

const LEVELS: [Risk; 3] = [Risk::Low, Risk::Medium, Risk::High];

fn a10g(level: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    g5("i-1").gpu(0, level).vram(0, 3_000.0, A10G_MIB)
}

/// A name with words for development and for serving, in production.
fn guessed(level: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    a10g(level).tag("Name", "research-assistant-inference").tag("env", "prod")
}

#[test]
fn a_guessed_kind_has_the_limits_of_serving() {
    // 45% of an A10G are 90% of an L4, 38% are 76%: 734.38 − 587.50.
    let busy = estate(vec![guessed(flat(45.0))]);
    for risk in LEVELS {
        assert_eq!(moved(&busy, risk), None, "{risk}");
    }
    let candidates = considered(&busy, Risk::High);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("utilization"));
    let calm = estate(vec![guessed(flat(38.0))]);
    assert_eq!(moved(&calm, Risk::Medium), to("g6.xlarge", 1, "146.88"));
    // A burst a day counts as for serving, which the p95 of a training would not show.
    let bursts = |period: u32| Some(if period % 288 == 60 { 95.0 } else { 38.0 });
    assert_eq!(moved(&estate(vec![guessed(bursts)]), Risk::Medium), None);
    let declared = guessed(bursts).tag("gpucost:kind", "training");
    let target = moved(&estate(vec![declared]), Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "146.88"));
}

#[test]
fn a_guessed_kind_in_production_is_off_by_night_at_high_risk_only() {
    let fleet = estate(vec![guessed(daily((8, 20), 70.0, 0.0))]);
    for risk in [Risk::Low, Risk::Medium] {
        assert_eq!(act(&fleet, risk, ActionKind::Schedule), None, "{risk}");
    }
    let action = act(&fleet, Risk::High, ActionKind::Schedule).expect("a schedule");
    assert_eq!(action.monthly_savings().amount(), decimal("367.19"));
    assert!(action.caveats().join("\n").contains("fail"), "{action:?}");
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn declared_training_may_take_a_quarter_longer() {
    // 59% of an A10G are 118% of an L4: 1.18 times as long around the clock, for
    // 0.8048 × 1.18 = 0.95 an hour of today's work. 734.38 − 587.50.
    let training = |level| a10g(level).tag("gpucost:kind", "training");
    let fleet = estate(vec![training(split(0, 0.0, 59.0))]);
    assert_eq!(moved(&fleet, Risk::Medium), to("g6.xlarge", 1, "146.88"));
    // Half of the time at 63%: a p95 of 126.
    let longer = estate(vec![training(split(PERIODS / 2, 40.0, 63.0))]);
    assert_eq!(moved(&longer, Risk::High), None);
    let candidates = considered(&longer, Risk::High);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("slowdown"));
    // Undeclared the first will not do either.
    let undeclared = estate(vec![a10g(flat(59.0))]);
    assert_eq!(moved(&undeclared, Risk::High), None);
    let candidates = considered(&undeclared, Risk::High);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("utilization"));
}

/// A machine at 70% that somebody declared restartable.
fn restartable(instance_type: &str) -> Machine {
    Machine::new("i-1", instance_type)
        .tag("gpucost:restartable", "true")
        .cpu(flat(5.0))
        .gpu(0, flat(70.0))
        .vram(0, 3_000.0, 15_360.0)
}

#[test]
fn spot_is_for_declared_kinds_only() {
    // 0.526 − 0.23498 = 0.29102 an hour, 212.44 a month, before what interruptions lose.
    let batch = estate(vec![restartable("g4dn.xlarge").tag("gpucost:kind", "batch")]);
    let action = act(&batch, Risk::Medium, ActionKind::Spot).expect("spot");
    let saved = action.monthly_savings().amount();
    assert!(decimal("150") < saved && saved < decimal("212.45"), "{saved}");
    assert_eq!(act(&batch, Risk::Low, ActionKind::Spot), None);
    for machine in [
        restartable("g4dn.xlarge"),
        restartable("g4dn.xlarge").tag("Name", "nightly-batch"),
        restartable("g4dn.xlarge").tag("Name", "research-assistant-inference"),
        restartable("g4dn.xlarge").tag("gpucost:kind", "serving"),
    ] {
        let tags = format!("{:?}", machine.instance.tags);
        let fleet = estate(vec![machine]);
        for risk in LEVELS {
            assert_eq!(act(&fleet, risk, ActionKind::Spot), None, "{risk}: {tags}");
        }
    }
}

#[test]
fn spot_of_what_cannot_be_launched_is_no_option() {
    let fleet = estate(vec![restartable("p3.2xlarge").tag("gpucost:kind", "batch")]);
    // What replaces it may be on the spot market.
    for risk in LEVELS {
        let action = act(&fleet, risk, ActionKind::Spot);
        let is_elsewhere = |action: gpucost::domain::Action| !action.detail().starts_with("p3.");
        assert!(action.is_none_or(is_elsewhere), "{risk}");
    }
    let policy = Policy::default();
    let prices = Prices::new(&fleet.prices, &policy.discount_percent);
    let job = SpotJob {
        kind: WorkloadKind::Batch,
        restartable: true,
        nodes: 1,
        checkpointing: Checkpointing::default(),
        accepted: Risk::High,
    };
    let of_type = |name: &str| {
        let key = PriceKey::linux_on_demand("us-east-1", name);
        assess_type(&key, job, &prices, &policy).eligibility
    };
    let reason = of_type("p3.2xlarge").expect_err("not launched any more");
    assert!(reason.contains("launch"), "{reason}");
    assert_eq!(of_type("g4dn.xlarge"), Ok(Risk::Medium));
}

/// The last seven days of a machine, audited with a window of just these.
fn week_of(machine: Machine) -> Audit {
    let mut fleet: Estate = estate(vec![machine]);
    let before = fleet.window;
    fleet.window.start = as_of() - SignedDuration::from_hours(7 * 24);
    for series in &mut fleet.metrics {
        let raw: Vec<_> = series
            .points
            .iter()
            .map(|(period, value)| {
                let seconds = i64::from(period) * i64::from(PERIOD_SECONDS);
                (before.start + SignedDuration::from_secs(seconds), value)
            })
            .collect();
        let what = (series.metric, series.statistic);
        (series.points, series.rejected) = Points::clean(raw, what, fleet.window, PERIOD_SECONDS);
    }
    at(&fleet, Risk::Medium)
}

/// At rest in all that it reports.
fn at_rest(level: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    g5("i-1").gpu(0, level).vram(0, 100.0, A10G_MIB)
}

/// Periods from the last week's first on, without so many at its start and its end.
fn without(first: u32, end: u32) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| (PERIODS / 2 + first..PERIODS - end).contains(&period).then_some(0.0)
}

fn assert_idle(audit: &Audit) {
    let finding = only(audit, "idle-gpu");
    assert_eq!(dollars(finding), Some(decimal("734.38")));
    assert_eq!(of(audit, "idle-so-far").len(), 0);
    let waste = audit.totals.monthly_waste.map(|waste| waste.amount());
    assert_eq!(waste, Some(decimal("734.38")));
    let kinds: Vec<_> = sole(audit).actions.iter().map(|action| action.kind()).collect();
    assert_eq!(kinds, [ActionKind::Stop]);
}

fn assert_idle_so_far(audit: &Audit) {
    let finding = only(audit, "idle-so-far");
    assert_eq!(dollars(finding), None);
    assert_eq!(of(audit, "idle-gpu").len(), 0);
    let savings = audit.totals.monthly_savings().map(|money| money.amount());
    assert_eq!(savings, Some(decimal("0")));
    assert_eq!(sole(audit).actions, []);
}

#[test]
fn seven_days_less_a_period_at_either_end_are_enough_to_be_idle() {
    // 7 × 288 = 2 016 periods, of which 2 014 must be seen.
    assert_idle(&week_of(at_rest(flat(0.0))));
    assert_idle(&week_of(at_rest(without(1, 1))));
    assert_idle_so_far(&week_of(at_rest(without(2, 1))));
    assert_idle_so_far(&week_of(at_rest(last(6 * 288, 0.0))));
}

#[test]
fn what_was_first_seen_seven_days_ago_is_idle_an_hour_later() {
    let aged = |hours| week_of(at_rest(flat(0.0)).launched_hours_ago(hours));
    assert_idle_so_far(&aged(7 * 24));
    assert_idle(&aged(7 * 24 + 1));
}

/// A g5.4xlarge that holds 3 000 MiB, 13% of the card.
fn holding(machine: Machine, level: impl Fn(u32) -> Option<f64> + Copy) -> Estate {
    estate(vec![machine.gpu(0, level).vram(0, 3_000.0, A10G_MIB)])
}

#[test]
fn where_no_gpu_was_active_the_speed_that_it_needs_is_not_known() {
    let machine = Machine::new("i-1", "g5.4xlarge");
    let held = holding(machine.clone().cpu(flat(5.0)), flat(0.0));
    let young = machine.launched_hours_ago(72).cpu(last(864, 5.0));
    let young = holding(young, last(864, 0.0));
    for fleet in [held, young] {
        assert_eq!(moved(&fleet, Risk::High), None);
        let candidates = considered(&fleet, Risk::Medium);
        for name in ["g6.xlarge", "g6.2xlarge"] {
            assert_eq!(why_not(&candidates, name), Some("never-worked"), "{name}");
        }
        let never = candidates.iter().filter_map(|candidate| candidate.rejection.as_ref());
        let never = never.filter(|reason| reason.name() == "never-worked");
        for reason in never {
            assert!(!reason.to_string().contains("utilization of"), "{reason}");
        }
    }
}

#[test]
fn where_a_gpu_was_active_no_type_is_refused_for_want_of_that() {
    let machine = Machine::new("i-1", "g5.4xlarge").cpu(flat(5.0));
    let fleet = holding(machine, flat(12.0));
    assert_eq!(moved(&fleet, Risk::Medium), to("g6.xlarge", 1, "598.02"));
    let candidates = considered(&fleet, Risk::Medium);
    let mut reasons = candidates.iter().filter_map(|candidate| candidate.rejection.as_ref());
    assert!(reasons.all(|reason| reason.name() != "never-worked"));
}
