//! Members of an Auto Scaling group in several zones: what ends in one of them must not end
//! what works in another.

use super::scaling::{group, half_idle, in_group, steps_of};
use super::{HELD_MIB, box_in, declared, idle, in_zone, of_type, working};
use crate::rules::builder::Machine;
use gpucost::domain::ScalingGroup;

const SUSPEND: &str = "`aws autoscaling suspend-processes --auto-scaling-group-name trainers \
                       --scaling-processes AZRebalance`";
const END: &str = "terminate-instance-in-auto-scaling-group --should-decrement-desired-capacity";

/// Machines of which the first three are in one zone and the others in another.
fn in_two_zones(machines: Vec<Machine>) -> Vec<Machine> {
    let zones = ["us-east-1a"; 3].into_iter().chain(["us-east-1b"].repeat(9));
    let members = machines.into_iter().zip(zones);
    members.map(|(machine, zone)| in_zone(machine, zone)).collect()
}

fn at(steps: &[String], words: &str) -> Option<usize> {
    steps.iter().position(|step| step.contains(words))
}

#[test]
fn zones_are_not_rebalanced_once_idle_instances_end_in_one() {
    // 3 and 3 are left as 0 and 3: the group would start in the first and end in the second.
    let steps = steps_of(&in_group(in_two_zones(half_idle()), group()), "idle-gpu");
    let (suspend, end) = (at(&steps, SUSPEND), at(&steps, END));
    assert!(suspend.is_some() && suspend < end, "{steps:#?}");
    let resumed = "ends other instances, busy ones too, and resuming it does the same";
    assert_eq!(at(&steps, resumed), suspend, "{steps:#?}");
}

#[test]
fn zones_that_the_group_does_not_balance_need_no_step() {
    let suspended = ScalingGroup { suspended: vec!["AZRebalance".to_owned()], ..group() };
    let all_idle = ["i-1", "i-2", "i-3", "i-4", "i-5", "i-6"].map(idle);
    for (machines, group) in [
        (in_two_zones(half_idle()), suspended),
        (half_idle(), group()),
        // 6 − 6 = 0: nothing is left that could end.
        (in_two_zones(all_idle.into()), group()),
    ] {
        let steps = steps_of(&in_group(machines, group), "idle-gpu");
        assert!(at(&steps, END).is_some(), "{steps:#?}");
        assert_eq!(at(&steps, "AZRebalance"), None, "{steps:#?}");
    }
}

#[test]
fn zones_of_instances_that_are_not_known_count_as_several() {
    // Those of another workload of the group are not known here.
    let others = ["i-4", "i-5", "i-6"].map(|id| of_type(working(id), "g5.2xlarge"));
    let machines = ["i-1", "i-2", "i-3"].map(idle).into_iter().chain(others);
    let mut estate = in_group(machines.collect(), group());
    let steps = steps_of(&estate, "idle-gpu");
    assert!(at(&steps, SUSPEND).is_some(), "{steps:#?}");
    estate.scaling_groups.clear();
    let steps = steps_of(&estate, "idle-gpu");
    assert!(at(&steps, SUSPEND) < at(&steps, END), "{steps:#?}");
    assert!(at(&steps, SUSPEND).is_some(), "{steps:#?}");
}

#[test]
fn fewer_of_a_part_end_without_rebalancing() {
    let busy = ["i-1", "i-2", "i-3"].map(|id| of_type(working(id), "g5.2xlarge"));
    let replicas = ["i-4", "i-5", "i-6", "i-7"].map(|id| box_in(id, 12.0, HELD_MIB, |_| true));
    let members = declared(busy.into_iter().chain(replicas).collect(), "serving");
    let of_seven = ScalingGroup { desired: 7, ..group() };
    // 3 and 4 are left as 3 and 2.
    let estate = in_group(in_two_zones(members), of_seven);
    let steps = steps_of(&estate, "overprovisioned-gpu");
    let (suspend, end) = (at(&steps, SUSPEND), at(&steps, END));
    assert!(suspend.is_some() && suspend < end, "{steps:#?}");
}
