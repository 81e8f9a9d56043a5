//! `gpucost check`: the audit as a gate, and `--terraform-plan`, the gate before anything runs.

use super::args::{DocFormat, EstateArgs, RISKS, doc_formats, place};
use super::diff::unreadable;
use super::history::read_recorded;
use super::known_prices::{PriceAge, is_several};
use super::setup::SchemaName;
use super::{
    ExitCode, Failure, Io, Outcome, audit as audit_command, estate, flags, hinted, known_prices,
    output, refusal, refuse_if, refused, scope,
};
use crate::analysis::gate::{
    Baseline, GateOutcome, GatePolicy, GateReport, SpendHistory, gate, gate_plan, policy_rule,
    unjudged_by_plan,
};
use crate::analysis::{Audit, audit_once, price_plan};
use crate::catalog::Prices;
use crate::config::{POLICY_FILE, STARTING_POLICY, SettingsFile, read_policy};
use crate::domain::{
    Gap, GapSubject, PastAudit, Risk, TerraformPlan, counted, safe, shell_word, shown,
};
use crate::report::text::minute;
use crate::report::{
    Doc, GateBrief, Invocation, gate_doc, gate_github, gate_junit, gate_markdown, gate_sarif,
    gate_slack, terraform_brief, terraform_doc,
};
use crate::sources::files::{TerraformError, read_report, read_terraform_plan, write_whole};
use crate::sources::store::Place;
use clap::{Subcommand, ValueEnum, ValueHint};
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

flags! {
    /// `gpucost check`.
    #[command(args_conflicts_with_subcommands = true)]
    pub(super) struct CheckArgs {
        action: Option<CheckAction> = command(subcommand);
        /// Policy file [default: gpucost-policy.toml in the current directory]
        policy: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Earlier `audit --format json` report; only new or worse violations fail
        baseline: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Check the planned result of a Terraform plan instead of the current state:
        /// output of `terraform show -json`; `-` for stdin
        terraform_plan: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = ["from", "from_kubectl", "prometheus_url", "demo", "save", "baseline", "commitments", "profile_data", "redact", "tag", "exclude_tag"]);
        /// Recorded audits that forecasts of budgets rest on: a directory or s3://BUCKET/PREFIX
        /// [default: that of --history]
        recorded_audits: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        estate: EstateArgs = command(flatten);
        /// Maximum risk level of the plan [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
        /// Output format [default: table]
        format: Option<CheckFormat> = arg(long, value_enum, help_heading = "Output");
    }

    /// `gpucost check init`.
    pub(super) struct InitArgs {
        /// File to write; `-` for stdout [default: gpucost-policy.toml in the current
        /// directory]
        output: Option<PathBuf> = arg(long, short, value_name = "FILE");
        /// Also write the JSON schema beside the file, and name it in the first line for editors
        schema: bool = arg(long);
        /// Print only errors to stderr
        quiet: bool = arg(long, short);
    }
}

doc_formats! {
    /// The formats of a check, with those of code hosts and build servers.
    CheckFormat(
        Wide = "Table for a wide terminal, with every row",
        Markdown = "Markdown, for a pull request comment"
    ) {
        Github = "github", "Workflow commands, for GitHub Actions annotations";
        Sarif = "sarif", "SARIF 2.1.0, for code scanning";
        Junit = "junit", "JUnit XML, for build server test reports";
        Slack = "slack", "Block Kit, for a Slack incoming webhook";
    }
}

/// What to do instead of a check.
#[derive(Debug, Subcommand)]
pub(super) enum CheckAction {
    /// Write a commented starter policy; an existing file is not overwritten
    Init(InitArgs),
}

pub(super) fn run(args: &CheckArgs, io: &mut Io<'_>) -> Outcome {
    match (&args.action, &args.terraform_plan) {
        (Some(CheckAction::Init(args)), _) => init(args, io),
        (None, Some(plan)) => check_plan(plan, args, io),
        (None, None) => check_estate(args, io),
    }
}

