//! `--group-by`.

use super::exit::Failure;
use crate::analysis::GroupKey;

/// The keys that were asked for, in their order; none unless the flag was given.
pub(super) fn keys(names: &[String]) -> Result<Vec<GroupKey>, Failure> {
    let mut keys: Vec<GroupKey> = Vec::new();
    for name in names.iter().flat_map(|names| names.split(',')) {
        let name = name.trim();
        let key = GroupKey::from_name(name).ok_or_else(|| {
            Failure::input(format!("`{name}` is not a valid key for `--group-by`"))
                .with_hint(format!("valid values: {}", GroupKey::known_names()))
        })?;
        if keys.contains(&key) {
            return Err(Failure::input(format!("`--group-by` lists `{name}` twice"))
                .with_hint("list each key once"));
        }
        keys.push(key);
    }
    Ok(keys)
}
