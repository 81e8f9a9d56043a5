//! Whoever may tag an instance writes into other people's terminals and
//! spreadsheets. Every format must show such names without obeying them.
//!
//! EC2's answers are XML, which carries no escape character, but it carries
//! the second set of controls: U+009B is CSI, the same as escape and a bracket.
//! Messages of the other services can carry both.

use super::account::Account;
use super::command::Gpucost;
use super::days::Days;
use super::signals::{self, Signal, Subject};
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::{Fault, Target, Times};

/// Clears the screen and sets the window's title, in C1 controls.
const TERMINAL: &str = "clear\u{9b}2J\u{9d}0;owned\u{9c}me";
/// Two lines, the second of which is like our own.
const LINES: &str = "box\nerror: your account was deleted\r\thint: pay";
/// Shown as `exe.jpg`, were it obeyed.
const TURNED: &str = "x\u{202e}gpj.exe\u{2066}\u{200f}\u{2028}";
const FORMULA: &str = "=cmd|' /C calc'!A0";
const QUOTES: &str = "a\",\"b'; </script>&amp;\\";

/// Characters that may reach neither a terminal nor a file of any format.
fn is_forbidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}' | '\u{2029}')
}

struct Hostile {
    account: Account,
    days: Days,
}

impl Hostile {
    /// One instance for each name, as `Name` and as a team; one in a group of
    /// a hostile name.
    fn open() -> Option<Self> {
        let account = Account::open()?;
        let days = Days::ahead();
        let long = "very-long-".repeat(100);
        let names = [TERMINAL, LINES, TURNED, FORMULA, QUOTES, &long];
        let mut tags: Vec<Vec<(&str, &str)>> =
            names.iter().map(|name| vec![("Name", *name), ("team", *name)]).collect();
        tags.push(vec![("gpucost:workload", TERMINAL), ("@SUM(A1)", "+1")]);
        tags.push(vec![("gpucost:workload", TURNED), ("gpucost:ignore", LINES)]);
        let plan: Vec<Launch<'_>> = tags
            .iter()
            .map(|tags| Launch { tags, ..Launch::on_demand("us-east-1a", "g5.xlarge") })
            .collect();
        for launched in launch(&account.loopback, &plan) {
            let subject = Subject {
                region: "us-east-1",
                instance_type: "g5.xlarge",
                gpus: 1,
                launched: &launched,
            };
            let signal = Signal::Agent(signals::Dimensions::InstanceId, signals::HALF);
            subject.measure(&account.loopback, days, signals::cpu_always, signal);
        }
        Some(Self { account, days })
    }

    /// The document that a command prints in a format.
    fn document(&self, command: &str, format: &str) -> String {
        let as_of = self.days.as_of();
        let arguments = [command, "--region", "us-east-1", "--as-of", &as_of];
        let run = Gpucost::new(&arguments)
            .args(&["--format", format, "--color", "never"])
            .of(&self.account)
            .run();
        assert_eq!(run.code, 0, "{}", run.stderr);
        for (stream, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            let bad: Vec<char> = text.chars().filter(|c| is_forbidden(*c)).collect();
            assert!(bad.is_empty(), "{command} {format}: {bad:?} on {stream}");
        }
        run.stdout
    }
}

#[test]
fn tags_neither_drive_a_terminal_nor_run_in_a_spreadsheet() {
    let Some(hostile) = Hostile::open() else { return };
    for command in ["audit", "inventory", "metrics"] {
        for format in ["table", "wide"] {
            let table = hostile.document(command, format);
            assert!(
                !table.lines().any(|line| line.starts_with("error: your")),
                "{command} {format}: a name made a line of its own:\n{table}"
            );
            let wide = table.lines().find(|line| line.chars().count() >= 400);
            assert_eq!(wide, None, "{command} {format}");
        }
        cells(command, &hostile.document(command, "csv"));
        let json = hostile.document(command, "json");
        serde_json::from_str::<serde_json::Value>(&json).expect("valid JSON");
    }
    names_survive_in_json(&hostile.document("audit", "json"));
}

#[test]
fn messages_of_services_do_not_drive_a_terminal() {
    let Some(hostile) = Hostile::open() else { return };
    let words = "no\u{1b}[2J\u{9b}2J\u{202e}\r\nerror: your account was deleted";
    for service in ["cloudwatch", "pricing"] {
        let fault = Fault::AccessDeniedSaying(words);
        let loopback = &hostile.account.loopback;
        loopback.inject(Target::service(service), fault, Times::Always);
    }
    let table = hostile.document("audit", "wide");
    assert!(table.contains("no\\u{1b}[2J"), "the words are shown:\n{table}");
    let json = hostile.document("audit", "json");
    serde_json::from_str::<serde_json::Value>(&json).expect("valid JSON");

    // Every region denied: the words are part of the error.
    let loopback = &hostile.account.loopback;
    let words = "no\u{9b}2J\u{202e}\nerror: your account was deleted";
    let fault = Fault::AccessDeniedSaying(words);
    loopback.inject(Target::service("ec2"), fault, Times::Always);
    let run =
        Gpucost::audit(hostile.days).args(&["--region", "us-east-1"]).of(&hostile.account).run();
    let error = run.error(1);
    assert!(!error.contains(is_forbidden), "{error:?}");
    let lines = error.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(lines.count(), 1, "the words made an error of their own: {error}");
}

/// No cell begins like a formula.
fn cells(command: &str, text: &str) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut rows = 0;
    let mut escaped = 0;
    for row in reader.records() {
        let row = row.expect("rows are as wide as the header");
        rows += 1;
        for cell in &row {
            let runs = cell.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!runs, "{command}: {cell:?} would run");
            escaped += usize::from(cell.starts_with("'="));
        }
    }
    assert_eq!(rows, 8, "{command}: a row for each");
    // Metrics go by instance id alone.
    let shown = command == "metrics" || escaped >= 1;
    assert!(shown, "{command}: the formula has an apostrophe in front");
}

/// Scripts get the names as they are, escaped by JSON's own means.
fn names_survive_in_json(text: &str) {
    let report: serde_json::Value = serde_json::from_str(text).expect("valid JSON");
    let workloads = report["workloads"].as_array().expect("a list");
    let names: Vec<&str> =
        workloads.iter().map(|workload| workload["name"].as_str().expect("a name")).collect();
    for name in [TERMINAL, TURNED, FORMULA, QUOTES] {
        assert!(names.contains(&name), "{name:?} is not among {names:?}");
    }
    let ignored = workloads.iter().filter(|workload| !workload["ignored"].is_null());
    assert_eq!(ignored.count(), 1, "the reason is hostile, the tag is honoured");
}
