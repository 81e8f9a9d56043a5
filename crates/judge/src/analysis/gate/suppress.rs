//! From what was evaluated to what fails: suppressions first, then the baseline.

use super::baseline::Baseline;
use super::evaluation::{Candidate, RuleEvaluation, Words, place};
use super::{
    BaselineState, BaselineUse, CheckOutcome, GateOutcome, GatePolicy, GateReport, MissingData,
    Place, Suppressed, Suppression, Violation, policy_rule,
};
use crate::domain::{Money, Severity};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

impl GateReport {
    /// The whole report, in order; `is_nothing` tells that there was nothing to judge.
    pub(super) fn whole(mut self, is_nothing: bool) -> Self {
        self.violations.sort_by_cached_key(order);
        self.notices.sort_by_cached_key(order);
        self.suppressed.sort_by_cached_key(|suppressed| order(&suppressed.violation));
        self.outcome = if !self.violations.is_empty() {
            GateOutcome::Violated
        } else if !self.missing_data.is_empty() {
            GateOutcome::Incomplete
        } else if is_nothing {
            GateOutcome::Nothing
        } else {
            GateOutcome::Clean
        };
        self
    }
}

/// Applies suppressions and an earlier audit. `names` are those of workloads by id, by
/// which a suppression may call what has no data.
pub(super) fn settle(
    evaluations: Vec<RuleEvaluation>,
    policy: &GatePolicy,
    baseline: Option<&Baseline>,
    as_of: Timestamp,
    names: BTreeMap<String, String>,
) -> GateReport {
    let today = as_of.to_zoned(TimeZone::UTC).date();
    let mut settling = Settling {
        policy,
        baseline,
        today,
        names,
        valid: valid(policy, today),
        used: BTreeSet::new(),
        seen: BTreeSet::new(),
        missing_data: BTreeMap::new(),
        settled: GateReport {
            policy_file: policy.file.clone(),
            baseline: baseline.map(|baseline| BaselineUse {
                file: baseline.file.clone(),
                cautions: baseline.cautions.clone(),
                ..BaselineUse::default()
            }),
            ..GateReport::default()
        },
    };
    for evaluation in evaluations {
        settling.rule(evaluation);
    }
    settling.stale();
    settling.done()
}

struct Settling<'a> {
    policy: &'a GatePolicy,
    baseline: Option<&'a Baseline>,
    today: Date,
    names: BTreeMap<String, String>,
    valid: ByPattern<'a>,
    /// Suppressions that covered something, by their place in the policy.
    used: BTreeSet<usize>,
    /// Fingerprints so far: two bans on one finding are one matter.
    seen: BTreeSet<String>,
    /// Each without its rules, with those that lacked it.
    missing_data: BTreeMap<MissingData, BTreeSet<String>>,
    settled: GateReport,
}

/// Places in the policy by rule, and by what a pattern begins with, or else ends with.
type ByPattern<'a> = BTreeMap<(&'a str, Side, &'a str), Vec<usize>>;

/// The side of a pattern that stands for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Start,
    End,
}

/// The places in the policy of the suppressions that have not expired: of a large file, only
/// those that may match a name are tried.
fn valid(policy: &GatePolicy, today: Date) -> ByPattern<'_> {
    let mut valid = ByPattern::new();
    for (at, suppression) in policy.suppressions.iter().enumerate() {
        if suppression.expires >= today {
            let (start, end) = suppression.workload.ends();
            let (side, text) = match start {
                "" => (Side::End, end),
                start => (Side::Start, start),
            };
            valid.entry((suppression.rule.as_str(), side, text)).or_default().push(at);
        }
    }
    valid
}

