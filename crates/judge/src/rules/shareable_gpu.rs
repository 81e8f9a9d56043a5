//! Catches tenants that each hold a whole GPU where slices of one would do.
//!
//! Must not be fooled by a job that uses several GPUs together, by a card that
//! cannot be cut, by memory or a p95 that no slice holds, or by a kind that was
//! only guessed.

use super::subject::coverage;
use super::{Need, RuleMeta, Subject};
use crate::catalog::mig_profiles;
use crate::domain::{
    Comparator, Confidence, Evidence, Finding, Metric, Recommendation, Severity, Statistic,
};
use crate::savings::{SHARED_TARGET_PERCENT, SharingMode, holds_tenants};

pub(super) const META: RuleMeta = RuleMeta {
    id: "shareable-gpu",
    title: "Tenants on whole GPUs that would fit on slices",
    severity: Severity::Warning,
    needs: &[Need::Utilization, Need::PerGpuUtilization, Need::Vram, Need::Price],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    let offer = subject.workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let can_be_cut = offer.is_some_and(|offer| !mig_profiles(offer).is_empty());
    subject.workload.key.running
        && !subject.verdict.is_idle()
        && !subject.is_judged_by_power()
        && holds_tenants(subject.workload).is_ok()
        && (can_be_cut || subject.proposals.share().is_some())
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let sharing = subject.proposals.share()?;
    let target = sharing.action.target()?;
    let total = subject.workload.visible_gpus()?;
    let summary = subject.utilization()?;
    let decisive = Evidence::fact(
        "cards required for all tenants",
        &format!(
            "VRAM peak with headroom and peak utilization of {} GPUs, {}",
            sharing.tenants.len(),
            summary.source
        ),
        sharing.cards.len() as f64,
        (Comparator::LessThan, total as f64),
        "GPUs",
    );
    let fewest = subject.workload.gpus().map(|gpu| gpu.samples.count).min()?;
    let shared = sharing.cards.iter().filter(|card| card.slices.len() > 1);
    let fullest = subject.percent(
        (Metric::GpuUtilization, Statistic::Average),
        "largest sum of peaks on a shared card",
        shared.map(|card| card.peak_percent).fold(0.0, f64::max),
        (Comparator::AtMost, SHARED_TARGET_PERCENT),
        (fewest, coverage(fewest, summary)),
    )?;
    Some(Finding {
        // How several tenants fare on one card is modelled.
        confidence: subject.confidence().min(Confidence::Derived),
        title: format!(
            "{} tenants of {} each use a whole GPU and fit on {} of {total}",
            sharing.tenants.len(),
            subject.fleet(),
            sharing.cards.len()
        ),
        monthly_savings: Some(sharing.action.monthly_savings()),
        recommendation: Recommendation {
            action: match sharing.mode {
                SharingMode::Mig => "share with MIG slices",
                SharingMode::Mps => "share with MPS",
            }
            .to_owned(),
            to: target.to_string(),
            steps: sharing.steps.clone(),
            caveats: sharing.action.caveats().to_vec(),
        },
        ..subject.finding(&META, decisive, [fullest])
    })
}
