//! `--redact`: an estate that can leave the house. Masks come in order of first
//! sight, so the same estate gives the same masks, and what belonged together
//! still does.

use crate::analysis::{is_vocabulary, kind_of_name};
use crate::domain::Estate;
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

/// Masks accounts, names, tag values, host names, addresses and ARNs.
pub(super) fn redact(estate: &mut Estate) {
    let mut accounts = Masks::new("account");
    let mut names = Masks::new("name");
    let mut values = Masks::new("value");
    let mut hosts = Masks::new("host");
    let mut addresses = Masks::new("address");
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
        for (key, value) in &mut instance.tags {
            match key.as_str() {
                "Name" | "gpucost:workload" | "aws:autoscaling:groupName" => names.mask_name(value),
                key if is_vocabulary(key, value) => {}
                _ => values.mask(value),
            }
        }
        for address in &mut instance.addresses {
            addresses.mask(&mut address.id);
        }
    }
    for gap in &mut estate.gaps {
        for text in [
            &mut gap.what,
            &mut gap.place,
            &mut gap.reason,
            &mut gap.hint,
        ] {
            *text = without_identities(text, &accounts.given, &hosts.given);
        }
    }
}

/// Error messages quote ARNs, account numbers and host names.
fn without_identities(
    text: &str,
    accounts: &BTreeMap<String, String>,
    hosts: &BTreeMap<String, String>,
) -> String {
    let mut masked = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        match word.find("arn:") {
            Some(start) => {
                let end = word.trim_end().len();
                masked.push_str(&word[..start]);
                masked.push_str("arn:(masked)");
                masked.push_str(&word[end.max(start)..]);
            }
            None => masked.push_str(&without_accounts(word, accounts)),
        }
    }
    // Full names only: a short one could be part of any word.
    for (host, mask) in hosts.iter().filter(|(host, _)| host.contains('.')) {
        masked = masked.replace(host.as_str(), mask);
    }
    masked
}

/// Masks runs of exactly twelve digits, which is what account numbers are.
fn without_accounts(word: &str, accounts: &BTreeMap<String, String>) -> String {
    let mut masked = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let length = from.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = from.split_at(length);
        masked.push_str(before);
        masked.push_str(match accounts.get(digits) {
            Some(mask) if length == 12 => mask,
            None if length == 12 => "(account)",
            _ => digits,
        });
        rest = after;
    }
    masked.push_str(rest);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_arns_accounts_and_hosts() {
        let accounts = BTreeMap::from([("111122223333".to_owned(), "account-1".to_owned())]);
        let text = "User: arn:aws:iam::111122223333:user/eve is not allowed in 111122223333";
        assert_eq!(
            without_identities(text, &accounts, &BTreeMap::new()),
            "User: arn:(masked) is not allowed in account-1"
        );
    }

    #[test]
    fn the_same_name_gets_the_same_mask() {
        let mut masks = Masks::new("name");
        let mut texts = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        texts.iter_mut().for_each(|text| masks.mask(text));
        assert_eq!(texts, ["name-1", "name-2", "name-1"]);
    }
}
