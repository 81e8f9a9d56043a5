//! What a workload does: declared by a tag, or guessed from names.

use crate::catalog::time_zone;
use crate::domain::{
    GPUS_TAG, GapSubject, INDEPENDENT, Instance, KindBasis, LINKED, Until, VRAM_TAG, WorkloadKind,
    says_production, says_restartable, size_mib, tag_value,
};
use crate::savings::{
    DOUBLE_PRECISION, INTERCHANGEABLE, PRECISION_TAG, REPLICAS_TAG, TIME_ZONE_TAG,
};
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeMap;

/// Tags that declare the kind, by precedence; compared without regard to case.
const KIND_TAGS: &[&str] = &[
    "gpucost:kind",
    "workload-kind",
    "workload-type",
    "workload_type",
    "workloadtype",
    "job-type",
];

/// The tag that takes a workload out of advice; its value is the reason.
pub(super) const IGNORE_TAG: &str = "gpucost:ignore";

/// The tag that says on which day an instance stops running for good.
const UNTIL_TAG: &str = "gpucost:until";

/// Words that stand for a kind, as tag values and in names.
const WORDS: &[(WorkloadKind, &[&str])] = &[
    (
        WorkloadKind::Training,
        &[
            "training",
            "train",
            "trainer",
            "finetune",
            "finetuning",
            "pretrain",
            "pretraining",
        ],
    ),
    (
        WorkloadKind::Serving,
        &[
            "serving",
            "serve",
            "inference",
            "infer",
            "endpoint",
            "online",
        ],
    ),
    (
        WorkloadKind::Batch,
        &["batch", "offline", "embedding", "etl"],
    ),
    (
        WorkloadKind::Evaluation,
        &["evaluation", "eval", "evals", "benchmark", "bench"],
    ),
    (
        WorkloadKind::Development,
        &[
            "development",
            "dev",
            "notebook",
            "jupyter",
            "sandbox",
            "research",
        ],
    ),
];

fn kind_of_word(word: &str) -> Option<WorkloadKind> {
    WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
        .map(|(kind, _)| *kind)
}

fn says_how_gpus_work(value: &str) -> bool {
    let mut known = [INDEPENDENT, LINKED].into_iter();
    known.any(|one| one.eq_ignore_ascii_case(value.trim()))
}

fn last_day(value: &str) -> Option<Date> {
    value.trim().parse().ok()
}

/// Until when an instance runs, by its tag. What is not a date says nothing.
pub(super) fn until(tags: &BTreeMap<String, String>, as_of: Timestamp) -> Option<Until> {
    let date = last_day(tag_value(tags, &[UNTIL_TAG])?)?;
    Some(Until::of(date, as_of))
}

/// Tags of instances with a value that cannot be read, each with what that leaves open.
pub(super) fn unreadable(instances: &[&Instance]) -> Vec<(GapSubject, &'static str)> {
    let is_date: fn(&str) -> bool = |value| last_day(value).is_some();
    let is_size: fn(&str) -> bool = |value| size_mib(value).is_some_and(|mib| mib > 0.0);
    let is_link: fn(&str) -> bool = says_how_gpus_work;
    let tags = [
        (GapSubject::Commitments, UNTIL_TAG, is_date),
        (GapSubject::UtilizationPerGpu, GPUS_TAG, is_link),
        (GapSubject::VramUse, VRAM_TAG, is_size),
    ];
    let mut found = Vec::new();
    for (subject, tag, is_readable) in tags {
        let values = instances.iter();
        let mut values = values.filter_map(|one| tag_value(&one.tags, &[tag]));
        if values.any(|value| !is_readable(value)) {
            found.push((subject, tag));
        }
    }
    found
}

/// Whether a tag is vocabulary of this program and not a name: a word for a
/// kind, a yes or no, a day, or a time zone.
pub fn is_vocabulary(key: &str, value: &str) -> bool {
    let among = |keys: &[&str]| keys.iter().any(|known| known.eq_ignore_ascii_case(key));
    let is = |known: &&str| known.eq_ignore_ascii_case(value.trim());
    (among(KIND_TAGS) && kind_of_value(value).is_some())
        || says_restartable(key, value)
        || (among(&[TIME_ZONE_TAG]) && time_zone(value).is_some())
        || (among(&[PRECISION_TAG]) && is(&DOUBLE_PRECISION))
        || (among(&[VRAM_TAG]) && size_mib(value).is_some())
        || (among(&[REPLICAS_TAG]) && is(&INTERCHANGEABLE))
        || (among(&[GPUS_TAG]) && says_how_gpus_work(value))
        || (among(&[UNTIL_TAG]) && last_day(value).is_some())
        || says_production(key, value)
}

pub fn kind_of_name(name: &str) -> Option<WorkloadKind> {
    name.split(|c: char| !c.is_ascii_alphabetic())
        .find_map(kind_of_word)
}

fn kind_of_value(value: &str) -> Option<WorkloadKind> {
    kind_of_word(&value.trim().replace(['-', '_', ' '], ""))
}

/// The kind of a workload from its tags, else from its names.
pub(super) fn kind(tags: &BTreeMap<String, String>, names: &[&str]) -> (WorkloadKind, KindBasis) {
    if let Some(kind) = tag_value(tags, KIND_TAGS).and_then(kind_of_value) {
        return (kind, KindBasis::Declared);
    }
    names
        .iter()
        .find_map(|name| kind_of_name(name))
        .map_or((WorkloadKind::Unknown, KindBasis::Unknown), |kind| {
            (kind, KindBasis::Guessed)
        })
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
    fn a_tag_declares_and_a_name_only_suggests() {
        assert_eq!(
            kind(&tags(&[("Workload-Type", "Fine-Tuning")]), &["serving-1"]),
            (WorkloadKind::Training, KindBasis::Declared)
        );
        assert_eq!(
            kind(&tags(&[]), &["llm-serving-7"]),
            (WorkloadKind::Serving, KindBasis::Guessed)
        );
        assert_eq!(
            kind(&tags(&[]), &["node-7"]),
            (WorkloadKind::Unknown, KindBasis::Unknown)
        );
    }

    #[test]
    fn a_term_ends_by_the_last_day_or_is_too_long() {
        // 8,760 hours after noon of 2026-11-01 are noon of 2027-11-01.
        let as_of: Timestamp = "2026-11-01T12:00:00Z".parse().expect("a time");
        let years = |day: &str| {
            let found = until(&tags(&[("gpucost:until", day)]), as_of)?;
            Some(found.years)
        };
        assert_eq!(years("2027-11-01"), Some(1));
        assert_eq!(years("2027-10-31"), Some(0));
        // Of three years one is a leap year: 26,280 hours end on 2029-10-31.
        assert_eq!(years("2029-10-31"), Some(3));
        assert_eq!(years("2029-10-30"), Some(2));
        assert_eq!(years("2019-01-01"), Some(0));
        assert_eq!(years("summer"), None);
        assert!(is_vocabulary("gpucost:until", "2027-11-01"));
        assert!(!is_vocabulary("gpucost:until", "summer"));
    }
}
