//! Plots of a page, with bars of characters in their place on a terminal.

use crate::report::shared::markup::{NAME, Page, SENTENCE, cut, html};
use crate::report::shared::plots::{Bar, bars, gap_pattern};
use crate::report::shared::sparkline::sparkline;
use crate::report::shared::text::percent;

/// Shades of a cell, by tens of a percentage.
const SHADES: [&str; 10] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"];

/// A picture beside the tables. A title says what it shows; no figure is in it alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// The `id` of its section.
    pub key: &'static str,
    pub title: String,
    pub kind: PlotKind,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PlotKind {
    /// Percentages by row and column, absent where nothing is known.
    Heat(Vec<(String, Vec<Option<f64>>)>),
    /// Amounts side by side.
    Bars(Vec<Bar>),
}

impl Plot {
    /// Its rows for a terminal.
    pub(super) fn lines(&self, ascii: bool) -> impl Iterator<Item = (&str, String)> {
        let rows = match &self.kind {
            PlotKind::Heat(rows) => rows.as_slice(),
            PlotKind::Bars(_) => &[],
        };
        rows.iter().filter_map(move |(name, cells)| {
            Some((name.as_str(), sparkline(cells, cells.len(), ascii)?))
        })
    }
}

/// Each plot as a section of a page.
pub(super) fn plots(plots: &[Plot], page: &mut Page) {
    if !plots.is_empty() {
        gap_pattern(page);
    }
    for plot in plots {
        html!(page, "<section id=\"", plot.key, "\">\n<h2>", plot.title, "</h2>\n");
        match &plot.kind {
            PlotKind::Heat(rows) => heat(rows, page),
            PlotKind::Bars(all) => bars(page, all, &plot.title),
        }
        for note in &plot.notes {
            html!(page, "<p class=\"note\">", cut(note, SENTENCE), "</p>\n");
        }
        html!(page, "</section>\n");
    }
}

fn heat(rows: &[(String, Vec<Option<f64>>)], page: &mut Page) {
    let columns = rows.iter().map(|(_, cells)| cells.len()).max();
    html!(page, "<table class=\"heat\">\n<thead><tr><td></td>");
    for column in 0..columns.unwrap_or(0) {
        html!(page, "<th scope=\"col\">", format!("{column:02}"), "</th>");
    }
    html!(page, "</tr></thead>\n<tbody>\n");
    for (name, cells) in rows {
        html!(page, "<tr><th scope=\"row\">", cut(name, NAME), "</th>");
        for (column, cell) in cells.iter().enumerate() {
            let Some(mean) = cell else {
                html!(page, "<td class=\"none\">–</td>");
                continue;
            };
            let shade = ((mean / 10.0) as usize).min(SHADES.len() - 1);
            html!(
                page,
                "<td class=\"",
                SHADES[shade],
                "\" title=\"",
                format!("{name} {column:02}: {}", percent(*mean)),
                "\">",
                format!("{mean:.0}"),
                "</td>"
            );
        }
        html!(page, "</tr>\n");
    }
    html!(page, "</tbody>\n</table>\n");
}
