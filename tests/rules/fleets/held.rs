//! A machine that computed nothing for a fortnight, and whose GPU somebody holds: what was
//! idle before that says nothing about who has it now.

use super::{idle, kinds, only_stop, scaled, warns};
use crate::rules::builder::{Machine, as_of, audited, estate};
use crate::rules::fixtures::{decimal, dollars, only};
use gpucost::analysis::Audit;
use gpucost::domain::{
    ActionKind, Claim, ClaimState, DeviceUnit, Devices, Finding, FindingKind, Holder, Node,
    NodeAmount, Owner, ResourceId, Scheduler,
};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn node(machine: &str, scheduler: Scheduler) -> Node {
    Node {
        name: format!("node-{machine}"),
        scheduler,
        provider_id: None,
        cluster: Some("lab".to_owned()),
        machine: ResourceId::named(machine),
        physical: Some(Decimal::ONE),
        devices: BTreeMap::new(),
        price_class: None,
        pool: None,
        pool_maker: None,
        cpu_millicores: NodeAmount::default(),
        memory_mib: NodeAmount::default(),
        cpu_only_pods: None,
        pods: Some(1),
        is_ready: None,
        is_cordoned: false,
    }
}

/// The GPU of a machine, held by a pod of a Deployment.
fn claim(machine: &str, pod: &str, since: Option<Timestamp>) -> Claim {
    Claim {
        holder: Holder {
            namespace: "search".to_owned(),
            pod: Some(pod.to_owned()),
            owner: Some(Owner { kind: "Deployment".to_owned(), name: "ranker".to_owned() }),
            labels: BTreeMap::new(),
            placement: None,
        },
        devices: Devices {
            resource: "nvidia.com/gpu".to_owned(),
            unit: DeviceUnit::Whole,
            count: 1,
        },
        state: ClaimState::Running,
        since,
        machine: Some(ResourceId::named(machine)),
    }
}

fn ago(seconds: i64) -> Option<Timestamp> {
    Some(as_of() - SignedDuration::from_secs(seconds))
}

/// The audit of machines that are nodes, with claims on them.
fn held(machines: Vec<Machine>, scheduler: Scheduler, claims: Vec<Claim>) -> Audit {
    let mut estate = estate(machines);
    let ids = estate.instances.iter().map(|instance| instance.id.as_str());
    estate.clusters.nodes = ids.map(|id| node(id, scheduler)).collect();
    estate.clusters.claims = claims;
    audited(&estate)
}

fn held_since(since: Option<Timestamp>) -> Audit {
    let claims = vec![claim("i-a", "ranker-0", since)];
    held(vec![idle("i-a")], Scheduler::Kubernetes, claims)
}

fn has_step(finding: &Finding, words: &str) -> bool {
    let mut steps = finding.recommendation.steps.iter();
    steps.any(|step| step.contains(words))
}

#[test]
fn nothing_is_promised_of_a_machine_that_a_pod_has_just_taken() {
    // Five minutes ago; a second short of 7 days; after the window, as in a newer
    // recording of the cluster; at an unknown time.
    for since in [ago(300), ago(7 * 86_400 - 1), ago(-3_600), None] {
        let audit = held_since(since);
        let finding = only(&audit, "idle-gpu");
        assert_eq!(dollars(finding), None, "{since:?}");
        assert_eq!(finding.kind, FindingKind::Optimization);
        let advice = &finding.recommendation;
        assert_eq!(advice.action, "confirm");
        assert!(!has_step(finding, "terminate"), "{:?}", advice.steps);
        assert!(has_step(finding, "search/ranker-0 (Deployment ranker)"));
        let caveats = &advice.caveats;
        let named = "GPUs of i-a have been held for less than 7 days or for an unknown time, by \
                     search/ranker-0 (Deployment ranker)";
        assert!(caveats.iter().any(|caveat| caveat.starts_with(named)), "{caveats:?}");
        assert_eq!(kinds(&audit), Vec::<ActionKind>::new(), "{since:?}");
    }
}

#[test]
fn a_pod_that_was_idle_as_long_is_named_and_drained_first() {
    // From 7 days on. 1.006 × 730 = 734.38.
    for since in [ago(7 * 86_400), ago(30 * 86_400)] {
        let audit = held_since(since);
        let finding = only(&audit, "idle-gpu");
        assert_eq!(dollars(finding), Some(decimal("734.38")));
        let steps = &finding.recommendation.steps;
        let place = |words: &str| steps.iter().position(|step| step.contains(words));
        let drain = "cordon and drain node-i-a first: search/ranker-0 (Deployment ranker)";
        let (drained, ended) = (place(drain), place("terminate them"));
        assert!(drained.is_some() && drained < ended, "{steps:?}");
        assert_eq!(kinds(&audit), [ActionKind::Stop]);
        assert!(warns(only_stop(&audit), "search/ranker-0 (Deployment ranker): drain first"));
    }
}

#[test]
fn of_a_group_those_are_stopped_that_no_pod_took() {
    let machines = scaled(["i-a", "i-b", "i-c"].map(idle).into(), "render");
    let claims = vec![claim("i-b", "ranker-0", ago(300))];
    let audit = held(machines, Scheduler::Kubernetes, claims);
    let finding = only(&audit, "idle-gpu");
    // 2 × 734.38.
    assert_eq!(dollars(finding), Some(decimal("1468.76")));
    assert_eq!(finding.recommendation.action, "stop");
    assert_eq!(finding.recommendation.to, "i-a, i-c");
    let stop = only_stop(&audit);
    assert!(!stop.detail().contains("i-b"), "{}", stop.detail());
    assert!(warns(stop, "GPUs of i-b have been held for less than 7 days"));
}

#[test]
fn a_container_instance_is_set_to_draining_first() {
    let claims = vec![claim("i-a", "task-0", ago(8 * 86_400))];
    let audit = held(vec![idle("i-a")], Scheduler::Ecs, claims);
    let finding = only(&audit, "idle-gpu");
    assert_eq!(dollars(finding), Some(decimal("734.38")));
    assert!(has_step(finding, "set the container instance node-i-a to DRAINING first"));
    let claims = vec![claim("i-a", "task-0", ago(60))];
    let audit = held(vec![idle("i-a")], Scheduler::Ecs, claims);
    assert_eq!(dollars(only(&audit, "idle-gpu")), None);
}
