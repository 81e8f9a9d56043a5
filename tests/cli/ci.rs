//! The files in `ci/` and their page: the examples are those that are printed, the files hold to
//! the schemas of the systems that read them, and their shell steps run.

use crate::cli::installed::installed;
use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::terraform::fixture;
use crate::cli::world::World;
use crate::support::skip::skip;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const FILES: [(&str, &str); 5] = [
    ("action.yml", "vendor.github-actions"),
    ("pull-request.yml", "vendor.github-workflows"),
    ("nightly.yml", "vendor.github-workflows"),
    ("gitlab.yml", "vendor.gitlab-ci"),
    ("build.yml", "vendor.github-workflows"),
];

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci").join(name);
    fs::read_to_string(path).expect("a file")
}

#[test]
fn the_page_shows_what_is_printed() {
    let text = page("ci.md");
    let world = World::new();
    world.file("gpucost-policy.toml", blocks(&text, "toml").remove(0));
    let examples = blocks(&text, "console");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments: Vec<&str> =
            command.strip_prefix("$ gpucost ").expect("a command of gpucost").split(' ').collect();
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 100, "{}", outcome.stderr);
        assert_shows("docs/ci.md", shown, &outcome.stdout);
    }
}

#[test]
fn files_hold_to_the_schemas_of_their_systems() {
    let Some(checker) = installed("check-jsonschema") else {
        return skip("there is no target/test-venv with check-jsonschema");
    };
    for (name, schema) in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci").join(name);
        let output = Command::new(&checker)
            .args(["--builtin-schema", schema])
            .arg(path)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {said}");
    }
}

/// The script of the action.
fn script_of_action() -> String {
    let action = file("action.yml");
    let (_, script) = action.rsplit_once("      run: |\n").expect("a script");
    let lines = script.lines().map(|line| match line.strip_prefix("        ") {
        Some(line) => line,
        None => {
            assert!(line.is_empty(), "{line}");
            line
        }
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The lines of GitLab's script, as its runner puts them together.
fn script_of_gitlab() -> String {
    let file = file("gitlab.yml");
    let (_, rest) = file.split_once("  script:\n").expect("a script");
    let lines = rest.lines().take_while(|line| line.starts_with("    "));
    lines.filter_map(|line| line.strip_prefix("    - ")).map(|line| format!("{line}\n")).collect()
}

/// Runs a script where `gpucost` is on the path.
fn bash(script: &str, folder: &Path, more: &[(&str, &str)]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_gpucost"));
    let own = program.parent().expect("a folder").display();
    Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .env_clear()
        .env("PATH", format!("{own}:/usr/local/bin:/usr/bin:/bin"))
        .env("HOME", folder)
        .env("RUNNER_TEMP", folder)
        .env("GITHUB_OUTPUT", folder.join("output"))
        .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
        .envs(more.iter().copied())
        .current_dir(folder)
        .output()
        .expect("bash starts")
}

/// Lines of the action that the runner acts on, and those that it only shows, as it takes
/// them: those between `stop-commands` and the word of it.
fn acted_on_and_shown(output: &Output) -> (String, String) {
    let (mut acted_on, mut shown) = (String::new(), String::new());
    let mut word: Option<String> = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match &word {
            Some(end) if line == format!("::{end}::") => word = None,
            Some(_) => shown.push_str(&format!("{line}\n")),
            None => match line.strip_prefix("::stop-commands::") {
                Some(begin) => {
                    assert!(
                        begin.len() == 32 && begin.bytes().all(|byte| byte.is_ascii_hexdigit())
                    );
                    word = Some(begin.to_owned());
                }
                None => acted_on.push_str(&format!("{line}\n")),
            },
        }
    }
    assert_eq!(word, None, "the runner acts on lines again");
    (acted_on, shown)
}

/// Fixtures are read by the program, whose clock is that of today.
const KEPT: &str = "[[budget]]\nmonthly_limit = 900_000_000\n\n[recording]\nmax_age = \"36500d\"\n";
const BROKEN: &str = "[[budget]]\nmonthly_limit = 1\n";

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

#[test]
fn the_action_runs() {
    for (policy, code) in [(KEPT, 0), (BROKEN, 100), ("[[budget]]\nlimit = 1\n", 2)] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let folder = folder.path();
        fs::write(folder.join("own.toml"), policy).expect("a policy");
        let more = [
            ("ARGUMENTS", "--demo --region us-east-1"),
            ("BASELINE", ""),
            ("GPUCOST_POLICY", "own.toml"),
            ("PLAN", ""),
        ];
        let output = bash(&script_of_action(), folder, &more);
        let (stdout, messages) = acted_on_and_shown(&output);
        assert_eq!(output.status.code(), Some(code), "{messages}");
        assert!(output.stderr.is_empty());
        let outputs = read(folder, "output");
        let summary = read(folder, "summary");
        assert!(outputs.starts_with(&format!("exit-code={code}\n")), "{outputs}");
        if code == 2 {
            assert_eq!((stdout.as_str(), summary.as_str()), ("", ""));
            assert!(messages.contains("own.toml"), "{messages}");
            continue;
        }
        assert!(summary.starts_with("<!-- gpucost check -->\n### "), "{summary}");
        let kind = if code == 0 { "::notice " } else { "::error file=own.toml,line=1," };
        assert!(stdout.starts_with(kind), "{stdout}");
        let sarif = outputs.lines().find_map(|line| line.strip_prefix("sarif="));
        let sarif = fs::read_to_string(sarif.expect("a path")).expect("a log");
        let log: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
        let results = log["runs"][0]["results"].as_array().expect("a list");
        assert_eq!(results.is_empty(), code == 0);
    }
}

/// The command of the step that installs.
fn installing() -> String {
    let action = file("action.yml");
    let (_, rest) = action.split_once("      run: ").expect("a command");
    rest.lines().next().expect("a line").to_owned()
}

#[test]
fn the_action_installs_where_nothing_is_installed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let more = [("INSTALL", "touch installed")];
    let output = bash(&installing(), folder, &more);
    assert!(output.status.success());
    assert!(!folder.join("installed").exists());
    let bare = ("PATH", "/usr/bin:/bin");
    let output = bash(&installing(), folder, &[more[0], bare]);
    assert!(output.status.success());
    assert!(folder.join("installed").exists());
    let output = bash(&installing(), folder, &[("INSTALL", "false; true"), bare]);
    assert!(!output.status.success());
}

