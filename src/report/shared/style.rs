//! How tables are drawn, and the line for what they leave out.

use super::text::{counted, wrap};
use crate::domain::Money;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

#[derive(Debug, Clone, Copy)]
pub struct TableStyle {
    /// Columns to fill.
    pub width: usize,
    pub color: bool,
    /// Whether to show all columns, and every row unless the rows are limited.
    pub wide: bool,
    /// Most rows of each list; `None` for as many as are usual for it, and `usize::MAX` for
    /// every row and every member of a group.
    pub limit: Option<usize>,
    /// Whether what shows the text may know no more than ASCII.
    pub ascii: bool,
}

impl TableStyle {
    /// Text of a heading.
    pub fn heading(self, text: &str) -> String {
        if self.color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A heading with what stands beside its name after two blanks, on as many lines as it
    /// takes.
    pub fn title(self, text: &str, out: &mut String) -> std::fmt::Result {
        let (name, rest) = match text.split_once("  ") {
            Some(parts) if text.width() > self.width => parts,
            _ => return writeln!(out, "{}", self.heading(text)),
        };
        let indent = name.width() + 2;
        for (index, line) in wrap(rest, self.width.saturating_sub(indent)).iter().enumerate() {
            let first = if index == 0 { format!("{name}  ") } else { " ".repeat(indent) };
            writeln!(out, "{}", self.heading(&format!("{first}{line}")))?;
        }
        Ok(())
    }

    /// How many of some rows to show: all when wide, unless they are limited.
    pub fn shown(self, rows: usize, most: usize) -> usize {
        match self.limit {
            Some(limit) => rows.min(limit),
            None if self.wide => rows,
            None => rows.min(most),
        }
    }

    /// Says how many of some rows were not shown, what they are worth together, and what
    /// shows them; nothing when all were.
    pub fn skipped(
        self,
        rows: usize,
        singular: &str,
        plural: &str,
        worth: Option<Money>,
        out: &mut String,
    ) -> std::fmt::Result {
        if rows == 0 {
            return Ok(());
        }
        let more = counted(rows, &format!("more {singular}"), &format!("more {plural}"));
        let how = if self.limit.is_some() { "--all" } else { "--format wide" };
        writeln!(out, "  … and {more}{}: see `{how}`", worth_words(worth))
    }

    /// Whether each member of a group of equals has its own row.
    pub fn lists_members(self) -> bool {
        self.wide || self.limit == Some(usize::MAX)
    }
}

/// What rows are worth together, to stand after their number; empty where nothing is summed.
pub fn worth_words(worth: Option<Money>) -> String {
    worth.map_or(String::new(), |sum| format!(" worth {sum}"))
}

/// Says which columns of a table a width leaves out, and what shows them; nothing when it has
/// all of them.
pub fn columns_left_out(titles: &[String], style: TableStyle) -> Option<String> {
    let (width, names) = (style.width, titles.join(", "));
    (!titles.is_empty())
        .then(|| format!("hidden at {width} columns: {names}; `--format wide` shows every column"))
}
