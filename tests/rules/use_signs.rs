//! What CPU, network and power say of idle GPUs: they find nothing, and forbid a stop or weaken it.

use crate::rules::builder::{A10G_MIB, Machine, PERIODS, as_of, estate, first, flat, g5, judge};
use crate::rules::fixtures::{decimal, dollars};
use gpucost::analysis::gate::{GateOutcome, GatePolicy, WasteLimit, gate};
use gpucost::analysis::{Audit, audit};
use gpucost::domain::{
    Action, ActionKind, Confidence, Currency, FindingKind, Metric, Money, Policy, Risk, Statistic,
};
use rust_decimal::Decimal;

/// A g5.2xlarge whose GPU does nothing and holds 2% of its memory. 1.212 × 730 = 884.76.
fn idle(id: &str) -> Machine {
    Machine::new(id, "g5.2xlarge").gpu(0, flat(0.0)).vram(0, 460.0, A10G_MIB)
}

fn at(risk: Risk, machines: Vec<Machine>) -> Audit {
    audit(&estate(machines), &Policy::default(), risk)
}

fn only(audit: &Audit) -> &Action {
    let [action] = audit.workloads[0].actions.as_slice() else {
        panic!("one action: {:?}", audit.workloads[0].actions);
    };
    action
}

fn waste(audit: &Audit) -> String {
    audit.totals.monthly_waste.expect("priced").amount().to_string()
}

#[test]
fn a_busy_cpu_forbids_the_stop_and_leads_to_a_type_without_a_gpu() {
    let audit = at(Risk::Medium, vec![idle("i-1").cpu(flat(55.0))]);
    let action = only(&audit);
    // 55% of 8 vCPUs × 1.2 = 5.28: the cheapest with 8 and 2 × 552 MiB + 8 GiB of memory is a
    // c6i.2xlarge at 0.34, because a t3.2xlarge at 0.3328 has 3.2 at all times.
    // 884.76 − 0.34 × 730 = 884.76 − 248.20 = 636.56.
    let to = action.target().expect("a type");
    assert_eq!((to.instance_type.as_str(), to.count), ("c6i.2xlarge", 1));
    assert_eq!(action.monthly_savings().amount(), decimal("636.56"));
    assert_eq!(action.risk(), Risk::Medium);
    assert_eq!(waste(&audit), "0");
    let [finding] = audit.findings.as_slice() else {
        panic!("one finding: {:?}", audit.findings);
    };
    assert_eq!(finding.rule(), "idle-gpu");
    assert_eq!(finding.kind, FindingKind::Optimization);
    assert_eq!(dollars(finding), Some(decimal("636.56")));
    assert_eq!(finding.recommendation.to, "1 × c6i.2xlarge");
    assert!(finding.title.contains("CPU works at 55.0%"), "{}", finding.title);
    let low = at(Risk::Low, vec![idle("i-1").cpu(flat(55.0))]);
    assert!(low.workloads[0].actions.is_empty());
}

/// One of three members works on its CPU alone: it moves, and the others stay as they are.
#[test]
fn a_busy_cpu_among_busy_gpus_moves_by_itself_where_a_tag_groups_them() {
    let busy = |id| Machine::new(id, "g5.2xlarge").gpu(0, flat(80.0)).vram(0, 12_000.0, A10G_MIB);
    let of_tag = |machine: Machine| machine.cpu(flat(55.0)).tag("gpucost:workload", "w");
    let machines = || vec![busy("i-1"), idle("i-2"), busy("i-3")];
    let audit = at(Risk::Medium, machines().into_iter().map(of_tag).collect());
    let ids: Vec<String> = audit.workloads.iter().map(|audited| audited.workload.id()).collect();
    let id = "111122223333/us-east-1/g5.2xlarge/on-demand/tag:w";
    assert_eq!(ids, [id.to_owned(), format!("{id}/on-cpu")]);
    let [others, on_cpu] = audit.workloads.as_slice() else { panic!("two") };
    let [moved] = on_cpu.actions.as_slice() else { panic!("{:?}", on_cpu.actions) };
    // As of the machine alone: 884.76 − 248.20.
    assert_eq!(moved.target().map(|to| to.instance_type.as_str()), Some("c6i.2xlarge"));
    assert_eq!(moved.monthly_savings().amount(), decimal("636.56"));
    assert_eq!(on_cpu.workload.instances.len(), 1);
    assert!(others.actions.iter().all(|action| action.kind() != ActionKind::Stop));
    assert_eq!(others.workload.instances.len(), 2);
    assert_eq!(audit.totals.monthly_cost.map(|cost| cost.amount()), Some(decimal("2654.28")));
    // One launch template is for all of an Auto Scaling group.
    let of_group = |mut machine: Machine| {
        machine.instance.auto_scaling_group = Some("g".to_owned());
        machine.cpu(flat(55.0))
    };
    let audit = at(Risk::Medium, machines().into_iter().map(of_group).collect());
    assert_eq!(audit.workloads.len(), 1);
    assert!(audit.findings.iter().all(|finding| finding.rule() != "idle-gpu"));
}

