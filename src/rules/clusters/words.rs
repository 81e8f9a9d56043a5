//! What each scheduler calls nodes and pods.

use crate::domain::Scheduler;

/// Where figures of Kubernetes are from.
pub(super) const SCHEDULER: &str = "Kubernetes API: nodes and pods";
/// What to do about a node of Kubernetes whose GPUs work though no pod requests any.
pub(super) const FIND_OUT: &str = "find out who uses the GPUs first: a privileged pod, a process \
     of the host, another scheduler, or a pod that has ended since";

/// The words of a scheduler.
#[derive(Debug)]
pub(super) struct Words {
    pub pod: &'static str,
    pub node: &'static str,
    /// Where its figures are from.
    pub origin: &'static str,
    /// Where the number of devices is from.
    pub physical_origin: &'static str,
    pub unrequested: &'static str,
    pub find_out: &'static str,
    /// How to use the rest of a node, or to empty it.
    pub fill_or_empty: &'static str,
    pub drain: &'static str,
    /// What a pool of nodes is, and what of it is lowered.
    pub pool: &'static str,
    /// What starts a node again that was removed.
    pub keeper: &'static str,
    /// Why no pod is placed on a node, after its name.
    pub cordoned: &'static str,
    pub not_ready: &'static str,
    pub cordoned_not_ready: &'static str,
}

const KUBERNETES: Words = Words {
    pod: "pod",
    node: "node",
    origin: SCHEDULER,
    physical_origin: "labels of the node, device plugin or instance type",
    unrequested: "GPUs that no pod requests",
    find_out: FIND_OUT,
    fill_or_empty: "place other pods on it, or move its pods away (see fragmented-gpus)",
    drain: "drain the node",
    pool: "the size of the pool",
    keeper: "a pool with a minimum size starts it again",
    cordoned: " (cordoned)",
    not_ready: " (not ready)",
    cordoned_not_ready: " (cordoned, not ready)",
};

const ECS: Words = Words {
    pod: "task",
    node: "container instance",
    origin: "Amazon ECS: container instances and tasks",
    physical_origin: "GPUs that the container instance registered",
    unrequested: "GPUs that no task requests",
    find_out: "find out who uses the GPUs first: a container without a GPU requirement, a process \
               of the host, or a task that has ended since",
    fill_or_empty: "place other tasks on it with the strategy `binpack`, or move its tasks away",
    drain: "set the container instance to DRAINING, so that its tasks are placed elsewhere",
    pool: "the Auto Scaling group of the capacity provider",
    keeper: "an Auto Scaling group or a compute environment with a minimum size starts it again",
    cordoned: " (draining)",
    not_ready: " (agent not connected)",
    cordoned_not_ready: " (draining, agent not connected)",
};

impl Words {
    pub fn of(scheduler: Scheduler) -> &'static Self {
        match scheduler {
            Scheduler::Kubernetes => &KUBERNETES,
            Scheduler::Ecs => &ECS,
        }
    }
}
