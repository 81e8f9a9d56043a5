//! Which masked id stands for a real one.

use super::masks::{Masks, Named};
use crate::domain::ResourceId;
use std::collections::BTreeMap;

/// What divides the names of an id.
const DIVIDERS: [char; 3] = ['/', ':', '@'];

impl Masks {
    /// The mask of an instance's id; absent where it has none.
    pub(in crate::cli) fn of_instance(&self, id: &str) -> Option<&str> {
        self.given.get(&Named::Instance)?.get(id).map(String::as_str)
    }

    /// Masked ids, each with the real one that it stands for.
    pub(in crate::cli) fn revealed(&self, masked: Vec<String>) -> Vec<(String, String)> {
        let mut names: BTreeMap<String, String> = self
            .given
            .values()
            .flatten()
            .map(|(real, mask)| (mask.clone(), real.clone()))
            .collect();
        let native = |id: &str| ResourceId::named(id).native().to_owned();
        let machines = self.given.get(&Named::Instance).into_iter().flatten();
        names.extend(machines.map(|(real, mask)| (native(mask), native(real))));
        let pair = |id: String| {
            let real = reveal(&id, &names);
            (id, real)
        };
        masked.into_iter().map(pair).collect()
    }
}

/// Masks hold no divider, but for those of whole ids, which are taken first.
fn reveal(id: &str, names: &BTreeMap<String, String>) -> String {
    if let Some(real) = names.get(id) {
        return real.clone();
    }
    let Some((end, divider)) = id.char_indices().find(|(_, c)| DIVIDERS.contains(c)) else {
        return id.to_owned();
    };
    let (name, rest) = (&id[..end], &id[end + divider.len_utf8()..]);
    let name = names.get(name).map_or(name, String::as_str);
    format!("{name}{divider}{}", reveal(rest, names))
}
