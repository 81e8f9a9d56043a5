//! How tables are drawn, and the line for what they leave out.

use super::text::{counted, money};
use crate::domain::Money;
use std::fmt::Write;

#[derive(Debug, Clone, Copy)]
pub struct TableStyle {
    /// Columns to fill.
    pub width: usize,
    pub color: bool,
    /// Whether to list every row, with all of its columns.
    pub wide: bool,
}

impl TableStyle {
    /// Text in a colour, by its terminal code.
    pub(in crate::report) fn paint(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(in crate::report) fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// How many of some rows to show: all when wide.
    pub(in crate::report) fn shown(self, rows: usize, most: usize) -> usize {
        if self.wide { rows } else { rows.min(most) }
    }
}

/// Says how many rows were left out, what they are worth together, and what
/// shows them; nothing when none were.
pub(in crate::report) fn left_out(
    rows: usize,
    singular: &str,
    plural: &str,
    worth: Option<Money>,
    out: &mut String,
) -> std::fmt::Result {
    if rows == 0 {
        return Ok(());
    }
    let worth = worth.map_or(String::new(), |sum| format!(" worth {}", money(sum)));
    writeln!(
        out,
        "  … and {}{worth}: see `--format wide` or `--format json`",
        counted(
            rows as u64,
            &format!("more {singular}"),
            &format!("more {plural}")
        )
    )
}
