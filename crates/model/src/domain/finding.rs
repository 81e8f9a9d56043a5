//! Findings and the evidence without which they cannot exist.

use super::named::named_enum;
use super::{Metric, Money, SeriesSource, Statistic, Window};

named_enum! {
    /// How much a finding matters.
    Severity {
        /// Good to know.
        Info = "info",
        /// Worth acting on.
        Warning = "warning",
        /// Money is leaving for nothing.
        Critical = "critical",
    }
}

named_enum! {
    /// How sure a finding is.
    Confidence {
        /// Guessed from names or age: no dollars in totals.
        Heuristic = "heuristic",
        /// Coverage of 50–90%, a modelled ratio, or a declared tag.
        Derived = "derived",
        /// Coverage of at least 90%, or a billing fact.
        Measured = "measured",
    }
}

named_enum! {
    /// What kind of matter a finding is.
    FindingKind {
        /// Money that is certain to end when acted upon.
        Waste = "waste",
        /// Money that advice could save.
        Optimization = "optimization",
        /// A danger, not a saving.
        Risk = "risk",
    }
}

named_enum! {
    /// How an observed value was compared with a threshold.
    Comparator {
        LessThan = "<",
        AtMost = "<=",
        GreaterThan = ">",
        AtLeast = ">=",
        Equal = "=",
    }
}

impl Comparator {
    /// The sign that people read.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => "≥",
            Self::AtMost => "≤",
            other => other.name(),
        }
    }
}

/// What was observed: a statistic of a metric, or a fact from the inventory or
/// the bill.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// A statistic over the samples of a metric.
    Sampled {
        metric: Metric,
        /// Which value of each period was used.
        statistic: Statistic,
        /// The figure taken over them, such as `p99` or `mean`.
        figure: &'static str,
        source: SeriesSource,
        window: Window,
        n_samples: u64,
        /// Share of expected samples that were there, 0–1.
        coverage: f64,
    },
    /// A fact, by name.
    Fact {
        /// What it is, such as `stopped instances`.
        name: &'static str,
        /// Where it was read, such as `ec2:DescribeInstances`.
        origin: String,
    },
}

/// One observed value beside the threshold it was judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    pub observation: Observation,
    pub observed: f64,
    pub comparator: Comparator,
    /// The threshold; policy unless the docs say otherwise.
    pub threshold: f64,
    /// Unit of both, such as `%`, `MiB` or `USD/h`.
    pub unit: &'static str,
}

impl Evidence {
    /// A fact beside its threshold: where the fact is from, and the unit of both.
    pub fn fact(
        name: &'static str,
        origin: &str,
        observed: f64,
        (comparator, threshold): (Comparator, f64),
        unit: &'static str,
    ) -> Self {
        Self {
            observation: Observation::Fact { name, origin: origin.to_owned() },
            observed,
            comparator,
            threshold,
            unit,
        }
    }
}

/// What to do about a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recommendation {
    /// The action in a few words.
    pub action: String,
    /// Where it leads, such as `p3.2xlarge × 8`; empty when nowhere.
    pub to: String,
    /// What to do and check, in order.
    pub steps: Vec<String>,
    /// What would stop an engineer who knows the system, the gravest first.
    pub caveats: Vec<String>,
}

/// One matter worth attention, in cents. Begins as [`Finding::of`] makes it: never without evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub rule: &'static str,
    pub workload: String,
    pub severity: Severity,
    pub confidence: Confidence,
    /// One line for people.
    pub title: String,
    /// What acting on this alone would save per month; findings overlap, so
    /// these do not add up. Absent when it is not known.
    pub monthly_savings: Option<Money>,
    pub kind: FindingKind,
    pub evidence: Vec<Evidence>,
    pub recommendation: Recommendation,
}

impl Finding {
    /// A finding of a rule about a workload: unless said otherwise, a derived warning about advice
    /// whose saving is not known. The first evidence is the decisive one.
    pub fn of(
        rule: &'static str,
        workload: impl Into<String>,
        decisive: Evidence,
        further: impl IntoIterator<Item = Evidence>,
    ) -> Self {
        Self {
            rule,
            workload: workload.into(),
            severity: Severity::Warning,
            confidence: Confidence::Derived,
            title: String::new(),
            monthly_savings: None,
            kind: FindingKind::Optimization,
            evidence: [decisive].into_iter().chain(further).collect(),
            recommendation: Recommendation::default(),
        }
    }

    /// Stable across runs: the rule and the workload it is about.
    pub fn id(&self) -> String {
        format!("{}:{}", self.rule, self.workload)
    }

    /// The rule's id.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// The workload's id.
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// Why, the decisive evidence first; never empty.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }
}
