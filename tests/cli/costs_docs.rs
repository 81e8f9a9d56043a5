//! The pages about diffs and chargeback show what the program prints.

use crate::cli::pages::{assert_shows, page};
use crate::cli::process::run_in;
use crate::cli::world::World;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Every command of a page in its order, in one folder, and what it shows.
fn check_examples(name: &str, least: usize, folder: &Path) {
    let text = page(name);
    let mut commands = 0;
    for block in text.split("```text\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the block ends");
        for example in block.split("$ gpucost ").skip(1) {
            let (command, shown) = example.split_once('\n').expect("a command line");
            let arguments: Vec<&str> = command.split(' ').collect();
            let output = run_in(folder, &arguments);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{command}: {stderr}");
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert_shows(&format!("docs/{name}"), shown, &stdout);
            commands += 1;
        }
    }
    assert!(commands >= least, "{name}: {commands}");
}

/// The demo without `llm-poc-old`, as `later.json`.
fn later(world: &World) {
    let path = world.path("later.json");
    let saved = world.run(&["audit", "--demo", "--save", &path]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let text = fs::read_to_string(&path).expect("it was saved");
    let mut estate: Value = serde_json::from_str(&text).expect("JSON");
    let is_old = |instance: &Value| instance["tags"]["Name"] == "llm-poc-old";
    let instances = estate["instances"].as_array_mut().expect("a list");
    let old = instances.iter().position(is_old).expect("it is there");
    let id = instances.remove(old)["id"].clone();
    let metrics = estate["metrics"].as_array_mut().expect("a list");
    metrics.retain(|series| series["instance"] != id);
    fs::write(&path, estate.to_string()).expect("a scratch folder");
}

#[test]
fn examples_of_diffs_print_what_the_page_shows() {
    let world = World::new();
    later(&world);
    check_examples("diff.md", 3, Path::new(&world.path("")));
}

#[test]
fn examples_for_finance_print_what_the_page_shows() {
    check_examples("finance.md", 1, Path::new(env!("CARGO_MANIFEST_DIR")));
}

#[test]
fn examples_of_chargeback_print_what_the_page_shows() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    check_examples("chargeback.md", 1, folder.path());
}

#[test]
fn every_column_beyond_focus_is_in_its_page() {
    let focus = World::new().run(&["audit", "--demo", "--format", "focus"]).stdout;
    let text = page("chargeback.md");
    let columns = focus.lines().next().expect("a header").split(',');
    let added: Vec<&str> = columns.filter(|column| column.starts_with("x_")).collect();
    assert!(added.len() > 10, "{added:?}");
    for column in added {
        assert!(text.contains(&format!("`{column}`")), "{column}");
    }
}