impl Settling<'_> {
    fn rule(&mut self, evaluation: RuleEvaluation) {
        let RuleEvaluation { mut check, violations, missing_data, lacks_if_accepted } = evaluation;
        let mut accepted = false;
        let mut fails = false;
        for candidate in violations {
            let failed = self.candidate(candidate);
            fails |= failed;
            accepted |= !failed;
        }
        let mut lacking = false;
        let is_settled = fails && lacks_if_accepted;
        for missing_data in missing_data.into_iter().filter(|_| !is_settled) {
            let accepted_missing_data = self.missing_data(missing_data, &check.place);
            lacking |= !accepted_missing_data;
            accepted |= accepted_missing_data;
        }
        check.outcome = match (fails, lacking, accepted) {
            (true, _, _) => CheckOutcome::Violated,
            (false, true, _) => CheckOutcome::Incomplete,
            (false, false, true) => CheckOutcome::Accepted,
            (false, false, false) => CheckOutcome::Passed,
        };
        self.settled.checks.push(check);
    }

    /// Whether a violation fails the gate.
    fn candidate(&mut self, candidate: Candidate) -> bool {
        let Candidate { mut violation, name, past } = candidate;
        if self.settled.baseline.is_some() {
            violation.baseline_state = past;
        }
        let is_first = self.seen.insert(violation.fingerprint.clone());
        let names = [Some(violation.scope.as_str()), name.as_deref()];
        if let Some(by) = self.suppression(&violation.rule, &names, violation.monthly) {
            if by.holds(violation.monthly) {
                if is_first {
                    self.settled.suppressed.push(Suppressed { violation, by });
                }
                return false;
            }
            if let Some(step) = by.limit_step(&violation) {
                violation.steps.insert(0, step);
            }
        }
        if is_first && let Some(used) = &mut self.settled.baseline {
            match past {
                Some(BaselineState::New) => used.new += 1,
                Some(BaselineState::Known) => used.known += 1,
                Some(BaselineState::Worse) => used.worse += 1,
                None => {}
            }
        }
        let fails = past != Some(BaselineState::Known);
        if is_first {
            self.list(violation, fails);
        }
        fails
    }

    /// Whether something that could not be evaluated is accepted: somebody answers for it, or
    /// the baseline could not see it either and the policy does not refuse that.
    fn missing_data(&mut self, missing_data: MissingData, at: &Place) -> bool {
        let rule = missing_data.rules.first().map_or("", String::as_str).to_owned();
        let name = self.names.get(&missing_data.place).cloned();
        let names = [Some(missing_data.place.as_str()), name.as_deref()];
        let by = self.suppression(&rule, &names, None);
        // An amount that is not known may be any.
        let by = by.filter(|by| by.holds(None));
        let known = self.baseline.filter(|_| !self.policy.refuses_known_gaps);
        let is_known = known.is_some_and(|known| known.lacked(&missing_data));
        if by.is_none() && !is_known {
            let key = MissingData { rules: Vec::new(), ..missing_data };
            self.missing_data.entry(key).or_default().insert(rule);
            return false;
        }
        let mut violation = unjudged(missing_data, &rule, at);
        if !self.seen.insert(violation.fingerprint.clone()) {
            return true;
        }
        match by {
            Some(by) => self.settled.suppressed.push(Suppressed { violation, by }),
            None => {
                violation.baseline_state = Some(BaselineState::Known);
                if let Some(used) = &mut self.settled.baseline {
                    used.known += 1;
                }
                self.settled.notices.push(violation);
            }
        }
        true
    }

    /// The suppression that covers a rule under any of some names today: one that covers the
    /// amount, where there is one.
    fn suppression(
        &mut self,
        rule: &str,
        names: &[Option<&str>],
        monthly: Option<Money>,
    ) -> Option<Suppression> {
        let suppressions = &self.policy.suppressions;
        let covering = names.iter().flatten().flat_map(|name| {
            let parts = (0..=name.len()).filter(|part| name.is_char_boundary(*part));
            let sides = parts.flat_map(|part| {
                let (start, end) = name.split_at(part);
                [(rule, Side::Start, start), (rule, Side::End, end)]
            });
            let places = sides.filter_map(|side| self.valid.get(&side));
            places.flatten().copied().filter(|at| suppressions[*at].workload.matches(name))
        });
        let at = covering.min_by_key(|at| (!suppressions[*at].holds(monthly), *at))?;
        self.used.insert(at);
        Some(self.policy.suppressions[at].clone())
    }

    fn list(&mut self, violation: Violation, fails: bool) {
        let list = if fails { &mut self.settled.violations } else { &mut self.settled.notices };
        list.push(violation);
    }

    /// Suppressions that ended, and those that cover nothing.
    fn stale(&mut self) {
        for (at, suppression) in self.policy.suppressions.iter().enumerate() {
            if suppression.expires < self.today {
                self.list(self.expired(suppression), !self.policy.accepts_expired);
            } else if !self.used.contains(&at) {
                self.list(self.unmatched(suppression), self.policy.refuses_unmatched);
            }
        }
    }

    fn expired(&self, suppression: &Suppression) -> Violation {
        let Suppression { rule, workload, owner, expires, reason, .. } = suppression;
        let words = Words {
            title: format!(
                "the suppression of {rule} for {workload} by {owner} expired on {expires}: {reason}"
            ),
            observed: format!("expired on {expires}"),
            limit: "unexpired suppressions".to_owned(),
            steps: vec![
                format!("ask {owner} whether it is still needed"),
                "set a new expiry date, or remove it".to_owned(),
            ],
            ..Words::default()
        };
        self.about(suppression, policy_rule::EXPIRED_SUPPRESSION, Severity::Warning, words)
    }

    fn unmatched(&self, suppression: &Suppression) -> Violation {
        let Suppression { rule, workload, owner, .. } = suppression;
        let words = Words {
            title: format!("the suppression of {rule} for {workload} by {owner} matches nothing"),
            observed: "matches nothing".to_owned(),
            limit: "suppressions in use".to_owned(),
            steps: vec!["remove it, or fix its rule and workload".to_owned()],
            ..Words::default()
        };
        self.about(suppression, policy_rule::UNMATCHED_SUPPRESSION, Severity::Info, words)
    }

    /// A violation by a suppression itself.
    fn about(
        &self,
        suppression: &Suppression,
        rule: &str,
        severity: Severity,
        words: Words,
    ) -> Violation {
        let scope = suppression.workload.to_string();
        Violation {
            fingerprint: format!("{rule}:{}:{scope}", suppression.rule),
            ..words.violation(rule, severity, &scope, place(self.policy, suppression.line))
        }
    }

    fn done(self) -> GateReport {
        let missing_data = self.missing_data.into_iter().map(|(missing_data, rules)| MissingData {
            rules: rules.into_iter().collect(),
            ..missing_data
        });
        GateReport { missing_data: missing_data.collect(), ..self.settled }
    }
}