fn check_estate(args: &CheckArgs, io: &mut Io<'_>) -> Outcome {
    refuse_if!(args.estate.redact;
        "`--redact` masks the names that a policy refers to";
        "run the check without it; `gpucost audit --redact` creates a shareable report");
    let settings = estate::settings(&args.estate.out, io)?;
    let accepted = audit_command::risk(args.risk, &settings, io)?;
    // Without a policy nothing would be demanded, and everything would pass.
    let (path, name) = found_policy(args, io).ok_or_else(refused!(
        "no policy found: {POLICY_FILE} is not in the current directory";
        "run `gpucost check init` to create a starter policy, or pass `--policy FILE`"))?;
    check_files(args, Some(&path))?;
    let policy = policy(&path, &name)?;
    let past = args.baseline.as_deref().map(read_report).transpose().map_err(unreadable)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let estate = estate::read(&args.estate, &settings, io)?;
    let audit = audit_once(estate, &settings.policy, accepted);
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let before = args.baseline.as_deref().zip(past.as_ref());
    let before = before.map(|(path, past)| baseline(path, past, &audit)).transpose()?;
    let invocation = invocation(args);
    let nights = spend_history(args, &policy, &settings, io)?;
    // A demo is of no day.
    let now = if args.estate.demo.is_some() { audit.as_of } else { io.now.max(audit.as_of) };
    let mut report = gate(&audit, &policy, before.as_ref(), nights.as_ref(), (audit.as_of, now));
    report.name_estate(&invocation.estate_flags());
    report.settings = settings.money_settings(&io.folder);
    if let Some(stale) = staleness(args, &policy, &audit, io.now) {
        report.lack(&stale);
    }
    let brief = GateBrief::of_audit(&audit, before.as_ref(), &invocation);
    print(gate_doc(&report, &audit, &brief), (&report, &brief), args, &settings, io)?;
    output::warn(warning, &args.estate.out, io);
    for caution in before.iter().flat_map(|baseline| &baseline.cautions) {
        let line = safe(&format!("warning: limited comparability with the baseline: {caution}"));
        output::warn(Some(line), &args.estate.out, io);
    }
    let line = output::closing_line("checked", audit_command::seen(&audit), &audit.gaps);
    output::say(&line, &args.estate.out, io);
    Ok(ending(&report, &audit.gaps, "nothing to check: no GPU instances in scope", args, io))
}

/// What an audit is compared with.
///
/// # Errors
/// When the earlier one has nothing in common with it.
fn baseline(path: &Path, past: &PastAudit, audit: &Audit) -> Outcome<Baseline> {
    let name = shown(path);
    Baseline::of(name.clone(), past, audit).map_err(|reason| refusal! {
        "{name} cannot be used as a baseline for this audit: {reason}";
        "create one with `gpucost audit --format json` for the accounts, regions and tags of this \
         check"
    })
}

/// A recording that is too old to tell what runs today, or of a clock that is ahead, which
/// would never grow old. A demo is of no day, and whoever reads
/// kubectl's lists states the instant with `--as-of`.
fn staleness(args: &CheckArgs, policy: &GatePolicy, audit: &Audit, now: Timestamp) -> Option<Gap> {
    let file = args.estate.from.as_deref()?;
    let most = policy.max_recording_age();
    let age = now.duration_since(audit.as_of);
    let is_ahead = age < SignedDuration::from_hours(-24);
    if age <= most && !is_ahead {
        return None;
    }
    let days = |age: SignedDuration| counted((age.as_hours() / 24).unsigned_abs(), "day", "days");
    let words = if most.as_hours() % 24 == 0 {
        days(most)
    } else {
        counted(most.as_hours().unsigned_abs(), "hour", "hours")
    };
    Some(Gap::in_words(
        GapSubject::named("recent recording"),
        shown(file),
        if is_ahead {
            format!("it describes {}, which is in the future", minute(audit.as_of))
        } else {
            format!(
                "it describes {}, {} ago; the policy allows {words}",
                minute(audit.as_of),
                days(age)
            )
        },
        format!(
            "`gpucost audit --save {}` records the account again; `max_age` in [recording] of the \
             policy allows more",
            shell_word(&file.to_string_lossy())
        ),
    ))
}

