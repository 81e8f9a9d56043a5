//! Tasks of Amazon ECS: the rules that speak of them, and those that do not.

use super::lab::{Lab, node, of, row, usage, whole};
use super::*;
use crate::domain::{Claim, ECS_SERVICE, Node};

/// A container instance with eight GPUs of a capacity provider.
fn host(name: &str, tasks: u32) -> Node {
    Node { scheduler: Scheduler::Ecs, pods: Some(tasks), cpu_only_pods: None, ..node(name, 8) }
}

fn of_service(task: &str, count: u32, on: &str) -> Claim {
    let mut claim = of(ECS_SERVICE, whole(task, count, on));
    // Where else a task could run is not read.
    claim.holder.placement = None;
    claim
}

fn advice(lab: &Lab, rule: &str) -> String {
    let advice = lab.finding(rule).recommendation;
    [vec![advice.action], advice.steps, advice.caveats].concat().join("\n")
}

#[test]
fn gpus_that_no_task_requests_are_a_cost_and_a_whole_instance_is_saved() {
    let mut draining = host("c", 0);
    draining.is_cordoned = true;
    draining.is_ready = Some(false);
    let lab = Lab::of(
        vec![host("a", 1), host("b", 0), draining, host("full", 1)],
        vec![of_service("x", 5, "a"), of_service("y", 8, "full")],
    );
    // 3 of 8 of 8,000, and all of it.
    let expected = [
        row(
            "i-a",
            "no task requests 3 of the 8 GPUs of container instance a: USD 3000.00 per month",
            None,
        ),
        row(
            "i-b",
            "no task requests 8 of the 8 GPUs of container instance b: USD 8000.00 per month",
            Some(8_000),
        ),
        row(
            "i-c",
            "no task requests 8 of the 8 GPUs of container instance c (draining, agent not \
             connected): USD 8000.00 per month",
            Some(8_000),
        ),
    ];
    assert_eq!(lab.rows("unallocated-gpus"), expected);
    // Two nodes of pods with 3 and 8 free would be repacked; these are not.
    assert_eq!(lab.rules(), ["unallocated-gpus"; 3]);
    assert_eq!(lab.silences()[0].1, ["idle-claim"]);
    let lab = Lab::of(vec![host("b", 0)], Vec::new());
    let words = advice(&lab, "unallocated-gpus");
    for step in [
        "remove the container instance",
        "set the container instance to DRAINING",
        "lower the Auto Scaling group of the capacity provider train",
    ] {
        assert!(words.contains(step), "{words}");
    }
    assert!(!words.contains("pod"), "{words}");
}

#[test]
fn an_idle_task_is_ended_through_its_service() {
    let mut lab = Lab::of(vec![host("a", 1)], vec![of_service("1a2b", 2, "a")]);
    lab.usage.insert("a".to_owned(), usage("a", &[0.0; 8]));
    // 2 of 8 of 8,000; held for ten days.
    let expected = row(
        "search/1a2b",
        "search/1a2b (Service one) holds 2 GPUs of container instance a and has been idle for 10.0 \
         days: USD 2000.00 per month",
        None,
    );
    assert_eq!(lab.rows("idle-claim"), [expected]);
    let words = advice(&lab, "idle-claim");
    let step = "ask the owners of cluster search, then lower the desired count of service one";
    assert!(words.contains(step), "{words}");
    assert!(words.contains("give the GPUs to other tasks"), "{words}");
    lab.clusters.claims = vec![of("task family", whole("1a2b", 2, "a"))];
    let words = advice(&lab, "idle-claim");
    assert!(words.contains("then stop the task"), "{words}");
}

#[test]
fn what_was_not_read_of_tasks_is_a_gap_of_its_own() {
    let mut unread = host("a", 0);
    unread.pods = None;
    let lab =
        Lab::of(vec![unread, host("b", 1)], vec![of_service("x", 8, "b"), of_service("y", 1, "a")]);
    assert_eq!(lab.rules(), Vec::<&str>::new());
    // Several GPUs that a task holds are no question for rules that need metrics of pods.
    let expected = [
        ("what tasks request of 1 container instance is unknown", "unallocated-gpus"),
        ("whether 2 tasks use the GPUs that they hold is unknown", "idle-claim"),
    ];
    let expected = expected.map(|(words, rule)| (words.to_owned(), vec![rule]));
    assert_eq!(lab.silences(), expected);
    assert!(keeps_silent(CauseKind::TasksUnknown, "unallocated-gpus"));
    assert!(keeps_silent(CauseKind::TaskUseUnknown, "idle-claim"));
    assert!(!keeps_silent(CauseKind::TaskUseUnknown, "oversized-claim"));
}