#[test]
fn ten_percent_is_the_border_of_work_and_five_that_of_certainty() {
    for (cpu, kind, risk, certain) in [
        (10.0, ActionKind::Rightsize, Risk::Medium, "0"),
        (9.9, ActionKind::Stop, Risk::Medium, "0"),
        (5.0, ActionKind::Stop, Risk::Medium, "0"),
        (4.9, ActionKind::Stop, Risk::Low, "884.76"),
    ] {
        let audit = at(Risk::Medium, vec![idle("i-1").cpu(flat(cpu))]);
        let action = only(&audit);
        assert_eq!((action.kind(), action.risk()), (kind, risk), "{cpu}");
        assert_eq!(action.certain().amount(), decimal(certain), "{cpu}");
        assert_eq!(waste(&audit), certain, "{cpu}");
    }
}

#[test]
fn a_sign_of_use_stands_first_and_makes_a_stop_no_waste() {
    let machine = || idle("i-1").cpu(flat(7.2));
    let audit = at(Risk::Medium, vec![machine()]);
    let action = only(&audit);
    assert_eq!(action.monthly_savings().amount(), decimal("884.76"));
    assert_eq!(
        action.caveats()[0],
        "CPU reached 7.2% on i-1 (idle below 5%): check what runs there"
    );
    let finding = &audit.findings[0];
    assert_eq!(finding.recommendation.caveats[0], action.caveats()[0]);
    assert_eq!(finding.confidence, Confidence::Derived);
    assert_eq!(finding.kind, FindingKind::Optimization);
    // It is more risk than `low` accepts.
    assert!(at(Risk::Low, vec![machine()]).workloads[0].actions.is_empty());
    // Twelve of 4,032 periods are a p95 of 2%, and a maximum of 80%.
    let once = |period: u32| Some(if period < 12 { 80.0 } else { 2.0 });
    let audit = at(Risk::Medium, vec![idle("i-1").cpu(once)]);
    assert!(only(&audit).caveats()[0].starts_with("CPU reached 80.0% on i-1"));
}

#[test]
fn traffic_and_a_missing_cpu_weaken_a_stop_too() {
    let talks = |bytes: f64| {
        let machine = idle("i-1").cpu(flat(2.0));
        [Metric::NetworkIn, Metric::NetworkOut].into_iter().fold(machine, |machine, metric| {
            machine.series(metric, Statistic::Sum, None, flat(bytes))
        })
    };
    // 2 × 100,000 × 288 = 57.6 MB a day, and 2 × 8,000 × 288 = 4.608 MB.
    let audit = at(Risk::Medium, vec![talks(100_000.0)]);
    let action = only(&audit);
    assert_eq!(
        action.caveats()[0],
        "network reached 57.6 MB per day on i-1 (idle below 5 MB): check what uses it"
    );
    assert_eq!((action.risk(), waste(&audit).as_str()), (Risk::Medium, "0"));
    let audit = at(Risk::Medium, vec![talks(8_000.0)]);
    assert_eq!((only(&audit).risk(), waste(&audit).as_str()), (Risk::Low, "884.76"));
    let audit = at(Risk::Medium, vec![idle("i-1")]);
    let action = only(&audit);
    assert_eq!(action.caveats()[0], "CPU was not measured on i-1: check what runs there");
    assert_eq!((action.risk(), waste(&audit).as_str()), (Risk::Medium, "0"));
}

