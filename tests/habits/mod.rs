//! How the repository is worked on: `scripts/new` writes whole skeletons, nothing of their
//! text ships, and the pages for contributors name files and show code that exist.

use crate::support::skip::skip;
use crate::support::source::root;
use gpucost::sources::files::parse_estate;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// What an author replaces in a skeleton.
const MARK: &str = "REPLACE:";

/// Documents that have formats, with their folder.
const DOCUMENTS: [(&str, &str); 2] = [("audit", "audit"), ("gate", "gate")];

/// Names as short and as long as they may be.
const NAMES: [&str; 3] = ["a", "cold-gpu", "abcdefghijklmnopqrstuvwxyz-123"];

/// Every skeleton of a name: what is asked for, and its files.
fn skeletons(name: &str) -> Vec<(Vec<String>, BTreeSet<String>)> {
    let snake = name.replace('-', "_");
    let asked = |words: &[&str]| -> Vec<String> {
        let words = words.iter();
        words.map(|word| (*word).to_owned()).collect()
    };
    let files = |files: &[String]| -> BTreeSet<String> { files.iter().cloned().collect() };
    let fixture = |situation: &str| format!("fixtures/rules/{name}/{situation}.json");
    let rule = [
        format!("crates/judge/src/rules/{snake}.rs"),
        format!("docs/rules/{name}.md"),
        fixture("fires"),
        fixture("quiet"),
        fixture("missing"),
    ];
    let lever =
        [format!("crates/judge/src/savings/levers/{snake}.rs"), format!("docs/levers/{name}.md")];
    let planner = [
        format!("crates/judge/src/planners/{snake}.rs"),
        format!("src/report/planners/{snake}.rs"),
        format!("src/cli/{snake}.rs"),
        format!("docs/planners/{name}.md"),
    ];
    let source = [format!("crates/sources/src/{snake}/mod.rs")];
    let mut all = vec![
        (asked(&["rule", name]), files(&rule)),
        (asked(&["lever", name]), files(&lever)),
        (asked(&["planner", name]), files(&planner)),
        (asked(&["source", name]), files(&source)),
    ];
    for (document, folder) in DOCUMENTS {
        let format = [format!("src/report/{folder}/{snake}.rs")];
        all.push((asked(&["format", document, name]), files(&format)));
    }
    all
}

/// The folders of the repository that skeletons go into, empty.
fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let make = |folder: &str| fs::create_dir_all(scratch.path().join(folder)).expect("writable");
    for folder in [
        "crates/judge/src/rules", "crates/judge/src/savings/levers", "src/report/planners",
        "crates/sources/src",
    ] {
        make(folder);
    }
    for (_, folder) in DOCUMENTS {
        make(&format!("src/report/{folder}"));
    }
    scratch
}

/// Runs the script from a folder that has nothing to do with the repository.
fn new<S: AsRef<str>>(target: &Path, arguments: &[S]) -> Output {
    Command::new("bash")
        .arg(root().join("scripts/new"))
        .args(arguments.iter().map(S::as_ref))
        .env("GPUCOST_ROOT", target)
        .current_dir(target.join("src"))
        .output()
        .expect("bash starts")
}

/// Every file below a folder with its text, by its path from there.
fn files_in(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(folder).expect("it was found there");
            let name = inside.to_str().expect("in UTF-8").replace('\\', "/");
            let bytes = fs::read(&path).expect("a readable file");
            found.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    found
}

#[test]
fn skeletons_are_whole_and_are_not_overwritten() {
    for name in NAMES {
        for (asked, expected) in skeletons(name) {
            let scratch = scratch();
            let output = new(scratch.path(), &asked);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{asked:?}: {stderr}");
            let written = files_in(scratch.path());
            assert_eq!(written.keys().cloned().collect::<BTreeSet<_>>(), expected);
            for (path, text) in &written {
                assert!(text.contains(MARK), "{path}");
                assert!(!text.contains('@'), "{path}: {text}");
                if path.ends_with(".json") {
                    parse_estate(text.as_bytes()).expect("an estate");
                }
            }

            let output = new(scratch.path(), &asked);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{asked:?}: {stderr}");
            assert!(stderr.ends_with(" exists; nothing was written\n"), "{stderr}");
            assert_eq!(output.stdout, b"");
            assert_eq!(files_in(scratch.path()), written);
        }
    }
}

#[test]
fn one_file_that_exists_keeps_the_others_from_being_written() {
    let scratch = scratch();
    let page = scratch.path().join("docs/rules/cold-gpu.md");
    fs::create_dir_all(page.parent().expect("a folder")).expect("writable");
    fs::write(&page, "mine").expect("writable");
    let output = new(scratch.path(), &["rule", "cold-gpu"]);
    assert_eq!(output.status.code(), Some(1));
    let mine = [("docs/rules/cold-gpu.md".to_owned(), "mine".to_owned())];
    assert_eq!(files_in(scratch.path()), BTreeMap::from(mine));
}

