//! The choice as a policy that plans the same.

use crate::analysis::Audit;
use crate::domain::{RejectedAction, is_unsafe};
use crate::report::shared::text::{minute, money, money_or_absent, safe, written};
use std::fmt::Write;

/// Begins the comment above a choice.
pub const CHOICE_TITLE: &str = "# Actions that were chosen in `gpucost audit --interactive`";

/// The text of a policy file: what is accepted as comments, and a table for each action that
/// is off.
pub(super) fn policy(audit: &Audit, rejected: &[RejectedAction]) -> String {
    written(|out| draw(audit, rejected, out))
}

fn draw(audit: &Audit, rejected: &[RejectedAction], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "{CHOICE_TITLE} for the fleet as of {}, \
         with `--risk {}`:\n# they save {} per month. `gpucost audit --policy` with this file \
         plans the same.",
        minute(audit.as_of),
        audit.accepted,
        money_or_absent(audit.totals.monthly_savings())
    )?;
    writeln!(out, "#\n# Accepted:")?;
    for audited in &audit.workloads {
        for action in &audited.actions {
            writeln!(
                out,
                "#   {} {} ({}): {} per month",
                action.kind(),
                safe(&audited.workload.id()),
                safe(&audited.workload.name),
                money(action.monthly_savings())
            )?;
        }
    }
    for rejection in rejected {
        writeln!(
            out,
            "\n[[reject]]\nworkload = {}\naction = \"{}\"\nreason = {}",
            quoted(&rejection.workload),
            rejection.action,
            quoted(&rejection.reason)
        )?;
    }
    Ok(())
}

/// A basic string of TOML, with everything escaped that could change a terminal or end it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_unsafe(c) => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_is_quoted_is_read_back() {
        for text in [
            "i-1", "a \"b\" \\ c", "\u{1b}[2J\n\t\u{202e}x", "模型\u{7f}",
            "[[x]]\nworkload = \"*\"",
        ] {
            let line = format!("key = {}", quoted(text));
            let table: toml::Table = toml::from_str(&line).expect("TOML");
            assert_eq!(table["key"].as_str(), Some(text));
            assert!(!line.contains(['\n', '\u{1b}', '\u{7f}']), "{line}");
        }
    }
}