/// The recorded days that budgets of a month are held against; absent where the policy has
/// none, or no place of them is named.
fn spend_history(
    args: &CheckArgs,
    policy: &GatePolicy,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome<Option<SpendHistory>> {
    let place = args.recorded_audits.as_ref().or(args.estate.history.as_ref());
    let Some(place) = place.filter(|_| policy.has_forecasts()) else { return Ok(None) };
    let access = args.estate.aws.access(settings, io);
    let recorded = read_recorded(Some(place), access, &args.estate.out, io)?;
    Ok(Some(SpendHistory {
        place: shell_word(&place.word()),
        days: recorded.rows,
        runs: recorded.runs,
        problems: recorded.problems.iter().map(ToString::to_string).collect(),
    }))
}

/// The policy file and what reports call it, where there is one: `--policy`, `GPUCOST_POLICY`, or the
/// usual file of the folder.
fn found_policy(args: &CheckArgs, io: &Io<'_>) -> Option<(PathBuf, String)> {
    let named = args.policy.clone().or_else(|| io.variable("GPUCOST_POLICY").map(PathBuf::from));
    if let Some(path) = named {
        let name = shown(&path);
        return Some((path, name));
    }
    let usual = io.folder.join(POLICY_FILE);
    usual.exists().then(|| (usual, POLICY_FILE.to_owned()))
}

fn policy(path: &Path, name: &str) -> Outcome<GatePolicy> {
    read_policy(path, name).map_err(estate::unreadable_policy)
}

/// What is written must not take the place of what is read.
fn check_files(args: &CheckArgs, policy: Option<&Path>) -> Outcome<()> {
    let plan = args.terraform_plan.as_deref();
    let named = [
        ("--policy", policy),
        ("--terraform-plan", plan),
        ("--baseline", args.baseline.as_deref()),
        ("--save", args.estate.save.as_deref()),
        ("--output", args.estate.out.output.as_deref()),
    ];
    output::check_distinct(named).map(drop)
}

/// Prints a report in the format by precedence: flag, environment, file, table. A format that
/// only other commands know is not an error there. Annotations are commands to the code host,
/// and nothing else is.
fn print(
    doc: Doc,
    (report, brief): (&GateReport, &GateBrief),
    args: &CheckArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome<()> {
    let named = || io.variable("GPUCOST_FORMAT").or(settings.format.as_ref());
    let format = args.format.or_else(|| CheckFormat::from_str(named()?, true).ok());
    let format = format.unwrap_or(CheckFormat::Doc(DocFormat::Table));
    let out = &args.estate.out;
    let text = match format {
        CheckFormat::Github => {
            return output::bytes(gate_github(report, brief).as_bytes(), out, io);
        }
        CheckFormat::Sarif => gate_sarif(report, brief).map_err(Failure::unexpected)?,
        CheckFormat::Junit => gate_junit(report, brief),
        CheckFormat::Slack => gate_slack(report, brief, doc).map_err(Failure::unexpected)?,
        CheckFormat::Doc(DocFormat::Markdown) => gate_markdown(report, doc),
        CheckFormat::Doc(format) => {
            return output::print_rows(&doc, format, None, out, io).map(drop);
        }
    };
    output::document(&text, out, io)
}

/// What the user typed, for the commands that a report advises.
fn invocation(args: &CheckArgs) -> Invocation {
    let mut invocation = scope::invocation(&args.estate, args.risk);
    for (flag, file) in [("--policy", &args.policy), ("--baseline", &args.baseline)] {
        let file = file.as_ref().map(|file| file.to_string_lossy());
        let words = file.map(|file| [flag.to_owned(), file.into_owned()]);
        invocation.audit.extend(words.into_iter().flatten());
    }
    invocation
}

/// What is said of an outcome, and its exit code. `nothing` is said when there
/// was nothing to judge.
fn ending(
    report: &GateReport,
    gaps: &[Gap],
    nothing: &str,
    args: &CheckArgs,
    io: &mut Io<'_>,
) -> ExitCode {
    let missing = report.missing_data.len() as u64;
    let lacking = counted(missing, "missing input", "missing inputs");
    let is_plan = args.terraform_plan.is_some();
    let (error, hint, code) = match report.outcome {
        GateOutcome::Violated => {
            let violations = counted(report.violations.len(), "violation", "violations");
            let lacking = match missing {
                0 => String::new(),
                _ => format!("; {lacking} in the remaining rules"),
            };
            let error = format!("policy violated: {violations}{lacking}");
            let hint = "fix it, or add a suppression with owner and expiry date";
            (error, hint.to_owned(), ExitCode::Violated)
        }
        GateOutcome::Incomplete => {
            let error = format!("incomplete: {lacking} in policy evaluation");
            let hint = "the report lists an action for each; accepted gaps can be suppressed";
            (error, hint.to_owned(), ExitCode::Incomplete)
        }
        GateOutcome::Nothing | GateOutcome::Clean if args.estate.strict && !gaps.is_empty() => {
            let gaps = counted(gaps.len(), "gap", "gaps");
            let error = format!("incomplete: {gaps} under `--strict`");
            let list = if is_plan { "the report" } else { "`gpucost audit`" };
            (error, format!("{list} lists them"), ExitCode::Incomplete)
        }
        GateOutcome::Nothing | GateOutcome::Clean => {
            let empty = empty(report, nothing);
            let Some((error, hint)) = empty.filter(|_| !is_plan && !args.estate.allow_empty) else {
                output::say(&kept(report, nothing), &args.estate.out, io);
                return ExitCode::Done;
            };
            (error, hint, ExitCode::Nothing)
        }
    };
    output::complain(&error, &hint, code, io)
}

/// What matches nothing, and what to do about it: a misspelled scope passes every rule.
fn empty(report: &GateReport, nothing: &str) -> Option<(String, String)> {
    if report.outcome == GateOutcome::Nothing {
        let hint = "check `--region`, `--tag` and the account, or pass `--allow-empty`";
        return Some((nothing.to_owned(), hint.to_owned()));
    }
    let mut scopes = report.notices.iter().filter(|notice| notice.rule == policy_rule::EMPTY_SCOPE);
    let first = scopes.next()?;
    let more = match scopes.count() as u64 {
        0 => String::new(),
        more => {
            let others = counted(more, "other budget", "other budgets");
            format!("; the same of {others}")
        }
    };
    let place = &first.place;
    let hint = format!("check the spelling at {place}, or pass `--allow-empty`");
    Some((safe(&format!("{}{more}", first.title)), safe(&hint)))
}

/// What is said when nothing fails.
fn kept(report: &GateReport, nothing: &str) -> String {
    if report.outcome == GateOutcome::Nothing {
        return nothing.to_owned();
    }
    if report.policy_file.is_none() {
        return "nothing is demanded without a policy; `gpucost check init` creates one".to_owned();
    }
    let rules = counted(report.checks.len(), "rule", "rules");
    let mut line = format!("policy passed: {rules}");
    let known = report.notices.iter().filter(|notice| notice.is_known()).count();
    for (number, singular, plural) in [
        (report.suppressed.len(), "suppressed", "suppressed"),
        (known, "known in the baseline", "known in the baseline"),
        (report.notices.len() - known, "notice", "notices"),
    ] {
        if number > 0 {
            line.push_str(&format!("; {}", counted(number, singular, plural)));
        }
    }
    line
}

fn init(args: &InitArgs, io: &mut Io<'_>) -> Outcome {
    let is_stdout = args.output.as_deref() == Some(Path::new("-"));
    refuse_if!(is_stdout && args.schema;
        "`--schema` writes a file beside the policy, not to stdout";
        "run `gpucost setup schema policy` to print the schema");
    if is_stdout {
        return output::print(STARTING_POLICY.as_bytes(), io);
    }
    let path = args.output.clone().unwrap_or_else(|| io.folder.join(POLICY_FILE));
    let name = args.output.as_ref().map_or(POLICY_FILE.to_owned(), |path| shown(path));
    let schema = args.schema.then(|| path.with_extension("schema.json"));
    let text = match schema.as_deref().and_then(Path::file_name) {
        Some(beside) => format!("#:schema ./{}\n{STARTING_POLICY}", shown(Path::new(beside))),
        None => STARTING_POLICY.to_owned(),
    };
    let unwritable = |name: &str, error| {
        Failure::write(name, error).with_hint("choose a file in an existing, writable directory")
    };
    write_new(&path, &text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => refusal!("{name} already exists";
            "pass another file with `--output`, or `--output -` to print it"),
        _ => unwritable(&name, error),
    })?;
    if let Some(schema) = &schema {
        let text = SchemaName::Policy.text().map_err(Failure::unexpected)?;
        write_whole(schema, |out| out.write_all(text.as_bytes()))
            .map_err(|error| unwritable(&shown(schema), error))?;
    }
    if !args.quiet {
        let flag = args.output.as_ref().map_or(String::new(), |path| {
            format!(" --policy {}", shell_word(&path.to_string_lossy()))
        });
        let line = format!("wrote {name}; run `gpucost check --demo{flag}` to try it\n");
        // A closed stderr does not change what was written.
        let _ = io.stderr.write_all(line.as_bytes());
    }
    Ok(ExitCode::Done)
}

/// Writes a file that must not be there yet; half of one is removed.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        drop(file);
        fs::remove_file(path)?;
    }
    written
}

