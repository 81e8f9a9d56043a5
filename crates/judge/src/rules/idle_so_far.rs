//! Catches GPUs that computed nothing in all that was seen, which is less than it takes
//! to call them idle.
//!
//! Must not be fooled into dollars: a box of this week may be about to work, and a window
//! of a week is short. It says what is missing to know.

pub(super) use super::subject::runs as applies;
use super::{Need, RuleMeta, Subject};
use crate::domain::{
    ACTIVE_PERCENT, Comparator, Finding, Recommendation, Severity, Statistic, UsageState, counted,
};

pub(super) const META: RuleMeta = RuleMeta {
    id: "idle-so-far",
    title: "GPUs idle so far",
    severity: Severity::Info,
    needs: &[Need::Utilization, Need::Maxima],
};

const SECONDS_A_DAY: f64 = 86_400.0;

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.state != Some(UsageState::IdleSoFar) {
        return None;
    }
    let summary = subject.utilization()?;
    let (statistic, below) = (Statistic::Maximum, Comparator::LessThan);
    let decisive = subject.sampled("max", statistic, summary.max, below, ACTIVE_PERCENT)?;
    let observed_days = summary.observed_seconds as f64 / SECONDS_A_DAY;
    let needed_days = subject.policy.idle_min_days;
    let age = subject.as_of.duration_since(subject.workload.first_seen()).as_secs_f64();
    let mut missing = Vec::new();
    if !subject.policy.is_long_enough(summary.observed_seconds, summary.period_seconds) {
        missing.push(format!(
            "samples of {} are needed, {observed_days:.1} are available: audit again later, \
             or with a longer `--lookback`",
            counted(needed_days, "day", "days")
        ));
    }
    if age <= needed_days * SECONDS_A_DAY {
        missing.push(format!(
            "it was first observed {:.1} days ago, and is classified as idle after \
             {needed_days}",
            age / SECONDS_A_DAY
        ));
    }
    missing.push("ask the owner listed in the tags".to_owned());
    Some(Finding {
        title: format!(
            "{} has been idle in the {observed_days:.1} days observed",
            subject.members()
        ),
        // Nothing is promised of what was hardly seen.
        monthly_savings: None,
        recommendation: Recommendation {
            action: "wait, or ask the owner".to_owned(),
            to: subject.idle_members(),
            steps: missing,
            caveats: Vec::new(),
        },
        ..subject.finding(&META, decisive, [])
    })
}
