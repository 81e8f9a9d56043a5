//! The suppressions of a policy file.

use super::super::reader::{Reader, did_you_mean};
use super::keys_of;
use super::rules::finding_rules;
use crate::analysis::gate::{GatePolicy, Glob, Suppression, policy_rule};
use jiff::civil::Date;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Reader<'_> {
    pub(super) fn suppress(&mut self, table: &DeTable<'_>, line: usize, policy: &mut GatePolicy) {
        let (mut rule, mut workload, mut owner, mut reason) = (None, None, None, None);
        let (mut expires, mut monthly_limit) = (None, None);
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "rule" => rule = self.suppressible(value),
                "workload" => workload = self.string(value),
                "owner" => owner = self.string(value),
                "reason" => reason = self.string(value),
                "expires" => expires = self.date(value),
                "monthly_limit" => monthly_limit = self.decimal(value),
                unknown => self.unknown(key.span(), unknown, keys_of("suppress")),
            }
        }
        let named: Vec<&str> = table
            .iter()
            .map(|(key, _)| key.get_ref().as_ref())
            .collect();
        let missing: Vec<String> = keys_of("suppress")
            .iter()
            .filter(|key| **key != "monthly_limit" && !named.contains(*key))
            .map(|key| format!("`{key}`"))
            .collect();
        if !missing.is_empty() {
            let message = format!("incomplete [[suppress]]: missing {}", missing.join(", "));
            self.at(line, &message);
        }
        let (Some(rule), Some(workload), Some(owner), Some(reason), Some(expires)) =
            (rule, workload, owner, reason, expires)
        else {
            return;
        };
        policy.suppressions.push(Suppression {
            rule,
            workload: Glob::new(workload),
            owner,
            reason,
            expires,
            monthly_limit,
            line,
        });
    }

    fn suppressible(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let rule = self.string(value)?;
        let mut known = finding_rules();
        known.extend(policy_rule::SUPPRESSIBLE);
        if known.contains(&rule.as_str()) {
            return Some(rule);
        }
        let meant = did_you_mean(&rule, known.iter().copied());
        let message = format!("`{rule}` is not a rule that can be suppressed{meant}");
        self.problem(value.span(), message);
        None
    }

    /// A day, with quotes or without.
    fn date(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Date> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            _ => self.written(value).to_owned(),
        };
        let is_day = text.len() == "2026-12-31".len();
        let day: Option<Date> = text.parse().ok().filter(|_| is_day);
        if day.is_none() {
            let message = "expected a date such as 2026-12-31".to_owned();
            self.problem(value.span(), message);
        }
        day
    }

    pub(super) fn gaps(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "known" => policy.refuses_known_gaps = self.fails(value) == Some(true),
                unknown => self.unknown(key.span(), unknown, keys_of("gaps")),
            }
        }
    }

    pub(super) fn stale(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "expired" => {
                    policy.accepts_expired = self.fails(value) == Some(false);
                }
                "unmatched" => {
                    policy.refuses_unmatched = self.fails(value) == Some(true);
                }
                unknown => self.unknown(key.span(), unknown, keys_of("suppressions")),
            }
        }
    }

    fn fails(&mut self, value: &Spanned<DeValue<'_>>) -> Option<bool> {
        let word = self.string(value)?;
        match word.as_str() {
            "fail" => Some(true),
            "warn" => Some(false),
            _ => {
                let message = format!("`{word}` is not fail or warn");
                self.problem(value.span(), message);
                None
            }
        }
    }
}
