//! `gpucost fix`.

use super::args::{DocFormat, EstateArgs, PlanArgs, Rendering, doc_formats};
use super::known_prices::PriceAge;
use super::scope::invocation;
use super::{Io, Outcome, audit, check, estate, flags, output, refusal, refuse_if};
use crate::analysis::{Audit, Fix, FixChoice, FixTarget, audit as audit_estate, fixes};
use crate::domain::{ActionKind, nearest_names};
use crate::report::{FixPlan, FixView, Invocation, fix_doc, fix_markdown, fix_script};
use std::path::{Path, PathBuf};

/// Actions of a page.
const SHOWN: usize = 20;

/// Kinds of actions, each with the name or the ID of what one is about.
type Actions = Vec<(ActionKind, Option<String>)>;

/// Reads actions separated by commas; a name may have commas, too.
fn actions(text: &str) -> Result<Actions, String> {
    let mut actions = Actions::new();
    for part in text.split(',') {
        let (kind, name) = match part.split_once(':') {
            Some((kind, name)) => (kind, Some(name.to_owned())),
            None => (part, None),
        };
        match (ActionKind::from_name(kind), actions.last_mut()) {
            (Some(kind), _) => actions.push((kind, name)),
            (None, Some((_, Some(name)))) => {
                name.push(',');
                name.push_str(part);
            }
            (None, _) => {
                let names: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.name()).collect();
                let names = names.join(", ");
                return Err(format!("valid values: {names}, each with `:NAME` for one action"));
            }
        }
    }
    Ok(actions)
}

flags! {
    /// `gpucost fix`.
    pub(super) struct FixArgs {
        /// Print the steps of these actions alone: a kind, such as `stop`, or one action by the name
        /// or the ID of what it is about, such as `stop:llm-poc-old` (can be repeated)
        action: Vec<Actions> = arg(long, value_name = "KIND[:NAME][,…]", value_parser = actions);
        /// Print the steps of the actions on this workload alone, by its ID or name (can be repeated)
        workload: Vec<String> = arg(long, value_name = "ID");
        /// Print every action of the plan with its steps
        all: bool = arg(long);
        plan: PlanArgs = command(flatten);
        /// Terraform plan that manages the same resources, as `terraform show -json` writes it:
        /// changes of them are printed as changes of the configuration
        terraform: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Output format [default: table]
        format: Option<FixFormat> = arg(long, value_enum, help_heading = "Output");
        estate: EstateArgs = command(flatten);
    }
}

doc_formats! {
    /// The formats of a document, where Markdown is a runbook, and a script.
    FixFormat {
        Script = "script", "Script for bash, which runs nothing without `--yes`";
    }
}

