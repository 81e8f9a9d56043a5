//! File, id, page and situations of a rule belong together.

use crate::rules::fixtures::{SITUATIONS, names_in, path, recorded_rule_ids, rule_ids};
use gpucost::rules::{CLUSTER_RULES, COMMITMENT_RULES, Need, RULES};
use std::collections::BTreeSet;

/// Files and folders in `crates/judge/src/rules/` that hold no rule about workloads.
const SHARED_FILES: [&str; 6] =
    ["classification", "clusters", "commitments", "device_alert", "mod", "subject"];

fn ids() -> BTreeSet<String> {
    rule_ids().into_iter().map(str::to_owned).collect()
}

#[test]
fn rules_stand_in_order_of_id_and_no_id_stands_twice() {
    let ids = rule_ids();
    assert!(ids.is_sorted_by(|left, right| left < right), "out of order or twice: {ids:?}");
}

/// A policy may set another threshold than the one that a title would state.
#[test]
fn titles_state_no_threshold() {
    for rule in RULES {
        let title = rule.meta().title;
        assert!(!title.contains(|c: char| c.is_ascii_digit()), "{title}");
    }
}

#[test]
fn every_rule_has_a_file_of_its_name_and_every_file_a_rule() {
    let mut expected: BTreeSet<String> = ids().iter().map(|id| id.replace('-', "_")).collect();
    expected.extend(SHARED_FILES.map(str::to_owned));
    assert_eq!(names_in("crates/judge/src/rules", ".rs"), expected);
}

#[test]
fn every_rule_about_clusters_has_a_file_of_its_name() {
    let files = names_in("crates/judge/src/rules/clusters", ".rs");
    for id in CLUSTER_RULES {
        assert!(files.contains(&id.replace('-', "_")), "{id}");
    }
}

#[test]
fn every_rule_has_a_page_of_its_name_and_every_page_a_rule() {
    let mut expected = ids();
    expected.extend(COMMITMENT_RULES.map(str::to_owned));
    expected.extend(CLUSTER_RULES.map(str::to_owned));
    expected.insert("README".to_owned());
    assert_eq!(names_in("docs/rules", ".md"), expected);
}

#[test]
fn every_rule_has_its_three_situations_and_every_situation_a_rule() {
    let ids = recorded_rule_ids().into_iter();
    let mut expected: BTreeSet<String> = ids.map(str::to_owned).collect();
    expected.insert("NOTE".to_owned());
    assert_eq!(names_in("fixtures/rules", ".md"), expected);
    let situations: BTreeSet<String> = SITUATIONS.map(str::to_owned).into();
    for id in recorded_rule_ids() {
        let names = names_in(&format!("fixtures/rules/{id}"), ".json");
        assert_eq!(names, situations, "{id}");
        assert!(path(id, "fires").is_file(), "{id}");
    }
}

#[test]
fn the_index_names_every_rule_with_its_severity() {
    let index =
        std::fs::read_to_string(crate::rules::fixtures::root().join("docs/rules/README.md"))
            .expect("an index");
    for rule in gpucost::rules::RULES {
        let meta = rule.meta();
        let row = index
            .lines()
            .find(|line| line.contains(&format!("({}.md)", meta.id)))
            .unwrap_or_else(|| panic!("{} is not in the index", meta.id));
        assert!(
            row.contains(&format!("| {} |", meta.severity)),
            "{} is {}: {row}",
            meta.id,
            meta.severity
        );
    }
}

#[test]
fn the_index_names_the_data_that_every_rule_needs() {
    let index =
        std::fs::read_to_string(crate::rules::fixtures::root().join("docs/rules/README.md"))
            .expect("an index");
    for rule in gpucost::rules::RULES {
        let meta = rule.meta();
        let row = index
            .lines()
            .find(|line| line.contains(&format!("({}.md)", meta.id)))
            .unwrap_or_else(|| panic!("{} is not in the index", meta.id));
        let needs = row.rsplit('|').nth(1).expect("a last column");
        for (need, words) in [
            (Need::Utilization, "GPU utilization"),
            (Need::PerGpuUtilization, "each GPU"),
            (Need::Maxima, "its maxima"),
            (Need::HourlyMaxima, "maxima by the hour"),
            (Need::Vram, "VRAM"),
            (Need::VramAverages, "its averages"),
            (Need::Power, "power"),
            (Need::PowerOrSm, "power or SM activity"),
            (Need::Temperature, "temperature"),
            (Need::Price, "price"),
        ] {
            // The power of one is part of the words of the other.
            let is_named = needs.contains(words)
                && !(need == Need::Power && meta.needs.contains(&Need::PowerOrSm));
            assert_eq!(meta.needs.contains(&need), is_named, "{}: {words}", meta.id);
        }
    }
}