/// What a plan is called that comes over stdin.
const STDIN: &str = "stdin";

fn check_plan(path: &Path, args: &CheckArgs, io: &mut Io<'_>) -> Outcome {
    let out = &args.estate.out;
    let settings = estate::settings(out, io)?;
    // What a plan changes is worth reading before anybody writes a policy.
    let policy_found = found_policy(args, io);
    check_files(args, policy_found.as_ref().map(|(path, _)| path.as_path()))?;
    let policy = policy_found.as_ref().map(|(path, name)| policy(path, name)).transpose()?;
    let policy = policy.unwrap_or_default();
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let region = region_of_plan(args, &settings, io)?;
    let (plan, name) = read_plan(path, region.as_deref(), "--terraform-plan")?;

    let book = known_prices::book(args.estate.offline, &settings, io)?;
    let terms = &settings.policy;
    let prices = Prices::new(&book, &terms.discount_percent);
    let change = price_plan(&plan, &prices, terms.hours_per_month);
    let warning = age.check(change.oldest_seen_on(), io.now)?;
    let mut report = gate_plan(&change, &policy, &name, io.now);
    report.settings = settings.money_settings(&io.folder);
    let unjudged = unjudged_by_plan(&policy);
    refuse_if!(policy_found.is_some() && report.checks.is_empty() && !change.rows.is_empty();
        "no rule in the policy applies to a plan";
        "supported: budgets, tags, allowed types and regions, price age; see docs/terraform.md");
    let brief = terraform_brief(&change, &unjudged, &name, io.now);
    print(terraform_doc(&change, &report, &brief, &name), (&report, &brief), args, &settings, io)?;
    output::warn(warning, out, io);
    let line = format!(
        "checked {} that {} GPU instances; {}",
        counted(change.rows.len(), "resource", "resources"),
        if change.rows.len() == 1 { "runs" } else { "run" },
        counted(change.gaps.len(), "gap", "gaps")
    );
    output::say(&line, out, io);
    let nothing = format!("nothing to check: {}", safe(&change.nothing().unwrap_or_default()));
    Ok(ending(&report, &change.gaps, &nothing, args, io))
}

