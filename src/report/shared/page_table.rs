//! A section of a page with one table.

use super::markup::{NAME, Page, SENTENCE, cut, html};
use super::text::count;

/// A table under a heading. Its first column names the rows.
pub(in crate::report) struct PageTable<'a> {
    /// The `id` of the section.
    pub(in crate::report) key: &'a str,
    pub(in crate::report) title: &'a str,
    /// Titles, each with whether the column has figures.
    pub(in crate::report) columns: Vec<(&'a str, bool)>,
    pub(in crate::report) rows: Vec<Vec<String>>,
    /// Rows before the rest is counted.
    pub(in crate::report) most: usize,
}

impl PageTable<'_> {
    pub(in crate::report) fn write(&self, page: &mut Page) {
        html!(
            page,
            "<section id=\"",
            self.key,
            "\">\n<h2>",
            self.title,
            "</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
            self.title,
            "\">\n<table class=\"list\">\n<thead><tr>"
        );
        for (title, is_figure) in &self.columns {
            if *is_figure {
                html!(page, "<th scope=\"col\" class=\"n\">", title, "</th>");
            } else {
                html!(page, "<th scope=\"col\">", title, "</th>");
            }
        }
        html!(page, "</tr></thead>\n<tbody>\n");
        for row in self.rows.iter().take(self.most) {
            html!(page, "<tr>");
            for (place, (cell, (_, is_figure))) in row.iter().zip(&self.columns).enumerate() {
                if place == 0 {
                    html!(page, "<th scope=\"row\">", cut(cell, NAME), "</th>");
                } else if *is_figure {
                    html!(page, "<td class=\"n\">", cut(cell, NAME), "</td>");
                } else if cell.contains(' ') {
                    html!(page, "<td class=\"words\">", cut(cell, SENTENCE), "</td>");
                } else {
                    html!(page, "<td>", cut(cell, SENTENCE), "</td>");
                }
            }
            html!(page, "</tr>\n");
        }
        html!(page, "</tbody>\n</table>\n</div>\n");
        let hidden = self.rows.len().saturating_sub(self.most) as u64;
        if hidden > 0 {
            html!(page, "<p class=\"note\">and ", count(hidden), " more</p>\n");
        }
        html!(page, "</section>\n");
    }
}
