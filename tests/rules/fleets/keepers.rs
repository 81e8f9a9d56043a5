//! Advice about an Auto Scaling group that a service keeps: its sizes are changed there.

use super::scaling::{group, half_idle, in_group, steps_of};
use super::{HELD_MIB, declared, only_stop, warns};
use crate::rules::builder::{A10G_MIB, Machine, audited, flat};
use crate::rules::fixtures::only;
use gpucost::domain::{ActionKind, ScalingGroup};
use gpucost::usage::Estate;

const NODES: &str = "the EKS node group gpu pool of the cluster ml";

/// The same as nodes of a managed node group of EKS.
fn nodes(machines: Vec<Machine>) -> Vec<Machine> {
    let members = machines.into_iter();
    let members = members.map(|machine| machine.tag("eks:cluster-name", "ml"));
    members.map(|machine| machine.tag("eks:nodegroup-name", "gpu pool")).collect()
}

/// The group with so many instances, of at least one.
fn of(desired: u32) -> ScalingGroup {
    ScalingGroup { desired, min: 1, ..group() }
}

#[test]
fn idle_nodes_lower_the_sizes_of_their_node_group() {
    let steps = steps_of(&in_group(nodes(half_idle()), group()), "idle-gpu");
    let at = |words: &str| steps.iter().position(|step| step.contains(words));
    let first = at("`--scaling-config` of `aws eks update-nodegroup-config --cluster-name ml \
                    --nodegroup-name 'gpu pool'`: EKS sets those of its Auto Scaling group \
                    trainers");
    // 6 − 3 = 3.
    let minimum = at(&format!("set the minimum size of {NODES} from 4 to 3"));
    let ended = at("lowers the desired capacity from 6 to 3");
    assert!(first.is_some() && first < minimum && minimum < ended, "{steps:#?}");
    // A name alone does not say in which cluster.
    let unnamed = half_idle().into_iter();
    let unnamed = unnamed.map(|machine| machine.tag("eks:nodegroup-name", "gpu pool"));
    let text = steps_of(&in_group(unnamed.collect(), group()), "idle-gpu").join("\n");
    let plain = "set the minimum size of the Auto Scaling group trainers from 4 to 3";
    assert!(text.contains(plain), "{text}");
}

#[test]
fn a_node_group_keeps_its_types() {
    let large = Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0));
    let large = (0..4)
        .fold(large, |machine, gpu| machine.gpu(gpu, flat(10.0)).vram(gpu, 1_000.0, A10G_MIB));
    let audit = audited(&in_group(nodes(vec![large]), of(1)));
    let advice = &only(&audit, "overprovisioned-gpu").recommendation;
    let step = format!(
        "{NODES} keeps its instance types unless they are in its launch template: create a node \
         group with {} in the cluster ml, move the pods there, and delete the old one",
        advice.to
    );
    assert!(advice.steps.contains(&step), "{advice:#?}");
    let text = advice.steps.join("\n");
    assert!(!text.contains("instance refresh"), "{text}");
}

