//! `gpucost-policy.toml`: what the gate demands, and what is accepted for a
//! while.

mod choice;
mod rejections;
mod rules;
mod suppressions;

pub use choice::with_choice;

use super::reader::{Problem, Reader};
use super::settings::ConfigError;
use crate::analysis::gate::GatePolicy;
use crate::domain::{Currency, RejectedAction, Severity};
use crate::sources::files::read_written_text;
use jiff::SignedDuration;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file that is read where none is named.
pub const POLICY_FILE: &str = "gpucost-policy.toml";

/// The policy that `gpucost policy init` writes.
pub const STARTING_POLICY: &str = include_str!("starting.toml");

/// Every table of the file with its keys, in the order of the documentation.
pub const POLICY_FILE_KEYS: &[(&str, &[&str])] = &[
    (
        "budget",
        &[
            "account",
            "region",
            "tag",
            "name",
            "basis",
            "monthly_limit",
            "currency",
        ],
    ),
    ("waste", &["monthly_limit", "currency", "percent_limit"]),
    (
        "utilization",
        &[
            "training",
            "serving",
            "batch",
            "evaluation",
            "development",
            "unknown",
        ],
    ),
    ("coverage", &["minimum_percent"]),
    ("tags", &["required"]),
    ("allow", &["types", "regions"]),
    ("deny", &["types", "regions"]),
    ("prices", &["max_age"]),
    ("recording", &["max_age"]),
    ("gaps", &["known"]),
    ("forbid", &["rule", "severity"]),
    (
        "suppress",
        &[
            "rule",
            "workload",
            "owner",
            "reason",
            "expires",
            "monthly_limit",
        ],
    ),
    ("suppressions", &["expired", "unmatched"]),
    ("reject", &["workload", "action", "reason"]),
];

fn keys_of(table: &str) -> &'static [&'static str] {
    POLICY_FILE_KEYS
        .iter()
        .find(|(name, _)| *name == table)
        .map_or(&[], |(_, keys)| keys)
}

/// Reads a policy file; `named` is what reports call it.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once, and when it states no rule.
pub fn read_policy(path: &Path, named: &str) -> Result<GatePolicy, ConfigError> {
    let text = read_written_text(path).map_err(|source| ConfigError::Io {
        path: named.into(),
        source,
    })?;
    parse_policy(&text, named).map_err(|problems| ConfigError::Invalid {
        path: named.into(),
        problems,
    })
}

/// Reads the actions that a policy file rejects, which need not state a rule; `named` is what
/// messages call it.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once.
pub fn read_rejected(path: &Path, named: &str) -> Result<Vec<RejectedAction>, ConfigError> {
    let text = read_written_text(path).map_err(|source| ConfigError::Io {
        path: named.into(),
        source,
    })?;
    parse_rejected(&text).map_err(|problems| ConfigError::Invalid {
        path: named.into(),
        problems,
    })
}

/// Reads the actions that the text of a policy file rejects.
///
/// # Errors
/// With up to a hundred errors, in order of line.
pub fn parse_rejected(text: &str) -> Result<Vec<RejectedAction>, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let policy = reader.gate_policy(table.get_ref());
    Ok(reader.end(policy)?.rejected)
}

/// Reads the text of a policy file; `named` is what reports call it.
///
/// # Errors
/// With up to a hundred errors, in order of line.
pub fn parse_policy(text: &str, named: &str) -> Result<GatePolicy, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let mut policy = reader.gate_policy(table.get_ref());
    policy.file = Some(named.to_owned());
    let policy = reader.end(policy)?;
    if policy.rules() == 0 {
        return Err(vec![Problem {
            line: 1,
            message: "no rule is defined, so everything would pass; run `gpucost policy \
                      init` to create a starter policy"
                .to_owned(),
        }]);
    }
    Ok(policy)
}

