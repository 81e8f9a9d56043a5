//! Flag, then environment, then `gpucost.toml`, then default.

use crate::cli::world::World;

/// An estate whose only advice is a commitment of a year, which low risk does
/// not accept.
pub fn steady() -> String {
    format!("{}/fixtures/rules/steady-on-demand/fires.json", env!("CARGO_MANIFEST_DIR"))
}

/// Which format a document is in.
fn format_of(text: &str) -> &'static str {
    match text {
        text if text.starts_with('{') => "json",
        text if text.starts_with("id,") => "csv",
        text if text.contains("  COVERAGE  ") => "wide",
        _ => "table",
    }
}

#[test]
fn the_format_comes_from_flag_then_environment_then_file_then_default() {
    let mut world = World::new();
    let path = steady();
    let run = |world: &World, more: &[&str]| {
        let outcome = world.run(&[&["audit", "--from", &path], more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        format_of(&outcome.stdout)
    };
    assert_eq!(run(&world, &[]), "table");
    world.file("gpucost.toml", "format = \"csv\"\n");
    assert_eq!(run(&world, &[]), "csv");
    world.set("GPUCOST_FORMAT", "json");
    assert_eq!(run(&world, &[]), "json");
    assert_eq!(run(&world, &["--format", "wide"]), "wide");
    // For every command that has formats.
    for command in ["inventory", "metrics"] {
        let outcome = world.run(&[command, "--from", &path]);
        assert_eq!(format_of(&outcome.stdout), "json", "{command}");
    }
}

#[test]
fn the_risk_comes_from_flag_then_environment_then_file_then_default() {
    let mut world = World::new();
    let path = steady();
    let commits = |world: &World, more: &[&str]| {
        let arguments = [&["audit", "--from", &path, "--format", "json"], more].concat();
        let audit = world.run(&arguments).json();
        let actions = audit["workloads"][0]["plan"]["actions"].as_array().expect("a list").clone();
        actions.iter().any(|action| action["action"] == "commit")
    };
    assert!(commits(&world, &[]), "the default is medium");
    world.file("gpucost.toml", "risk = \"low\"\n");
    assert!(!commits(&world, &[]));
    world.set("GPUCOST_RISK", "medium");
    assert!(commits(&world, &[]));
    assert!(!commits(&world, &["--risk", "low"]));
}

#[test]
fn the_settings_file_is_named_by_flag_then_environment_then_folder() {
    let mut world = World::new();
    let path = steady();
    let run = |world: &World, more: &[&str]| {
        format_of(&world.run(&[&["audit", "--from", &path], more].concat()).stdout)
    };
    world.file("gpucost.toml", "format = \"wide\"\n");
    let by_environment = world.file("environment.toml", "format = \"csv\"\n");
    let by_flag = world.file("flag.toml", "format = \"json\"\n");
    assert_eq!(run(&world, &[]), "wide");
    world.set("GPUCOST_CONFIG", &by_environment);
    assert_eq!(run(&world, &[]), "csv");
    assert_eq!(run(&world, &["--config", &by_flag]), "json");
}

#[test]
fn only_the_flag_selects_regions_of_a_recorded_estate() {
    let mut world = World::new();
    let path = steady();
    let count = |world: &World, more: &[&str]| {
        let arguments = [&["inventory", "--from", &path, "--allow-empty"], more].concat();
        let outcome = world.run(&[&arguments[..], &["--format", "json"]].concat());
        let instances = outcome.json()["instances"].clone();
        instances.as_array().expect("a list").len()
    };
    assert_eq!(count(&world, &[]), 1);
    world.file("gpucost.toml", "region = \"eu-west-1\"\nlookback = \"1d\"\n");
    world.set("GPUCOST_REGION", "eu-west-1");
    world.set("GPUCOST_LOOKBACK", "1d");
    assert_eq!(count(&world, &[]), 1, "a setting for the live account");
    assert_eq!(count(&world, &["--region", "eu-west-1"]), 0);
    assert_eq!(count(&world, &["--region", "all"]), 1);
}

#[test]
fn unknown_words_in_the_environment_are_refused() {
    for (name, value) in [("GPUCOST_FORMAT", "xml"), ("GPUCOST_RISK", "none")] {
        let mut world = World::new();
        world.set(name, value);
        let outcome = world.run(&["audit", "--demo"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{name}");
        assert!(outcome.stderr.contains(value), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: valid values: "), "{}", outcome.stderr);
    }
}

#[test]
fn thresholds_of_the_file_reach_the_verdict() {
    let world = World::new();
    let path = steady();
    let class = || {
        let audit = world.run(&["audit", "--from", &path, "--format", "json"]).json();
        audit["workloads"][0]["classification"].clone()
    };
    assert_eq!(class(), "well-utilized");
    world.file("gpucost.toml", "[policy]\nunderutilized_below_percent = 99\n");
    assert_eq!(class(), "underutilized");
    world.file("gpucost.toml", "[policy]\nmin_hours = 8000\n");
    assert_eq!(class(), "insufficient-data");
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let path = steady();
    let coloured = |world: &World, more: &[&str]| {
        let arguments = [&["audit", "--from", &path], more].concat();
        world.run(&arguments).stdout.contains('\u{1b}')
    };
    let mut world = World::new();
    assert!(!coloured(&world, &[]), "a pipe");
    assert!(coloured(&world, &["--color", "always"]));
    world.terminal = true;
    assert!(coloured(&world, &[]), "a terminal");
    assert!(!coloured(&world, &["--color", "never"]));
    assert!(!coloured(&world, &["--format", "json"]));
    world.set("NO_COLOR", "");
    assert!(coloured(&world, &[]), "an empty NO_COLOR asks for nothing");
    world.set("NO_COLOR", "1");
    assert!(!coloured(&world, &[]));
    assert!(coloured(&world, &["--color", "always"]), "a flag outranks the environment");
}

/// Formats of every command that has a choice of them.
fn formats() -> std::collections::BTreeSet<String> {
    let program = gpucost::cli::command();
    let mut names = std::collections::BTreeSet::new();
    for command in program.get_subcommands() {
        let formats = command.get_arguments().filter(|argument| argument.get_id() == "format");
        let values = formats.flat_map(clap::Arg::get_possible_values);
        names.extend(values.map(|value| value.get_name().to_owned()));
    }
    names
}

#[test]
fn the_file_may_name_every_format_that_a_command_has() {
    let world = World::new();
    let formats = formats();
    assert!(formats.contains("focus") && formats.contains("sarif"), "{formats:?}");
    for format in &formats {
        world.file("gpucost.toml", format!("format = \"{format}\"\n"));
        let outcome = world.run(&["audit", "--demo", "--format", "json", "-q"]);
        assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
    }
    world.file("gpucost.toml", "format = \"yaml\"\n");
    assert_eq!(world.run(&["audit", "--demo", "--format", "json"]).code, 2);
    let schema = World::new().run(&["setup", "schema", "settings"]).json();
    let named = schema["properties"]["format"]["enum"].as_array().expect("names");
    let named: std::collections::BTreeSet<_> =
        named.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    assert_eq!(named, formats, "a format that no command has");
}
