//! What tags declare.

use std::collections::BTreeMap;

/// Tags that declare that a workload may be interrupted and restarted, by precedence;
/// compared without regard to case.
const RESTARTABLE_TAGS: &[&str] = &[
    "gpucost:restartable",
    "restartable",
    "interruptible",
    "spot-eligible",
];

/// Words for yes and for no.
const YES: &[&str] = &["true", "yes", "1"];
const NO: &[&str] = &["false", "no", "0"];

fn says(value: &str, words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| value.trim().eq_ignore_ascii_case(word))
}

/// The trimmed value of the first of some keys that a tag has; keys are compared
/// without regard to case.
pub(crate) fn tag_value<'a>(tags: &'a BTreeMap<String, String>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|name| {
        tags.iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    })
}

/// Whether a tag says that something may be interrupted and restarted, or that it may
/// not.
pub(crate) fn says_restartable(key: &str, value: &str) -> bool {
    let is_known = RESTARTABLE_TAGS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(key));
    is_known && (says(value, YES) || says(value, NO))
}

/// Whether a tag declares that it may be interrupted and restarted.
pub fn is_restartable(tags: &BTreeMap<String, String>) -> bool {
    tag_value(tags, RESTARTABLE_TAGS).is_some_and(|value| says(value, YES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn restartable_must_be_said_and_be_true() {
        assert!(is_restartable(&tags(&[("gpucost:restartable", "true")])));
        assert!(!is_restartable(&tags(&[("gpucost:restartable", "false")])));
        assert!(!is_restartable(&tags(&[("kind", "training")])));
    }
}
