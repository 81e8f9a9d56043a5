//! A finding as JSON, with its evidence.

use crate::domain::{Evidence, Finding, Observation};
use crate::report::shared::text::{currency_code, json_figure, json_money};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct FindingView {
    id: String,
    rule: &'static str,
    workload: String,
    severity: &'static str,
    confidence: &'static str,
    title: String,
    currency: Option<&'static str>,
    monthly_savings: Option<f64>,
    kind: &'static str,
    evidence: Vec<EvidenceView>,
    recommendation: RecommendationView,
}

#[derive(Serialize)]
struct RecommendationView {
    action: String,
    to: String,
    steps: Vec<String>,
    caveats: Vec<String>,
}

#[derive(Serialize)]
struct EvidenceView {
    metric: &'static str,
    statistic: Option<&'static str>,
    figure: Option<&'static str>,
    observed: f64,
    comparator: &'static str,
    threshold: f64,
    unit: &'static str,
    window_start: Option<String>,
    window_end: Option<String>,
    n_samples: Option<u64>,
    coverage: Option<f64>,
    origin: String,
}

impl FindingView {
    pub(super) fn of(finding: &Finding) -> Self {
        Self {
            id: finding.id(),
            rule: finding.rule(),
            workload: finding.workload().to_owned(),
            severity: finding.severity.name(),
            confidence: finding.confidence.name(),
            title: finding.title.clone(),
            currency: currency_code(finding.monthly_savings),
            monthly_savings: finding.monthly_savings.and_then(json_money),
            kind: finding.kind.name(),
            evidence: finding.evidence().iter().map(evidence).collect(),
            recommendation: RecommendationView {
                action: finding.recommendation.action.clone(),
                to: finding.recommendation.to.clone(),
                steps: finding.recommendation.steps.clone(),
                caveats: finding.recommendation.caveats.clone(),
            },
        }
    }
}

fn evidence(evidence: &Evidence) -> EvidenceView {
    let view = EvidenceView {
        metric: "",
        statistic: None,
        figure: None,
        observed: json_figure(evidence.observed),
        comparator: evidence.comparator.name(),
        threshold: json_figure(evidence.threshold),
        unit: evidence.unit,
        window_start: None,
        window_end: None,
        n_samples: None,
        coverage: None,
        origin: String::new(),
    };
    match &evidence.observation {
        Observation::Sampled {
            metric,
            statistic,
            figure,
            source,
            window,
            n_samples,
            coverage,
        } => EvidenceView {
            metric: metric.name(),
            statistic: Some(statistic.name()),
            figure: Some(figure),
            window_start: Some(window.start.to_string()),
            window_end: Some(window.end.to_string()),
            n_samples: Some(*n_samples),
            coverage: Some(json_figure(*coverage)),
            origin: source.name().to_owned(),
            ..view
        },
        Observation::Fact { name, origin } => EvidenceView {
            metric: name,
            origin: origin.clone(),
            ..view
        },
    }
}
