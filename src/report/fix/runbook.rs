//! `fix --format markdown`, a runbook, and `fix --format script`, a script that prints every
//! command and runs them only with `--yes`.

use super::checks::{VALID_DAYS, valid_until};
use super::planned::{FixItem, FixPlan};
use super::procedure::{Command, Step, StepKind};
use crate::report::doc::{Printed, rows};
use crate::report::shared::markdown::{code, text};
use crate::report::shared::text::{minute, money_or_absent, safe, shell_word, written};
use std::fmt::Write;

/// The runbook of some actions.
pub fn fix_markdown(plan: &FixPlan<'_>) -> String {
    written(|out| runbook(plan, out))
}

fn runbook(plan: &FixPlan<'_>, out: &mut String) -> std::fmt::Result {
    let saved = money_or_absent(plan.monthly_savings());
    writeln!(out, "# Runbook: {}, {} per month\n", plan.number(), text(&saved))?;
    writeln!(
        out,
        "From the plan of {} at risk {}. Its checks hold for {VALID_DAYS} days after that: then \
         run the audit again. gpucost changes nothing; every command here is for you to run, in \
         this order.\n",
        minute(plan.as_of),
        plan.risk
    )?;
    if plan.items.is_empty() {
        return Ok(());
    }
    writeln!(out, "| | saves per month | action | what | to | risk | by |")?;
    writeln!(out, "|---:|---:|---|---|---|---|---|")?;
    for item in &plan.items {
        let (number, kind, risk, by) = (item.number, item.fix.kind, item.fix.risk, item.by());
        let (saved, name) = (text(&item.saved()), code(item.fix.name()));
        let to = text(&item.to().unwrap_or_default());
        writeln!(out, "| {number} | {saved} | {kind} | {name} | {to} | {risk} | {by} |")?;
    }
    plan.items.iter().try_for_each(|item| section(item, out))
}

fn section(item: &FixItem<'_>, out: &mut String) -> std::fmt::Result {
    let (fix, procedure) = (&item.fix, &item.procedure);
    let (number, name, saved) = (item.number, code(fix.name()), text(&item.saved()));
    writeln!(out, "\n## {number}. {} {name}: {saved} per month\n", fix.kind)?;
    let (account, region) = item.place();
    let facts: Vec<String> = rows! {
        for account in account => format!("account: {}", code(account));
        for region in region => format!("region: {}", code(region));
        format!("risk: {}", fix.risk);
        for why in item.why_manual => format!("manual: {why}");
        text(&fix.detail);
        for caveat in &fix.caveats => format!("caveat: {}", text(caveat));
    };
    bullets(facts, out)?;
    let advice = item.advice();
    if !advice.is_empty() {
        writeln!(out, "\n### Advice of the audit\n")?;
        bullets(advice.into_iter().map(|step| text(step)), out)?;
    }
    procedure.lists().into_iter().try_for_each(|(title, list)| steps(title, list, out))?;
    writeln!(out, "\n### Watch\n")?;
    bullets(procedure.watch.iter().map(|step| text(&step.about)), out)?;
    procedure.files.iter().try_for_each(|printed| file(printed, out))
}

fn bullets(items: impl IntoIterator<Item = String>, out: &mut String) -> std::fmt::Result {
    items.into_iter().try_for_each(|item| writeln!(out, "- {item}"))
}

fn steps(title: &str, steps: &[Step], out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n### {title}\n")?;
    for (index, step) in steps.iter().enumerate() {
        let number = (index + 1).to_string();
        // What belongs to an item begins below its text.
        let indent = " ".repeat(number.len() + 2);
        writeln!(out, "{number}. {}{}", step.by_hand().0, text(&step.about))?;
        let Some(line) = step.typed_line() else { continue };
        writeln!(out)?;
        block("sh", &line, &indent, out)?;
        if let Some(expected) = step.expected() {
            writeln!(out, "\n{indent}It must print {}.", code(expected))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn file(file: &Printed, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n### {}\n", code(&file.name))?;
    writeln!(out, "{}:\n", text(&file.purpose))?;
    // Commands of a shell are in a file of text.
    let language = ["diff", "yaml"]
        .into_iter()
        .find(|name| file.name.rsplit('.').next() == Some(name))
        .unwrap_or("sh");
    block(language, file.text.trim_end(), "", out)
}

/// A block of code, which nothing within can end.
fn block(language: &str, content: &str, indent: &str, out: &mut String) -> std::fmt::Result {
    let fence = "`".repeat(content.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
    writeln!(out, "{indent}{fence}{language}")?;
    for line in content.lines() {
        writeln!(out, "{indent}{}", safe(line))?;
    }
    writeln!(out, "{indent}{fence}")
}

/// What every script begins with after its heading.
const FUNCTIONS: &str = include_str!("script.sh");

/// The script of some actions.
pub fn fix_script(plan: &FixPlan<'_>) -> String {
    written(|out| script(plan, out))
}

fn script(plan: &FixPlan<'_>, out: &mut String) -> std::fmt::Result {
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
