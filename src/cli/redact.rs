//! `--redact`: an estate that can leave the house. Masks come in order of first
//! sight, so the same estate gives the same masks, and what belonged together
//! still does.

use super::redact_text::{TextMasks, state_transition};
use crate::analysis::{is_vocabulary, kind_of_name};
use crate::domain::Estate;
use crate::profiling::mask_profile_gap;
use std::collections::BTreeMap;

/// Hands out masks such as `name-1`.
struct Masks {
    prefix: &'static str,
    given: BTreeMap<String, String>,
}

impl Masks {
    fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            given: BTreeMap::new(),
        }
    }

    fn mask(&mut self, text: &mut String) {
        self.mask_as(self.prefix, text);
    }

    fn mask_as(&mut self, prefix: &str, text: &mut String) {
        let next = self.given.len() + 1;
        let mask = self
            .given
            .entry(text.clone())
            .or_insert_with(|| format!("{prefix}-{next}"));
        text.clone_from(mask);
    }

    /// A name keeps the kind that it suggests, so that verdicts stay the same.
    fn mask_name(&mut self, text: &mut String) {
        let prefix = kind_of_name(text).map_or(self.prefix, |kind| kind.name());
        self.mask_as(prefix, text);
    }
}

/// Masks accounts, names, tag values, host names, addresses, commitments and
/// ARNs.
pub(super) fn redact(estate: &mut Estate) {
    let mut accounts = Masks::new("account");
    let mut names = Masks::new("name");
    let mut values = Masks::new("value");
    let mut hosts = Masks::new("host");
    let mut addresses = Masks::new("address");
    let mut commitments = Masks::new("commitment");
    let mut texts = TextMasks::new(estate);
    for account in &mut estate.accounts {
        accounts.mask(account);
    }
    for instance in &mut estate.instances {
        accounts.mask(&mut instance.account);
        if let Some(host) = &mut instance.private_dns_name {
            hosts.mask(host);
        }
        if let Some(group) = &mut instance.auto_scaling_group {
            names.mask_name(group);
        }
        if let Some(reason) = &mut instance.state_transition_reason {
            *reason = state_transition(reason);
        }
        for (key, value) in &mut instance.tags {
            match key.as_str() {
                "Name" | "gpucost:workload" | "aws:autoscaling:groupName" => names.mask_name(value),
                key if is_vocabulary(key, value) => {}
                _ => values.mask(value),
            }
        }
        if let Some(id) = &mut instance.capacity_reservation_id {
            commitments.mask(id);
        }
        for address in &mut instance.addresses {
            addresses.mask(&mut address.id);
        }
    }
    for instance in &mut estate.out_of_scope {
        accounts.mask(&mut instance.account);
    }
    for id in estate.commitments.ids_mut() {
        commitments.mask(id);
    }
    for masks in [&accounts, &names, &values, &hosts, &addresses, &commitments] {
        texts.add(&masks.given);
    }
    texts.add(&labels(&hosts.given));
    for gap in &mut estate.gaps {
        mask_profile_gap(gap);
        for text in [
            &mut gap.what,
            &mut gap.place,
            &mut gap.reason,
            &mut gap.hint,
        ] {
            *text = texts.apply(text);
        }
    }
}

/// Host names without their domain, by which messages call them too.
fn labels(hosts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    hosts
        .iter()
        .filter_map(|(host, mask)| Some((host.split('.').next()?.to_owned(), mask.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_gets_the_same_mask() {
        let mut masks = Masks::new("name");
        let mut texts = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        texts.iter_mut().for_each(|text| masks.mask(text));
        assert_eq!(texts, ["name-1", "name-2", "name-1"]);
    }
}
