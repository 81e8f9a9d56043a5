//! `--group-by`.

use super::exit::Failure;
use crate::analysis::{ClaimKey, GroupKey, GroupingKeys};

/// The keys that were asked for, in their order; none unless the flag was given.
pub(super) fn keys(names: &[String]) -> Result<Option<GroupingKeys>, Failure> {
    let (mut of_workloads, mut of_claims) = (Vec::new(), Vec::new());
    for name in names.iter().flat_map(|names| names.split(',')) {
        let name = name.trim();
        let is_new = match (GroupKey::from_name(name), ClaimKey::from_name(name)) {
            (Some(key), _) => add(&mut of_workloads, key),
            (None, Some(key)) => add(&mut of_claims, key),
            (None, None) => {
                return Err(Failure::input(format!(
                    "`{name}` is not a valid key for `--group-by`"
                ))
                .with_hint(format!("valid values: {}", known())));
            }
        };
        if !is_new {
            return Err(Failure::input(format!("`--group-by` lists `{name}` twice"))
                .with_hint("list each key once"));
        }
    }
    if let (Some(of_workload), Some(of_claim)) = (of_workloads.first(), of_claims.first()) {
        return Err(Failure::input(format!(
            "`--group-by` cannot combine `{of_workload}` with `{of_claim}`"
        ))
        .with_hint(format!("use keys of one kind: {}", known())));
    }
    Ok(match (of_workloads.is_empty(), of_claims.is_empty()) {
        (true, true) => None,
        (false, _) => Some(GroupingKeys::Workloads(of_workloads)),
        (true, false) => Some(GroupingKeys::Claims(of_claims)),
    })
}

/// Both sorts of keys.
fn known() -> String {
    format!(
        "{} (workloads), or {} (pods on Kubernetes nodes)",
        GroupKey::known_names(),
        ClaimKey::known_names()
    )
}

/// Adds a key; whether it is new.
fn add<K: PartialEq>(keys: &mut Vec<K>, key: K) -> bool {
    let is_new = !keys.contains(&key);
    if is_new {
        keys.push(key);
    }
    is_new
}
