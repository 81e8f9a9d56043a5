//! What was measured and what it was judged to be.

use super::page::Page;
use crate::analysis::AuditedWorkload;
use crate::domain::{
    ACTIVE_PERCENT, Classification, Policy, UsageState, UtilizationSummary, Workload, floored,
};
use crate::report::shared::text::{count, counted, percent};

impl Page {
    pub(super) fn measurements(&mut self, workload: &Workload, summary: &UtilizationSummary) {
        self.heading("measured");
        let figures = &summary.distribution;
        if let Some(runs) = workload.rests_on_runs() {
            self.line(&format!(
                "over {runs}, because the window has too little data; time without a run \
                 counts neither as idle nor as busy"
            ));
        }
        self.line(&format!(
            "{} from {}, {} to {}, one value every {} s",
            summary.signal,
            summary.source,
            summary.window.start,
            summary.window.end,
            summary.period_seconds
        ));
        self.line(&format!(
            "{} of {}: coverage {}%",
            count(summary.n_samples),
            counted(summary.expected_samples, "sample", "samples"),
            floored(summary.coverage() * 100.0, 1)
        ));
        self.line(&format!(
            "mean {}, p50 {}, p95 {}, p99 {} of the mean across GPUs; maximum {}",
            percent(figures.mean),
            percent(figures.p50),
            percent(figures.p95),
            percent(figures.p99),
            percent(summary.max)
        ));
        if let Some(share) = summary.idle_share {
            let idle = floored(share * 100.0, 1);
            self.line(&format!(
                "idle in {idle}% of the periods: no GPU reached {ACTIVE_PERCENT}%"
            ));
        }
        for gpu in workload.gpus() {
            let used = gpu.utilization.map_or_else(
                || "no utilization".to_owned(),
                |used| format!("mean {}, p95 {}", percent(used.mean), percent(used.p95)),
            );
            let vram = gpu.vram.map_or_else(
                || "VRAM unknown".to_owned(),
                |vram| format!("VRAM peak {} MiB", count(vram.peak_mib.ceil() as u64)),
            );
            self.line(&format!(
                "{} GPU {}: {used}; {vram}",
                gpu.instance, gpu.index
            ));
        }
    }

    pub(super) fn verdict(&mut self, audited: &AuditedWorkload, policy: &Policy) {
        let verdict = &audited.verdict;
        self.heading("verdict");
        self.line(&format!("{}: {}", verdict.classification, verdict.reason));
        let (low, high) = (
            policy.overprovisioned_below_percent,
            policy.underutilized_below_percent,
        );
        let bound = match verdict.classification {
            Classification::Overprovisioned => Some(format!("mean below {low}%")),
            Classification::Underutilized => Some(format!("mean from {low} to below {high}%")),
            Classification::WellUtilized => Some(format!("mean of {high}% or more")),
            Classification::InsufficientData => None,
        };
        if let Some(bound) = bound {
            self.line(&format!(
                "{} means {bound} (policy)",
                verdict.classification
            ));
        }
        if let Some(state) = verdict.state {
            self.line(&format!("state {state}: {}", meaning(state, policy)));
        }
        if let Some(confidence) = verdict.confidence {
            self.line(&format!("confidence {confidence}"));
        }
    }
}

fn meaning(state: UsageState, policy: &Policy) -> String {
    let days = crate::domain::counted(policy.idle_min_days, "day", "days");
    let idle = format!(
        "busiest GPU below {ACTIVE_PERCENT}% in 99% of the periods, at most one period per week \
         at 5% or more, {days} observed"
    );
    let held = policy.idle_held_vram_percent;
    match state {
        UsageState::Idle => format!("{idle}; VRAM below {held}% (policy)"),
        UsageState::IdleSoFar => format!(
            "no GPU reached {ACTIVE_PERCENT}% in the observed time, which is less than {days} \
             (policy)"
        ),
        UsageState::IdleHeld => format!("{idle}; VRAM of {held}% or more (policy)"),
        UsageState::Stalled => "mean of 60% or more, while no GPU draws more than its idle draw \
                                and 15% of the way from there to its limit (p95)"
            .to_owned(),
        UsageState::Saturated => format!(
            "mean above {}%, or 95% in a tenth of the hours (policy)",
            policy.saturated_above_percent
        ),
        UsageState::Bursty => format!(
            "mean below {}%, p95 of {}% or more (policy)",
            policy.overprovisioned_below_percent, policy.bursty_p95_percent
        ),
        UsageState::Steady => "neither idle, saturated nor bursty".to_owned(),
    }
}
