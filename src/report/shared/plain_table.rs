//! A table without lines, as every listing here uses it.

use super::style::TableStyle;
use super::text::fit;
use comfy_table::{CellAlignment, Table, presets};

/// A borderless table with some columns aligned right.
pub(in crate::report) struct PlainTable(Table);

impl PlainTable {
    /// A table with a header; `numbers` are the columns to align right.
    pub(in crate::report) fn new(
        header: &[&str],
        numbers: impl IntoIterator<Item = usize>,
    ) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(header.to_vec());
        for index in numbers {
            if let Some(column) = table.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self(table)
    }

    /// Adds a row; cells must be safe for a terminal.
    pub(in crate::report) fn row(&mut self, cells: Vec<String>) {
        self.0.add_row(cells);
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

    /// The lines, without padding at either end.
    pub(in crate::report) fn lines(&self) -> Vec<String> {
        self.0
            .lines()
            .map(|line| {
                let line = line.trim_end();
                line.strip_prefix(' ').unwrap_or(line).to_owned()
            })
            .collect()
    }
}