#[test]
fn a_network_that_is_not_measured_weakens_a_stop_as_a_missing_cpu_does() {
    let quiet = |cpu: f64| idle("i-1").cpu(flat(cpu)).without_network();
    let counted = |machine: Machine, periods: [u32; 2]| {
        let metrics = [Metric::NetworkIn, Metric::NetworkOut].into_iter();
        metrics.zip(periods).filter(|(_, periods)| *periods > 0).fold(
            machine,
            |machine, (metric, periods)| {
                machine.series(metric, Statistic::Sum, None, first(periods, 8_000.0))
            },
        )
    };
    let said = |machine: Machine| {
        let audit = at(Risk::Medium, vec![machine]);
        let action = only(&audit);
        assert_eq!(action.kind(), ActionKind::Stop);
        assert_eq!(action.monthly_savings().amount(), decimal("884.76"));
        let caveats = action.caveats().to_vec();
        (caveats, action.risk(), waste(&audit))
    };
    let weak = |caveats: &[&str]| {
        let caveats: Vec<String> = caveats.iter().map(|caveat| (*caveat).to_owned()).collect();
        (caveats, Risk::Medium, "0".to_owned())
    };
    let missing = "network traffic was not measured on i-1: check what uses it";
    assert_eq!(said(quiet(2.0)), weak(&[missing]));
    // One direction says nothing of the other.
    let received = counted(quiet(2.0), [PERIODS, 0]);
    assert_eq!(said(received), weak(&[missing]));
    // 90% of 4,032 periods are 3,628.8. 2 × 8,000 × 288 = 4.608 MB a day.
    let short = counted(quiet(2.0), [PERIODS, 3_628]);
    let part = "network traffic was measured in 89% of the time only on i-1";
    assert_eq!(said(short), weak(&[part]));
    // Of every ten periods one is missing, of 4,032 403: no hour is without a sample.
    let most = |period: u32| (period % 10 != 5).then_some(8_000.0);
    let long = counted(quiet(2.0), [PERIODS, 0]);
    let long = long.series(Metric::NetworkOut, Statistic::Sum, None, most);
    assert_eq!(said(long), (vec![], Risk::Low, "884.76".to_owned()));
    // As many samples, the last of them 33 hours before the end: what is stale is no proof.
    let stale = counted(quiet(2.0), [PERIODS, 3_629]);
    let part = "network traffic was measured in 90% of the time only on i-1";
    assert_eq!(said(stale), weak(&[part]));
    // What is not known may be worse than what is.
    let reached = "CPU reached 7.2% on i-1 (idle below 5%): check what runs there";
    assert_eq!(said(quiet(7.2)), weak(&[missing, reached]));
    let audit = at(Risk::Medium, vec![quiet(2.0)]);
    let finding = &audit.findings[0];
    assert_eq!(finding.recommendation.caveats, [missing]);
    assert_eq!(finding.confidence, Confidence::Derived);
    assert_eq!(finding.kind, FindingKind::Optimization);
    let low = at(Risk::Low, vec![quiet(2.0)]);
    assert!(low.workloads[0].actions.is_empty());
}

/// An A10G rests at 57 W. Power of one GPU that is missing beside that of the others may
/// contradict its idleness; where none is reported, nothing is known to be missing.
#[test]
fn power_that_is_missing_beside_that_of_others_weakens_a_stop() {
    let said = |periods: [u32; 4]| {
        let machine = Machine::new("i-1", "g5.12xlarge").cpu(flat(2.0));
        let machine = (0..4).zip(periods).fold(machine, |machine, (gpu, periods)| {
            let machine = machine.gpu(gpu, flat(0.0)).vram(gpu, 460.0, A10G_MIB);
            let (metric, statistic) = (Metric::GpuPowerDraw, Statistic::Average);
            match periods {
                0 => machine,
                _ => machine.series(metric, statistic, Some(gpu), first(periods, 60.0)),
            }
        });
        let audit = at(Risk::Medium, vec![machine]);
        let action = only(&audit);
        assert_eq!(action.kind(), ActionKind::Stop);
        // 5.672 × 730.
        assert_eq!(action.monthly_savings().amount(), decimal("4140.56"));
        let caveat = action.caveats().first().cloned().unwrap_or_default();
        (caveat, action.risk(), waste(&audit))
    };
    let weak = |caveat: &str| (caveat.to_owned(), Risk::Medium, "0".to_owned());
    let measured = (String::new(), Risk::Low, "4140.56".to_owned());
    assert_eq!(said([PERIODS; 4]), measured);
    assert_eq!(said([0; 4]), measured);
    assert_eq!(
        said([PERIODS, PERIODS, PERIODS, 0]),
        weak("power of a GPU was not measured on i-1: compare it with its idle draw")
    );
    assert_eq!(
        said([PERIODS, PERIODS, PERIODS, PERIODS / 4]),
        weak("power of a GPU was measured in 25% of the time only on i-1")
    );
}

