//! From what was judged to what fails: suppressions first, then the baseline.

use super::baseline::{Baseline, Past};
use super::judged::{Candidate, Judged, place};
use super::{
    BaselineState, BaselineUse, Check, CheckOutcome, GateOutcome, GatePolicy, GateReport, Lack,
    Place, Suppressed, Suppression, Violation, order, policy_rule, sort,
};
use crate::domain::Severity;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a report lists.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) checks: Vec<Check>,
    pub(super) violations: Vec<Violation>,
    pub(super) notices: Vec<Violation>,
    pub(super) suppressed: Vec<Suppressed>,
    pub(super) lacks: Vec<Lack>,
    pub(super) baseline: Option<BaselineUse>,
}

impl Settled {
    /// The report, in order; `is_nothing` tells that there was nothing to judge.
    pub(super) fn report(mut self, policy: &GatePolicy, is_nothing: bool) -> GateReport {
        sort(&mut self.violations);
        sort(&mut self.notices);
        self.suppressed
            .sort_by_cached_key(|one| order(&one.violation));
        let outcome = if !self.violations.is_empty() {
            GateOutcome::Violated
        } else if !self.lacks.is_empty() {
            GateOutcome::Incomplete
        } else if is_nothing {
            GateOutcome::Nothing
        } else {
            GateOutcome::Clean
        };
        GateReport {
            outcome,
            policy_file: policy.file.clone(),
            checks: self.checks,
            violations: self.violations,
            notices: self.notices,
            suppressed: self.suppressed,
            lacks: self.lacks,
            baseline: self.baseline,
        }
    }
}

/// Applies suppressions and an earlier audit. `names` are those of workloads by id, by
/// which a suppression may call what lacks data.
pub(super) fn settle(
    judged: Vec<Judged>,
    policy: &GatePolicy,
    baseline: Option<&Baseline>,
    as_of: Timestamp,
    names: BTreeMap<String, String>,
) -> Settled {
    let today = as_of.to_zoned(TimeZone::UTC).date();
    let mut settling = Settling {
        policy,
        baseline,
        today,
        names,
        used: BTreeSet::new(),
        seen: BTreeSet::new(),
        lacks: BTreeMap::new(),
        settled: Settled {
            baseline: baseline.map(|baseline| BaselineUse {
                file: baseline.file.clone(),
                cautions: baseline.cautions.clone(),
                known: 0,
                worse: 0,
                new: 0,
                gone: 0,
            }),
            ..Settled::default()
        },
    };
    for one in judged {
        settling.rule(one);
    }
    settling.stale();
    settling.done()
}

struct Settling<'a> {
    policy: &'a GatePolicy,
    baseline: Option<&'a Baseline>,
    today: Date,
    names: BTreeMap<String, String>,
    /// Suppressions that covered something, by their place in the policy.
    used: BTreeSet<usize>,
    /// Fingerprints so far: two bans on one finding are one matter.
    seen: BTreeSet<String>,
    lacks: BTreeMap<(String, String, String, String), BTreeSet<String>>,
    settled: Settled,
}

