//! Catches stopped instances whose volumes and addresses are still billed.
//!
//! Must not be fooled by volumes without a known price: they are listed in GiB
//! and the saving counts only what is priced.

use super::{Rule, RuleMeta, Subject};
use crate::domain::{
    Comparator, Confidence, Evidence, Finding, FindingKind, Judgement, Observation, Recommendation,
    Severity,
};

/// The rule.
pub struct StoppedWithStorage;

const META: RuleMeta = RuleMeta {
    id: "stopped-with-storage",
    title: "Stopped instances whose storage is still billed",
    severity: Severity::Warning,
    needs: &[],
};

impl Rule for StoppedWithStorage {
    fn meta(&self) -> &'static RuleMeta {
        &META
    }

    fn applies(&self, subject: &Subject<'_>) -> bool {
        !subject.workload.key.running
    }

    fn check(&self, subject: &Subject<'_>) -> Option<Finding> {
        let standing = &subject.workload.standing;
        if standing.resources == 0 {
            return None;
        }
        let fact = |name, observed: u64, threshold, unit| Evidence {
            observation: Observation::Fact {
                name,
                origin: "ec2:DescribeVolumes, ec2:DescribeAddresses".to_owned(),
            },
            observed: observed as f64,
            comparator: Comparator::AtLeast,
            threshold,
            unit,
        };
        let decisive = fact(
            "volumes and addresses",
            standing.resources,
            1.0,
            "resources",
        );
        let gib = (standing.volume_gib > 0)
            .then(|| fact("size of the volumes", standing.volume_gib, 1.0, "GiB"));
        let mut steps: Vec<String> = standing.priced.clone();
        steps.extend(
            standing
                .unpriced
                .iter()
                .map(|what| format!("{what}: unpriced")),
        );
        steps.push("snapshot what is needed, then delete the volumes".to_owned());
        steps.push("release addresses that nothing uses".to_owned());
        let judgement = Judgement {
            severity: META.severity,
            confidence: Confidence::Measured,
            kind: FindingKind::Waste,
            title: if standing.volume_gib > 0 {
                format!(
                    "stopped {} still keeps {} GiB",
                    subject.fleet(),
                    standing.volume_gib
                )
            } else {
                format!(
                    "stopped {} still keeps {} volumes or addresses",
                    subject.fleet(),
                    standing.resources
                )
            },
            monthly_savings: standing.monthly,
            recommendation: Recommendation {
                action: "release the storage".to_owned(),
                to: String::new(),
                steps,
            },
        };
        Some(Finding::new(
            META.id,
            subject.workload.id(),
            judgement,
            decisive,
            gib.into_iter().collect(),
        ))
    }
}