pub(super) fn run(args: &FixArgs, io: &mut Io<'_>) -> Outcome {
    let out = &args.estate.out;
    let (settings, format) = audit::settings(args.format, out, io)?;
    refuse_if!(format == FixFormat::Script && args.estate.redact;
        "`--redact` cannot be used with `--format script`";
        "masked names are in no account; use `--format markdown` for a runbook that can be \
         shown to others");
    let accepted = audit::risk(args.plan.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    output::check_output(&[("--terraform", args.terraform.as_deref())], out)?;
    let terraform = match &args.terraform {
        Some(path) => Some(check::read_plan(path, None, "--terraform")?.0),
        None => None,
    };
    let estate = estate::read(&args.estate, &settings, io)?;
    let aimed = args.plan.aimed(&estate, (&settings.policy, accepted))?;
    let audited = aimed.unwrap_or_else(|| audit_estate(&estate, &settings.policy, accepted));
    let warning = age.check(audited.prices.oldest_seen_on(), audited.window.end)?;
    let choice = FixChoice {
        actions: args.action.iter().flatten().cloned().collect(),
        names: args.workload.iter().cloned().collect(),
    };
    check_names(&choice, &audited)?;
    if choice.actions.iter().any(|(_, name)| name.is_some()) {
        let whole = FixChoice::default();
        check_actions(&choice, &fixes(&audited, &estate, None, (&settings.policy, &whole)))?;
    }
    let chosen = fixes(&audited, &estate, terraform.as_ref(), (&settings.policy, &choice));
    let unmanaged = terraform.as_ref().and_then(|_| unmanaged(&chosen));
    let plan = FixPlan::of(&audited, chosen);
    match format {
        FixFormat::Script => output::document(&fix_script(&plan), out, io)?,
        FixFormat::Doc(DocFormat::Markdown) => output::document(&fix_markdown(&plan), out, io)?,
        FixFormat::Doc(format) => {
            let view = view(args, format);
            let doc = fix_doc(&plan, &typed(args), view);
            let most = match view {
                FixView::Steps => Some(usize::MAX),
                _ => (format == DocFormat::Table).then_some(SHOWN),
            };
            output::print_rows(&doc, format, most, out, io)?;
        }
    }
    output::warn(warning, out, io);
    output::warn(unmanaged, out, io);
    Ok(output::close("audited", audit::seen(&audited), &audited.gaps, &args.estate, io))
}

/// What to say of a Terraform plan that has nothing of these actions.
fn unmanaged(chosen: &[Fix<'_>]) -> Option<String> {
    let is_managed = |fix: &Fix<'_>| match &fix.target {
        FixTarget::Workload(workload) => !workload.planned.is_empty(),
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

/// A page on a screen, until actions are selected; every step where the format has no end.
fn view(args: &FixArgs, format: DocFormat) -> FixView {
    let is_selected = args.all || !args.action.is_empty() || !args.workload.is_empty();
    match format.rendering() {
        Rendering::Rows(_) => FixView::Rows,
        Rendering::Page(_) | Rendering::Workbook => FixView::Tables,
        Rendering::Table if is_selected => FixView::Steps,
        Rendering::Table | Rendering::Data(_) => FixView::Page,
    }
}

/// What was typed to select these actions.
fn typed(args: &FixArgs) -> Invocation {
    let mut invocation = invocation(&args.estate, args.plan.risk);
    invocation.audit.extend(args.plan.target_words());
    let actions = args.action.iter().flatten().map(|(kind, name)| match name {
        Some(name) => ("--action", format!("{kind}:{name}")),
        None => ("--action", kind.to_string()),
    });
    let workloads = args.workload.iter().map(|name| ("--workload", name.clone()));
    // A masked document repeats no name that was typed.
    let is_open =
        |(_, value): &(&str, String)| !args.estate.redact || ActionKind::from_name(value).is_some();
    let selected = actions.chain(workloads).filter(is_open);
    let file = args.terraform.as_deref().and_then(Path::to_str);
    for (flag, value) in selected.chain(file.map(|file| ("--terraform", file.to_owned()))) {
        // Apart from its flag, a value may be taken for another one.
        invocation.audit.push(format!("{flag}={value}"));
    }
    invocation
}

/// Every action that is selected by a name must be in the plan.
fn check_actions(choice: &FixChoice, plan: &[Fix<'_>]) -> Outcome<()> {
    let Some(action) = choice.unknown_action(plan) else { return Ok(()) };
    let name = |fix: &Fix<'_>| format!("{}:{}", fix.kind, fix.name());
    let known: Vec<String> = plan.iter().map(name).collect();
    let hint = nearest(&action, &known, "`gpucost fix` lists the actions of the plan");
    Err(refusal!("the plan has no action `{action}`"; "{hint}"))
}

/// Every name must be that of something in the audit.
fn check_names(choice: &FixChoice, audited: &Audit) -> Outcome<()> {
    let unknown = choice.unknown(audited);
    let Some(name) = unknown.first() else { return Ok(()) };
    let known: Vec<String> = FixChoice::known(audited).collect();
    let otherwise = "`gpucost audit --format json` lists every workload with its ID and name";
    let hint = nearest(name, &known, otherwise);
    Err(refusal!("workload `{name}` not found"; "{hint}"))
}

fn nearest(name: &str, known: &[String], otherwise: &str) -> String {
    let nearest = nearest_names(name, known.iter().map(String::as_str));
    match nearest.as_slice() {
        [] => otherwise.to_owned(),
        nearest => format!("closest matches: {}", nearest.join(", ")),
    }
}
