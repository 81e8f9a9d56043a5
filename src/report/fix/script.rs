//! `fix --format script`: a script that prints every command, and runs them only with `--yes`.

use super::checks::{VALID_DAYS, valid_until};
use super::planned::{FixItem, FixPlan};
use super::procedure::{Step, What};
use crate::report::shared::text::{minute, safe, shell_word};
use std::fmt::Write;

/// What every script begins with after its heading.
const FUNCTIONS: &str = include_str!("script.sh");

/// The script of some actions.
pub fn fix_script(plan: &FixPlan<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(plan, &mut out);
    out
}

fn draw(plan: &FixPlan<'_>, out: &mut String) -> std::fmt::Result {
    let number = plan.number();
    writeln!(out, "#!/usr/bin/env bash")?;
    writeln!(
        out,
        "# {number} of the plan of {} at risk {}, valid for {VALID_DAYS} days after that.",
        minute(plan.as_of),
        plan.risk
    )?;
    let until = valid_until(plan.as_of).as_second();
    out.push_str(FUNCTIONS);
    writeln!(out, "\nvalid_until {until}")?;
    for (index, item) in plan.items.iter().enumerate() {
        action(index + 1, item, out)?;
    }
    writeln!(out, "\nended")
}

fn action(number: usize, item: &FixItem<'_>, out: &mut String) -> std::fmt::Result {
    let fix = &item.fix;
    let title = format!(
        "{number}. {} {}: {} per month, risk {}",
        fix.kind,
        item.name(),
        item.saved(),
        fix.risk
    );
    writeln!(out, "\ntitle {}", word(&title))?;
    comment("", &fix.detail, out)?;
    for caveat in &fix.caveats {
        comment("caveat: ", caveat, out)?;
    }
    if item.by_hand.is_some() {
        let about = "by hand, as the runbook says: its steps are not run";
        writeln!(out, "note {}", word(about))?;
        for step in item.procedure.before.iter().chain(&item.procedure.steps) {
            writeln!(out, "note {}", word(&step.about))?;
            if let Some(command) = step.command() {
                comment("  ", &command.text(), out)?;
            }
        }
    } else {
        for step in item.procedure.before.iter().chain(&item.procedure.steps) {
            run(step, out)?;
        }
    }
    for step in &item.procedure.back {
        comment("way back: ", &step.about, out)?;
        if let Some(command) = step.command() {
            comment("  ", &command.text(), out)?;
        }
    }
    for line in &item.procedure.watch {
        comment("watch: ", line, out)?;
    }
    for file in &item.procedure.files {
        comment("the runbook has the file ", &file.name, out)?;
    }
    Ok(())
}

fn run(step: &Step, out: &mut String) -> std::fmt::Result {
    writeln!(out, "note {}", word(&step.about))?;
    match &step.what {
        What::ByHand => Ok(()),
        What::Erases => writeln!(out, "erases"),
        What::Interrupts => writeln!(out, "interrupts"),
        What::Read(command) | What::Run(command) => writeln!(out, "run {}", command.text()),
        What::Expect(command, expected) => {
            writeln!(out, "expect {} {}", word(expected), command.text())
        }
        What::Keep(name, command) => writeln!(out, "keep {name} {}", command.text()),
        What::Typed(command) => comment("", &command.text(), out),
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
