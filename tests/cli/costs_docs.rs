//! The pages about diffs and chargeback show what the program prints.

use crate::pages::{assert_explains, page};
use crate::process::run_in;
use crate::world::World;
use serde_json::Value;
use std::fs;

/// Every command of a page in its order, in one folder, and what it shows.
fn check_examples(name: &str, least: usize) {
    let text = page(name);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut commands = 0;
    for block in text.split("```text\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the block ends");
        for example in block.split("$ gpucost ").skip(1) {
            let (command, shown) = example.split_once('\n').expect("a command line");
            let arguments: Vec<&str> = command.split(' ').collect();
            let output = run_in(folder.path(), &arguments);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{command}: {stderr}");
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert_eq!(stdout, shown, "{name}: {command}");
            commands += 1;
        }
    }
    assert!(commands >= least, "{name}: {commands}");
}

#[test]
fn examples_of_diffs_print_what_the_page_shows() {
    check_examples("diff.md", 4);
}

#[test]
fn examples_of_chargeback_print_what_the_page_shows() {
    check_examples("chargeback.md", 2);
}

#[test]
fn every_key_and_column_is_in_its_page() {
    let world = World::new();
    let report = |arguments: &[&str], name: &str| {
        let path = world.path(name);
        let all = [
            &["audit", "--demo", "--format", "json", "--output", &path],
            arguments,
        ]
        .concat();
        assert_eq!(world.run(&all).code, 0);
        path
    };
    let old = report(&[], "old.json");
    let new = report(
        &["--exclude-tag", "Name=llm-poc-old", "--group-by", "kind"],
        "new.json",
    );
    for [left, right] in [[&old, &new], [&new, &old]] {
        let diff = world.run(&["diff", left, right, "--format", "json"]);
        assert_explains("diff.md", &diff.json());
    }
    let grouped: Value =
        serde_json::from_str(&fs::read_to_string(new).expect("written")).expect("JSON");
    assert_explains("chargeback.md", &grouped["groups"]);
    let focus = world.run(&["audit", "--demo", "--format", "focus"]).stdout;
    let text = page("chargeback.md");
    for column in focus.lines().next().expect("a header").split(',') {
        assert!(text.contains(&format!("`{column}`")), "{column}");
    }
}
