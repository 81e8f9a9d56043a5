//! `--demo`: its names, alone and beside words of a command.

use crate::cli::markup::section;
use crate::cli::world::{Outcome, World};
use gpucost::sources::files::Demo;

fn run(arguments: &[&str]) -> Outcome {
    World::new().run(arguments)
}

#[test]
fn every_demo_is_audited_by_its_name() {
    for demo in Demo::ALL {
        let name = demo.name();
        let outcome = run(&["audit", "--demo", name]);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        // The next commands are about the same estate.
        let flag = match demo {
            Demo::Starter => "--demo".to_owned(),
            _ => format!("--demo {name}"),
        };
        let whole = run(&["audit", "--demo", name, "--all"]).stdout;
        for (command, format) in [("audit", "wide"), ("audit", "json")] {
            let next = format!("gpucost {command} {flag} --format {format}");
            assert!(whole.contains(&next), "{whole}");
        }
        let tied = run(&["audit", &format!("--demo={name}")]);
        assert_eq!(tied.stdout, outcome.stdout, "{name}");
        let page = run(&["audit", "--demo", name, "--format", "html"]);
        assert_eq!((page.code, page.stderr), (0, outcome.stderr), "{name}");
    }
    let unnamed = run(&["audit", "--demo"]);
    assert_eq!(unnamed.stdout, run(&["audit", "--demo", "starter"]).stdout);
}

#[test]
fn the_list_names_each_with_what_it_shows() {
    for command in ["audit", "inventory", "check", "spot"] {
        let world = World::new();
        world.file("gpucost.toml", "this is no toml");
        let outcome = world.run(&[command, "--demo", "list"]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines.len(), Demo::ALL.len());
        for (line, demo) in lines.iter().zip(Demo::ALL) {
            let (name, about) = line.split_once("  ").expect("two columns");
            assert_eq!(name, demo.name());
            assert!(about.trim().len() > 20, "{line}");
        }
    }
}

#[test]
fn a_name_that_no_demo_has_is_refused_with_all_names() {
    for arguments in [
        &["audit", "--demo", "quarter"][..],
        &["audit", "--demo=quarter"],
        &["explain", "--demo=quarter", "word"],
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}");
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        for demo in Demo::ALL {
            let name = demo.name();
            assert!(outcome.stderr.contains(name), "{}", outcome.stderr);
        }
    }
}

#[test]
fn a_word_of_the_command_may_follow_the_flag() {
    let before = run(&["explain", "plan:experiments", "--demo"]);
    assert_eq!(before.code, 0, "{}", before.stderr);
    let after = run(&["explain", "--demo", "plan:experiments"]);
    assert_eq!(after.stdout, before.stdout);
    let named = run(&["explain", "--demo", "quarter-used", "plan:sweeps"]);
    assert_eq!(named.code, 0, "{}", named.stderr);
    assert!(named.stdout.contains("g7e.12xlarge"), "{}", named.stdout);
    let Outcome { code, stderr, .. } = run(&["check", "--demo", "init"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot be used with"), "{stderr}");
    let setup = run(&["setup", "metrics", "--demo", "quarter-used"]);
    assert_eq!(setup.code, 0, "{}", setup.stderr);
}

#[test]
fn what_is_paid_for_and_does_not_run_is_in_the_comment_and_on_the_page() {
    let with = |format: &str| {
        let outcome = World::new().run(&["audit", "--demo", "mixed-fleet", "--format", format]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stdout
    };
    let comment = with("markdown");
    let id = "cr-0d3a91c47be58f260";
    let (_, list) = comment.split_once("**DO FIRST").expect("a list");
    let list = list.split("\n**").next().expect("its rows");
    let amounts = list.lines().filter_map(|line| line.strip_prefix("| \\$")?.split(' ').next());
    let cents = amounts.map(|amount| amount.replace([',', '.'], "").parse::<i64>());
    // 3,359.17 + 63.00 + 40,179.20.
    assert_eq!(cents.sum::<Result<i64, _>>(), Ok(4_360_137));
    // 229,520.52 less those, and less the purchases: 3,517.05 + 1,622.89 + 1,230.25 + 498.12.
    assert!(comment.contains("179,050.84"), "{comment}");
    let (_, unused) = comment.split_once("**UNUSED").expect("a list");
    for text in [id, "1 of 3 × p5.48xlarge in us-east-1d", "40,179.20", "0.00"] {
        assert!(unused.contains(text), "{text}: {unused}");
    }
    let page = with("html");
    let unused = section(&page, "unused_commitments");
    assert!(unused.contains(id) && unused.contains("$40,179.20"), "{unused}");
    let caveat = "capacity of this type may not be available again";
    assert!(section(&page, "do_first").contains(caveat), "{page}");
}
