//! Catches stopped instances whose volumes and addresses are still billed.
//!
//! Must not be fooled by volumes without a known price: they are listed in GiB
//! and the saving counts only what is priced.

use super::{Need, Rule, RuleMeta, Subject};
use crate::domain::{
    Comparator, Confidence, Evidence, Finding, FindingKind, Judgement, Observation, Recommendation,
    Severity,
};

/// The rule.
pub struct StoppedWithStorage;

const NEEDS: &[Need] = &[];

const META: RuleMeta = RuleMeta {
    id: "stopped-with-storage",
    title: "Stopped instances whose storage is still billed",
    severity: Severity::Warning,
    needs: NEEDS,
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
        if standing.priced.is_empty() && standing.unpriced.is_empty() {
            return None;
        }
        let decisive = Evidence {
            observation: Observation::Fact {
                name: "volumes of stopped instances",
                origin: "ec2:DescribeVolumes".to_owned(),
            },
            observed: standing.volume_gib as f64,
            comparator: Comparator::GreaterThan,
            threshold: 0.0,
            unit: "GiB",
        };
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
            title: format!(
                "stopped {} still keeps {} GiB",
                subject.fleet(),
                standing.volume_gib
            ),
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
            Vec::new(),
        ))
    }
}
