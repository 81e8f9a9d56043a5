//! The role that is assumed in the accounts of an organization.

/// The role that is assumed where no other is named.
pub const DEFAULT_ROLE: &str = "GpucostReadOnly";

/// A role of the same name in every account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its path and name, such as `audit/GpucostReadOnly`.
    name: String,
}

impl Default for Role {
    fn default() -> Self {
        Self { name: DEFAULT_ROLE.to_owned() }
    }
}

impl Role {
    /// A name with or without a path, or an ARN, of which path and name are taken.
    pub fn named(text: &str) -> Option<Self> {
        let name = match text.strip_prefix("arn:") {
            None => text.trim_start_matches('/'),
            Some(rest) => {
                let (_, resource) = rest.split_once(":iam::")?;
                resource.split_once(":role/")?.1
            }
        };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-/".contains(c);
        let is_whole = !name.is_empty() && !name.ends_with('/') && name.len() <= 576;
        (is_whole && name.chars().all(is_of_name)).then(|| Self { name: name.to_owned() })
    }

    /// Its path, which begins and ends with a slash, and its name.
    pub(super) fn path_and_name(&self) -> (String, &str) {
        match self.name.rsplit_once('/') {
            Some((path, name)) => (format!("/{path}/"), name),
            None => ("/".to_owned(), &self.name),
        }
    }

    /// Its ARN in an account, or in all with `*`.
    pub fn arn(&self, partition: &str, account: &str) -> String {
        format!("arn:{partition}:iam::{account}:role/{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_of_every_account_however_it_is_named() {
        let arn = |text| Role::named(text).map(|role| role.arn("aws-cn", "111122223333"));
        for text in ["audit/Reader", "/audit/Reader", "arn:aws:iam::444455556666:role/audit/Reader"]
        {
            let expected = "arn:aws-cn:iam::111122223333:role/audit/Reader";
            assert_eq!(arn(text).as_deref(), Some(expected), "{text}");
        }
        let role = Role::named("audit/Reader").expect("a role");
        assert_eq!(role.path_and_name(), ("/audit/".to_owned(), "Reader"));
        assert_eq!(Role::default().path_and_name().0, "/");
        for bad in ["", "/", "a/", "a b", "arn:aws:iam::1:user/a", "arn:x", "ä"] {
            assert_eq!(arn(bad), None, "{bad}");
        }
    }
}
