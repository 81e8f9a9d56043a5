//! What tags declare.

use std::collections::BTreeMap;

/// Tag that declares whether a workload may be interrupted and restarted.
pub const RESTARTABLE_TAG: &str = "gpucost:restartable";
/// Tags that declare that a workload may be interrupted and restarted, by precedence;
/// compared without regard to case.
const RESTARTABLE_TAGS: &[&str] =
    &[RESTARTABLE_TAG, "restartable", "interruptible", "spot-eligible"];

/// Tags whose value is the owner of a workload, the first that is there, in any case. Pods
/// belong to their namespace.
pub const OWNER_TAGS: [&str; 2] = ["team", "owner"];

/// Words for yes and for no.
const YES: &[&str] = &["true", "yes", "1"];
const NO: &[&str] = &["false", "no", "0"];

fn says(value: &str, words: &[&str]) -> bool {
    words.iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

/// The trimmed value of the first of some keys that a tag has; keys are compared
/// without regard to case.
pub fn tag_value<'a>(tags: &'a BTreeMap<String, String>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|name| {
        tags.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    })
}

/// A size such as `18GiB`, `18GB` or `18432MiB` in MiB; `None` of anything else.
pub fn size_mib(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = lower.split_at(lower.find(|c: char| c.is_ascii_alphabetic())?);
    let mib = match unit {
        "mib" | "mb" => 1.0,
        "gib" | "gb" => 1024.0,
        "tib" | "tb" => 1024.0 * 1024.0,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * mib)
}

/// Whether a tag says that something may be interrupted and restarted, or that it may
/// not.
pub fn says_restartable(key: &str, value: &str) -> bool {
    let is_known = RESTARTABLE_TAGS.iter().any(|known| known.eq_ignore_ascii_case(key));
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
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn restartable_must_be_said_and_be_true() {
        assert!(is_restartable(&tags(&[("gpucost:restartable", "true")])));
        assert!(!is_restartable(&tags(&[("gpucost:restartable", "false")])));
        assert!(!is_restartable(&tags(&[("kind", "training")])));
    }
}
