//! Every way in which an audit says that it did not see something, and the rules of a policy that
//! it leaves open.

use crate::cli::check::check;
use crate::cli::estates::one;
use crate::cli::world::World;
use gpucost::domain::GapSubject;
use serde_json::json;
use std::collections::BTreeMap;

/// A rule of every kind, each of which holds for the estate.
const POLICY: &str = r#"
[[budget]]
monthly_limit = 1_000_000

[waste]
monthly_limit = 1_000_000

[utilization]
unknown = 1

[coverage]
minimum_percent = 1

[tags]
required = ["Name"]

[deny]
types = ["p9*"]
regions = ["cn-*"]

[prices]
max_age = "3650d"

[[forbid]]
rule = "hot-gpu"
"#;

/// A subject that reaches no rule by its name is about what no rule rests on, or reaches it by the
/// instances that lack a figure: those are drawn by `rules::gates_drawn`.
#[test]
fn each_subject_leaves_the_rules_open_that_rest_on_what_it_hides() {
    let world = World::new();
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let names = GapSubject::NAMES.iter().copied().chain(["words of a newer version"]);
    for name in names {
        let mut estate = one();
        estate["gaps"] = json!([{"what": name, "where": "us-east-1", "reason": "r", "hint": "h"}]);
        let outcome = check(&world, POLICY, &estate, &["--format", "json"]);
        let report = outcome.json();
        let rules = report["checks"].as_array().expect("a list").iter();
        let open = rules.filter(|rule| rule["outcome"] == "incomplete");
        let open: Vec<&str> = open.filter_map(|rule| rule["rule"].as_str()).collect();
        assert_eq!(outcome.code, if open.is_empty() { 0 } else { 3 }, "{name}");
        rows.entry(open.join(" ")).or_default().push(name.to_owned());
    }
    let rows = rows.iter().map(|(open, names)| {
        let open = if open.is_empty() { "no rule by itself" } else { open };
        format!("{open}\n  {}\n", names.join("\n  "))
    });
    insta::assert_snapshot!(rows.collect::<String>());
}
