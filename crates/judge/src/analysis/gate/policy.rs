//! What a policy demands, validated, each rule with the line that states it. In patterns of names,
//! `*` stands for anything and `?` for one character.

use crate::domain::{Money, RejectedAction, Severity, WorkloadKind, named_enum};
use jiff::SignedDuration;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::fmt;

/// The rules of one policy. Absent and empty parts demand nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GatePolicy {
    /// The file, as the user named it.
    pub file: Option<String>,
    /// What may be spent, in the order of the file.
    pub budgets: Vec<Budget>,
    pub waste: Option<WasteLimit>,
    /// The least mean GPU utilization of each kind of workload.
    pub utilization: BTreeMap<WorkloadKind, UtilizationFloor>,
    pub required_tags: Vec<RequiredTag>,
    /// Instance types that may be used.
    pub types: Allowance,
    /// Regions that may be used.
    pub regions: Allowance,
    pub price_age: Option<PriceAgeLimit>,
    /// The highest age of a recording, where the file states one.
    pub recording_age: Option<SignedDuration>,
    pub forbidden: Vec<Forbidden>,
    pub coverage: Option<CoverageFloor>,
    /// What is accepted for a while.
    pub suppressions: Vec<Suppression>,
    /// Actions that plans do without. A gate evaluates what runs, and what of it is waste, as
    /// if these were none.
    pub rejected: Vec<RejectedAction>,
    /// Whether what the baseline could not see either leaves the gate incomplete, instead of
    /// being shown only.
    pub refuses_known_gaps: bool,
    /// Whether an expired suppression is shown only, instead of failing the gate.
    pub accepts_expired: bool,
    /// Whether a suppression that covers nothing fails the gate, instead of being
    /// shown only.
    pub refuses_unmatched: bool,
}

/// The highest age of a recording that no policy states: a week, as of a job that runs weekly.
const RECORDING_AGE: SignedDuration = SignedDuration::from_hours(7 * 24);

impl GatePolicy {
    /// How old a recording may be that is read instead of an account.
    pub fn max_recording_age(&self) -> SignedDuration {
        self.recording_age.unwrap_or(RECORDING_AGE)
    }

    /// Whether a budget is held against recorded days.
    pub fn has_forecasts(&self) -> bool {
        self.budgets.iter().any(|budget| budget.basis == BudgetBasis::Forecast)
    }

    /// How many rules it states; suppressions are none.
    pub fn rules(&self) -> usize {
        let waste = self.waste.as_ref().map_or(0, |waste| {
            usize::from(waste.monthly.is_some()) + usize::from(waste.percent.is_some())
        });
        self.budgets.len()
            + waste
            + self.utilization.len()
            + self.required_tags.len()
            + usize::from(self.types.line().is_some())
            + usize::from(self.regions.line().is_some())
            + usize::from(self.price_age.is_some())
            + self.forbidden.len()
            + usize::from(self.coverage.is_some())
    }
}

/// What a budget is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All that was audited.
    Everything,
    Account(String),
    Region(String),
    /// What carries a tag with this value.
    Tag {
        key: String,
        value: String,
    },
}

impl Scope {
    /// Whether something in an account and a region, with some tags, belongs to it.
    pub fn holds(&self, account: &str, region: &str, tags: &BTreeMap<String, String>) -> bool {
        let tag = |key: &str| tags.get(key).map(String::as_str);
        self.holds_tagged(Some(account), Some(region), tag)
    }

    /// The same of what may have no account or no region of its own.
    pub fn holds_tagged<'a>(
        &self,
        account: Option<&str>,
        region: Option<&str>,
        tag: impl Fn(&str) -> Option<&'a str>,
    ) -> bool {
        match self {
            Self::Everything => true,
            Self::Account(own) => account == Some(own),
            Self::Region(own) => region == Some(own),
            Self::Tag { key, value } => tag(key) == Some(value),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("everything"),
            Self::Account(account) => write!(f, "account {account}"),
            Self::Region(region) => write!(f, "region {region}"),
            Self::Tag { key, value } => write!(f, "tag {key}={value}"),
        }
    }
}

named_enum! {
    /// What of a scope a budget is held against.
    #[derive(Default)]
    BudgetBasis {
        /// A month of what runs now.
        #[default]
        RunRate = "run-rate",
        /// What the month of the check is forecast to end at, by recorded days.
        Forecast = "forecast",
    }
}

/// The most that a scope may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// What people call it; absent where the scope is enough.
    pub name: Option<String>,
    pub scope: Scope,
    pub basis: BudgetBasis,
    /// The most per month; it may be reached.
    pub monthly_limit: Money,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

impl Budget {
    /// What a report calls it.
    pub(super) fn called(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({})", self.scope),
            None => self.scope.to_string(),
        }
    }
}

/// The most that may be wasted: money that is certain to end when acted upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WasteLimit {
    /// The most per month, and its line.
    pub monthly: Option<(Money, usize)>,
    /// The most as a percentage of the monthly cost, 0–100, and its line.
    pub percent: Option<(Decimal, usize)>,
}

/// The least mean GPU utilization.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UtilizationFloor {
    /// Percent, 0–100.
    pub mean_percent: f64,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

/// A tag that everything must carry, with any value but an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredTag {
    /// The key; case counts, as on AWS.
    pub key: String,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

/// Names that may be used, by pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowance {
    /// One of these must match, unless there are none; with the line of each.
    pub allowed: Vec<(Glob, usize)>,
    /// None of these may match; with the line of each.
    pub denied: Vec<(Glob, usize)>,
}

