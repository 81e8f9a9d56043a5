//! What the costs of a bill are grouped by.

use crate::domain::BillLine;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillKey {
    Account,
    Region,
    Service,
    /// The instance type.
    Type,
    /// The value of a tag.
    Tag(String),
}

/// The names of every key but tags.
const NAMES: [(&str, BillKey); 4] = [
    ("account", BillKey::Account),
    ("region", BillKey::Region),
    ("service", BillKey::Service),
    ("type", BillKey::Type),
];

impl BillKey {
    /// Reads a name such as `region` or `tag:team`; `None` for anything else.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(tag) = name.strip_prefix("tag:") {
            return (!tag.is_empty()).then(|| Self::Tag(tag.to_owned()));
        }
        let mut known = NAMES.iter();
        let (_, key) = known.find(|(known, _)| *known == name)?;
        Some(key.clone())
    }

    /// The names that are known, for messages.
    pub fn known_names() -> String {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("{} and tag:NAME", names.join(", "))
    }

    /// The tag that has to be read.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Tag(name) => Some(name),
            _ => None,
        }
    }

    /// Its value for a line; absent where it has none.
    pub(super) fn value(&self, line: &BillLine) -> Option<String> {
        match self {
            Self::Account => line.account.clone(),
            Self::Region => line.region.clone(),
            Self::Service => line.service.clone(),
            Self::Type => line.instance_type.clone(),
            Self::Tag(_) => line.tag.clone(),
        }
    }
}

impl fmt::Display for BillKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Tag(name) = self {
            return write!(f, "tag:{name}");
        }
        let known = NAMES.iter().find(|(_, key)| key == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}