#[test]
fn arguments_are_split_as_a_shell_splits_them_and_not_run() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    fs::write(folder.join("own.toml"), KEPT).expect("a policy");
    let run = |arguments: &str| {
        let more = [
            ("ARGUMENTS", arguments),
            ("BASELINE", ""),
            ("GPUCOST_POLICY", "own.toml"),
            ("PLAN", ""),
        ];
        let output = bash(&script_of_action(), folder, &more);
        let (_, messages) = acted_on_and_shown(&output);
        let stderr = String::from_utf8_lossy(&output.stderr);
        (output.status.code(), format!("{messages}{stderr}"))
    };
    for (arguments, code, said) in [
        ("--demo --tag 'Name=llm-poc-old'", 0, "checked 1 instance"),
        ("--demo --exclude-tag \"Name=a b\"", 0, "checked 22 of 23"),
        ("--demo\n--tag Name=llm-poc-old", 0, "checked 1 instance"),
        ("--demo --tag '*=$(touch run)`touch run`; touch run'", 4, "nothing to check"),
        ("--demo --tag 'Name=open", 2, "unmatched single quote"),
    ] {
        let (exit_code, stderr) = run(arguments);
        assert_eq!(exit_code, Some(code), "{arguments}: {stderr}");
        assert!(stderr.contains(said), "{arguments}: {stderr}");
        assert!(!folder.join("run").exists(), "{arguments}");
    }
}

#[test]
fn the_runner_acts_on_no_message_of_the_action() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    fs::write(folder.join("own.toml"), KEPT).expect("a policy");
    for hostile in ["::add-path::x", "##[add-path]x"] {
        let arguments = format!("--demo --region '{hostile}'");
        let more = [
            ("ARGUMENTS", arguments.as_str()),
            ("BASELINE", ""),
            ("GPUCOST_POLICY", "own.toml"),
            ("PLAN", ""),
        ];
        let output = bash(&script_of_action(), folder, &more);
        assert_eq!(output.status.code(), Some(2));
        let (acted_on, shown) = acted_on_and_shown(&output);
        assert_eq!(acted_on, "");
        assert!(shown.contains("is not a region name"), "{shown}");
    }
}