impl Settling<'_> {
    fn rule(&mut self, judged: Judged) {
        let Judged {
            mut check,
            violations,
            lacks,
        } = judged;
        let mut accepted = false;
        let mut fails = false;
        for candidate in violations {
            let failed = self.candidate(candidate);
            fails |= failed;
            accepted |= !failed;
        }
        let mut lacking = false;
        for lack in lacks {
            let accepted_lack = self.lack(lack, &check.place);
            lacking |= !accepted_lack;
            accepted |= accepted_lack;
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
        let Candidate {
            mut violation,
            name,
            past,
        } = candidate;
        if self.settled.baseline.is_some() {
            violation.baseline_state = past.state();
        }
        let is_first = self.seen.insert(violation.fingerprint.clone());
        let names = [Some(violation.scope.as_str()), name.as_deref()];
        if let Some(by) = self.suppression(&violation.rule, &names) {
            if is_first {
                self.settled.suppressed.push(Suppressed { violation, by });
            }
            return false;
        }
        if is_first && let Some(used) = &mut self.settled.baseline {
            match past {
                Past::New => used.new += 1,
                Past::Known => used.known += 1,
                Past::Worse => used.worse += 1,
                Past::Uncompared => {}
            }
        }
        let fails = past != Past::Known;
        if is_first {
            let list = if fails {
                &mut self.settled.violations
            } else {
                &mut self.settled.notices
            };
            list.push(violation);
        }
        fails
    }

    /// Whether something that could not be judged is accepted: somebody answers for it, or
    /// the policy accepts what the baseline could not see either.
    fn lack(&mut self, lack: Lack, at: &Place) -> bool {
        let rule = lack.rules.first().map_or("", String::as_str).to_owned();
        let name = self.names.get(&lack.place).cloned();
        let by = self.suppression(&rule, &[Some(lack.place.as_str()), name.as_deref()]);
        let known = self.baseline.filter(|_| self.policy.accepts_known_gaps);
        let is_known = known.is_some_and(|known| known.lacked(&lack.what, &lack.place));
        if by.is_none() && !is_known {
            let key = (lack.place, lack.what, lack.reason, lack.hint);
            self.lacks.entry(key).or_default().insert(rule);
            return false;
        }
        let mut violation = unjudged(lack, rule, at);
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

    /// The suppression that covers a rule under any of some names today.
    fn suppression(&mut self, rule: &str, names: &[Option<&str>]) -> Option<Suppression> {
        let covers = |one: &Suppression| {
            one.rule == rule
                && one.expires >= self.today
                && names
                    .iter()
                    .flatten()
                    .any(|name| one.workload.matches(name))
        };
        let at = self.policy.suppressions.iter().position(covers)?;
        self.used.insert(at);
        Some(self.policy.suppressions[at].clone())
    }

    /// Suppressions that ended, and those that cover nothing.
    fn stale(&mut self) {
        for (at, one) in self.policy.suppressions.iter().enumerate() {
            if one.expires < self.today {
                let violation = self.expired(one);
                if self.policy.accepts_expired {
                    self.settled.notices.push(violation);
                } else {
                    self.settled.violations.push(violation);
                }
            } else if !self.used.contains(&at) {
                let violation = self.unmatched(one);
                if self.policy.refuses_unmatched {
                    self.settled.violations.push(violation);
                } else {
                    self.settled.notices.push(violation);
                }
            }
        }
    }

    fn expired(&self, one: &Suppression) -> Violation {
        Violation {
            rule: policy_rule::EXPIRED_SUPPRESSION.to_owned(),
            severity: Severity::Warning,
            scope: one.workload.to_string(),
            workload: None,
            title: format!(
                "the suppression of {} for {} by {} ended on {}: {}",
                one.rule, one.workload, one.owner, one.expires, one.reason
            ),
            observed: format!("ended on {}", one.expires),
            limit: "suppressions that still hold".to_owned(),
            monthly: None,
            place: place(self.policy, one.line),
            fingerprint: format!(
                "{}:{}:{}",
                policy_rule::EXPIRED_SUPPRESSION,
                one.rule,
                one.workload
            ),
            steps: vec![
                format!("ask {} whether it is still meant", one.owner),
                "give it a new day, or remove it".to_owned(),
            ],
            baseline_state: None,
            before: None,
        }
    }

    fn unmatched(&self, one: &Suppression) -> Violation {
        Violation {
            rule: policy_rule::UNMATCHED_SUPPRESSION.to_owned(),
            severity: Severity::Info,
            scope: one.workload.to_string(),
            workload: None,
            title: format!(
                "the suppression of {} for {} by {} matches nothing",
                one.rule, one.workload, one.owner
            ),
            observed: "matches nothing".to_owned(),
            limit: "suppressions that are needed".to_owned(),
            monthly: None,
            place: place(self.policy, one.line),
            fingerprint: format!(
                "{}:{}:{}",
                policy_rule::UNMATCHED_SUPPRESSION,
                one.rule,
                one.workload
            ),
            steps: vec!["remove it, or mend its rule and workload".to_owned()],
            baseline_state: None,
            before: None,
        }
    }

    fn done(self) -> Settled {
        let mut settled = self.settled;
        settled.lacks = self
            .lacks
            .into_iter()
            .map(|((place, what, reason, hint), rules)| Lack {
                place,
                what,
                reason,
                hint,
                rules: rules.into_iter().collect(),
            })
            .collect();
        settled
    }
}

/// Something that could not be judged, as what is accepted is listed.
fn unjudged(lack: Lack, rule: String, at: &Place) -> Violation {
    Violation {
        title: format!(
            "{} of {} is missing, so that {rule} cannot be judged: {}",
            lack.what, lack.place, lack.reason
        ),
        fingerprint: format!("{rule}:{}:{}", lack.place, lack.what),
        rule,
        severity: Severity::Info,
        scope: lack.place,
        workload: None,
        observed: format!("no {}", lack.what),
        limit: "data to judge by".to_owned(),
        monthly: None,
        place: at.clone(),
        steps: vec![lack.hint],
        baseline_state: None,
        before: None,
    }
}
