//! Advice about members of an Auto Scaling group names the settings that it changes, with
//! their values: six of at least four and at most eight, where nothing else is said.

use super::{HELD_MIB, declared, idle, only_stop, scaled, stopped_for, warns, working};
use crate::rules::builder::{A10G_MIB, Machine, audited, estate, flat};
use crate::rules::fixtures::only;
use gpucost::domain::{ActionKind, BatchEnvironment, ResourceId, ScalingGroup, Volume, WarmPool};
use gpucost::usage::Estate;

const NAME: &str = "trainers";
const TERMINATE: &str = "then terminate each with `aws autoscaling \
                         terminate-instance-in-auto-scaling-group \
                         --should-decrement-desired-capacity`";

pub(super) fn group() -> ScalingGroup {
    ScalingGroup {
        name: NAME.to_owned(),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        desired: 6,
        min: 4,
        max: 8,
        is_weighted: false,
        instance_types: Vec::new(),
        on_demand_base: None,
        on_demand_above_base_percent: None,
        spot_allocation: None,
        warm_pool: None,
        suspended: Vec::new(),
        protected: Vec::new(),
        in_service: None,
        batch: None,
    }
}

/// The same of an environment of Batch: six g5.xlarge have 6 × 4 = 24 vCPUs.
pub(super) fn of_batch(min_vcpus: u32, queues: Option<&[&str]>) -> ScalingGroup {
    let queues = queues.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    ScalingGroup {
        batch: Some(BatchEnvironment {
            name: "nightly".to_owned(),
            min_vcpus,
            desired_vcpus: 24,
            instance_types: vec!["g5".to_owned()],
            is_spot: false,
            queues,
        }),
        ..group()
    }
}

/// Machines in a group of some settings, those that run in service.
pub(super) fn in_group(machines: Vec<Machine>, group: ScalingGroup) -> Estate {
    let running = machines.iter().map(|machine| &machine.instance);
    let running = running.filter(|instance| instance.state.is_running());
    let mut in_service: Vec<ResourceId> = running.map(|instance| instance.id.clone()).collect();
    in_service.sort();
    let mut estate = estate(scaled(machines, NAME));
    estate.scaling_groups.push(ScalingGroup { in_service: Some(in_service), ..group });
    estate
}

/// Three idle boxes and three that work.
pub(super) fn half_idle() -> Vec<Machine> {
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let working = ["i-4", "i-5", "i-6"].map(working);
    idle.into_iter().chain(working).collect()
}

pub(super) fn steps_of(estate: &Estate, rule: &str) -> Vec<String> {
    only(&audited(estate), rule).recommendation.steps.clone()
}

#[test]
fn a_minimum_that_prevents_a_stop_is_lowered_with_its_values() {
    let estate = in_group(half_idle(), group());
    let steps = steps_of(&estate, "idle-gpu");
    // 6 − 3 = 3, below the minimum of 4.
    let lower = "set the minimum size of the Auto Scaling group trainers from 4 to 3, and adapt \
                 its scaling policies: it replaces what ends below its minimum";
    let terminate = format!(
        "{TERMINATE}, which lowers the desired capacity from 6 to 3: with a lower capacity \
         alone, the group chooses which instances end"
    );
    let at = |step: &str| steps.iter().position(|known| known == step);
    assert!(at(lower).is_some() && at(lower) < at(&terminate), "{steps:#?}");
    let audit = audited(&estate);
    let stop = only_stop(&audit);
    assert!(warns(stop, "lower its minimum size from 4 to 3"), "{stop:?}");
}

#[test]
fn a_minimum_that_allows_a_stop_is_said_to() {
    let small = ScalingGroup { min: 1, ..group() };
    let estate = in_group(half_idle(), small);
    let steps = steps_of(&estate, "idle-gpu").join("\n");
    let allows = "adapt the scaling policies of the Auto Scaling group trainers; its minimum \
                  size of 1 allows 3 instances";
    // The minimum stays: what is left is what is desired.
    assert!(steps.contains(allows), "{steps}");
}

#[test]
fn what_else_the_group_does_is_a_step_of_its_own() {
    let spares = ScalingGroup {
        protected: ["i-2", "i-3", "i-6"].map(ResourceId::named).to_vec(),
        suspended: vec!["Terminate".to_owned()],
        warm_pool: Some(WarmPool { min_size: 2, state: Some("Stopped".to_owned()), size: None }),
        ..group()
    };
    let steps = steps_of(&in_group(half_idle(), spares), "idle-gpu").join("\n");
    for words in [
        "ends 2 of them, which are protected from scale-in",
        "keeps at least 2 instances stopped, and the storage is billed",
        "processes of the group are suspended (Terminate)",
    ] {
        assert!(steps.contains(words), "{words}: {steps}");
    }
}

