//! What a workload does: declared by a tag, or guessed from names.

use crate::catalog::time_zone;
use crate::domain::{
    Cause, CauseKind, GPUS_TAG, Gap, GapSubject, INDEPENDENT, Instance, KindBasis, LINKED,
    RESTARTABLE_TAG, Until, VRAM_TAG, WorkloadKind, says_production, says_restartable, size_mib,
    tag_value,
};
use crate::savings::{
    DOUBLE_PRECISION, INTERCHANGEABLE, PRECISION_TAG, REPLICAS_TAG, TIME_ZONE_TAG,
};
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeMap;

/// The tag that declares the kind.
pub(in crate::analysis) const KIND_TAG: &str = "gpucost:kind";

/// Tags that declare the kind, by precedence; compared without regard to case.
const KIND_TAGS: &[&str] =
    &[KIND_TAG, "workload-kind", "workload-type", "workload_type", "workloadtype", "job-type"];

/// The tag that takes a workload out of advice; its value is the reason.
pub(super) const IGNORE_TAG: &str = "gpucost:ignore";

/// The tag that says on which day an instance stops running for good.
const UNTIL_TAG: &str = "gpucost:until";

/// Words that stand for a kind, as tag values and in names.
const WORDS: &[(WorkloadKind, &[&str])] = &[
    (
        WorkloadKind::Training,
        &["training", "train", "trainer", "finetune", "finetuning", "pretrain", "pretraining"],
    ),
    (WorkloadKind::Serving, &["serving", "serve", "inference", "infer", "endpoint", "online"]),
    (WorkloadKind::Batch, &["batch", "offline", "embedding", "etl"]),
    (WorkloadKind::Evaluation, &["evaluation", "eval", "evals", "benchmark", "bench"]),
    (
        WorkloadKind::Development,
        &["development", "dev", "notebook", "jupyter", "sandbox", "research"],
    ),
];

fn kind_of_word(word: &str) -> Option<WorkloadKind> {
    WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
        .map(|(kind, _)| *kind)
}

fn is_among(words: &[&str], value: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(value.trim()))
}

fn last_day(value: &str) -> Option<Date> {
    value.trim().parse().ok()
}

/// Until when an instance runs, by its tag. What is not a date says nothing.
pub(super) fn until(tags: &BTreeMap<String, String>, as_of: Timestamp) -> Option<Until> {
    let date = last_day(tag_value(tags, &[UNTIL_TAG])?)?;
    Some(Until::of(date, as_of))
}

/// What a tag of this program says, whether its value can be read, and what is open where it
/// cannot.
type Declaration = (GapSubject, &'static str, fn(&str) -> bool);

/// The tags of this program whose values are not free text.
static DECLARATIONS: [Declaration; 8] = [
    (GapSubject::TagValue, KIND_TAG, |value| kind_of_value(value).is_some()),
    (GapSubject::TagValue, RESTARTABLE_TAG, |value| says_restartable(RESTARTABLE_TAG, value)),
    (GapSubject::TimeZone, TIME_ZONE_TAG, |value| time_zone(value.trim()).is_some()),
    (GapSubject::TagValue, PRECISION_TAG, |value| is_among(&[DOUBLE_PRECISION], value)),
    (GapSubject::TagValue, REPLICAS_TAG, |value| is_among(&[INTERCHANGEABLE], value)),
    (GapSubject::UtilizationPerGpu, GPUS_TAG, |value| is_among(&[INDEPENDENT, LINKED], value)),
    (GapSubject::Commitments, UNTIL_TAG, |value| last_day(value).is_some()),
    (GapSubject::VramUse, VRAM_TAG, |value| size_mib(value).is_some_and(|mib| mib > 0.0)),
];

/// Tags of the instances of a workload with a value that cannot be read.
pub(super) fn unreadable(workload: &str, instances: &[&Instance]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (subject, tag, is_readable) in &DECLARATIONS {
        let has_other = |instance: &&&Instance| {
            tag_value(&instance.tags, &[tag]).is_some_and(|value| !is_readable(value))
        };
        let declaring: Vec<&&Instance> = instances.iter().filter(has_other).collect();
        if let Some(first) = declaring.first() {
            let count = declaring.len().to_string();
            let details = [*tag, count.as_str(), first.id.as_str()];
            let cause = Cause::of(CauseKind::TagNotReadable, details);
            gaps.push(Gap::of(subject.clone(), workload, cause));
        }
    }
    gaps
}

/// Whether a tag is vocabulary of this program and not a name: a word for a
/// kind, a yes or no, a day, or a time zone.
pub fn is_vocabulary(key: &str, value: &str) -> bool {
    let mut declared = DECLARATIONS.iter();
    declared.any(|(_, tag, is_readable)| tag.eq_ignore_ascii_case(key) && is_readable(value))
        || (is_among(KIND_TAGS, key) && kind_of_value(value).is_some())
        || says_restartable(key, value)
        || says_production(key, value)
}

pub fn kind_of_name(name: &str) -> Option<WorkloadKind> {
    name.split(|c: char| !c.is_ascii_alphabetic()).find_map(kind_of_word)
}

fn kind_of_value(value: &str) -> Option<WorkloadKind> {
    kind_of_word(&value.trim().replace(['-', '_', ' '], ""))
}

/// The kind of a workload from its tags, else from its names.
pub(super) fn kind(tags: &BTreeMap<String, String>, names: &[&str]) -> (WorkloadKind, KindBasis) {
    if let Some(kind) = tag_value(tags, KIND_TAGS).and_then(kind_of_value) {
        return (kind, KindBasis::Declared);
    }
    let guessed = names.iter().find_map(|name| kind_of_name(name));
    guessed.map_or((WorkloadKind::Unknown, KindBasis::Unknown), |kind| (kind, KindBasis::Guessed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
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
        assert_eq!(kind(&tags(&[]), &["node-7"]), (WorkloadKind::Unknown, KindBasis::Unknown));
    }

    #[test]
    fn a_term_ends_by_the_last_day_or_is_too_long() {
        // 8,760 hours after noon of 2026-11-01 are noon of 2027-11-01.
        let as_of: Timestamp = "2026-11-01T12:00:00Z".parse().expect("a time");
        let years = |day: &str| {
            let term = until(&tags(&[("gpucost:until", day)]), as_of)?;
            Some(term.years)
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
