//! `fix --format script`: a script that prints every command, and runs them only with `--yes`.

use super::checks::{VALID_DAYS, valid_until};
use super::command::Command;
use super::planned::{FixItem, FixPlan};
use super::procedure::{Step, StepKind};
use crate::report::shared::text::{minute, safe, shell_word, written};
use std::fmt::Write;

/// What every script begins with after its heading.
const FUNCTIONS: &str = include_str!("script.sh");

/// The script of some actions.
pub fn fix_script(plan: &FixPlan<'_>) -> String {
    written(|out| draw(plan, out))
}

fn draw(plan: &FixPlan<'_>, out: &mut String) -> std::fmt::Result {
    writeln!(out, "#!/usr/bin/env bash")?;
    let (number, at, risk) = (plan.number(), minute(plan.as_of), plan.risk);
    let valid = format!("valid for {VALID_DAYS} days after that");
    writeln!(out, "# {number} of the plan of {at} at risk {risk}, {valid}.")?;
    out.push_str(FUNCTIONS);
    writeln!(out, "\nvalid_until {}", valid_until(plan.as_of).as_second())?;
    plan.items.iter().try_for_each(|item| action(item, out))?;
    writeln!(out, "\nended")
}

fn action(item: &FixItem<'_>, out: &mut String) -> std::fmt::Result {
    let (fix, procedure) = (&item.fix, &item.procedure);
    let title = format!("{}, risk {}", item.heading(), fix.risk);
    writeln!(out, "\ntitle {}", word(&title))?;
    comment("", &fix.detail, out)?;
    for caveat in &fix.caveats {
        comment("caveat: ", caveat, out)?;
    }
    let is_manual = item.why_manual.is_some();
    if is_manual {
        writeln!(out, "note {}", word("manual, as the runbook says: its steps are not run"))?;
    }
    for step in procedure.before.iter().chain(&procedure.steps) {
        writeln!(out, "note {}", word(&step.about))?;
        match &step.command {
            Some(command) if is_manual => comment("  ", &command.text(), out)?,
            None if is_manual => {}
            _ => run(step, out)?,
        }
    }
    for step in &procedure.back {
        comment("way back: ", &step.about, out)?;
        if let Some(command) = &step.command {
            comment("  ", &command.text(), out)?;
        }
    }
    let watch = procedure.watch.iter().map(|step| ("watch: ", &step.about));
    let files = procedure.files.iter().map(|file| ("the runbook has the file ", &file.name));
    watch.chain(files).try_for_each(|(what, text)| comment(what, text, out))
}

fn run(step: &Step, out: &mut String) -> std::fmt::Result {
    let command = step.command.as_ref().map(Command::text).unwrap_or_default();
    match &step.kind {
        StepKind::Manual => Ok(()),
        StepKind::Destructive => writeln!(out, "erases"),
        StepKind::Disruptive => writeln!(out, "interrupts"),
        StepKind::Read | StepKind::Run => writeln!(out, "run {command}"),
        StepKind::Expect(expected) => writeln!(out, "expect {} {command}", word(expected)),
        StepKind::Keep(name) => writeln!(out, "keep {name} {command}"),
        StepKind::Typed => comment("", &command, out),
    }
}

/// A text as one word of the script, which prints nothing that drives a terminal.
fn word(text: &str) -> String {
    shell_word(&safe(text))
}

/// A line that the script neither runs nor prints.
fn comment(what: &str, text: &str, out: &mut String) -> std::fmt::Result {
    writeln!(out, "# {what}{}", safe(text))
}
