//! The choice as a policy that plans the same.

use crate::analysis::Audit;
use crate::domain::{RejectedAction, is_unsafe};
use crate::report::shared::text::{minute, money, money_or_absent, safe};

/// Begins the comment above a choice.
pub const CHOICE_TITLE: &str = "# Actions that were chosen in `gpucost audit --interactive`";

/// The text of a policy file: what is accepted as comments, and a table for each action that
/// is off.
pub(super) fn policy(audit: &Audit, rejected: &[RejectedAction]) -> String {
    let head = format!(
        "{CHOICE_TITLE} for the fleet as of {}, with `--risk {}`:\n# they save {} per month. `gpucost \
         audit --policy` with this file plans the same.\n#\n# Accepted:\n",
        minute(audit.as_of),
        audit.accepted,
        money_or_absent(audit.totals.monthly_savings())
    );
    let accepted = audit.workloads.iter().flat_map(|audited| {
        let (id, name) = (safe(&audited.workload.id()), safe(&audited.workload.name));
        audited.actions.iter().map(move |action| {
            let savings = money(action.monthly_savings());
            format!("#   {} {id} ({name}): {savings} per month\n", action.kind())
        })
    });
    let off = rejected.iter().map(|rejection| {
        let RejectedAction { workload, action, reason } = rejection;
        let (workload, reason) = (quoted(workload), quoted(reason));
        format!("\n[[reject]]\nworkload = {workload}\naction = \"{action}\"\nreason = {reason}\n")
    });
    std::iter::once(head).chain(accepted).chain(off).collect()
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
