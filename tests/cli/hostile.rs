//! Names and tags come from whoever may tag an instance. They reach a terminal
//! without driving it, a spreadsheet without being run, and a script as data.

use crate::cli::estates::{one, series};
use crate::cli::world::World;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// Names that somebody could give an instance.
pub fn hostile() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        " ",
        "\u{1b}[2J\u{1b}]0;owned\u{7}",
        "\u{9b}2J",
        "two\nlines\r\nand\ttabs",
        "\u{202e}gpj.exe\u{2066}\u{200f}",
        "line\u{2028}paragraph\u{2029}",
        "nul\u{0}del\u{7f}",
        "=cmd|' /C calc'!A0",
        "<script>alert(1)</script>",
        "\"quoted\", 'and' \\ back`tick`",
        "模型模型模型模型模型模型模型模型模型模型模型模型",
        "e\u{301}\u{301}\u{301}\u{301}",
        "👩\u{200d}🔬🇩🇪",
        "{}{0}%s%n",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(10_000));
    names.push("\u{1b}".repeat(10_000));
    names.push("模".repeat(10_000));
    names
}

/// Whether a character may stand in a document for people or scripts.
pub fn is_harmless(c: char) -> bool {
    let is_mark = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c == '\n' || !(c.is_control() || is_mark)
}

/// Instances with one hostile name each, wherever an instance takes a name
/// from people: tags, Auto Scaling group, host.
pub fn fleet() -> Value {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let mut instances = Vec::new();
    let mut metrics = Vec::new();
    for (number, name) in hostile().into_iter().enumerate() {
        for (way, key) in ["Name", "gpucost:workload", "gpucost:ignore", "owner"].iter().enumerate()
        {
            let id = format!("i-{number:02}{way}");
            let mut instance = template.clone();
            instance["id"] = json!(id);
            instance["tags"] = json!({*key: name, name.clone(): "value"});
            instance["private_dns_name"] = json!(name);
            if way == 3 && !name.is_empty() {
                instance["auto_scaling_group"] = json!(name);
            }
            if way == 2 {
                instance["state"] = json!("stopped");
                instance["volumes"] =
                    json!([{"id": "vol-1", "volume_type": "gp3", "size_gib": 10}]);
            }
            instances.push(instance);
            metrics.push(series(&id, None, "cpu_utilization", "average", 1.0));
            metrics.push(series(&id, Some(0), "gpu_utilization", "average", 2.0));
            metrics.push(series(&id, Some(0), "gpu_utilization", "maximum", 3.0));
        }
    }
    estate["instances"] = json!(instances);
    estate["metrics"] = json!(metrics);
    estate
}

#[test]
fn a_table_stays_within_100_columns_whatever_the_names() {
    let world = World::new();
    let path = world.estate("hostile.json", &fleet());
    let outcome = world.run(&["audit", "--from", &path]);
    for line in outcome.stdout.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
}

#[test]
fn json_carries_names_as_they_are() {
    let world = World::new();
    for name in hostile().into_iter().filter(|name| !name.trim().is_empty()) {
        let mut estate = one();
        estate["instances"][0]["tags"] = json!({"Name": name, "owner": name});
        let audit = world.audit(&estate);
        assert_eq!(audit["workloads"][0]["name"], json!(name));
        assert_eq!(audit["workloads"][0]["tags"]["owner"], json!(name));
    }
}

#[test]
fn a_blank_name_falls_back_to_the_id() {
    let world = World::new();
    for name in ["", " ", "\u{a0}\t"] {
        let mut estate = one();
        estate["instances"][0]["tags"] = json!({"Name": name});
        let audit = world.audit(&estate);
        assert_eq!(audit["workloads"][0]["name"], "i-one", "{name:?}");
    }
}

#[test]
fn messages_quote_without_driving_the_terminal() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["state"] = json!("\u{1b}[31mred\u{202e}\nerror: forged");
    let path = world.estate("estate.json", &estate);
    let from_file = world.run(&["audit", "--from", &path]);
    let from_flag = world.run(&["audit", "--demo", "--tag", "\u{1b}[31mred"]);
    let missing = world.run(&["audit", "--from", "\u{1b}]0;owned\u{7}"]);
    for outcome in [from_file, from_flag, missing] {
        assert_eq!(outcome.code, 2);
        let stray = outcome.stderr.chars().find(|c| !is_harmless(*c));
        assert_eq!(stray, None, "{:?}", outcome.stderr);
    }
}

/// Names that are commands to a code host.
const COMMANDS: [&str; 4] = [
    "::stop-commands::x", "  ::error::forged", "a ##[error]forged",
    "##vso[task.setvariable variable=a]b",
];

/// Lines that a runner of GitHub or Azure would obey.
pub fn commands(text: &str) -> Vec<&str> {
    let is_one = |line: &&str| {
        line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso[")
    };
    text.lines().filter(is_one).collect()
}

#[test]
fn nothing_on_stderr_is_a_command_to_a_code_host() {
    let world = World::new();
    for name in COMMANDS {
        let file = format!("missing\n{name}\n");
        for arguments in [
            &["audit", "--from", &file][..],
            &["audit", "--demo", "--tag", &file],
            &["check", "--demo", "--policy", &file],
            &["diff", &file, &file],
            &["profile", "--read", &file],
            &["explain", &file, "--demo"],
            &["audit", &file],
        ] {
            let outcome = world.run(arguments);
            assert_eq!(commands(&outcome.stderr), [""; 0], "{arguments:?}");
        }
    }
}

#[test]
fn a_file_name_with_line_feeds_stays_in_its_line() {
    let world = World::new();
    let name = world.path("a\n::stop-commands::x\r\nhint: b");
    let shown = "a\\u{a}::stop-commands::x\\u{d}\\u{a}hint: b";
    for arguments in [
        &["audit", "--from"][..],
        &["audit", "--demo", "--commitments"],
        &["audit", "--demo", "--profile-data"],
        &["audit", "--demo", "--config"],
        &["check", "--demo", "--policy"],
        &["check", "--terraform-plan"],
        &["profile", "--read"],
        &["diff", "x"],
    ] {
        let arguments = [arguments, &[name.as_str()]].concat();
        let arguments: Vec<&str> = match arguments[0] {
            "diff" => vec!["diff", &name, &name],
            _ => arguments,
        };
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        let first = outcome.stderr.lines().next().expect("a line");
        let is_whole = first.contains(shown) || arguments[0] == "check";
        assert!(is_whole, "{arguments:?}: {}", outcome.stderr);
        for line in outcome.stderr.lines() {
            let begins = line.trim_start();
            assert!(!begins.starts_with("::"), "{arguments:?}: {}", outcome.stderr);
            assert!(!begins.starts_with("hint: b"), "{arguments:?}: {}", outcome.stderr);
        }
    }
}
