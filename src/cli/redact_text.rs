//! Free text that leaves the house: messages of services and of this program,
//! which quote names, hosts, addresses, accounts and ARNs.

use super::scope::is_region;
use crate::domain::{Estate, Metric};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A shorter name could be any word.
const LEAST_CHARACTERS: usize = 4;

/// Words of this program's own gaps, which a tag may have for its value.
const OWN_WORDS: &[&str] = &[
    "account",
    "addresses",
    "capacity",
    "instance",
    "instances",
    "live",
    "metrics",
    "plans",
    "price",
    "prices",
    "region",
    "regions",
    "reservations",
    "reserved",
    "savings",
    "spot",
    "storage",
    "types",
    "user",
    "volumes",
];

/// What to put in place of what, in text.
#[derive(Debug, Default)]
pub(super) struct TextMasks {
    /// By the original in lower case.
    masks: BTreeMap<String, String>,
    /// Words that stay, in lower case: they name nobody.
    kept: BTreeSet<String>,
}

impl TextMasks {
    /// Masks for an estate whose instances are not masked yet: its types,
    /// regions and metrics are no names.
    pub(super) fn new(estate: &Estate) -> Self {
        let types = estate.instances.iter().map(|one| &one.instance_type);
        let places = estate.instances.iter().flat_map(|one| {
            let zone = one.zone.iter();
            zone.chain([&one.region])
        });
        let names = types
            .chain(places)
            .chain(&estate.regions)
            .map(String::as_str)
            .chain(Metric::ALL.iter().map(|metric| metric.name()))
            .chain(OWN_WORDS.iter().copied());
        Self {
            masks: BTreeMap::new(),
            kept: names.map(str::to_ascii_lowercase).collect(),
        }
    }

    /// Adds originals with their masks.
    pub(super) fn add(&mut self, given: &BTreeMap<String, String>) {
        for (original, mask) in given {
            let original = original.trim();
            if original.chars().count() >= LEAST_CHARACTERS {
                self.masks
                    .insert(original.to_ascii_lowercase(), mask.clone());
            }
        }
    }

    /// A text without ARNs, mail addresses, hosts, addresses, accounts and
    /// whatever has a mask.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        for word in self.known(text).split_inclusive(char::is_whitespace) {
            masked.push_str(&without_identities(word));
        }
        masked
    }

    /// Replaces what has a mask, the longest first at each place. What is kept
    /// is passed over whole, so that no part of it is replaced.
    fn known(&self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let found = starts_word(text, at)
                .then(|| self.longest(&lower, at))
                .flatten();
            match found {
                Some((length, mask)) => {
                    masked.push_str(mask.unwrap_or(&text[at..at + length]));
                    at += length;
                }
                None => {
                    masked.push(next);
                    at += next.len_utf8();
                }
            }
        }
        masked
    }

    /// The longest word that begins at a place, with its mask unless it is
    /// kept. Both texts are in lower case.
    fn longest(&self, text: &str, at: usize) -> Option<(usize, Option<&str>)> {
        if let Some(length) = region_here(text, at) {
            return Some((length, None));
        }
        let is_here = |word: &str| text[at..].starts_with(word) && ends_word(text, at + word.len());
        let kept = self.kept.iter().filter(|word| is_here(word));
        let kept = kept.map(|word| (word.len(), None));
        let masks = self.masks.iter().filter(|(word, _)| is_here(word));
        let masks = masks.map(|(word, mask)| (word.len(), Some(mask.as_str())));
        // Of two that are as long the later one counts: what is kept.
        masks.chain(kept).max_by_key(|(length, _)| *length)
    }
}

/// The length of a region's name that begins at a place.
fn region_here(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
    is_region(word).then_some(word.len())
}

/// Whether a word can begin at a place: the character before belongs to none.
fn starts_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_none_or(|c| !c.is_alphanumeric())
}

fn ends_word(text: &str, at: usize) -> bool {
    let after = text[at..].chars().next();
    after.is_none_or(|c| !c.is_alphanumeric())
}

/// Masks what shows by itself that it names somebody.
fn without_identities(word: &str) -> String {
    if let Some(start) = word.find("arn:") {
        let end = word.trim_end().len().max(start);
        return format!("{}arn:(masked){}", &word[..start], &word[end..]);
    }
    let is_part = |c: char| c.is_alphanumeric() || "-._:@%+".contains(c);
    let mut masked = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (token, after) = from.split_at(end);
        masked.push_str(before);
        masked.push_str(&without_identity(token));
        rest = after;
    }
    masked.push_str(rest);
    masked
}

fn without_identity(token: &str) -> String {
    // Punctuation at the end of a sentence is not part of an address.
    let bare = token.trim_end_matches(['.', ':']);
    let end = &token[bare.len()..];
    let (host, port) = bare
        .rsplit_once(':')
        .filter(|(host, _)| !host.contains(':'))
        .map_or((bare, ""), |(host, _)| (host, &bare[host.len()..]));
    let zone_free = bare.split('%').next().unwrap_or(bare);
    if bare.contains('@') {
        format!("(mail address){end}")
    } else if host.parse::<Ipv4Addr>().is_ok() || is_host_of_address(host) {
        format!("(address){port}{end}")
    } else if zone_free.parse::<Ipv6Addr>().is_ok() {
        format!("(address){end}")
    } else {
        without_accounts(token)
    }
}

