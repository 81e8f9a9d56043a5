//! `gpucost fix`.

use super::args::{EstateArgs, RiskChoice};
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::scope::invocation;
use super::{Io, audit, check_plan, estate, output};
use crate::analysis::{Audit, Fix, FixChoice, FixTarget, audit as audit_estate, fixes};
use crate::domain::{ActionKind, nearest_names};
use crate::report::{FixPlan, Invocation, fix_csv, fix_json, fix_markdown, fix_script, fix_table};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

fn action(text: &str) -> Result<ActionKind, String> {
    ActionKind::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("valid values: {}", names.join(", "))
    })
}

/// `gpucost fix`.
#[derive(Debug, Args)]
pub(super) struct FixArgs {
    /// Include only actions of this kind, such as `stop` (can be repeated)
    #[arg(long, value_name = "KIND", value_parser = action)]
    pub action: Vec<ActionKind>,
    /// Include only actions on this workload, by its ID or name (can be repeated)
    #[arg(long, value_name = "ID")]
    pub workload: Vec<String>,
    /// Maximum risk level of the plan [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
    /// Terraform plan that manages the same resources, as `terraform show -json` writes it:
    /// changes of them are printed as changes of the configuration
    #[arg(long, value_name = "FILE")]
    pub terraform: Option<PathBuf>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<FixFormat>,
    #[command(flatten)]
    pub estate: EstateArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FixFormat {
    /// Table that fits the terminal
    Table,
    /// Table for a wide terminal, with the arithmetic
    Wide,
    /// JSON, for scripts: every action with its steps
    Json,
    /// CSV, for spreadsheets: a row for each step
    Csv,
    /// Runbook in Markdown
    Markdown,
    /// Script for bash, which runs nothing without `--yes`
    Script,
}

pub(super) fn run(args: &FixArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let out = &args.estate.out;
    let settings = estate::settings(out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    if format == FixFormat::Script && args.estate.redact {
        return Err(
            Failure::input("`--redact` cannot be used with `--format script`").with_hint(
                "masked names are in no account; use `--format markdown` for a runbook that \
                 can be shown to others",
            ),
        );
    }
    let accepted = audit::risk(args.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let named = [
        ("--terraform", args.terraform.as_deref()),
        ("--output", out.output.as_deref()),
    ];
    let named = named.into_iter();
    let named: Vec<(&str, &Path)> = named
        .filter_map(|(flag, path)| Some((flag, path?)))
        .collect();
    output::check_distinct(&named)?;
    let terraform = match &args.terraform {
        Some(path) => Some(check_plan::read(path, None, "--terraform")?.0),
        None => None,
    };
    let estate = estate::estate(&args.estate, &settings, io)?;
    let audited = audit_estate(&estate, &settings.policy, accepted);
    let warning = age.check(audited.prices.oldest_seen_on(), audited.window.end)?;
    let choice = FixChoice {
        kinds: args.action.iter().copied().collect(),
        names: args.workload.iter().cloned().collect(),
    };
    check_names(&choice, &audited)?;
    let chosen = fixes(
        &audited,
        &estate,
        terraform.as_ref(),
        (&settings.policy, &choice),
    );
    let unmanaged = terraform.as_ref().and_then(|_| unmanaged(&chosen));
    let plan = FixPlan::of(&audited, chosen);
    let text = match format {
        FixFormat::Table | FixFormat::Wide => {
            let style = output::style(format == FixFormat::Wide, out, io);
            fix_table(&plan, &asked(args), style)
        }
        FixFormat::Json => fix_json(&plan).map_err(Failure::unexpected)?,
        FixFormat::Csv => fix_csv(&plan).map_err(Failure::unexpected)?,
        FixFormat::Markdown => fix_markdown(&plan),
        FixFormat::Script => fix_script(&plan),
    };
    output::document(&text, out, io)?;
    output::warn(warning, out, io);
    output::warn(unmanaged, out, io);
    let (instances, unmeasured) = audit::seen(&audited);
    Ok(output::close(
        "audited",
        instances,
        unmeasured,
        &audited.gaps,
        &args.estate,
        io,
    ))
}

/// What to say of a Terraform plan that has nothing of these actions.
fn unmanaged(chosen: &[Fix<'_>]) -> Option<String> {
    let is_managed = |fix: &Fix<'_>| match &fix.target {
        FixTarget::Workload(one) => !one.planned.is_empty(),
        FixTarget::Reservation(_) | FixTarget::Scope(_) | FixTarget::Purchase(_) => false,
    };
    let is_other = !chosen.is_empty() && !chosen.iter().any(is_managed);
    is_other.then(|| {
        "warning: the Terraform plan has none of the instances and groups of these actions\n\
         hint: a plan names what exists by ID or name: pass that of the configuration that made \
         them"
            .to_owned()
    })
}

/// What was typed to choose these actions.
fn asked(args: &FixArgs) -> Invocation {
    let mut invocation = invocation(&args.estate, args.risk);
    let kinds = args.action.iter().map(|kind| ("--action", kind.name()));
    let named = args.workload.iter().filter(|_| !args.estate.redact);
    let named = named.map(|name| ("--workload", name.as_str()));
    let file = args.terraform.as_deref().and_then(Path::to_str);
    let file = file.map(|file| ("--terraform", file));
    for (flag, value) in kinds.chain(named).chain(file) {
        // Apart from its flag, a value may be taken for another one.
        invocation.audit.push(format!("{flag}={value}"));
    }
    invocation
}

/// Every name must be that of something in the audit.
fn check_names(choice: &FixChoice, audited: &Audit) -> Result<(), Failure> {
    let unknown = choice.unknown(audited);
    let Some(name) = unknown.first() else {
        return Ok(());
    };
    let failure = Failure::input(format!("workload `{name}` not found"));
    let known: Vec<String> = FixChoice::known(audited).collect();
    let nearest = nearest_names(name, known.iter().map(String::as_str));
    Err(failure.with_hint(if nearest.is_empty() {
        "`gpucost audit --format json` lists every workload with its ID and name".to_owned()
    } else {
        format!("closest matches: {}", nearest.join(", "))
    }))
}
