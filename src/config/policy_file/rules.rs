//! The rules of a policy file.

use super::super::reader::{Reader, did_you_mean};
use super::keys_of;
use crate::analysis::gate::{
    Budget, BudgetBasis, CoverageFloor, Forbidden, GatePolicy, Glob, PriceAgeLimit, RequiredTag,
    Scope, Spelling, UtilizationFloor, WasteLimit, spelled_region, spelled_type,
};
use crate::domain::{Currency, Money, Severity, WorkloadKind};
use crate::rules::{CLUSTER_RULES, COMMITMENT_RULES, RULES};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Ids of every rule that makes findings.
pub(super) fn finding_rules() -> Vec<&'static str> {
    let of_workloads = RULES.iter().map(|rule| rule.meta().id);
    let of_others = COMMITMENT_RULES.into_iter().chain(CLUSTER_RULES);
    of_workloads.chain(of_others).collect()
}

impl Reader<'_> {
    pub(super) fn budget(&mut self, table: &DeTable<'_>, line: usize, policy: &mut GatePolicy) {
        let mut scopes: Vec<(Scope, Range<usize>)> = Vec::new();
        let mut currency = Some(Currency::Usd);
        let mut limit = None;
        let mut stated = false;
        let (mut called, mut basis) = (None, BudgetBasis::RunRate);
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "name" => called = self.string(value),
                "basis" => basis = self.basis(value).unwrap_or_default(),
                "account" | "region" | "tag" => {
                    if let Some(scope) = self.scope(name, value) {
                        scopes.push((scope, key.span()));
                    }
                }
                "currency" => currency = self.currency(value),
                "monthly_limit" => {
                    stated = true;
                    limit = self.decimal(value);
                }
                unknown => self.unknown(key.span(), unknown, keys_of("budget")),
            }
        }
        if let Some((_, span)) = scopes.get(1) {
            let message = "a budget covers one account, one region or one tag; add a \
                           [[budget]] for each";
            self.problem(span.clone(), message.to_owned());
        }
        if !stated {
            self.at(line, "`monthly_limit` is missing from this [[budget]]");
        }
        let scope = scopes
            .into_iter()
            .next()
            .map_or(Scope::Everything, |(scope, _)| scope);
        let (Some(amount), Some(currency)) = (limit, currency) else {
            return;
        };
        let same = policy.budgets.iter().find(|known| {
            known.scope == scope
                && known.monthly_limit.currency() == currency
                && known.basis == basis
        });
        if let Some(known) = same {
            let message = format!(
                "duplicate budget for {scope} in {currency}; the first is on line {}",
                known.line
            );
            self.at(line, &message);
        }
        policy.budgets.push(Budget {
            name: called,
            scope,
            basis,
            monthly_limit: Money::new(amount, currency),
            line,
        });
    }

    /// What a budget is held against.
    fn basis(&mut self, value: &Spanned<DeValue<'_>>) -> Option<BudgetBasis> {
        match self.string(value)?.as_str() {
            "run-rate" => Some(BudgetBasis::RunRate),
            "forecast" => Some(BudgetBasis::Forecast),
            other => {
                let message = format!("`{other}` is not run-rate or forecast");
                self.problem(value.span(), message);
                None
            }
        }
    }

    fn scope(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Scope> {
        let text = self.string(value)?;
        match key {
            "account" => {
                if text.len() != 12 || !text.chars().all(|c| c.is_ascii_digit()) {
                    let message =
                        format!("`{text}` is not an account ID: account IDs have 12 digits");
                    self.problem(value.span(), message);
                }
                Some(Scope::Account(text))
            }
            "region" => {
                if text.contains(['*', '?']) {
                    let message = format!(
                        "`{text}` is a pattern, but a budget covers one region; add a \
                         [[budget]] for each"
                    );
                    self.problem(value.span(), message);
                } else if let Spelling::Wrong(message) = spelled_region(&text) {
                    self.problem(value.span(), message);
                }
                Some(Scope::Region(text))
            }
            _ => {
                let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
                if parts.is_none() {
                    let message = format!("`{text}` is not a tag such as team=ml");
                    self.problem(value.span(), message);
                }
                parts.map(|(key, value)| Scope::Tag {
                    key: key.to_owned(),
                    value: value.to_owned(),
                })
            }
        }
    }

    pub(super) fn waste(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        let mut limits = WasteLimit::default();
        let mut currency = Some(Currency::Usd);
        let mut amount = None;
        for (key, value) in table {
            let line = self.line(&key.span());
            match key.get_ref().as_ref() {
                "monthly_limit" => amount = self.decimal(value).map(|amount| (amount, line)),
                "currency" => currency = self.currency(value),
                "percent_limit" => {
                    if self.number(value, 0.0, 100.0).is_some() {
                        limits.percent = self.decimal(value).map(|percent| (percent, line));
                    }
                }
                unknown => self.unknown(key.span(), unknown, keys_of("waste")),
            }
        }
        limits.monthly = amount
            .zip(currency)
            .map(|((amount, line), currency)| (Money::new(amount, currency), line));
        policy.waste = Some(limits);
    }

    pub(super) fn utilization(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let Some(kind) = WorkloadKind::from_name(name) else {
                self.unknown(key.span(), name, keys_of("utilization"));
                continue;
            };
            if let Some(mean_percent) = self.number(value, 0.0, 100.0) {
                let line = self.line(&key.span());
                let floor = UtilizationFloor { mean_percent, line };
                policy.utilization.insert(kind, floor);
            }
        }
    }

    pub(super) fn coverage(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "minimum_percent" => {
                    let line = self.line(&key.span());
                    policy.coverage = self
                        .number(value, 0.0, 100.0)
                        .map(|percent| CoverageFloor { percent, line });
                }
                unknown => self.unknown(key.span(), unknown, keys_of("coverage")),
            }
        }
    }

    pub(super) fn tags(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "required" => {
                    let keys = self.strings(value);
                    let required = |(key, line)| RequiredTag { key, line };
                    policy.required_tags = keys.into_iter().map(required).collect();
                }
                unknown => self.unknown(key.span(), unknown, keys_of("tags")),
            }
        }
    }

    pub(super) fn allowance(&mut self, table: &DeTable<'_>, denied: bool, policy: &mut GatePolicy) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let allowance = match name {
                "types" => &mut policy.types,
                "regions" => &mut policy.regions,
                unknown => {
                    self.unknown(key.span(), unknown, keys_of("allow"));
                    continue;
                }
            };
            let patterns = self.strings(value);
            let spelled = match name {
                "types" => spelled_type,
                _ => spelled_region,
            };
            for (pattern, line) in &patterns {
                if let Spelling::Wrong(message) = spelled(pattern) {
                    self.at(*line, &message);
                }
            }
            let glob = |(text, line): (String, usize)| (Glob::new(text), line);
            let globs = patterns.into_iter().map(glob).collect();
            if denied {
                allowance.denied = globs;
            } else {
                allowance.allowed = globs;
            }
        }
    }

    pub(super) fn price_age(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "max_age" => {
                    let line = self.line(&key.span());
                    policy.price_age = self
                        .age(value)
                        .map(|max_age| PriceAgeLimit { max_age, line });
                }
                unknown => self.unknown(key.span(), unknown, keys_of("prices")),
            }
        }
    }

    pub(super) fn recording_age(&mut self, table: &DeTable<'_>, policy: &mut GatePolicy) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "max_age" => policy.recording_age = self.age(value),
                unknown => self.unknown(key.span(), unknown, keys_of("recording")),
            }
        }
    }

    pub(super) fn forbid(&mut self, table: &DeTable<'_>, line: usize, policy: &mut GatePolicy) {
        let mut ban = Forbidden {
            rule: None,
            severity: Severity::Info,
            line,
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "rule" => {
                    ban.rule = self.string(value);
                    let known = finding_rules();
                    if let Some(rule) = &ban.rule
                        && !known.contains(&rule.as_str())
                    {
                        let meant = did_you_mean(rule, known.iter().copied());
                        let message =
                            format!("`{rule}` is not a rule{meant}; see docs/rules for all rules");
                        self.problem(value.span(), message);
                    }
                }
                "severity" => {
                    ban.severity = self.severity(value).unwrap_or(Severity::Info);
                }
                unknown => self.unknown(key.span(), unknown, keys_of("forbid")),
            }
        }
        if table.is_empty() {
            self.at(line, "this [[forbid]] has neither a rule nor a severity");
        }
        policy.forbidden.push(ban);
    }
}
