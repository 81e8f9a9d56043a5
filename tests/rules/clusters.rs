//! What each rule about clusters says about the three situations made for it. A p4d.24xlarge
//! costs 21.957642 × 730 = 16 029.07866 a month, and each of its eight GPUs 2 003.6348325.

use crate::rules::builder::audited;
use crate::rules::fixtures::{SITUATIONS, audit_of, decimal, dollars, holds, of, only, silence};
use gpucost::domain::{
    CapacityReservation, Clusters, Commitments, Finding, FindingKind, Policy, Risk, Severity,
};
use gpucost::report::{
    Derivation, Explained, doc_json, explain_doc, explainable_ids, find_explained,
};
use gpucost::rules::CLUSTER_RULES;
use serde_json::{Value, json};

/// What each says where it fires: its subject, the end of its title, and its saving.
const FIRES: [(&str, &str, &str, Option<&str>); 7] = [
    ("cpu-only-pods-on-gpu-node", "i-gpu-1", "runs 2 pods that request none", None),
    (
        "fragmented-gpus",
        "lab/train/p4d.24xlarge",
        // 16 − 4 − 3.
        "9 free GPUs on 2 of 2 × p4d.24xlarge of pool train: the pods of 2 nodes fit on 1",
        Some("16029.08"),
    ),
    (
        "idle-claim", "search/notebook-0",
        // Two GPUs, 20 160 samples of a minute.
        "has been idle for 14.0 days: USD 4007.27 per month", None,
    ),
    (
        "oversized-claim",
        "search/trainer-0",
        "holds 4 GPUs of node gpu-1 and never uses 3 of them: USD 6010.90 per month",
        None,
    ),
    (
        "pending-gpu-pods",
        "lab",
        "1 pod waits for 4 GPUs (longest: 2 hours); free: 4 GPUs, held by idle pods: 0 GPUs",
        None,
    ),
    (
        "stranded-host",
        "i-gpu-1",
        // 85 500 of 95 000 thousandths of a core.
        "2 GPUs of node gpu-1 stay free because pods request 90.0% of its CPU: USD 4007.27 per \
         month",
        None,
    ),
    (
        "unallocated-gpus",
        "i-gpu-1",
        "no pod requests 3 of the 8 GPUs of node gpu-1: USD 6010.90 per month",
        None,
    ),
];

#[test]
fn each_fires_with_evidence_that_holds() {
    assert_eq!(FIRES.map(|(rule, ..)| rule), CLUSTER_RULES);
    for (rule, subject, words, savings) in FIRES {
        let audit = audit_of(rule, "fires");
        let finding = only(&audit, rule);
        assert_eq!(finding.id(), format!("{rule}:{subject}"));
        assert!(finding.title.ends_with(words), "{rule}: {}", finding.title);
        assert_eq!(dollars(finding), savings.map(decimal), "{rule}");
        assert_eq!(finding.severity, Severity::Warning);
        assert_ne!(finding.kind, FindingKind::Waste);
        for evidence in finding.evidence() {
            assert!(holds(evidence), "{rule}: {evidence:?}");
        }
        assert!(!finding.recommendation.steps.is_empty(), "{rule}");
    }
}

#[test]
fn near_misses_fool_none() {
    for rule in CLUSTER_RULES {
        let audit = audit_of(rule, "quiet");
        assert_eq!(of(&audit, rule), Vec::<&Finding>::new(), "{rule}");
    }
}

#[test]
fn a_rule_without_its_data_is_silent_and_says_so() {
    for (rule, what, reason) in [
        ("cpu-only-pods-on-gpu-node", "pods", "which pods of 1 node request no GPU"),
        ("fragmented-gpus", "pods", "of 2 nodes is unknown"),
        ("idle-claim", "GPU use of pods", "whether 1 pod uses"),
        ("oversized-claim", "GPU use of pods", "whether 1 pod uses"),
        ("pending-gpu-pods", "pods", "of 1 node is unknown"),
        ("stranded-host", "pods", "of 1 node is unknown"),
        ("unallocated-gpus", "pods", "of 1 node is unknown"),
    ] {
        let audit = audit_of(rule, "missing");
        assert_eq!(of(&audit, rule), Vec::<&Finding>::new(), "{rule}");
        let gap = silence(&audit, what, rule);
        assert!(gap.reason.contains(reason), "{rule}: {}", gap.reason);
        assert!(!gap.hint.is_empty(), "{rule}");
    }
}

