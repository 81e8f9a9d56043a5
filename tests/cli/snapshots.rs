//! What people read, whole: exit code, stdout and stderr together. Refresh with
//! `INSTA_UPDATE=always`, and read what changed: a changed dollar is a changed
//! claim.

use crate::cli::contract::{DEMO_TABLE, DEMO_WIDE};
use crate::cli::process::help;
use crate::cli::world::World;
use unicode_width::UnicodeWidthStr;

fn demo(arguments: &[&str]) -> String {
    World::new().run(arguments).all()
}

#[test]
fn audit_table() {
    insta::assert_snapshot!(DEMO_TABLE.all());
}

#[test]
fn audit_wide() {
    insta::assert_snapshot!(DEMO_WIDE.all());
}

#[test]
fn inventory_table() {
    insta::assert_snapshot!(demo(&["inventory", "--demo"]));
}

#[test]
fn metrics_table() {
    insta::assert_snapshot!(demo(&["metrics", "--demo"]));
}

#[test]
fn metrics_setup() {
    insta::assert_snapshot!(demo(&["setup", "metrics", "--demo"]));
}

#[test]
fn help_of_every_command() {
    let mut paths = vec![Vec::new()];
    for command in gpucost::cli::command().get_subcommands() {
        // These two are of the companion.
        let inner = command.get_subcommands().filter(|inner| {
            command.get_name() != "history" || !["rollup", "bill"].contains(&inner.get_name())
        });
        let inner = inner.map(|inner| vec![command, inner]);
        paths.extend([vec![command]].into_iter().chain(inner).map(|path| {
            path.iter().map(|command| command.get_name().to_owned()).collect::<Vec<_>>()
        }));
    }
    let mut all = String::new();
    for path in paths {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        all.push_str(&format!("$ gpucost {}\n{}\n", arguments.join(" "), help(&arguments)));
    }
    insta::assert_snapshot!(all);
}

/// A line without colours.
pub fn uncoloured(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain
}

#[test]
fn the_audit_fits_a_terminal_of_100_columns() {
    let plain = &DEMO_TABLE.stdout;
    let coloured = World::new().run(&["audit", "--demo", "--color", "always"]).stdout;
    assert!(coloured.contains("\u{1b}[") && !plain.contains('\u{1b}'));
    for line in plain.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
    assert_eq!(&uncoloured(&coloured), plain, "colour changes nothing but colour");
}

#[test]
fn help_fits_100_columns_and_names_every_flag_of_its_command() {
    for command in ["audit", "check", "inventory", "metrics"] {
        let text = help(&[command, "--help"]);
        for line in text.lines() {
            assert!(line.width() <= 100, "{command}: {line}");
        }
        let commands = gpucost::cli::command();
        let subcommand = commands.find_subcommand(command).expect("a command");
        for flag in subcommand.get_arguments().filter_map(|argument| argument.get_long()) {
            assert!(text.contains(&format!("--{flag}")), "{command} --{flag}");
        }
    }
}
