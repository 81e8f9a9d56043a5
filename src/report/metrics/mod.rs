//! `gpucost metrics`: utilization per instance and GPU with its coverage, and the
//! agent configuration and the Helm values of `metrics setup`.

mod agent;
mod csv;
mod helm;
mod json;
mod table;

pub use self::agent::{AgentSetup, agent_setup};
pub use self::csv::metrics_csv;
pub use self::helm::helm_values;
pub use self::json::metrics_json;
pub use self::table::metrics_table;

use crate::analysis::Audit;
use crate::domain::{InstanceUsage, Workload};

/// Running instances with their workload, in order of the audit.
fn instances(audit: &Audit) -> impl Iterator<Item = (&Workload, &InstanceUsage)> {
    audit
        .workloads
        .iter()
        .filter(|audited| audited.workload.key.running)
        .flat_map(|audited| {
            audited
                .workload
                .usage
                .iter()
                .map(|usage| (&*audited.workload, usage))
        })
}
