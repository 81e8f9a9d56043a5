//! Two runs for a comment.

use super::words::{footnote, place, rows};
use crate::analysis::RunDiff;
use crate::report::shared::markdown::escape::{code, text};
use std::fmt::{Result, Write};

/// Figures of units beyond this are left to JSON: a comment has an end.
const SHOWN: usize = 60;

/// Two runs beside each other as GitHub-flavoured Markdown.
pub fn run_diff_markdown(diff: &RunDiff<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(diff, &mut out);
    out
}

fn draw(diff: &RunDiff<'_>, out: &mut String) -> Result {
    writeln!(out, "### Two runs compared\n")?;
    for (label, run) in [("old", diff.old), ("new", diff.new)] {
        writeln!(out, "- {label}: {}", code(&place(run)))?;
    }
    for caveat in &diff.caveats {
        writeln!(out, "\n> Caution: {}", text(caveat))?;
    }
    writeln!(
        out,
        "\n| figure | old | new | change | verdict |\n|---|--:|--:|--:|---|"
    )?;
    let rows = rows(diff);
    for row in rows.iter().take(SHOWN) {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            text(&row.name),
            row.old,
            row.new,
            row.change,
            row.verdict
        )?;
    }
    let hidden = rows.len().saturating_sub(SHOWN);
    if hidden > 0 {
        writeln!(out, "\n… and {hidden} more: see `--format json`")?;
    }
    writeln!(out, "\n{}", text(&footnote(diff)))
}
