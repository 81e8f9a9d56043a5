//! Actions on some members of an Auto Scaling group beside its others: in the order of a plan,
//! none undoes what another did, and none ends an instance that it is not about.

use super::scaling::{group, half_idle, in_group, steps_of};
use super::{HELD_MIB, box_in, declared, holding, idle, of_type, only_stop, warns, working};
use crate::rules::builder::{A10G_MIB, Machine, audited, flat};
use crate::rules::fixtures::only;
use gpucost::domain::{ActionKind, ResourceId, ScalingGroup};
use gpucost::usage::Estate;

const END: &str = "`aws autoscaling terminate-instance-in-auto-scaling-group \
                   --should-decrement-desired-capacity`";

/// A g5.xlarge that works from 8:00 to 18:00.
fn by_day(id: &str) -> Machine {
    let level = |period: u32| {
        let busy = (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let machine = Machine::new(id, "g5.xlarge").cpu(flat(5.0));
    machine.gpu(0, level).vram(0, HELD_MIB, A10G_MIB)
}

/// A replica that uses 12% of its GPU: of two, each serves what four or six did.
fn replica(id: &str) -> Machine {
    box_in(id, 12.0, HELD_MIB, |_| true)
}

fn ids(names: &[&str]) -> Vec<ResourceId> {
    names.iter().map(|name| ResourceId::named(*name)).collect()
}

/// Where a step is that contains some words.
#[track_caller]
fn place(steps: &[String], words: &str) -> usize {
    let position = steps.iter().position(|step| step.contains(words));
    position.unwrap_or_else(|| panic!("{words}: {steps:#?}"))
}

/// The caveats of the only planned action of a kind.
fn caveats(estate: &Estate, kind: ActionKind) -> Vec<String> {
    let audit = audited(estate);
    let actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let planned: Vec<_> = actions.filter(|action| action.kind() == kind).collect();
    assert_eq!(planned.len(), 1, "{planned:#?}");
    planned[0].caveats().to_vec()
}

#[test]
fn a_schedule_starts_from_what_the_stop_leaves() {
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let office = ["i-4", "i-5", "i-6"].map(by_day);
    let estate = in_group(idle.into_iter().chain(office).collect(), group());
    // The stop leaves 6 − 3 = 3 of at least min(4, 3) = 3.
    let stop = steps_of(&estate, "idle-gpu");
    let minimum = "minimum size of the Auto Scaling group trainers from 4 to 3";
    let desired = "lowers the desired capacity from 6 to 3";
    assert!(place(&stop, minimum) < place(&stop, desired), "{stop:#?}");
    let steps = steps_of(&estate, "off-hours");
    let first = place(&steps, "first end the 3 idle instances of the group");
    // In the morning, 3 start and not 6.
    let hours = "add scheduled actions to the Auto Scaling group trainers: minimum size 0 and \
                 desired capacity 0 when these hours begin, 3 and 3 when they end";
    assert!(first < place(&steps, hours), "{steps:#?}");
    let caveats = caveats(&estate, ActionKind::Schedule).join("\n");
    assert!(!caveats.contains("Auto Scaling"), "{caveats}");
}

#[test]
fn fewer_instances_start_from_what_the_stop_leaves() {
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let replicas = ["i-4", "i-5", "i-6", "i-7"].map(replica);
    let members = declared(idle.into_iter().chain(replicas).collect(), "serving");
    let of_seven = ScalingGroup { desired: 7, ..group() };
    let estate = in_group(members, of_seven);
    let audit = audited(&estate);
    let advice = &only(&audit, "overprovisioned-gpu").recommendation;
    assert!(advice.to.starts_with("2 × "), "{advice:#?}");
    let first = place(&advice.steps, "first end the 3 idle instances");
    // 7 − 3 = 4 of at least 4 are left, and 2 of them stay.
    let number = "set the desired capacity of the Auto Scaling group trainers from 4 to 2 and its \
                  minimum size from 4 to 2, in scheduled actions too";
    assert!(first < place(&advice.steps, number), "{advice:#?}");
}

#[test]
fn hours_off_of_a_part_do_not_end_the_others() {
    let busy = ["i-1", "i-2", "i-3"].map(working);
    let office = ["i-4", "i-5", "i-6"].map(|id| of_type(by_day(id), "g5.2xlarge"));
    let estate = in_group(busy.into_iter().chain(office).collect(), group());
    let steps = steps_of(&estate, "off-hours");
    let text = steps.join("\n");
    place(&steps, "move these instances to a group of their own");
    place(
        &steps,
        "the Auto Scaling group trainers has 3 other instances, and at a lower capacity it \
         chooses which end",
    );
    assert!(!text.contains("desired capacity 0"), "{text}");
    let caveats = caveats(&estate, ActionKind::Schedule);
    let expected = "the Auto Scaling group trainers has 3 other instances and chooses which end: \
                    hours off need a group of their own";
    assert_eq!(caveats.first().map(String::as_str), Some(expected));
}

#[test]
fn hours_off_of_unknown_members_name_what_to_check() {
    let machines = || vec![by_day("i-1"), by_day("i-2")];
    // Not read, in a recording without the instances in service, or with one more.
    let unread = crate::rules::builder::estate(super::scaled(machines(), "trainers"));
    let of_two = || ScalingGroup { desired: 2, min: 1, ..group() };
    let mut unlisted = in_group(machines(), of_two());
    unlisted.scaling_groups[0].in_service = None;
    let mut starting = in_group(machines(), of_two());
    starting.scaling_groups[0].desired = 3;
    for estate in [unread, unlisted, starting] {
        let steps = steps_of(&estate, "off-hours");
        place(
            &steps,
            "add scheduled actions to the Auto Scaling group trainers for these hours if it has \
             no other instances",
        );
        let caveats = caveats(&estate, ActionKind::Schedule);
        let expected = "check that the Auto Scaling group trainers has no other instances: it \
                        chooses which end";
        assert_eq!(caveats.first().map(String::as_str), Some(expected));
    }
}

#[test]
fn another_type_for_a_part_replaces_no_others() {
    let large = Machine::new("i-4", "g5.12xlarge").cpu(flat(5.0));
    let large = (0..4)
        .fold(large, |machine, gpu| machine.gpu(gpu, flat(10.0)).vram(gpu, 1_000.0, A10G_MIB));
    let busy = ["i-1", "i-2", "i-3"].map(working);
    let mixed = ScalingGroup {
        desired: 4,
        instance_types: vec!["g5.xlarge".to_owned(), "g5.12xlarge".to_owned()],
        ..group()
    };
    let estate = in_group(busy.into_iter().chain([large]).collect(), mixed);
    let audit = audited(&estate);
    let advice = &only(&audit, "overprovisioned-gpu").recommendation;
    let (_, to) = advice.to.split_once(" × ").expect("another type");
    let step = format!(
        "replace g5.12xlarge by {to} in the mixed instances policy of the Auto Scaling group \
         trainers (today g5.xlarge, g5.12xlarge), and end each of these with `aws autoscaling \
         terminate-instance-in-auto-scaling-group --no-should-decrement-desired-capacity`, which \
         starts one in its place: an instance refresh replaces 3 other instances too"
    );
    assert!(advice.steps.contains(&step), "{advice:#?}");
    let caveat = "the Auto Scaling group trainers has 3 other instances, which get the same \
                  settings";
    assert_eq!(advice.caveats.first().map(String::as_str), Some(caveat));
}

#[test]
fn fewer_of_a_part_end_by_their_ids() {
    let busy = ["i-1", "i-2", "i-3"].map(|id| of_type(working(id), "g5.2xlarge"));
    let replicas = ["i-4", "i-5", "i-6", "i-7"].map(replica);
    let members = declared(busy.into_iter().chain(replicas).collect(), "serving");
    let of_seven = ScalingGroup { desired: 7, ..group() };
    let steps = steps_of(&in_group(members, of_seven), "overprovisioned-gpu");
    let text = steps.join("\n");
    // 4 − 2 = 2 end, and the group has 3 others.
    let expected = format!(
        "lower the minimum size of the Auto Scaling group trainers (today 4) if it prevents this, \
         and end the other 2 with {END}, which lowers the desired capacity by 1 each (today 7)"
    );
    assert!(steps.contains(&expected), "{text}");
    assert!(!text.contains("set the desired capacity"), "{text}");
}

#[test]
fn two_stops_in_a_group_count_each_for_itself() {
    let by_number = |steps: &[String]| {
        let minimum = place(
            steps,
            "lower the minimum size of the Auto Scaling group trainers (today 4) if it prevents \
             this",
        );
        let ended = format!(
            "then terminate each with {END}, which lowers the desired capacity by 1 each (today 6)"
        );
        assert!(minimum < place(steps, &ended), "{steps:#?}");
    };
    // One that holds memory is stopped too, by a finding of its own: 6 − 2 − 1 = 3 are left.
    let mut machines = half_idle();
    machines[2] = holding("i-3");
    let estate = in_group(machines, group());
    by_number(&steps_of(&estate, "idle-gpu"));
    by_number(&steps_of(&estate, "idle-held-gpu"));
    // What another workload of the group is advised is not known here.
    let others = ["i-4", "i-5", "i-6"].map(|id| of_type(working(id), "g5.2xlarge"));
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let estate = in_group(idle.into_iter().chain(others).collect(), group());
    by_number(&steps_of(&estate, "idle-gpu"));
}

#[test]
fn instances_in_standby_are_not_ended_with_a_decrement() {
    let mut estate = in_group(half_idle(), group());
    let standby = &mut estate.scaling_groups[0];
    (standby.desired, standby.min) = (3, 2);
    standby.in_service = Some(ids(&["i-4", "i-5", "i-6"]));
    let text = steps_of(&estate, "idle-gpu").join("\n");
    let check = "check the state of each with `aws autoscaling describe-auto-scaling-instances` \
                 before any is ended: 3 of them are not in service in the Auto Scaling group \
                 trainers, but for example in standby, so that its desired capacity of 3";
    assert!(text.contains(check), "{text}");
    // A decrement for each ends the three that work: 3 − 3 = 0.
    for words in ["terminate-instance", "minimum size"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
    let audit = audited(&estate);
    let stop = only_stop(&audit);
    assert!(warns(stop, "first check which of its instances are in service"), "{stop:?}");
}

#[test]
fn a_group_that_changes_has_no_values() {
    let mut estate = in_group(half_idle(), group());
    estate.scaling_groups[0].desired = 3;
    estate.scaling_groups[0].min = 2;
    let text = steps_of(&estate, "idle-gpu").join("\n");
    let again = "run the audit again before any is ended, when the desired capacity of the Auto \
                 Scaling group trainers (3) is the number of its instances in service (6)";
    assert!(text.contains(again), "{text}");
    assert!(!text.contains("terminate-instance"), "{text}");
    estate.scaling_groups[0].in_service = None;
    let text = steps_of(&estate, "idle-gpu").join("\n");
    let check = "check that each is in service in the Auto Scaling group trainers: its desired \
                 capacity of 3";
    assert!(text.contains(check), "{text}");
    assert!(!text.contains("from 3 to"), "{text}");
}

#[test]
fn what_keeps_a_group_from_its_sizes_is_said_of_every_action() {
    let names = ["i-1", "i-2", "i-3", "i-4", "i-5", "i-6"];
    let stuck = |names: &[&str]| ScalingGroup {
        protected: ids(names),
        suspended: vec!["Terminate".to_owned()],
        ..group()
    };
    let replicas = declared(names.map(replica).into(), "serving");
    let steps = steps_of(&in_group(replicas, stuck(&names)), "overprovisioned-gpu");
    place(
        &steps,
        "set the desired capacity of the Auto Scaling group trainers from 6 to 2 and its minimum \
         size from 4 to 2",
    );
    place(&steps, "6 of them are protected from scale-in, and neither");
    place(&steps, "processes of the group are suspended (Terminate)");
    let steps = steps_of(&in_group(names.map(by_day).into(), stuck(&names[..1])), "off-hours");
    place(&steps, "4 and 6 when they end");
    place(&steps, "1 of them is protected from scale-in, and neither");
    place(&steps, "processes of the group are suspended (Terminate)");
}