#[test]
fn neither_cpu_nor_network_measured_is_a_stop_without_waste() {
    let audit = at(Risk::Medium, vec![idle("i-1").without_network()]);
    let action = only(&audit);
    assert_eq!((action.kind(), action.risk()), (ActionKind::Stop, Risk::Medium));
    assert_eq!(action.monthly_savings().amount(), decimal("884.76"));
    assert_eq!(action.certain().amount(), decimal("0"));
    assert_eq!(
        action.caveats(),
        [
            "CPU was not measured on i-1: check what runs there",
            "network traffic was not measured on i-1: check what uses it",
        ]
    );
    assert_eq!(audit.findings[0].confidence, Confidence::Derived);
    assert_eq!(waste(&audit), "0");
    let low = at(Risk::Low, vec![idle("i-1").without_network()]);
    assert!(low.workloads[0].actions.is_empty());
}

#[test]
fn an_encoder_that_is_not_measured_is_no_sign_beside_a_quiet_cpu_and_network() {
    let quiet = || idle("i-1").cpu(flat(2.0));
    let encoding = |sessions: f64| {
        let (metric, statistic) = (Metric::GpuEncoderSessions, Statistic::Maximum);
        quiet().series(metric, statistic, Some(0), flat(sessions))
    };
    for machine in [quiet(), encoding(0.0)] {
        let audit = at(Risk::Medium, vec![machine]);
        let action = only(&audit);
        let planned = (action.kind(), action.risk());
        assert_eq!(planned, (ActionKind::Stop, Risk::Low));
        assert_eq!(waste(&audit), "884.76");
    }
    let audit = at(Risk::Medium, vec![encoding(1.0)]);
    let mut actions = audit.workloads[0].actions.iter();
    assert!(actions.all(|action| action.kind() != ActionKind::Stop));
    assert_eq!(waste(&audit), "0");
    // Beside traffic that is not measured, it may encode.
    let audit = at(Risk::Medium, vec![quiet().without_network()]);
    assert_eq!(waste(&audit), "0");
}

#[test]
fn members_are_stopped_by_their_own_signs() {
    // g5.xlarge: 1.006 × 730 = 734.38. Two are quiet, one reached 7%, one works at 55%.
    let member = |id: &str, cpu: f64, level: f64| {
        let machine = Machine::new(id, "g5.xlarge").cpu(flat(cpu));
        let machine = machine.gpu(0, flat(level)).vram(0, 460.0, A10G_MIB);
        machine.tag("gpucost:workload", "team")
    };
    let fleet = || {
        vec![
            member("i-1", 4.0, 0.0),
            member("i-2", 4.0, 0.0),
            member("i-3", 7.0, 0.0),
            member("i-4", 55.0, 0.0),
            member("i-5", 4.0, 70.0),
        ]
    };
    let stop = |audit: &Audit| {
        let mut actions = audit.workloads[0].actions.iter();
        let stop = actions.find(|action| action.kind() == ActionKind::Stop);
        stop.cloned().expect("a stop")
    };
    let medium = stop(&at(Risk::Medium, fleet()));
    // 3 × 734.38 = 2,203.14, of which 2 × 734.38 = 1,468.76 are certain.
    assert_eq!(medium.monthly_savings().amount(), decimal("2203.14"));
    assert_eq!(medium.certain().amount(), decimal("1468.76"));
    assert_eq!(medium.risk(), Risk::Medium);
    assert!(medium.caveats()[0].starts_with("CPU reached 7.0% on i-3 ("));
    // What works on its CPU is apart.
    assert!(medium.detail().contains("stop 3 of 4"), "{}", medium.detail());
    let low = stop(&at(Risk::Low, fleet()));
    assert_eq!(low.monthly_savings().amount(), decimal("1468.76"));
    assert_eq!((low.certain(), low.risk()), (low.monthly_savings(), Risk::Low));
    assert!(low.caveats()[0].starts_with("CPU, network or power of i-3 may show use"));
}

#[test]
fn a_stop_without_any_sign_has_no_caveat() {
    let judged = judge(g5("i-1").gpu(0, flat(0.0)).vram(0, 460.0, A10G_MIB));
    let [stop] = judged.workload().actions.as_slice() else {
        panic!("one action");
    };
    assert_eq!(stop.caveats(), [""; 0]);
    assert_eq!(stop.certain(), stop.monthly_savings());
}

