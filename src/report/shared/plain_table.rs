//! A table without lines, as every listing here uses it.

use super::style::TableStyle;
use super::text::fit;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use unicode_width::UnicodeWidthStr;

/// Blanks around a cell.
const PADDING: usize = 2;

/// A borderless table with some columns aligned right.
pub(in crate::report) struct PlainTable {
    table: Table,
    /// Columns that are aligned right.
    numbers: Vec<usize>,
    /// Width of the title of each column.
    titles: Vec<usize>,
}

impl PlainTable {
    /// A table with a header; `numbers` are the columns to align right.
    pub(in crate::report) fn new(
        header: &[&str],
        numbers: impl IntoIterator<Item = usize>,
    ) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(header.to_vec());
        let numbers: Vec<usize> = numbers.into_iter().collect();
        for index in &numbers {
            if let Some(column) = table.column_mut(*index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self {
            table,
            numbers,
            titles: header.iter().map(|title| title.width()).collect(),
        }
    }

    /// Adds a row; cells must be safe for a terminal.
    pub(in crate::report) fn row(&mut self, cells: Vec<String>) {
        self.table.add_row(cells);
    }

    /// The whole table with an empty line after it. Unless it is wide, the last
    /// column gives way where the columns end.
    pub(in crate::report) fn text(&self, style: TableStyle) -> String {
        let mut text = String::new();
        for line in self.lines() {
            let line = if style.wide {
                line
            } else {
                fit(&line, style.width)
            };
            text.push_str(&line);
            text.push('\n');
        }
        text.push('\n');
        text
    }

    /// The whole table with an empty line after it. Where the columns end, words are wrapped
    /// inside their cells, and numbers are left whole: one that is cut reads as another one.
    pub(in crate::report) fn wrapped(mut self, style: TableStyle) -> String {
        let whole = TableStyle {
            wide: true,
            ..style
        };
        let fits = |line: &String| line.width() <= style.width;
        if !style.wide && !self.lines().iter().all(fits) {
            self.wrap_words(style.width);
        }
        self.text(whole)
    }

    /// Divides what numbers leave of a width among the other columns, each at least as wide
    /// as its title.
    fn wrap_words(&mut self, width: usize) {
        let columns = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
        // The blanks at both ends of a line are dropped.
        self.table.set_width(columns(width + PADDING));
        self.table
            .set_content_arrangement(ContentArrangement::Dynamic);
        for (index, title) in self.titles.iter().enumerate() {
            let constraint = if self.numbers.contains(&index) {
                ColumnConstraint::ContentWidth
            } else {
                ColumnConstraint::LowerBoundary(Width::Fixed(columns(title + PADDING)))
            };
            if let Some(column) = self.table.column_mut(index) {
                column.set_constraint(constraint);
            }
        }
    }

    /// The lines, without padding at either end.
    pub(in crate::report) fn lines(&self) -> Vec<String> {
        self.table
            .lines()
            .map(|line| {
                let line = line.trim_end();
                line.strip_prefix(' ').unwrap_or(line).to_owned()
            })
            .collect()
    }
}
