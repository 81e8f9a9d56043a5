//! Flags for several accounts in one run.

use super::choices::flags;
use super::exit::{Outcome, refusal};
use crate::sources::aws::{DEFAULT_ROLE, Organization, Role};

flags! {
    /// Which accounts are read, and through which role.
    pub(super) struct OrgArgs {
        /// Read every active account of the AWS organization
        org: bool = arg(long, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization");
        /// Comma-separated account IDs to read, or to select from a recorded estate
        account: Vec<String> = arg(long, value_name = "ID[,ID…]", value_delimiter = ',', value_parser = account_id, help_heading = "AWS organization");
        /// Role to assume in each account, by name or ARN [default: GpucostReadOnly]
        role: Option<String> = arg(long, value_name = "NAME|ARN", value_parser = role, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization");
        /// External ID that the role requires
        external_id: Option<String> = arg(long, value_name = "ID", value_parser = external_id, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization");
        /// Also ask AWS Cost Optimization Hub what it advises
        aws_opinion: bool = arg(long, conflicts_with_all = ["from", "demo"], help_heading = "AWS");
        /// Apply and recommend commitments for each account on its own
        no_commitment_sharing: bool = arg(long, help_heading = "AWS organization");
    }
}

impl OrgArgs {
    /// The accounts to read; absent where only the caller's own is.
    pub(super) fn organization(&self) -> Outcome<Option<Organization>> {
        if !self.org && self.account.is_empty() {
            let lone =
                [("--role", self.role.is_some()), ("--external-id", self.external_id.is_some())];
            return match lone.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(refusal!("`{flag}` needs accounts to read";
                    "add `--org`, or `--account ID,ID`")),
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
    let is_id = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then(|| text.to_owned()).ok_or_else(|| "expected an account ID of 12 digits".to_owned())
}

pub(super) fn role(text: &str) -> Result<String, String> {
    Role::named(text)
        .map(|_| text.to_owned())
        .ok_or_else(|| format!("expected the name or the ARN of a role, such as {DEFAULT_ROLE}"))
}

/// AWS takes 2 to 1,224 characters of a few kinds.
pub(super) fn external_id(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@:/-_".contains(c);
    let is_id = (2..=1_224).contains(&text.len()) && text.chars().all(is_plain);
    is_id.then(|| text.to_owned()).ok_or_else(|| {
        "expected 2 to 1224 letters, digits and characters of `+=,.@:/-_`".to_owned()
    })
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
