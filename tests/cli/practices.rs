//! The page of practices for GPU cost names what there is.

use crate::cli::pages::{page, quoted};
use gpucost::cli;
use gpucost::rules::{CLUSTER_RULES, COMMITMENT_RULES, RULES};
use std::collections::BTreeSet;
use std::path::Path;

fn rules() -> BTreeSet<&'static str> {
    let of_workloads = RULES.iter().map(|rule| rule.meta().id);
    let others = COMMITMENT_RULES.into_iter().chain(CLUSTER_RULES);
    of_workloads.chain(others).collect()
}

#[test]
fn every_rule_is_on_the_page_and_everything_on_it_exists() {
    let text = page("practices.md");
    let names = quoted(&text);
    let rules = rules();
    let missing: Vec<&&str> = rules.iter().filter(|id| !names.contains(**id)).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    let command = cli::command();
    let commands: Vec<&str> =
        names.iter().filter_map(|name| name.strip_prefix("gpucost ")).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for words in commands {
        let mut words = words.split(' ');
        let name = words.next().expect("a command");
        let subcommand = command.find_subcommand(name);
        let subcommand = subcommand.unwrap_or_else(|| panic!("`{name}` is not a command"));
        for flag in words.filter_map(|word| word.strip_prefix("--")) {
            let mut known = subcommand.get_arguments().filter_map(|argument| argument.get_long());
            assert!(known.any(|long| long == flag), "{name} has no --{flag}");
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let mut levers = 0;
    for (link, _) in links {
        let file = link.split('#').next().expect("a file");
        assert!(docs.join(file).is_file(), "{file} is not a page");
        levers += usize::from(file.starts_with("levers/"));
    }
    assert!(levers >= 6, "{levers} links to levers");
}

#[test]
fn the_page_has_twelve_practices_and_ten_mistakes() {
    let text = page("practices.md");
    let (practices, mistakes) = text.split_once("## Ten mistakes").expect("two parts");
    let rows = |part: &str| -> Vec<String> {
        let rows = part.lines().filter(|line| line.starts_with("| "));
        let cells = rows.filter_map(|row| Some(row.split(" | ").next()?.to_owned()));
        let names = cells.map(|cell| cell.trim_matches(['|', ' ', '`']).to_owned());
        names.skip(1).collect()
    };
    assert_eq!(rows(practices).len(), 12);
    assert_eq!(rows(mistakes).len(), 10);
}
