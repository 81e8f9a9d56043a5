//! What must hold whatever was read.

use gpucost::cli::{self, Io};
use gpucost::sources::files::{parse_estate, write_estate};
use gpucost::usage::Estate;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs a command in this process: its code, stdout and stderr.
pub fn run(arguments: &[&str]) -> (u8, String, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let program = std::iter::once("gpucost").chain(arguments.iter().copied());
    let code = cli::main(
        program.map(Into::into),
        &mut Io {
            stdout: &mut stdout,
            stderr: &mut stderr,
            env: BTreeMap::new(),
            unreadable: Vec::new(),
            now: "2026-11-20T12:00:00Z".parse().expect("a time"),
            folder: std::env::temp_dir().join("gpucost-fuzz-nothing-here"),
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            ends_at_signals: false,
        },
    );
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is UTF-8");
    (code.number(), text(stdout), text(stderr))
}

/// Writing and reading again gives the same estate.
pub fn survives_a_round_trip(estate: &Estate) {
    let mut text = Vec::new();
    write_estate(estate, &mut text).expect("memory takes everything");
    let again = parse_estate(text.as_slice()).expect("what is written is read");
    assert_eq!(&again, estate);
}

fn cents(value: &Value) -> Option<i64> {
    value.as_f64().map(|dollars| (dollars * 100.0).round() as i64)
}

/// Rows in the currency of the totals add up to them, to the cent; rows in others are in no
/// total.
pub fn adds_up(audit: &Value) {
    let summary = &audit["summary"];
    let (Some(cost), Some(savings)) =
        (cents(&summary["monthly_cost"]), cents(&summary["monthly_savings"]))
    else {
        return;
    };
    let currency = &audit["prices"]["currency"];
    let rows: i64 = ["workloads", "unused_commitments"]
        .into_iter()
        .flat_map(|list| audit[list].as_array().expect("a list"))
        .filter(|row| row["currency"] == *currency)
        .filter_map(|row| cents(&row["monthly_cost"]))
        .sum();
    assert_eq!(rows, cost, "rows in {currency}");
    let by_action = summary["savings_by_action"].as_object().expect("an object");
    let actions: i64 = by_action.values().filter_map(cents).sum();
    assert_eq!(actions, savings, "savings by action");
    let planned = cents(&summary["planned_monthly_cost"]);
    assert_eq!(planned, Some(cost - savings), "what is left after the plan");
    let classes = summary["by_classification"].as_object().expect("an object");
    let classes: i64 = classes.values().filter_map(|class| cents(&class["monthly_cost"])).sum();
    assert_eq!(classes, cost, "cost by class");
    assert!(savings >= 0 && savings <= cost, "savings {savings} of {cost}");
}

/// No name of an estate is in what a redacted audit prints.
pub fn shows_no_marker(path: &Path, marker: &str) {
    let path = path.to_str().expect("UTF-8");
    for format in ["json", "table"] {
        let arguments = ["audit", "--from", path, "--redact", "--allow-empty", "--format", format];
        let (_, stdout, _) = run(&arguments);
        assert!(!stdout.contains(marker), "{format} shows a name");
    }
}
