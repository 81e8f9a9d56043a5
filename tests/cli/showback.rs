//! `audit --group-by` with keys of pods: what namespaces, owners and labels cost. What is
//! expected follows by hand from `fixtures/kubernetes`.

use crate::cli::chargeback::{audited, cents};
use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::kubernetes::{run, world};
use crate::cli::markup::{parse, rows, section};
use crate::cli::pages::assert_explains;
use crate::cli::world::World;
use serde_json::{Value, json};

fn grouped(by: &str, format: &str) -> String {
    let outcome = run(&world(), "audit", &["--group-by", by, "--format", format]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.stdout
}

fn grouped_json(by: &str) -> Value {
    serde_json::from_str(&grouped(by, "json")).expect("JSON")
}

/// Pods of one of four T4s each have 1/16 of $1,035.24: 64.7025, so one of 64.71 and two
/// of 64.70. Of an A100 for $803.00, three sevenths are 344.14. Of the p4d for $16,029.08,
/// 3/8 are 6,010.905 and 1/8 are 2,003.635, and the cent goes to the former; with half of
/// it, 8,014.54, a namespace has 14,025.45. One of two own GPUs costs half of $3,285.00.
/// The rest: 2,003.63 + 841.13 + 458.86 + 1,642.50, and a g5.xlarge for $734.38.
const NAMESPACES: &str = "\
namespace,part,pods,gpus_requested,gpus_used,unpriced_nodes,currency,monthly_cost,used_cost,idle_cost,unmeasured_cost
search,requested,2,7,,0,USD,14025.45,0.00,0.00,14025.45
(unallocated),unallocated,0,,,0,USD,5680.50,,,
physics,requested,1,1,,0,USD,1642.50,0.00,0.00,1642.50
serving,requested,1,0.428571,,0,USD,344.14,0.00,0.00,344.14
notebooks,requested,3,0.75,,0,USD,194.11,0.00,0.00,194.11
";

#[test]
fn namespaces_cost_what_their_pods_hold() {
    assert_eq!(grouped("namespace", "csv"), NAMESPACES);
    let document = grouped_json("namespace");
    let showback = &document["showback"];
    assert_eq!(showback["by"], json!(["namespace"]));
    let rest = &showback["rows"][1];
    assert_eq!(rest["part"], "unallocated");
    assert_eq!(rest["values"], json!({"namespace": null}));
    assert_eq!(rest["used_cost"], json!(null));
    let total = &showback["total"];
    assert_eq!(total["monthly_cost"], document["summary"]["monthly_cost"]);
    assert_eq!(total["monthly_cost"], 21_886.7);
    assert_eq!((&total["pods"], &total["gpus_requested"]), (&json!(7), &json!(9.178_571)));
    assert_eq!(document.get("groups"), None);
    let audits = validator(&closed(schema("audit.schema.json")));
    assert_holds(&audits, &document, "showback");
    assert_explains("chargeback.md", showback);
}

#[test]
fn owners_stand_behind_their_namespaces() {
    let document = grouped_json("owner");
    let rows = document["showback"]["rows"].as_array().expect("a list");
    let shown: Vec<(&Value, &Value)> =
        rows.iter().map(|row| (&row["values"]["owner"], &row["monthly_cost"])).collect();
    let expected = [
        (json!("search/CronJob train"), json!(8014.54)),
        (json!("search/Deployment ranker"), json!(6010.91)),
        (json!(null), json!(5680.5)),
        (json!("physics/RayCluster simulate"), json!(1642.5)),
        (json!("serving/StatefulSet small"), json!(344.14)),
        (json!("notebooks/StatefulSet nb"), json!(194.11)),
    ];
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(a, b)| (a, b)).collect();
    assert_eq!(shown, expected);
}

#[test]
fn what_is_left_of_a_pool_stands_beside_it() {
    let table = grouped("pool,label:team", "wide");
    assert!(table.contains("COST PER MONTH BY POOL, LABEL:TEAM\n"), "{table}");
    assert!(
        table.contains(
            "by the GPUs that pods held at 2026-11-01 00:00 UTC; pods that ended before are not \
             included."
        ),
        "{table}"
    );
    let row = |begin: &[&str], cost: &str| {
        let mut lines = table.lines().map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            cells
        });
        lines.any(|cells| cells.starts_with(begin) && cells.contains(&cost))
    };
    assert!(row(&["training", "search", "2", "7"], "$14,025.45"), "{table}");
    assert!(row(&["training", "(unallocated)", "0"], "$2,003.63"), "{table}");
    let table = grouped("pool", "wide");
    assert!(table.contains("training (unallocated) "), "{table}");
}

#[test]
fn a_page_and_a_comment_show_the_same() {
    let page = grouped("namespace", "html");
    parse(&page);
    let table = rows(section(&page, "groups"));
    assert_eq!(table.len(), 6);
    let search = ["search", "2", "7", "—", "$14,025.45", "$0.00", "$0.00"];
    assert_eq!(table[1][..7], search);
    let rest = ["(unallocated)", "0", "—", "—", "$5,680.50", "—", "—", "—"];
    assert_eq!(table[2], rest);
    assert_eq!(table[0][..5], ["total", "7", "9.18", "—", "$21,886.70"]);
    let comment = grouped("namespace", "markdown");
    for row in [
        "| search | 2 | 7 | — | \\$14,025.45 | \\$0.00 | \\$0.00 | \\$14,025.45 |\n",
        "| (unallocated) | 0 | — | — | \\$5,680.50 | — | — | — |\n",
    ] {
        assert!(comment.contains(row), "{row}: {comment}");
    }
}

#[test]
fn an_audit_without_a_cluster_has_one_row() {
    let document: Value =
        serde_json::from_str(&audited(&["--group-by", "namespace", "--format", "json"]))
            .expect("JSON");
    let rows = document["showback"]["rows"].as_array().expect("a list");
    let [row] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!(row["part"], "not-in-cluster");
    assert_eq!(cents(&row["monthly_cost"]), cents(&document["summary"]["monthly_cost"]));
}

#[test]
fn keys_of_pods_and_of_workloads_do_not_combine() {
    for (by, said) in [
        ("namespace,account", "`--group-by` cannot combine `account` with `namespace`"),
        ("label:", "`label:` is not a valid key for `--group-by`"),
        ("owner,owner", "lists `owner` twice"),
    ] {
        let outcome = World::new().run(&["audit", "--demo", "--group-by", by]);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        let hint = outcome.stderr.split("\nhint: ").nth(1).expect("a hint");
        let is_list = hint.contains("account, region") && hint.contains("namespace, owner");
        assert!(is_list || by == "owner,owner", "{hint}");
    }
}

#[test]
fn a_redacted_cluster_names_nobody() {
    let more = ["--redact", "--group-by", "namespace,owner,node"];
    let outcome = run(&world(), "audit", &more);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for secret in ["physics", "ranker", "hall-1", "ip-10-0"] {
        assert!(!outcome.stdout.contains(secret), "{secret}");
    }
    assert!(outcome.stdout.contains("$14,025.45") || outcome.stdout.contains("$8,014.54"));
}