#[test]
fn a_limit_of_waste_is_open_while_a_stop_is_not_certain() {
    // The g5.2xlarge is waste of 884.76, which is all of the cost, once CPU and network are
    // measured as well.
    let quiet = || idle("i-1").cpu(flat(2.0));
    let outcome = |machine: Machine, monthly: u32, percent: u32| {
        let policy = GatePolicy {
            waste: Some(WasteLimit {
                monthly: Some((Money::new(Decimal::from(monthly), Currency::Usd), 1)),
                percent: Some((Decimal::from(percent), 2)),
            }),
            ..GatePolicy::default()
        };
        let audit = at(Risk::Medium, vec![machine]);
        let report = gate(&audit, &policy, None, None, (as_of(), as_of()));
        let lacks = report.missing_data.iter();
        let lacks = lacks.map(|gap| (gap.what.name().into_owned(), gap.place.clone()));
        (report.outcome, lacks.collect::<Vec<_>>())
    };
    let clean = (GateOutcome::Clean, Vec::new());
    let open = vec![("waste".to_owned(), "i-1".to_owned())];
    let incomplete = (GateOutcome::Incomplete, open);
    for machine in [idle("i-1").without_network(), quiet().without_network()] {
        assert_eq!(outcome(machine, 884, 100), incomplete);
    }
    assert_eq!(outcome(idle("i-1"), 885, 99), incomplete);
    assert_eq!(outcome(idle("i-1"), 885, 100), clean);
    // A sign of use that was seen decides, whatever else is missing.
    let working = idle("i-1").cpu(flat(7.0)).without_network();
    assert_eq!(outcome(working, 0, 0), clean);
    assert_eq!(outcome(quiet(), 884, 100).0, GateOutcome::Violated);
}

/// A counter that stands still beside multiprocessors at work is wrong: nothing is known.
#[test]
fn sm_activity_contradicts_a_counter_that_stands_still() {
    for (activity, actions) in [(60.0, 0), (5.0, 0), (4.9, 1)] {
        let machine = idle("i-1").cpu(flat(2.0)).series(
            Metric::GpuSmActivity,
            Statistic::Average,
            Some(0),
            flat(activity),
        );
        let audit = at(Risk::Medium, vec![machine]);
        let workload = &audit.workloads[0];
        assert_eq!(workload.actions.len(), actions, "{activity}");
        let reason = &workload.verdict.reason;
        let is_said = reason.contains("SM activity") && reason.contains("contradict");
        assert_eq!(is_said, actions == 0, "{activity}: {reason}");
    }
}

/// Sessions or activity that are missing in a part of the time may be work, and so may the
/// utilization of the GPU itself: 884.76 are saved, at medium, and none of it is waste.
#[test]
fn what_was_measured_in_a_part_of_the_time_makes_no_stop_certain() {
    // 3,024 of 4,032 periods.
    let seen = |period: u32| (!period.is_multiple_of(4)).then_some(0.0);
    let quiet = || idle("i-1").cpu(flat(2.0));
    let sessions = Metric::GpuEncoderSessions;
    let with = |metric, statistic, level: fn(u32) -> Option<f64>| {
        at(Risk::Medium, vec![quiet().series(metric, statistic, Some(0), level)])
    };
    let blind = Machine::new("i-1", "g5.2xlarge").gpu(0, seen).vram(0, 460.0, A10G_MIB);
    for (audit, words) in [
        (with(sessions, Statistic::Maximum, seen), "the encoder of a GPU was measured in 75%"),
        (
            with(Metric::GpuSmActivity, Statistic::Average, seen),
            "SM activity of a GPU was measured in 75%",
        ),
        (at(Risk::Medium, vec![blind.cpu(flat(2.0))]), "GPU utilization was measured in 75%"),
    ] {
        let action = only(&audit);
        assert!(action.caveats()[0].starts_with(words), "{words}: {:?}", action.caveats());
        assert_eq!(action.monthly_savings().amount(), decimal("884.76"), "{words}");
        assert_eq!((action.risk(), waste(&audit).as_str()), (Risk::Medium, "0"), "{words}");
    }
    for (metric, statistic) in
        [(sessions, Statistic::Maximum), (Metric::GpuSmActivity, Statistic::Average)]
    {
        let audit = with(metric, statistic, |_| Some(0.0));
        assert_eq!(waste(&audit), "884.76", "{metric}");
    }
}