#[test]
fn skeletons_are_formatted() {
    let version = Command::new("rustfmt").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip("rustfmt is not installed");
    }
    for name in NAMES {
        let scratch = scratch();
        for (asked, _) in skeletons(name) {
            assert!(new(scratch.path(), &asked).status.success(), "{asked:?}");
        }
        let files = files_in(scratch.path()).into_keys();
        let sources = files.filter(|path| path.ends_with(".rs"));
        let output = Command::new("rustfmt")
            .args(["--edition", "2024", "--check"])
            .args(sources)
            .current_dir(scratch.path())
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
    }
}

#[test]
fn what_is_no_name_is_refused() {
    let scratch = scratch();
    for name in [
        "", "Cold", "cold_gpu", "-cold", "cold-", "cold--gpu", "2-gpus", "../cold", "cold gpu",
        "match", "abcdefghijklmnopqrstuvwxyz-1234",
    ] {
        for asked in [&["rule", name][..], &["format", "audit", name]] {
            assert_eq!(new(scratch.path(), asked).status.code(), Some(2), "{name}");
        }
    }
    for asked in [
        &[] as &[&str],
        &["rule"],
        &["rule", "a", "b"],
        &["format", "a"],
        &["format", "nothing", "a"],
        &["command", "a"],
    ] {
        assert_eq!(new(scratch.path(), asked).status.code(), Some(2), "{asked:?}");
    }
    assert_eq!(files_in(scratch.path()), BTreeMap::new());
}

/// Words that begin like a path of the repository.
fn paths_in(text: &str) -> BTreeSet<&str> {
    const FOLDERS: [&str; 10] = [
        ".ci/", "ci/", "crates/", "docs/", "examples/", "fixtures/", "scripts/", "src/", "tests/",
        "benches/",
    ];
    text.split(|c: char| c.is_whitespace() || ['`', '(', ')', ',', '#'].contains(&c))
        .map(|word| word.trim_end_matches(['.', ':', ';']))
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| !word.contains(['<', '*', '{']))
        .collect()
}

#[test]
fn what_the_script_prints_names_files_and_tests_that_exist() {
    for (asked, written) in skeletons("cold-gpu") {
        let scratch = scratch();
        let output = new(scratch.path(), &asked);
        let printed = String::from_utf8_lossy(&output.stdout);
        for path in paths_in(&printed) {
            let is_there = written.contains(path) || root().join(path).exists();
            assert!(is_there, "{asked:?}: {path}");
        }
        let mut suites = 0;
        for rest in printed.split("cargo test --test all ").skip(1) {
            let suite = rest.split_whitespace().next().expect("a suite");
            let place = suite.trim_end_matches(':').replace("::", "/");
            let place = root().join("tests").join(place);
            let is_there = place.is_dir() || place.with_extension("rs").is_file();
            assert!(is_there, "{asked:?}: {suite}");
            suites += 1;
        }
        assert!(suites > 1, "{printed}");
    }
}

#[test]
fn no_text_of_a_skeleton_is_left() {
    for folder in ["src", "docs", "examples", "fixtures/rules"] {
        for (path, text) in files_in(&root().join(folder)) {
            assert!(!text.contains(MARK), "{folder}/{path} has text to replace");
        }
    }
}

#[test]
fn pages_for_contributors_name_files_that_exist() {
    for page in ["CONTRIBUTING.md", "docs/ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let outside = text.split("```").step_by(2);
        let paths: BTreeSet<&str> = outside.flat_map(paths_in).collect();
        assert!(paths.len() > 10, "{page}: {paths:?}");
        for path in paths {
            assert!(root().join(path).exists(), "{page}: {path}");
        }
    }
}

#[test]
fn samples_are_code_of_the_files_that_they_name() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("a page");
    let samples: Vec<&str> = page.split("```rust\n// ").skip(1).collect();
    assert_eq!(samples.len(), page.matches("```rust\n").count());
    assert!(samples.len() > 4);
    for sample in samples {
        let (sample, _) = sample.split_once("```").expect("the block ends");
        let (path, shown) = sample.split_once('\n').expect("code below its file");
        let source = fs::read_to_string(root().join(path)).expect("a source");
        let lines: BTreeSet<&str> = source.lines().collect();
        for line in shown.lines() {
            assert!(lines.contains(line), "{path} has no line `{line}`");
        }
    }
}