/// The region of a plan that names none: of the flag or the settings, and not the default
/// of an AWS profile.
fn region_of_plan(
    args: &CheckArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<Option<String>> {
    if let Some(named) = &args.estate.aws.region {
        refuse_if!(is_several(named);
            "`--region {named}` is not a single region: with `--terraform-plan` it is the \
             default where the plan sets none";
            "pass one, such as `--region us-east-1`");
        return Ok(Some(named.trim().to_owned()));
    }
    let usual = io.variable("GPUCOST_REGION").or(settings.region.as_ref());
    Ok(usual.filter(|name| !is_several(name)).cloned())
}

/// Reads the plan that a flag names; `region` stands in where the plan names none.
pub(super) fn read_plan(
    path: &Path,
    region: Option<&str>,
    flag: &str,
) -> Outcome<(TerraformPlan, String)> {
    let (plan, name) = if path.as_os_str() == "-" {
        let stdin = std::io::stdin().lock();
        (read_terraform_plan(stdin, STDIN, region), STDIN.to_owned())
    } else {
        let name = shown(path);
        let plan = File::open(path)
            .map_err(|source| TerraformError::Io { name: name.clone(), source })
            .and_then(|file| read_terraform_plan(file, &name, region));
        (plan, name)
    };
    let plan = plan.map_err(|error| hinted! { error;
        TerraformError::Io { .. } => "check the path passed to `{flag}`";
        TerraformError::Other { .. } => "create one in UTF-8 with `terraform plan -out plan.bin && terraform show -json plan.bin > plan.json`";
        TerraformError::Malformed { .. } => "use a plan written by `terraform show -json`; see docs/terraform.md";
    })?;
    Ok((plan, name))
}
