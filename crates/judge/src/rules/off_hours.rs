//! Catches work that rests in the same hours of every week and pays for them.
//!
//! Must not be fooled by hours without data (unknown is not off), by a quiet
//! week among busy ones, by an encoder at work, by what is stopped in those hours
//! already, or by something idle as a whole, which is stopped and not scheduled.

use super::{Need, RuleMeta, Subject};
use crate::domain::{
    ACTIVE_PERCENT, Comparator, Confidence, Evidence, Finding, Recommendation, Severity, Statistic,
};
use crate::savings::WEEK_HOURS;

/// More than these are listed among the steps and not in the headline.
const MOST_WINDOWS_SHOWN: usize = 7;

pub(super) const META: RuleMeta = RuleMeta {
    id: "off-hours",
    title: "Billed during hours it is never used",
    severity: Severity::Warning,
    needs: &[Need::Utilization, Need::HourlyMaxima, Need::Price],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    subject.workload.key.running
        && !subject.verdict.is_idle()
        // A run says nothing about the hours without one.
        && subject.workload.rests_on_runs().is_none()
        // Power says nothing about single hours.
        && !subject.is_judged_by_power()
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let scheduling = subject.proposals.schedule()?;
    let schedule = &scheduling.schedule;
    let source = subject.utilization()?.source;
    let (hours, windows) = (schedule.off_hours_per_week, &schedule.windows);
    let decisive = Evidence::fact(
        "weekly hours that are always idle",
        &format!("{source} utilization maxima, hours in {}", scheduling.zone),
        hours as f64,
        (Comparator::AtLeast, 2.0),
        "h",
    );
    let largest = schedule.largest_maximum.and_then(|maximum| {
        let (figure, statistic) = ("maximum in these hours", Statistic::Maximum);
        subject.sampled(figure, statistic, maximum, Comparator::LessThan, ACTIVE_PERCENT)
    });
    Some(Finding {
        // What was off is measured; that it stays so is not.
        confidence: subject.confidence().min(Confidence::Derived),
        title: format!("{} is idle in {hours} of {WEEK_HOURS} hours every week", subject.fleet()),
        monthly_savings: Some(scheduling.action.monthly_savings()),
        recommendation: Recommendation {
            action: "schedule".to_owned(),
            to: if windows.len() <= MOST_WINDOWS_SHOWN {
                format!("off {}", schedule.in_words())
            } else {
                format!("off {hours} h per week in {} windows", windows.len())
            },
            steps: scheduling.steps.clone(),
            caveats: scheduling.action.caveats().to_vec(),
        },
        ..subject.finding(&META, decisive, largest)
    })
}