#[test]
fn sums_and_the_plan_are_those_of_an_estate_without_clusters() {
    for rule in CLUSTER_RULES {
        for situation in SITUATIONS {
            let path = crate::rules::fixtures::path(rule, situation);
            let keep = gpucost::sources::files::Keep::Points;
            let estate = gpucost::sources::files::read_estate(&path, keep).expect("an estate");
            let mut bare = estate.clone();
            bare.clusters = gpucost::domain::Clusters::default();
            let [with, without] = [&estate, &bare].map(crate::rules::builder::audited);
            assert_eq!(with.totals, without.totals, "{rule}/{situation}");
            let actions = |audit: &gpucost::analysis::Audit| {
                let workloads = audit.workloads.iter();
                workloads.map(|workload| workload.actions.clone()).collect::<Vec<_>>()
            };
            assert_eq!(actions(&with), actions(&without), "{rule}/{situation}");
        }
    }
}

/// The only finding of a rule about the machines of a situation where they run in a
/// capacity reservation for three, which can be lowered from a time on.
fn reserved((of, rule): (&str, &str), committed_until: Option<&str>) -> Finding {
    let path = crate::rules::fixtures::path(of, "fires");
    let keep = gpucost::sources::files::Keep::Points;
    let mut estate = gpucost::sources::files::read_estate(&path, keep).expect("an estate");
    for instance in &mut estate.instances {
        instance.capacity_reservation_id = Some("cr-1".to_owned());
    }
    let capacity = CapacityReservation {
        id: "cr-1".to_owned(),
        instance_type: "p4d.24xlarge".to_owned(),
        committed_until: committed_until.map(|time| time.parse().expect("a time stamp")),
        ..crate::rules::fleets::capacity(3, 1)
    };
    estate.commitments.capacity_reservations.push(capacity);
    only(&audited(&estate), rule).clone()
}

#[test]
fn a_capacity_reservation_is_lowered_with_the_node_or_nothing_is_saved() {
    for (of, rule) in
        [("cpu-only-pods-on-gpu-node", "unallocated-gpus"), ("fragmented-gpus", "fragmented-gpus")]
    {
        let held = reserved((of, rule), Some("2027-01-01T00:00:00Z"));
        assert_eq!(dollars(&held), None, "{rule}");
        let caveat = &held.recommendation.caveats[0];
        assert!(caveat.ends_with("stopping saves nothing"), "{caveat}");
        // Its term has ended.
        for until in [None, Some("2026-10-01T00:00:00Z")] {
            let lowered = reserved((of, rule), until);
            // 21.957642 × 730.
            assert_eq!(dollars(&lowered), Some(decimal("16029.08")), "{rule}");
            let step = "lower the capacity reservation cr-1 by 1 in the same step";
            let steps = &lowered.recommendation.steps;
            assert!(steps.iter().any(|line| line == step), "{steps:?}");
            let caveat = &lowered.recommendation.caveats[0];
            assert!(caveat.contains("unless the capacity reservation is lowered"));
        }
    }
}

#[test]
fn each_finding_is_explained_by_its_id() {
    for rule in CLUSTER_RULES {
        let audit = audit_of(rule, "fires");
        let id = only(&audit, rule).id();
        assert!(explainable_ids(&audit).contains(&id));
        let explained = find_explained(&audit, &Clusters::default(), &id).expect("it is found");
        let Explained::Finding(finding, _) = explained else {
            panic!("{explained:?}");
        };
        assert_eq!(finding.rule(), rule);
        let policy = Policy::default();
        let by = Derivation {
            audit: &audit,
            policy: &policy,
            commitments: &Commitments::default(),
            accepted: Risk::Medium,
        };
        let document = doc_json(&explain_doc(explained, &by)).expect("JSON");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let lines = document["sections"][0]["lines"].as_array().expect("a list");
        for caveat in &finding.recommendation.caveats {
            let line = json!({"name": "caveat", "derivation": caveat});
            let said = lines.iter().filter(|listed| **listed == line).count();
            assert_eq!(said, 1, "{rule}: {line}\n{document}");
        }
        assert!(!finding.recommendation.caveats.is_empty(), "{rule}");
    }
}