#[test]
fn hours_off_of_a_node_group_are_set_in_it() {
    let by_day = |period: u32| {
        let busy = (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let machine = |id: &str| {
        let machine = Machine::new(id, "g5.xlarge").cpu(flat(5.0));
        machine.gpu(0, by_day).vram(0, HELD_MIB, A10G_MIB)
    };
    let machines = nodes(vec![machine("i-1"), machine("i-2")]);
    let text = steps_of(&in_group(machines, of(2)), "off-hours").join("\n");
    let expected = format!(
        "change the scaling configuration of {NODES} by EventBridge Scheduler: minimum size 0 and \
         desired capacity 0 when these hours begin, 1 and 2 when they end"
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_node_group_keeps_its_capacity_type() {
    let machine = Machine::new("i-1", "g4dn.xlarge").cpu(flat(5.0));
    let machine = machine.gpu(0, flat(70.0)).vram(0, 3_000.0, 15_360.0);
    let machine = machine.tag("gpucost:restartable", "true");
    let machines = nodes(declared(vec![machine], "batch"));
    let audit = audited(&in_group(machines, of(1)));
    let mut actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let spot = actions.find(|action| action.kind() == ActionKind::Spot);
    let expected = format!(
        "{NODES} keeps its capacity type: create a node group with the capacity type SPOT in the \
         cluster ml"
    );
    assert_eq!(spot.expect("spot").caveats(), [expected]);
}

#[test]
fn a_capacity_provider_sets_the_desired_capacity() {
    let machines = half_idle().into_iter();
    let machines = machines.map(|machine| machine.tag("AmazonECSManaged", ""));
    let steps = steps_of(&in_group(machines.collect(), group()), "idle-gpu");
    let at = |words: &str| steps.iter().position(|step| step.contains(words));
    let first = at("it sets the desired capacity of the Auto Scaling group trainers by its tasks");
    let minimum = at("set the minimum size of the Auto Scaling group trainers from 4 to 3");
    assert!(first.is_some() && first < minimum, "{steps:#?}");
}

/// Machines of an environment of Batch that was not read, in a group of some name.
fn unread(machines: Vec<Machine>, desired: u32, name: &str) -> Estate {
    let mut estate = in_group(machines, of(desired));
    estate.scaling_groups[0].name = name.to_owned();
    for instance in &mut estate.instances {
        instance.auto_scaling_group = Some(name.to_owned());
    }
    estate
}

const BATCH_GROUP: &str = "AWSBatch-night-asg-ly-asg-0a1b2c";
/// What Batch does not support for its group.
const OF_GROUP: [&str; 5] = [
    "terminate-instance", "minimum size", "instance refresh", "launch template",
    "scheduled actions",
];

#[test]
fn an_environment_that_was_not_read_keeps_its_group() {
    let tag = "aws:batch:compute-environment";
    let tagged = half_idle().into_iter();
    let tagged = tagged.map(|machine| machine.tag(tag, "night-asg-ly")).collect();
    let mut denied = unread(half_idle(), 6, BATCH_GROUP);
    denied.scaling_groups.clear();
    for estate in [unread(half_idle(), 6, BATCH_GROUP), unread(tagged, 6, "renamed"), denied] {
        let text = steps_of(&estate, "idle-gpu").join("\n");
        for words in [
            "lower minvCpus of the Batch compute environment night-asg-ly with `aws batch \
             update-compute-environment`",
            "audit with `--services ec2,batch` for the values",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        for words in OF_GROUP {
            assert!(!text.contains(words), "{words}: {text}");
        }
        let audit = audited(&estate);
        let stop = only_stop(&audit);
        let caveat = "the Batch compute environment night-asg-ly replaces manually stopped \
                      instances: lower its minvCpus first";
        assert!(warns(stop, caveat), "{stop:?}");
    }
    // A part of the name alone does not say so.
    let text = steps_of(&unread(half_idle(), 6, "AWSBatch-mine"), "idle-gpu").join("\n");
    assert!(text.contains("the Auto Scaling group AWSBatch-mine"), "{text}");
}

#[test]
fn other_actions_in_an_environment_that_was_not_read_have_no_values() {
    let by_day = |period: u32| {
        let busy = (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let office = Machine::new("i-1", "g5.xlarge").cpu(flat(5.0));
    let office = office.gpu(0, by_day).vram(0, HELD_MIB, A10G_MIB);
    let large = Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0));
    let large = (0..4)
        .fold(large, |machine, gpu| machine.gpu(gpu, flat(10.0)).vram(gpu, 1_000.0, A10G_MIB));
    for (machine, rule, words) in [
        (office, "off-hours", "by EventBridge Scheduler, change minvCpus"),
        (large, "overprovisioned-gpu", "change instance types and minvCpus"),
    ] {
        let text = steps_of(&unread(vec![machine], 1, BATCH_GROUP), rule).join("\n");
        let step = format!("{words} of the Batch compute environment night-asg-ly with");
        assert!(text.contains(&step), "{text}");
        for words in OF_GROUP {
            assert!(!text.contains(words), "{words}: {text}");
        }
    }
}

#[test]
fn an_environment_that_was_not_read_may_buy_on_demand() {
    let machine = Machine::new("i-1", "g4dn.xlarge").cpu(flat(5.0));
    let machine = machine.gpu(0, flat(70.0)).vram(0, 3_000.0, 15_360.0);
    let machine = machine.tag("gpucost:restartable", "true");
    let audit = audited(&unread(declared(vec![machine], "batch"), 1, BATCH_GROUP));
    let mut actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let spot = actions.find(|action| action.kind() == ActionKind::Spot);
    let expected = "if the Batch compute environment night-asg-ly buys on demand, set its type \
                    to SPOT with `aws batch update-compute-environment`, or add one of that type \
                    to its job queues";
    assert_eq!(spot.expect("spot").caveats(), [expected]);
}
