//! Evaluation: classification and one rule a file. A rule is arithmetic on
//! summaries; it stays silent without the data it needs, and the registry
//! turns that silence into one gap.

mod classification;
mod clusters;
mod commitments;
mod compute_optimizer;
mod device_alert;
mod managed;
mod registry;
mod subject;

mod growing_vram;
mod hot_gpu;
mod idle_gpu;
mod idle_held_gpu;
mod idle_so_far;
mod off_hours;
mod overprovisioned_gpu;
mod power_near_limit;
mod saturated_gpu;
mod shareable_gpu;
mod stalled_gpu;
mod steady_on_demand;
mod stopped_with_storage;
mod underutilized_gpu;
mod unreserved_gpus;
mod unused_gpus;
mod vram_nearly_full;

pub use classification::classify;
pub use clusters::{
    CLUSTER_RULES, ClusterFacts, MachineFacts, claims_by_machine, cluster_findings,
    cluster_silences, keeps_silent,
};
pub use commitments::{COMMITMENT_RULES, commitment_findings};
pub use registry::{RULES, Rule, Silence, no_verdict, run};
pub use subject::{Need, RuleMeta, Subject};