#[test]
fn the_action_compares_with_a_baseline() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    let audit = World::new().run(&["audit", "--demo", "--format", "json"]);
    fs::write(folder.join("old report.json"), audit.stdout).expect("a baseline");
    fs::write(folder.join("own.toml"), BROKEN).expect("a policy");
    let more = [
        ("ARGUMENTS", "--demo"),
        ("BASELINE", "old report.json"),
        ("GPUCOST_POLICY", "own.toml"),
        ("PLAN", ""),
    ];
    let output = bash(&script_of_action(), folder, &more);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        read(folder, "summary").contains("1 known, 0 worse, 0 new, 0 gone since old report.json")
    );
}

#[test]
fn the_action_checks_a_plan() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    fs::copy(fixture(), folder.join("the plan.json")).expect("a plan");
    fs::write(folder.join("own.toml"), BROKEN).expect("a policy");
    let more = [
        ("ARGUMENTS", ""),
        ("BASELINE", ""),
        ("GPUCOST_POLICY", "own.toml"),
        ("PLAN", "the plan.json"),
    ];
    let output = bash(&script_of_action(), folder, &more);
    let (stdout, messages) = acted_on_and_shown(&output);
    assert_eq!(output.status.code(), Some(100), "{messages}");
    // By hand in tests/cli/terraform.rs.
    let summary = read(folder, "summary");
    let cost = "; \\$12,991.08 → \\$38,507.86 per month; ";
    assert!(summary.contains(cost), "{summary}");
    assert!(summary.contains("+\\$25,516.78 per month where priced; "), "{summary}");
    assert!(stdout.starts_with("::error file=own.toml,line=1,"), "{stdout}");
    let outputs = read(folder, "output");
    let sarif = outputs.lines().find_map(|line| line.strip_prefix("sarif="));
    let sarif = fs::read_to_string(sarif.expect("a path")).expect("a log");
    assert!(sarif.contains("policy/budget"), "{sarif}");
}

#[test]
fn missing_data_is_a_failure_unless_it_is_allowed() {
    let estate = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/idle-gpu/missing.json");
    let policy = "[[forbid]]\nrule = \"idle-gpu\"\n";
    let warning = "::warning title=GPU cost policy::";
    for (allowed, code) in [("false", 3), ("", 3), ("true", 0)] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let folder = folder.path();
        fs::write(folder.join("own.toml"), policy).expect("a policy");
        let arguments = format!("--from '{estate}'");
        let more = [
            ("ALLOW_INCOMPLETE", allowed),
            ("ARGUMENTS", arguments.as_str()),
            ("BASELINE", ""),
            ("GPUCOST_POLICY", "own.toml"),
            ("PLAN", ""),
        ];
        let output = bash(&script_of_action(), folder, &more);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{allowed}: {stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(stdout.contains(warning), code == 0, "{stdout}");
        let outputs = read(folder, "output");
        assert!(outputs.starts_with("exit-code=3\n"), "{outputs}");
        let kept = outputs.lines().find_map(|line| line.strip_prefix("estate="));
        assert!(Path::new(kept.expect("a path")).exists());
    }
}

#[test]
fn no_pipeline_passes_what_is_incomplete_unless_it_is_asked_to() {
    for (name, _) in FILES {
        let text = file(name);
        assert!(!text.contains("allow-incomplete: \"true\""), "{name}");
        assert!(!text.contains("allow_failure"), "{name}");
    }
    let action = file("action.yml");
    let (_, input) = action.split_once("  allow-incomplete:\n").expect("an input");
    let default = input.lines().nth(1).expect("a default");
    assert_eq!(default.trim(), "default: \"false\"");
}

#[test]
fn the_job_of_gitlab_runs() {
    for (policy, code) in [(KEPT, 0), (BROKEN, 100), ("[[budget]]\nlimit = 1\n", 2)] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let folder = folder.path();
        fs::write(folder.join("gpucost-policy.toml"), policy).expect("a policy");
        let estate = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/idle-gpu/fires.json");
        let script = script_of_gitlab().replacen(
            "check --save",
            &format!("check --from {estate} --save"),
            1,
        );
        let output = bash(&script, folder, &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let junit = read(folder, "gpucost-junit.xml");
        let markdown = read(folder, "gpucost.md");
        assert_eq!(junit.is_empty(), code == 2, "{stderr}");
        assert_eq!(markdown.is_empty(), code == 2, "{stderr}");
    }
}