#[test]
fn settings_that_do_not_count_these_instances_are_not_calculated_with() {
    let plain = steps_of(&estate(scaled(half_idle(), NAME)), "idle-gpu");
    assert!(plain.contains(&TERMINATE.to_owned()), "{plain:#?}");
    let weighted = ScalingGroup { is_weighted: true, ..group() };
    let elsewhere = ScalingGroup { region: "us-west-2".to_owned(), ..group() };
    assert_eq!(steps_of(&in_group(half_idle(), elsewhere), "idle-gpu"), plain);
    // All of one that was read are known to be in one zone, which needs one step less.
    let steps = plain.into_iter().filter(|step| !step.contains("AZRebalance"));
    let steps: Vec<String> = steps.collect();
    assert_eq!(steps_of(&in_group(half_idle(), weighted), "idle-gpu"), steps);
}

#[test]
fn another_type_is_set_where_the_group_has_its_types() {
    let machine = || {
        let machine = Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0));
        let machine = (0..4).fold(machine, |machine, gpu| {
            machine.gpu(gpu, flat(10.0)).vram(gpu, 1_000.0, A10G_MIB)
        });
        vec![machine]
    };
    let of_one = || ScalingGroup { desired: 1, min: 1, ..group() };
    let mixed = ScalingGroup {
        instance_types: vec!["g5.12xlarge".to_owned(), "g5.24xlarge".to_owned()],
        ..of_one()
    };
    let finding = |group| {
        let audit = audited(&in_group(machine(), group));
        only(&audit, "overprovisioned-gpu").recommendation.clone()
    };
    let advice = finding(mixed);
    let (_, to) = advice.to.split_once(" × ").expect("another type");
    let step = format!(
        "replace g5.12xlarge by {to} in the mixed instances policy of the Auto Scaling group \
         trainers (today g5.12xlarge, g5.24xlarge), and start an instance refresh, which \
         replaces every instance of the group"
    );
    assert!(advice.steps.contains(&step), "{advice:#?}");
    let advice = finding(of_one());
    let step = format!(
        "set the instance type in the launch template of the Auto Scaling group trainers to \
         {to}, and start an instance refresh, which replaces every instance of the group"
    );
    assert!(advice.steps.contains(&step), "{advice:#?}");
}