impl Reader<'_> {
    fn gate_policy(&mut self, table: &DeTable<'_>) -> GatePolicy {
        let mut policy = GatePolicy::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "budget" => self.each(value, name, |reader, table, line| {
                    reader.budget(table, line, &mut policy);
                }),
                "forbid" => self.each(value, name, |reader, table, line| {
                    reader.forbid(table, line, &mut policy);
                }),
                "suppress" => self.each(value, name, |reader, table, line| {
                    reader.suppress(table, line, &mut policy);
                }),
                "reject" => self.each(value, name, |reader, table, line| {
                    reader.reject(table, line, &mut policy);
                }),
                "waste" => self.one(value, name, |reader, table| {
                    reader.waste(table, &mut policy);
                }),
                "utilization" => self.one(value, name, |reader, table| {
                    reader.utilization(table, &mut policy);
                }),
                "coverage" => self.one(value, name, |reader, table| {
                    reader.coverage(table, &mut policy);
                }),
                "tags" => self.one(value, name, |reader, table| {
                    reader.tags(table, &mut policy);
                }),
                "allow" | "deny" => self.one(value, name, |reader, table| {
                    reader.allowance(table, name == "deny", &mut policy);
                }),
                "prices" => self.one(value, name, |reader, table| {
                    reader.price_age(table, &mut policy);
                }),
                "recording" => self.one(value, name, |reader, table| {
                    reader.recording_age(table, &mut policy);
                }),
                "gaps" => self.one(value, name, |reader, table| {
                    reader.gaps(table, &mut policy);
                }),
                "suppressions" => self.one(value, name, |reader, table| {
                    reader.stale(table, &mut policy);
                }),
                unknown => {
                    let known: Vec<&str> = POLICY_FILE_KEYS.iter().map(|(name, _)| *name).collect();
                    self.unknown(key.span(), unknown, &known);
                }
            }
        }
        policy
    }

    /// A table that is there once.
    fn one(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        name: &str,
        read: impl FnOnce(&mut Self, &DeTable<'_>),
    ) {
        match value.get_ref() {
            DeValue::Table(table) => read(self, table),
            _ => self.problem(value.span(), format!("expected one table [{name}]")),
        }
    }

    /// A table that may be there often; each with the line of its header.
    fn each(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        name: &str,
        mut read: impl FnMut(&mut Self, &DeTable<'_>, usize),
    ) {
        let DeValue::Array(tables) = value.get_ref() else {
            let message = format!("expected tables [[{name}]], in double brackets");
            self.problem(value.span(), message);
            return;
        };
        for one in tables.iter() {
            match one.get_ref() {
                DeValue::Table(table) => {
                    let line = self.line(&one.span());
                    read(self, table, line);
                }
                _ => self.problem(one.span(), format!("expected a table [[{name}]]")),
            }
        }
    }

    /// A list of texts, each with its line.
    fn strings(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(String, usize)> {
        let DeValue::Array(list) = value.get_ref() else {
            self.problem(value.span(), "expected a list of quoted strings".to_owned());
            return Vec::new();
        };
        if list.is_empty() {
            let message = "empty list; add an entry or omit the key";
            self.problem(value.span(), message.to_owned());
        }
        let mut texts = Vec::new();
        for one in list.iter() {
            if let Some(text) = self.string(one) {
                texts.push((text, self.line(&one.span())));
            }
        }
        texts
    }

    /// A currency by its code.
    fn currency(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Currency> {
        let code = self.string(value)?;
        let currency = Currency::from_code(&code);
        if currency.is_none() {
            let message =
                format!("`{code}` is not a supported currency; valid values: USD, CNY, EUR");
            self.problem(value.span(), message);
        }
        currency
    }

    /// A length of time.
    fn age(&mut self, value: &Spanned<DeValue<'_>>) -> Option<SignedDuration> {
        let text = self.string(value)?;
        match super::parse_duration(&text) {
            Ok(age) => Some(age),
            Err(message) => {
                self.problem(value.span(), message);
                None
            }
        }
    }

    /// A severity by its name.
    fn severity(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Severity> {
        let name = self.string(value)?;
        let severity = Severity::from_name(&name);
        if severity.is_none() {
            let message = format!("`{name}` is not info, warning or critical");
            self.problem(value.span(), message);
        }
        severity
    }
}

#[cfg(test)]
mod tests;
