//! Catches GPUs that hold memory for days and compute nothing: a loaded model
//! no client asks, a forgotten notebook.
//!
//! Must not be fooled by anything that computes in two consecutive periods, or
//! by a box launched this week.

use super::{Need, RuleMeta, Subject};
use crate::domain::{Comparator, Finding, Recommendation, Severity, UsageState, counted};

pub(super) const META: RuleMeta = RuleMeta {
    id: "idle-held-gpu",
    title: "Idle GPUs that hold memory",
    severity: Severity::Critical,
    needs: &[Need::Utilization, Need::Maxima, Need::Vram],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    // Power alone never tells what memory holds; the idle rule covers it.
    subject.workload.key.running && !subject.is_judged_by_power()
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.state != Some(UsageState::IdleHeld) {
        return None;
    }
    let summary = subject.utilization()?;
    let decisive = subject.idle_evidence()?;
    let held = subject.vram_evidence(Comparator::AtLeast, subject.policy.idle_held_vram_percent)?;
    let first = [
        "find the process that holds the memory (`nvidia-smi`) and its owner",
        "save notebooks and models: a stop clears the VRAM and the instance store",
    ]
    .map(str::to_owned);
    let further = [held].into_iter().chain(subject.cpu_evidence());
    Some(Finding {
        kind: subject.idle_kind(),
        title: format!(
            "{} holds {:.1} GiB of VRAM and has been idle for {}{}",
            subject.members(),
            subject.workload.vram()?.peak_mib / 1024.0,
            counted(format!("{:.0}", summary.sampled_hours() / 24.0), "day", "days"),
            subject.busy_cpu_words()
        ),
        monthly_savings: subject.idle_savings(),
        recommendation: subject.beside_busy_cpu().unwrap_or_else(|| Recommendation {
            action: subject.stop_or_confirm("save the work and stop"),
            to: subject.members_to_stop(),
            caveats: subject.stop_caveats(),
            steps: first
                .into_iter()
                .chain(subject.stop_steps())
                .chain(subject.committed())
                .collect(),
        }),
        ..subject.finding(&META, decisive, further)
    })
}
