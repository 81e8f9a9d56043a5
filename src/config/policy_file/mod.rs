//! `gpucost-policy.toml`: what the gate demands, and what is accepted for a
//! while.

mod choice;
mod tables;

pub use choice::with_choice;

use super::keys::object;
use super::reader::{Problem, Reader};
use super::settings::ConfigError;
use crate::analysis::gate::GatePolicy;
use crate::domain::RejectedAction;
use crate::sources::files::read_written_text;
use serde_json::Value as Json;
use std::path::Path;
use tables::POLICY;

/// The file that is read where none is named.
pub const POLICY_FILE: &str = "gpucost-policy.toml";

/// The policy that `gpucost check init` writes.
pub const STARTING_POLICY: &str = include_str!("starting.toml");

/// The JSON schema of a policy file.
pub fn policy_schema() -> Json {
    object(POLICY)
}

/// Reads a policy file; `named` is what reports call it.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once, and when it states no rule.
pub fn read_policy(path: &Path, named: &str) -> Result<GatePolicy, ConfigError> {
    let text =
        read_written_text(path).map_err(|source| ConfigError::Io { path: named.into(), source })?;
    parse_policy(&text, named)
        .map_err(|problems| ConfigError::Invalid { path: named.into(), problems })
}

/// Reads the actions that a policy file rejects, which need not state a rule; `named` is what
/// messages call it.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once.
pub fn read_rejected(path: &Path, named: &str) -> Result<Vec<RejectedAction>, ConfigError> {
    let text =
        read_written_text(path).map_err(|source| ConfigError::Io { path: named.into(), source })?;
    parse_rejected(&text).map_err(|problems| ConfigError::Invalid { path: named.into(), problems })
}

/// Reads the actions that the text of a policy file rejects.
///
/// # Errors
/// With up to a hundred errors, in order of line.
pub fn parse_rejected(text: &str) -> Result<Vec<RejectedAction>, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let policy = reader.read(table.get_ref(), 1, "policy", POLICY);
    Ok(reader.end(policy)?.unwrap_or_default().rejected)
}

/// Reads the text of a policy file; `named` is what reports call it.
///
/// # Errors
/// With up to a hundred errors, in order of line.
pub fn parse_policy(text: &str, named: &str) -> Result<GatePolicy, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let policy = reader.read(table.get_ref(), 1, "policy", POLICY);
    let policy =
        GatePolicy { file: Some(named.to_owned()), ..reader.end(policy)?.unwrap_or_default() };
    if policy.rules() == 0 {
        return Err(vec![Problem {
            line: 1,
            message: "no rule is defined, so everything would pass; run `gpucost check \
                      init` to create a starter policy"
                .to_owned(),
        }]);
    }
    Ok(policy)
}

#[cfg(test)]
mod tests;
