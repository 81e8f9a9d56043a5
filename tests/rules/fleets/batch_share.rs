//! Actions in a compute environment of Batch, in the order of a plan: none undoes what another
//! did. Six g5.xlarge have 6 × 4 = 24 vCPUs.

use super::scaling::{half_idle, in_group, of_batch, steps_of};
use super::{HELD_MIB, box_in, declared, holding, idle, of_type, only_stop, warns, working};
use crate::rules::builder::{A10G_MIB, Machine, audited, flat};
use crate::rules::fixtures::only;

/// A g5.xlarge that works from 8:00 to 18:00.
fn by_day(id: &str) -> Machine {
    let level = |period: u32| {
        let busy = (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let machine = Machine::new(id, "g5.xlarge").cpu(flat(5.0));
    machine.gpu(0, level).vram(0, HELD_MIB, A10G_MIB)
}

fn at(steps: &[String], words: &str) -> Option<usize> {
    steps.iter().position(|step| step.contains(words))
}

#[test]
fn a_schedule_starts_from_what_the_stop_leaves() {
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let office = ["i-4", "i-5", "i-6"].map(by_day);
    let machines = idle.into_iter().chain(office).collect();
    let estate = in_group(machines, of_batch(20, None));
    // 24 − 3 × 4 = 12, below the minimum of 20.
    let stop = steps_of(&estate, "idle-gpu");
    let minimum = "minvCpus of the Batch compute environment nightly from 20 to 12";
    assert!(at(&stop, minimum).is_some(), "{stop:#?}");
    let steps = steps_of(&estate, "off-hours");
    let first = at(&steps, "first end the 3 idle instances of the environment");
    // 12 − 3 × 4 = 0, and in the morning 12 again and not 20.
    let hours = "set minvCpus of the Batch compute environment nightly to 0 when these hours \
                 begin, and to 12 when they end";
    assert!(first.is_some() && first < at(&steps, hours), "{steps:#?}");
}

#[test]
fn another_type_starts_from_what_the_stop_leaves() {
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let replicas = ["i-4", "i-5", "i-6", "i-7"].map(|id| box_in(id, 12.0, HELD_MIB, |_| true));
    let machines = declared(idle.into_iter().chain(replicas).collect(), "serving");
    let mut estate = in_group(machines, of_batch(24, None));
    let batch = estate.scaling_groups[0].batch.as_mut().expect("Batch");
    batch.desired_vcpus = 28;
    let audit = audited(&estate);
    let advice = &only(&audit, "overprovisioned-gpu").recommendation;
    let (count, to) = advice.to.split_once(" × ").expect("a type");
    assert_eq!(count, "2", "{advice:#?}");
    let first = at(&advice.steps, "first end the 3 idle instances");
    // 28 − 3 × 4 = 16 are left of 24. Of the same type, 2 × 4 = 8 more end.
    let then = match to {
        "g5.xlarge" => "nightly from 16 to 8".to_owned(),
        _ => format!("adapt its minvCpus (then 16) to the vCPUs of {to}"),
    };
    let then = at(&advice.steps, &then);
    assert!(first.is_some() && first < then, "{advice:#?}");
}

#[test]
fn stops_that_know_only_a_part_have_no_values() {
    let mut machines = half_idle();
    machines[2] = holding("i-3");
    // 24 − 2 × 4 = 16 and 24 − 1 × 4 = 20 would both leave one too many: 24 − 3 × 4 = 12.
    let estate = in_group(machines, of_batch(24, None));
    let lower = "lower minvCpus of the Batch compute environment nightly (today 24)";
    for rule in ["idle-gpu", "idle-held-gpu"] {
        let steps = steps_of(&estate, rule);
        assert!(at(&steps, lower).is_some(), "{steps:#?}");
        assert_eq!(at(&steps, "from 24 to"), None, "{steps:#?}");
    }
    // What another workload of the environment is advised is not known here.
    let others = ["i-4", "i-5", "i-6"].map(|id| of_type(working(id), "g5.2xlarge"));
    let idle = ["i-1", "i-2", "i-3"].map(idle);
    let estate = in_group(idle.into_iter().chain(others).collect(), of_batch(16, None));
    let audit = audited(&estate);
    let stop = only_stop(&audit);
    assert!(warns(stop, "lower its minvCpus (today 16)"), "{stop:?}");
}

#[test]
fn hours_off_of_a_part_have_no_values() {
    let busy = ["i-1", "i-2", "i-3"].map(working);
    let office = ["i-4", "i-5", "i-6"].map(|id| of_type(by_day(id), "g5.2xlarge"));
    let mut estate = in_group(busy.into_iter().chain(office).collect(), of_batch(36, None));
    // 3 × 4 + 3 × 8 = 36.
    let batch = estate.scaling_groups[0].batch.as_mut().expect("Batch");
    batch.desired_vcpus = 36;
    let steps = steps_of(&estate, "off-hours");
    let expected = "lower minvCpus of the Batch compute environment nightly (today 36) by the \
                    vCPUs of these instances when these hours begin, as far as it prevents their \
                    end, and raise it by as many when they end";
    assert!(at(&steps, expected).is_some(), "{steps:#?}");
}