/// Whether a host name spells an address, as EC2's do: `ip-10-1-2-3.ec2.internal`.
fn is_host_of_address(host: &str) -> bool {
    let label = host.split('.').next().unwrap_or(host);
    let numbers = label.strip_prefix("ip-").or(label.strip_prefix("ec2-"));
    numbers.is_some_and(|numbers| numbers.replace('-', ".").parse::<Ipv4Addr>().is_ok())
}

/// Masks runs of exactly twelve digits, which is what account numbers are.
fn without_accounts(token: &str) -> String {
    const DIGITS: usize = 12;
    let mut masked = String::with_capacity(token.len());
    let mut rest = token;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let length = from.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = from.split_at(length);
        masked.push_str(before);
        masked.push_str(if length == DIGITS {
            "(account)"
        } else {
            digits
        });
        rest = after;
    }
    masked.push_str(rest);
    masked
}

/// Why an instance last changed its state: EC2's code and the time. The words
/// between may name people.
pub(super) fn state_transition(reason: &str) -> String {
    const BY_USER: &str = "User initiated";
    let first = reason.split_whitespace().next().unwrap_or_default();
    let is_code = first.starts_with("Client.") || first.starts_with("Server.");
    let is_plain = |code: &str| code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    let code = first.trim_end_matches(':');
    let mut kept = if reason.starts_with(BY_USER) {
        BY_USER.to_owned()
    } else if is_code && is_plain(code) {
        code.to_owned()
    } else {
        "(masked)".to_owned()
    };
    if let Some(time) = time_of(reason) {
        kept.push_str(&format!(" ({time} GMT)"));
    }
    kept
}

/// The time in parentheses at the end, such as `2026-10-30 23:55:00`.
fn time_of(reason: &str) -> Option<&str> {
    let (_, time) = reason.trim_end().strip_suffix(" GMT)")?.rsplit_once('(')?;
    jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", time).ok()?;
    Some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::files::parse_estate;

    fn masks() -> TextMasks {
        let text = r#"{"estate_version": "1", "as_of": "2026-11-01T00:00:00Z",
            "regions": ["us-east-1"], "instances": []}"#;
        let mut masks = TextMasks::new(&parse_estate(text.as_bytes()).expect("an estate"));
        masks.add(&BTreeMap::from(
            [
                ("111122223333", "account-1"),
                ("falcon", "value-1"),
                ("falcon-trainers", "name-1"),
                ("east", "value-2"),
                ("metrics", "value-3"),
                ("gpu_utilization", "value-4"),
                ("dev", "value-5"),
                ("Grüße", "value-6"),
            ]
            .map(|(original, mask)| (original.to_owned(), mask.to_owned())),
        ));
        masks
    }

    #[test]
    fn messages_lose_whatever_names_somebody() {
        for (text, masked) in [
            (
                "User: arn:aws:iam::111122223333:user/eve is not allowed in 111122223333",
                "User: arn:(masked) is not allowed in account-1",
            ),
            ("account 444455556666.", "account (account)."),
            (
                "host 52.1.2.3:443, 52.1.2.3.",
                "host (address):443, (address).",
            ),
            (
                "[fe80::1] and 2001:db8::7: no",
                "[(address)] and (address): no",
            ),
            ("at ip-10-1-2-3.ec2.internal.", "at (address)."),
            ("ask eve@example.com", "ask (mail address)"),
            (
                "Falcon-Trainers of falcon; falcons",
                "name-1 of value-1; falcons",
            ),
            ("Grüße an falcon_2", "value-6 an value-1_2"),
        ] {
            assert_eq!(masks().apply(text), masked);
        }
    }

    #[test]
    fn what_names_nobody_stays() {
        for text in [
            "metrics of us-east-1: ec2:DescribeVolumes 12:30:00 version 1.2.3",
            "gpu_utilization of i-0aaa: 4032 points dropped: 3 over 100 %",
            "dev is too short",
        ] {
            assert_eq!(masks().apply(text), text);
        }
        assert_eq!(masks().apply("the east"), "the value-2");
    }

    #[test]
    fn a_change_of_state_keeps_its_code_and_time() {
        for (reason, kept) in [
            (
                "User initiated (2026-10-30 23:55:00 GMT)",
                "User initiated (2026-10-30 23:55:00 GMT)",
            ),
            ("User initiated by bob", "User initiated"),
            (
                "Server.SpotInstanceTermination: for bob (2026-10-30 23:55:00 GMT)",
                "Server.SpotInstanceTermination (2026-10-30 23:55:00 GMT)",
            ),
            ("Client.Bob's: x", "(masked)"),
            ("stopped by bob (bob's GMT)", "(masked)"),
        ] {
            assert_eq!(state_transition(reason), kept);
        }
    }
}