#[test]
fn hours_off_are_scheduled_actions_with_both_sizes() {
    let by_day = |period: u32| {
        let busy = (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let machine = |id: &str| {
        let machine = Machine::new(id, "g5.xlarge").cpu(flat(5.0));
        machine.gpu(0, by_day).vram(0, HELD_MIB, A10G_MIB)
    };
    let settings = ScalingGroup { desired: 2, min: 1, ..group() };
    let machines = vec![machine("i-1"), machine("i-2")];
    let steps = steps_of(&in_group(machines, settings), "off-hours").join("\n");
    let expected = "add scheduled actions to the Auto Scaling group trainers: minimum size 0 and \
                    desired capacity 0 when these hours begin, 1 and 2 when they end";
    assert!(steps.contains(expected), "{steps}");
}

#[test]
fn spot_names_what_the_group_buys_on_demand() {
    let machine = || {
        let machine = Machine::new("i-1", "g4dn.xlarge").cpu(flat(5.0));
        let machine = machine.gpu(0, flat(70.0)).vram(0, 3_000.0, 15_360.0);
        declared(vec![machine.tag("gpucost:restartable", "true")], "batch")
    };
    let caveats = |group| {
        let audit = audited(&in_group(machine(), group));
        let actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
        let spot = actions.clone().find(|action| action.kind() == ActionKind::Spot);
        spot.expect("spot").caveats().to_vec()
    };
    let mixed = ScalingGroup {
        on_demand_base: Some(1),
        on_demand_above_base_percent: Some(100),
        ..group()
    };
    assert_eq!(
        caveats(mixed),
        [
            "set OnDemandPercentageAboveBaseCapacity of the Auto Scaling group trainers from 100 \
             to 0",
            "OnDemandBaseCapacity of the Auto Scaling group trainers keeps 1 instance on demand \
             until it is lowered",
        ]
    );
    assert_eq!(
        caveats(group()),
        ["the Auto Scaling group trainers has no mixed instances policy: add one with \
             OnDemandPercentageAboveBaseCapacity 0"]
    );
}

#[test]
fn storage_of_a_warm_pool_is_ended_with_the_pool() {
    let mut machine = stopped_for(Machine::new("i-1", "g5.xlarge"), 30 * 24);
    machine.instance.volumes.push(Volume {
        id: "vol-1".to_owned(),
        volume_type: Some("gp3".to_owned()),
        size_gib: Some(500),
    });
    let pool = ScalingGroup {
        warm_pool: Some(WarmPool { min_size: 0, state: Some("Stopped".to_owned()), size: Some(1) }),
        ..group()
    };
    let steps = steps_of(&in_group(vec![machine], pool), "stopped-with-storage");
    let first = steps.first().map(String::as_str);
    let expected = "the warm pool of the Auto Scaling group trainers keeps 1 instance stopped, \
                    and the storage is billed: lower its minimum size, or delete it with `aws \
                    autoscaling delete-warm-pool`";
    assert_eq!(first, Some(expected), "{steps:#?}");
}

#[test]
fn a_stop_in_an_environment_of_batch_names_its_vcpus() {
    let estate = in_group(half_idle(), of_batch(16, Some(&["a", "b"])));
    let steps = steps_of(&estate, "idle-gpu");
    let text = steps.join("\n");
    // 24 − 3 × 4 = 12, below the minimum of 16.
    for words in [
        "set minvCpus of the Batch compute environment nightly from 16 to 12 with `aws batch \
         update-compute-environment`",
        "lowers desiredvCpus (today 24) by itself",
        "ask the owners of the job queues first: jobs of a, b then wait",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Batch would undo what is done to its group.
    for words in ["terminate-instance", "minimum size"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
    let audit = audited(&estate);
    assert!(warns(only_stop(&audit), "lower its minvCpus from 16 to 12"), "{text}");
    let estate = in_group(half_idle(), of_batch(8, Some(&[])));
    let text = steps_of(&estate, "idle-gpu").join("\n");
    for words in [
        "minvCpus of the Batch compute environment nightly is 8 and allows fewer",
        "no enabled job queue places jobs in nightly: then disable and delete it",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn other_actions_in_an_environment_of_batch_name_its_settings() {
    let by_day = |period: u32| {
        let busy = (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let scheduled = |id: &str| {
        let machine = Machine::new(id, "g5.xlarge").cpu(flat(5.0));
        machine.gpu(0, by_day).vram(0, HELD_MIB, A10G_MIB)
    };
    let machines = vec![scheduled("i-1"), scheduled("i-2")];
    let estate = in_group(machines, of_batch(20, None));
    let text = steps_of(&estate, "off-hours").join("\n");
    // 24 − 2 × 4 = 16.
    let expected = "set minvCpus of the Batch compute environment nightly to 16 when these hours \
                    begin, and to 20 when they end";
    assert!(text.contains(expected), "{text}");

    let large = Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0));
    let large = (0..4)
        .fold(large, |machine, gpu| machine.gpu(gpu, flat(10.0)).vram(gpu, 1_000.0, A10G_MIB));
    let audit = audited(&in_group(vec![large], of_batch(16, None)));
    let advice = &only(&audit, "overprovisioned-gpu").recommendation;
    let (_, to) = advice.to.split_once(" × ").expect("another type");
    let text = advice.steps.join("\n");
    let types = format!(
        "add {to} and remove what stands for g5.12xlarge in the instance types of the Batch \
         compute environment nightly (today g5)"
    );
    let vcpus = format!("adapt its minvCpus (today 16) to the vCPUs of {to}");
    assert!(text.contains(&types) && text.contains(&vcpus), "{text}");
    // The default of Batch, after which running jobs end.
    let long_jobs = "ends jobs that run for more than 30 minutes after it begins";
    assert!(text.contains(long_jobs), "{text}");

    let spot = Machine::new("i-1", "g4dn.xlarge").cpu(flat(5.0));
    let spot = spot.gpu(0, flat(70.0)).vram(0, 3_000.0, 15_360.0);
    let spot = declared(vec![spot.tag("gpucost:restartable", "true")], "batch");
    let audit = audited(&in_group(spot, of_batch(0, None)));
    let actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let spot = actions.clone().find(|action| action.kind() == ActionKind::Spot);
    let caveats = spot.expect("spot").caveats();
    let expected = "the Batch compute environment nightly buys on demand: set its type to SPOT";
    assert!(caveats[0].starts_with(expected), "{caveats:?}");
}
