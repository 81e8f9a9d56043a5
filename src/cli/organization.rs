//! Flags for several accounts in one run.

use super::exit::Failure;
use crate::sources::aws::{DEFAULT_ROLE, Organization, Role};
use clap::Args;

/// Which accounts are read, and through which role.
#[derive(Debug, Args)]
pub(super) struct OrgArgs {
    /// Read every active account of the AWS organization
    #[arg(long, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization")]
    pub org: bool,
    /// Comma-separated account IDs to read, or to select from a recorded estate
    #[arg(
        long,
        value_name = "ID[,ID…]",
        value_delimiter = ',',
        value_parser = account_id,
        help_heading = "AWS organization"
    )]
    pub account: Vec<String>,
    /// Role to assume in each account, by name or ARN [default: GpucostReadOnly]
    #[arg(
        long,
        value_name = "NAME|ARN",
        value_parser = role,
        conflicts_with_all = ["from", "demo"],
        help_heading = "AWS organization"
    )]
    pub role: Option<String>,
    /// External ID that the role requires
    #[arg(
        long,
        value_name = "ID",
        value_parser = external_id,
        conflicts_with_all = ["from", "demo"],
        help_heading = "AWS organization"
    )]
    pub external_id: Option<String>,
    /// Also ask AWS Cost Optimization Hub what it advises
    #[arg(long, conflicts_with_all = ["from", "demo"], help_heading = "AWS")]
    pub aws_opinion: bool,
    /// Apply and recommend commitments for each account on its own
    #[arg(long, help_heading = "AWS organization")]
    pub no_commitment_sharing: bool,
}

impl OrgArgs {
    /// The accounts to read; absent where only the caller's own is.
    pub(super) fn organization(&self) -> Result<Option<Organization>, Failure> {
        if !self.org && self.account.is_empty() {
            let lone =
                [("--role", self.role.is_some()), ("--external-id", self.external_id.is_some())];
            return match lone.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(Failure::input(format!("`{flag}` needs accounts to read"))
                    .with_hint("add `--org`, or `--account ID,ID`")),
                None => Ok(None),
            };
        }
        Ok(Some(Organization {
            is_listed: self.org,
            accounts: self.account.clone(),
            role: named_role(self.role.as_deref()),
            external_id: self.external_id.clone(),
        }))
    }
}

/// The role of a flag, which was checked when it was read.
pub(super) fn named_role(text: Option<&str>) -> Role {
    text.and_then(Role::named).unwrap_or_default()
}

fn account_id(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(text.to_owned())
    } else {
        Err("expected an account ID of 12 digits".to_owned())
    }
}

pub(super) fn role(text: &str) -> Result<String, String> {
    match Role::named(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("expected the name or the ARN of a role, such as {DEFAULT_ROLE}")),
    }
}

/// AWS takes 2 to 1,224 characters of a few kinds.
pub(super) fn external_id(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@:/-_".contains(c);
    if (2..=1_224).contains(&text.len()) && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("expected 2 to 1224 letters, digits and characters of `+=,.@:/-_`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_external_ids_are_those_that_aws_takes() {
        assert_eq!(account_id(" 111122223333"), Ok("111122223333".to_owned()));
        for bad in ["", "11112222333", "1111222233334", "11112222333x"] {
            assert!(account_id(bad).is_err(), "{bad}");
        }
        assert_eq!(external_id("a-1:b/c"), Ok("a-1:b/c".to_owned()));
        for bad in ["", "a", "a b", "ä1"] {
            assert!(external_id(bad).is_err(), "{bad}");
        }
        assert!(external_id(&"x".repeat(1_224)).is_ok());
        assert!(external_id(&"x".repeat(1_225)).is_err());
    }
}