impl Suppression {
    /// Whether it covers an amount per month, as reports state it; one that is not known may
    /// be any.
    fn holds(&self, monthly: Option<Money>) -> bool {
        self.monthly_limit
            .is_none_or(|most| monthly.is_some_and(|monthly| monthly.rounded().amount() <= most))
    }

    /// What to do where it covers less than a violation is about.
    fn limit_step(&self, violation: &Violation) -> Option<String> {
        let currency = violation.monthly?.currency();
        let most = Money::new(self.monthly_limit?, currency);
        Some(format!(
            "{} accepts up to {most} per month until {}: ask for more with a new \
             `monthly_limit` in the suppression",
            self.owner, self.expires
        ))
    }
}

/// Something that could not be evaluated, as what is accepted is listed.
fn unjudged(missing_data: MissingData, rule: &str, at: &Place) -> Violation {
    let MissingData { place, what, reason, hint, .. } = missing_data;
    let words = Words {
        title: format!("{what} of {place} is missing, {rule} cannot be evaluated: {reason}"),
        observed: format!("no {what}"),
        limit: "required data".to_owned(),
        steps: vec![hint],
        aspect: Some(what.to_string()),
        ..Words::default()
    };
    words.violation(rule, Severity::Info, &place, at.clone())
}

/// Gravest first, then most expensive, unknown last, then by fingerprint.
fn order(violation: &Violation) -> (Reverse<Severity>, Reverse<Option<Decimal>>, String) {
    let monthly = violation.monthly.map(Money::amount);
    (Reverse(violation.severity), Reverse(monthly), violation.fingerprint.clone())
}

#[cfg(test)]
mod tests {
    use super::super::Glob;
    use super::*;
    use jiff::civil::date;

    const TODAY: Date = date(2026, 11, 20);

    fn one(rule: &str, pattern: &str, expires: Date) -> Suppression {
        Suppression {
            rule: rule.to_owned(),
            workload: Glob::new(pattern),
            owner: "ops".to_owned(),
            reason: "known".to_owned(),
            expires,
            monthly_limit: None,
            line: 1,
        }
    }

    /// The places of the suppressions that cover some names, one after the other.
    fn covering(suppressions: Vec<Suppression>, names: &[&str]) -> Vec<Option<usize>> {
        let policy = GatePolicy { suppressions: suppressions.clone(), ..GatePolicy::default() };
        let mut settling = Settling {
            policy: &policy,
            baseline: None,
            today: TODAY,
            names: BTreeMap::new(),
            valid: valid(&policy, TODAY),
            used: BTreeSet::new(),
            seen: BTreeSet::new(),
            missing_data: BTreeMap::new(),
            settled: GateReport::default(),
        };
        let place = |name: &&str| {
            let suppression = settling.suppression("idle-gpu", &[None, Some(name)], None)?;
            suppressions.iter().position(|candidate| *candidate == suppression)
        };
        names.iter().map(place).collect()
    }

    #[test]
    fn the_first_that_covers_a_name_is_found_by_what_it_begins_with() {
        let expired = date(2026, 11, 19);
        let suppressions = vec![
            one("idle-gpu", "modèle-?", expired),
            one("other-rule", "*", TODAY),
            one("idle-gpu", "modèle-a", TODAY),
            one("idle-gpu", "mod*", TODAY),
            one("idle-gpu", "modèle-?", TODAY),
            one("idle-gpu", "*-z", TODAY),
        ];
        let names = ["modèle-a", "modèle-b", "model", "mo", "x-z", "mod-z", ""];
        assert_eq!(
            covering(suppressions, &names),
            [Some(2), Some(3), Some(3), None, Some(5), Some(3), None]
        );
    }

    #[test]
    fn many_suppressions_of_many_names_take_no_product_of_both() {
        // Each name tries the one suppression that begins as it does, of 200,000.
        let names: Vec<String> = (0..200_000).map(|at| format!("w{at:06}")).collect();
        let suppressions = names.iter().map(|name| one("idle-gpu", name, TODAY));
        let policy = GatePolicy { suppressions: suppressions.collect(), ..GatePolicy::default() };
        // And so does each that one ends as.
        let ends = names.iter().map(|name| one("idle-gpu", &format!("*-{name}"), TODAY));
        let ending = GatePolicy { suppressions: ends.collect(), ..GatePolicy::default() };
        for policy in [&policy, &ending] {
            let valid = valid(policy, TODAY);
            assert_eq!(valid.len(), 200_000);
            assert!(valid.values().all(|places| places.len() == 1));
        }
    }
}
