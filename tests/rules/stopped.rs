//! What a stopped instance still costs, and when that is called waste.

use crate::rules::builder::{Machine, as_of, audited, estate};
use crate::rules::fixtures::{decimal, of, only};
use gpucost::analysis::{Audit, AuditedWorkload};
use gpucost::domain::{Address, Confidence, FindingKind, InstanceState, Policy, Risk, Volume};
use jiff::SignedDuration;

fn stopped(id: &str) -> Machine {
    let mut machine = Machine::new(id, "g5.2xlarge");
    machine.instance.state = InstanceState::Stopped;
    machine
}

fn with_volume(mut machine: Machine, volume_type: Option<&str>, size_gib: Option<u64>) -> Machine {
    let number = machine.instance.volumes.len() + 1;
    machine.instance.volumes.push(Volume {
        id: format!("vol-{number}"),
        volume_type: volume_type.map(str::to_owned),
        size_gib,
    });
    machine
}

/// A machine with 500 GiB gp3, stopped a while ago.
fn stopped_for(id: &str, hours: i64) -> Machine {
    let mut machine = with_volume(stopped(id), Some("gp3"), Some(500));
    let when = as_of() - SignedDuration::from_hours(hours);
    machine.instance.state_transition_reason =
        Some(format!("User initiated ({})", when.strftime("%Y-%m-%d %H:%M:%S GMT")));
    machine
}

fn workload(audit: &Audit) -> &AuditedWorkload {
    let [only] = audit.workloads.as_slice() else {
        panic!("one workload");
    };
    only
}

#[test]
fn storage_of_a_box_that_stopped_this_week_is_nobodys_waste() {
    for hours in [73, 7 * 24 - 1] {
        let audit = audited(&estate(vec![stopped_for("i-1", hours)]));
        assert!(of(&audit, "stopped-with-storage").is_empty(), "{hours}");
        assert_eq!(workload(&audit).actions, [], "{hours}");
        // 500 × 0.08, waste or not.
        assert_eq!(
            workload(&audit).workload.monthly_cost().map(|cost| cost.amount()),
            Some(decimal("40.00"))
        );
    }
    let audit = audited(&estate(vec![stopped_for("i-1", 7 * 24)]));
    let finding = only(&audit, "stopped-with-storage");
    assert_eq!(finding.confidence, Confidence::Measured);
    assert_eq!(workload(&audit).actions.len(), 1);
    let patient = Policy { idle_min_days: 8.0, ..Policy::default() };
    let estate = estate(vec![stopped_for("i-1", 7 * 24)]);
    let audit = gpucost::analysis::audit(&estate, &patient, Risk::Medium);
    assert!(of(&audit, "stopped-with-storage").is_empty());
}

/// A g5.2xlarge that was up until it stopped within three days costs as it ran: it may
/// be up again tomorrow.
#[test]
fn a_box_that_stopped_lately_costs_as_it_ran() {
    // 1.212 × 730 × (336 − 72) / 336 = 695.16…
    let audit = audited(&estate(vec![stopped_for("i-1", 72)]));
    let row = &workload(&audit).workload;
    assert!(row.key.running);
    assert_eq!(row.monthly_cost().map(|cost| cost.amount()), Some(decimal("695.17")));
    assert_eq!(audit.totals.stopped_instances, 1);
}

#[test]
fn what_is_still_stopping_stops_now() {
    let mut machine = with_volume(stopped("i-1"), Some("gp3"), Some(500));
    machine.instance.state = InstanceState::Stopping;
    let audit = audited(&estate(vec![machine]));
    assert!(of(&audit, "stopped-with-storage").is_empty());
    assert_eq!(workload(&audit).actions, []);
}

#[test]
fn of_a_group_the_one_that_stopped_last_counts() {
    let group = |machine: Machine| machine.tag("gpucost:workload", "renderer");
    let old = group(stopped_for("i-1", 30 * 24));
    let fresh = group(stopped_for("i-2", 4 * 24));
    let audit = audited(&estate(vec![old, fresh]));
    assert!(of(&audit, "stopped-with-storage").is_empty());
}

#[test]
fn without_the_time_of_the_stop_a_finding_is_derived() {
    let machine = with_volume(stopped("i-1"), Some("gp3"), Some(500));
    let audit = audited(&estate(vec![machine]));
    let finding = only(&audit, "stopped-with-storage");
    assert_eq!(finding.confidence, Confidence::Derived);
    assert_eq!(finding.kind, FindingKind::Waste);
    assert_eq!(workload(&audit).actions.len(), 1);
}

#[test]
fn a_partly_priced_box_counts_with_its_priced_part_and_names_the_rest() {
    let mut machine = with_volume(stopped("i-1"), Some("gp3"), Some(100));
    machine = with_volume(machine, Some("unheard-of"), Some(1_000));
    machine = with_volume(machine, Some("gp3"), None);
    machine.instance.addresses.push(Address { id: "eipalloc-1".to_owned() });
    let audit = audited(&estate(vec![machine]));
    let finding = only(&audit, "stopped-with-storage");
    assert_eq!(
        finding.title,
        "stopped g5.2xlarge still has 1,100 GiB and 1 volume of unknown size"
    );
    // 100 × 0.08 + 730 × 0.005 = 8.00 + 3.65, less 100 × 0.05 for a snapshot of the one
    // volume that has a price.
    let saved_in_all = decimal("6.65");
    assert_eq!(finding.monthly_savings.map(|saved| saved.amount()), Some(saved_in_all));
    assert_eq!(audit.totals.unpriced_instances, 1);
    let [action] = workload(&audit).actions.as_slice() else {
        panic!("one action");
    };
    assert_eq!(action.monthly_savings().amount(), saved_in_all);
    assert!(
        action.detail().ends_with(
            "; unpriced and not included: 1,000 GiB unheard-of (vol-2), unknown size gp3 (vol-3)"
        ),
        "{}",
        action.detail()
    );
    let planned = workload(&audit).planned_monthly_cost();
    assert_eq!(planned.map(|cost| cost.amount()), Some(decimal("5.00")));
}

#[test]
fn volumes_of_unknown_size_have_no_gib() {
    let machine = with_volume(stopped("i-1"), Some("gp3"), None);
    let audit = audited(&estate(vec![with_volume(machine, None, None)]));
    let finding = only(&audit, "stopped-with-storage");
    assert_eq!(finding.title, "stopped g5.2xlarge still has 2 volumes of unknown size");
    assert_eq!(workload(&audit).workload.monthly_cost(), None);
}

#[test]
fn an_address_alone_is_named() {
    let mut machine = stopped("i-1");
    machine.instance.addresses.push(Address { id: "eipalloc-1".to_owned() });
    let audit = audited(&estate(vec![machine]));
    let finding = only(&audit, "stopped-with-storage");
    assert_eq!(finding.title, "stopped g5.2xlarge still has 1 address");
}

#[test]
fn nothing_attached_is_known_to_cost_nothing() {
    for (region, currency) in [("us-east-1", "USD"), ("cn-north-1", "CNY")] {
        let mut machine = stopped("i-1");
        machine.instance.region = region.to_owned();
        let audit = audited(&estate(vec![machine]));
        let cost = workload(&audit).workload.monthly_cost().expect("known");
        assert_eq!((cost.amount(), cost.currency().code()), (decimal("0"), currency));
        assert_eq!(audit.totals.unpriced_instances, 0);
        assert!(audit.findings.is_empty());
    }
}
