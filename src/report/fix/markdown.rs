//! `fix --format markdown`: a runbook.

use super::checks::VALID_DAYS;
use super::planned::{FixItem, FixPlan};
use super::procedure::{FixFile, Step, What};
use crate::report::shared::markdown::escape::{code, text};
use crate::report::shared::text::{minute, money_or_absent, safe};
use std::fmt::Write;

/// The runbook of some actions.
pub fn fix_markdown(plan: &FixPlan<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(plan, &mut out);
    out
}

fn draw(plan: &FixPlan<'_>, out: &mut String) -> std::fmt::Result {
    let number = plan.number();
    let saved = money_or_absent(plan.monthly_savings());
    writeln!(out, "# Runbook: {number}, {} per month\n", text(&saved))?;
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
    writeln!(
        out,
        "| | saves per month | action | what | to | risk | by |"
    )?;
    writeln!(out, "|---:|---:|---|---|---|---|---|")?;
    for (index, item) in plan.items.iter().enumerate() {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            index + 1,
            text(&item.saved()),
            item.fix.kind,
            code(item.name()),
            text(&item.to()),
            item.fix.risk,
            item.by()
        )?;
    }
    for (index, item) in plan.items.iter().enumerate() {
        section(index + 1, item, out)?;
    }
    Ok(())
}

fn section(number: usize, item: &FixItem<'_>, out: &mut String) -> std::fmt::Result {
    let (fix, procedure) = (&item.fix, &item.procedure);
    writeln!(
        out,
        "\n## {number}. {} {}: {} per month\n",
        fix.kind,
        code(item.name()),
        text(&item.saved())
    )?;
    let (account, region) = item.place();
    for (what, value) in [("account", account), ("region", region)] {
        if !value.is_empty() {
            writeln!(out, "- {what}: {}", code(value))?;
        }
    }
    writeln!(out, "- risk: {}", fix.risk)?;
    if let Some(why) = item.by_hand {
        writeln!(out, "- by hand: {why}")?;
    }
    writeln!(out, "- {}", text(&fix.detail))?;
    for caveat in &fix.caveats {
        writeln!(out, "- caveat: {}", text(caveat))?;
    }
    let is_said = |step: &&String| {
        let mut steps = procedure.steps.iter();
        !steps.any(|one| one.about == **step)
    };
    let advice: Vec<&String> = fix.advice.iter().filter(is_said).collect();
    if !advice.is_empty() {
        writeln!(out, "\n### Advice of the audit\n")?;
        for step in advice {
            writeln!(out, "- {}", text(step))?;
        }
    }
    steps("Check before", &procedure.before, out)?;
    steps("Steps", &procedure.steps, out)?;
    steps("Way back", &procedure.back, out)?;
    writeln!(out, "\n### Watch\n")?;
    for line in &procedure.watch {
        writeln!(out, "- {}", text(line))?;
    }
    procedure.files.iter().try_for_each(|one| file(one, out))
}

fn steps(title: &str, steps: &[Step], out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n### {title}\n")?;
    for (index, step) in steps.iter().enumerate() {
        let number = (index + 1).to_string();
        // What belongs to an item begins below its text.
        let indent = " ".repeat(number.len() + 2);
        let kind = match &step.what {
            What::ByHand => "by hand: ",
            What::Erases => "by hand; the script goes on with `--erase-instance-stores` only: ",
            What::Interrupts => "by hand; the script goes on with `--interrupt-work` only: ",
            What::Typed(_) => "to type: ",
            What::Read(_) | What::Expect(..) | What::Run(_) | What::Keep(..) => "",
        };
        writeln!(out, "{number}. {kind}{}", text(&step.about))?;
        let Some(command) = step.command() else {
            continue;
        };
        let line = match &step.what {
            What::Keep(name, _) => format!("{name}=$({})", command.text()),
            _ => command.text(),
        };
        writeln!(out)?;
        block("sh", &line, &indent, out)?;
        if let What::Expect(_, expected) = &step.what {
            writeln!(out, "\n{indent}It must print {}.", code(expected))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn file(file: &FixFile, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n### {}\n", code(&file.name))?;
    writeln!(out, "{}:\n", text(&file.about))?;
    block(file.language, file.text.trim_end(), "", out)
}

/// A block of code, which nothing within can end.
fn block(language: &str, content: &str, indent: &str, out: &mut String) -> std::fmt::Result {
    let longest = content.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    writeln!(out, "{indent}{fence}{language}")?;
    for line in content.lines() {
        writeln!(out, "{indent}{}", safe(line))?;
    }
    writeln!(out, "{indent}{fence}")
}
