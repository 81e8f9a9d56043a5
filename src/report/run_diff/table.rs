//! Two runs for a terminal.

use super::words::{footnote, place, rows};
use crate::analysis::RunDiff;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{fit, safe, wrap};
use std::fmt::{Result, Write};

/// Columns of a figure, whose unit has a name from outside.
const NAME_WIDTH: usize = 40;

/// Two runs beside each other for a terminal.
pub fn run_diff_table(diff: &RunDiff<'_>, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(diff, style, &mut out);
    out
}

fn draw(diff: &RunDiff<'_>, style: TableStyle, out: &mut String) -> Result {
    writeln!(out, "{}\n", style.heading("Two runs compared"))?;
    for (label, run) in [("old", diff.old), ("new", diff.new)] {
        writeln!(
            out,
            "  {label}  {}",
            fit(&place(run), style.width.saturating_sub(7))
        )?;
    }
    writeln!(out)?;
    for caveat in &diff.caveats {
        for (index, line) in wrap(caveat, style.width.saturating_sub(4))
            .iter()
            .enumerate()
        {
            writeln!(out, "{}{line}", if index == 0 { "  ! " } else { "    " })?;
        }
    }
    if !diff.caveats.is_empty() {
        writeln!(out)?;
    }
    let mut table = PlainTable::new(&["FIGURE", "OLD", "NEW", "CHANGE", "VERDICT"], 1..4);
    for row in rows(diff) {
        table.row(vec![
            fit(&row.name, NAME_WIDTH),
            row.old,
            row.new,
            row.change,
            row.verdict.to_owned(),
        ]);
    }
    out.push_str(&table.text(style));
    writeln!(out, "{}", safe(&footnote(diff)))
}
