//! How tables are drawn, and text for a terminal as it grows.

use super::text::{counted, wrap};
use crate::domain::Money;
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
    /// How many of some rows to show: all when wide, unless they are limited.
    pub fn shown(self, rows: usize, most: usize) -> usize {
        match self.limit {
            Some(limit) => rows.min(limit),
            None if self.wide => rows,
            None => rows.min(most),
        }
    }

    /// Whether each member of a group of equals has its own row.
    pub fn lists_members(self) -> bool {
        self.wide || self.limit == Some(usize::MAX)
    }
}

/// Text in a style.
pub struct Screen {
    pub style: TableStyle,
    pub text: String,
}

impl Screen {
    /// A line as it stands, which must be safe for a terminal.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line that stands out.
    pub fn heading(&mut self, text: &str) {
        match self.style.color {
            true => self.line(&format!("\u{1b}[1m{text}\u{1b}[0m")),
            false => self.line(text),
        }
    }

    /// A sentence that stands out, on as many lines as it takes.
    pub fn headings(&mut self, text: &str) {
        wrap(text, self.style.width).iter().for_each(|line| self.heading(line));
    }

    /// A heading with what stands beside its name after two blanks, on as many lines as it
    /// takes.
    pub fn title(&mut self, text: &str) {
        let (name, rest) = match text.split_once("  ") {
            Some(parts) if text.width() > self.style.width => parts,
            _ => return self.heading(text),
        };
        let indent = name.width() + 2;
        let lines = wrap(rest, self.style.width.saturating_sub(indent));
        for (index, line) in lines.iter().enumerate() {
            let first = if index == 0 { format!("{name}  ") } else { " ".repeat(indent) };
            self.heading(&format!("{first}{line}"));
        }
    }

    /// Words on as many lines as they take, the first after `first`, the others behind so many
    /// blanks.
    pub fn hanging(&mut self, first: &str, indent: usize, text: &str) {
        let mut lines = wrap(text, self.style.width.saturating_sub(indent)).into_iter();
        let beside = lines.next().unwrap_or_default();
        self.line(format!("{first}{beside}").trim_end());
        lines.for_each(|line| self.line(&format!("{:indent$}{line}", "")));
    }

    /// Says how many of some rows were not shown, by what one and many of them are called, what
    /// they are worth together, and what shows them; nothing when all were.
    pub fn skipped(&mut self, rows: usize, (one, many): (&str, &str), worth: Option<Money>) {
        if rows > 0 {
            let more = counted(rows, &format!("more {one}"), &format!("more {many}"));
            let how = if self.style.limit.is_some() { "--all" } else { "--format wide" };
            self.line(&format!("  … and {more}{}: see `{how}`", worth_words(worth)));
        }
    }
}

/// What rows are worth together, to stand after their number; empty where nothing is summed.
pub fn worth_words(worth: Option<Money>) -> String {
    worth.map_or(String::new(), |sum| format!(" worth {sum}"))
}
