//! Catches GPUs that work around the clock at on-demand price.
//!
//! Must not be fooled by waste: what is idle or overprovisioned shrinks first, and a
//! commitment is bought for what is left, for a year at most where nothing less would do. Types that sell no reserved
//! instance are passed over, and so is what was observed for a few days only.

use super::{Need, RuleMeta, Subject};
use crate::domain::{Comparator, Confidence, Evidence, Finding, Recommendation, Severity, floored};
use crate::savings::NOTHING_SMALLER;
use rust_decimal::prelude::ToPrimitive;

pub(super) const META: RuleMeta = RuleMeta {
    id: "steady-on-demand",
    title: "Running around the clock at on-demand price",
    severity: Severity::Info,
    needs: &[Need::Utilization, Need::Price],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    subject.workload.key.is_on_demand()
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let committing = subject.proposals.committing()?;
    let (commitment, is_oversized) = (committing.alone.as_ref()?, committing.one_year_only);
    let (action, quote) = (&commitment.action, &commitment.quote);
    let running = subject.workload.running_share?.to_f64()?;
    let decisive = Evidence::fact(
        "running share of the window",
        "AWS/EC2 CPUUtilization data, otherwise launch time",
        running * 100.0,
        (Comparator::GreaterThan, commitment.break_even_utilization.to_f64()? * 100.0),
        "%",
    );
    Some(Finding {
        // The price is a fact; that the year goes on like this is not.
        confidence: subject.confidence().min(Confidence::Derived),
        title: format!(
            "{} runs {}% of the hours at on-demand price",
            subject.fleet(),
            floored(running * 100.0, 0)
        ),
        monthly_savings: Some(action.monthly_savings()),
        recommendation: Recommendation {
            action: "commit".to_owned(),
            to: "1 year, no upfront".to_owned(),
            steps: vec![
                action.detail().to_owned(),
                if is_oversized {
                    "buy no longer term: a smaller type may be offered within it".to_owned()
                } else {
                    "right-size first: a commitment fixes the type for one year".to_owned()
                },
                "check existing commitments in the payer account".to_owned(),
                format!("price of {} ({})", quote.effective_date, quote.source),
            ],
            caveats: is_oversized.then(|| NOTHING_SMALLER.to_owned()).into_iter().collect(),
        },
        ..subject.finding(&META, decisive, [])
    })
}
