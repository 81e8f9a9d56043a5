//! Plots of a page, with bars of characters in their place on a terminal.

use crate::report::shared::markup::{NAME, Page, SENTENCE, cut, html};
use crate::report::shared::sparkline::sparkline;
use crate::report::shared::text::percent;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

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

/// Width and height of bars in their own units.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 160.0;
/// Bars beyond which the oldest are left out: narrower ones are not seen.
pub const MOST_BARS: usize = 400;

/// One bar, with a part of it in another color.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Absent where it is not known.
    pub whole: Option<Decimal>,
    pub part: Decimal,
}

/// What a gap is filled with. Once in a page, before its first plot.
pub fn gap_pattern(page: &mut Page) {
    html!(
        page,
        "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>",
        "<pattern id=\"no-data\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">",
        "<path class=\"hatch\" d=\"M-1 6L6 -1M-1 1L1 -1M4 6L6 4\"/></pattern></defs></svg>\n"
    );
}

/// Bars side by side, from zero to the largest.
pub fn bars(page: &mut Page, bars: &[Bar], title: &str) {
    let known = bars.iter().filter_map(|bar| Some(bar.whole?.max(bar.part)));
    let Some(most) = known.max().filter(|most| *most > Decimal::ZERO) else {
        html!(page, "<p>Nothing to plot.</p>\n");
        return;
    };
    let height = |amount: Decimal| {
        let share = amount.max(Decimal::ZERO).checked_div(most);
        share.and_then(|share| share.to_f64()).unwrap_or(0.0) * HEIGHT
    };
    html!(
        page,
        "<svg class=\"days\" viewBox=\"0 0 1000 160\" preserveAspectRatio=\"none\" role=\"img\">",
        "<title>",
        title,
        "</title>"
    );
    let step = WIDTH / bars.len() as f64;
    for (place, bar) in bars.iter().enumerate() {
        let left = place as f64 * step;
        match bar.whole {
            Some(whole) => rect(page, "today", (left, step), height(whole)),
            None => gap(page, (left, step)),
        }
        rect(page, "stays", (left, step), height(bar.part));
    }
    html!(page, "</svg>\n");
}

/// One bar that stands on the ground, with a gap of a tenth to the next.
fn rect(page: &mut Page, class: &'static str, (left, step): (f64, f64), height: f64) {
    if height <= 0.0 {
        return;
    }
    html!(page, "<rect class=\"");
    page.markup(class);
    let sides = [("x", left), ("y", HEIGHT - height), ("width", step * 0.9), ("height", height)];
    for (side, length) in sides {
        html!(page, "\" ", side, "=\"", format!("{length:.2}"));
    }
    html!(page, "\"/>");
}

/// The place of a bar that is not known.
fn gap(page: &mut Page, (left, step): (f64, f64)) {
    html!(
        page,
        "<rect fill=\"url(#no-data)\" x=\"",
        format!("{left:.2}"),
        "\" y=\"0\" width=\"",
        format!("{:.2}", step * 0.9),
        "\" height=\"160\"/>"
    );
}