/// Why a name may not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is allowed, in words.
    pub limit: String,
    /// Why it is refused, as the end of a sentence: `which p5* denies`.
    pub reason: String,
    /// The line that says so, counted from one.
    pub line: usize,
}

impl Allowance {
    /// Why a name may not be used; `None` when it may.
    pub fn refusal(&self, name: &str) -> Option<Refusal> {
        if let Some((glob, line)) = self.denied.iter().find(|(glob, _)| denies(glob, name)) {
            return Some(Refusal {
                limit: format!("not {glob}"),
                reason: format!("denied by {glob}"),
                line: *line,
            });
        }
        let (_, line) = self.allowed.first()?;
        if self.allowed.iter().any(|(glob, _)| glob.matches(name)) {
            return None;
        }
        let limit = self.limit_of_allowed();
        Some(Refusal { reason: format!("not in {limit}"), limit, line: *line })
    }

    /// What it demands, in words.
    pub fn limit(&self) -> String {
        let denied: Vec<String> = self.denied.iter().map(|(glob, _)| glob.to_string()).collect();
        match (self.allowed.is_empty(), denied.is_empty()) {
            (true, true) => "anything".to_owned(),
            (true, false) => format!("not {}", denied.join(", ")),
            (false, true) => self.limit_of_allowed(),
            (false, false) => format!("{}, not {}", self.limit_of_allowed(), denied.join(", ")),
        }
    }

    /// Its first line; `None` when it demands nothing.
    pub fn line(&self) -> Option<usize> {
        self.allowed.iter().chain(&self.denied).map(|(_, line)| *line).min()
    }

    fn limit_of_allowed(&self) -> String {
        let allowed: Vec<String> = self.allowed.iter().map(|(glob, _)| glob.to_string()).collect();
        allowed.join(", ")
    }
}

/// Whether a denied pattern is about a name: SageMaker runs the types of EC2 with another start
/// of the name.
pub(super) fn denies(glob: &Glob, name: &str) -> bool {
    let of_ec2 = name.strip_prefix("ml.");
    glob.matches(name) || of_ec2.is_some_and(|name| glob.matches(name))
}

/// The highest age that a price may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceAgeLimit {
    /// Since its source last stated it.
    pub max_age: SignedDuration,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

/// Findings that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// The id of one rule; every rule when absent.
    pub rule: Option<String>,
    /// The least severity that is forbidden.
    pub severity: Severity,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

/// The least share of running GPU instances with enough metrics for a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoverageFloor {
    /// Percent, 0–100.
    pub percent: f64,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

/// Something that somebody answers for until a day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suppression {
    /// The id of the rule, as in [`super::Violation::rule`].
    pub rule: String,
    /// What it covers: a pattern of a workload's id, its name, or a scope.
    pub workload: Glob,
    pub owner: String,
    pub reason: String,
    /// The last day on which it holds, in UTC.
    pub expires: Date,
    /// The most per month that it covers, in the currency of the violation; any amount when
    /// absent.
    pub monthly_limit: Option<Decimal>,
    /// Where the policy says so, counted from one.
    pub line: usize,
}

/// A pattern that a whole name must match; case counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glob(String);

impl Glob {
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// What every name that matches begins and ends with: all of a pattern in which nothing
    /// stands for something else.
    pub(super) fn ends(&self) -> (&str, &str) {
        let start = self.0.split(['*', '?']).next().unwrap_or_default();
        let end = self.0.rsplit(['*', '?']).next().unwrap_or_default();
        (start, end)
    }

    /// Whether a whole name matches. Time grows with the product of both lengths
    /// at worst, whatever the pattern.
    pub fn matches(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut seen) = (0, 0);
        // The last star, and how much of the name it stands for so far.
        let mut star: Option<(usize, usize)> = None;
        while seen < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, seen));
                    at += 1;
                }
                Some(c) if *c == '?' || *c == name[seen] => {
                    at += 1;
                    seen += 1;
                }
                _ => {
                    let Some((after, taken)) = star else { return false };
                    star = Some((after, taken + 1));
                    at = after + 1;
                    seen = taken + 1;
                }
            }
        }
        pattern[at..].iter().all(|c| *c == '*')
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_denied_is_denied_for_sagemaker_too() {
        let allowance = Allowance {
            allowed: vec![(Glob::new("p5*"), 1), (Glob::new("ml.g5*"), 2)],
            denied: vec![(Glob::new("p4*"), 3)],
        };
        let line = |name| allowance.refusal(name).map(|refusal| refusal.line);
        assert_eq!(line("ml.p4d.24xlarge"), Some(3));
        assert_eq!(line("ml.g5.xlarge"), None);
        // What is allowed for EC2 is not allowed at the price of SageMaker.
        assert_eq!(line("ml.p5.48xlarge"), Some(1));
    }

    #[test]
    fn stars_stand_for_anything_and_marks_for_one() {
        for (pattern, name) in [
            ("g5.*", "g5.xlarge"),
            ("*", ""),
            ("eu-*-1", "eu-west-1"),
            ("p?.2xlarge", "p3.2xlarge"),
            ("*a*b*", "xxaxxbxx"),
            ("a*a", "aba"),
        ] {
            assert!(Glob::new(pattern).matches(name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("g5.*", "g5g.xlarge"),
            ("", "a"),
            ("eu-*-1", "eu-west-2"),
            ("p?.2xlarge", "p.2xlarge"),
            ("G5.*", "g5.xlarge"),
            ("a*a", "a"),
        ] {
            assert!(!Glob::new(pattern).matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_the_product() {
        let pattern = Glob::new("a*".repeat(200) + "b");
        assert!(!pattern.matches(&"a".repeat(5_000)));
    }
}
