//! Plots of a page, with bars of characters in their place on a terminal.

use crate::report::shared::markup::{NAME, Page, SENTENCE, cut};
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
        let rows = if let PlotKind::Heat(rows) = &self.kind { rows.as_slice() } else { &[] };
        rows.iter().filter_map(move |(name, cells)| {
            Some((name.as_str(), sparkline(cells, cells.len(), ascii)?))
        })
    }
}

/// What a gap is filled with. Once in a page, before its first plot.
const GAP_PATTERN: &str = "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\
    <pattern id=\"no-data\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
    <path class=\"hatch\" d=\"M-1 6L6 -1M-1 1L1 -1M4 6L6 4\"/></pattern></defs></svg>\n";

/// Each plot as a section of a page.
pub(super) fn plots(plots: &[Plot], page: &mut Page) {
    if !plots.is_empty() {
        page.markup(GAP_PATTERN);
    }
    for plot in plots {
        page.fill("<section id=\"{}\">\n<h2>{}</h2>\n", &[&plot.key, &plot.title]);
        match &plot.kind {
            PlotKind::Heat(rows) => heat(rows, page),
            PlotKind::Bars(all) => bars(page, all, &plot.title),
        }
        for note in &plot.notes {
            page.fill("<p class=\"note\">{}</p>\n", &[&cut(note, SENTENCE)]);
        }
        page.markup("</section>\n");
    }
}

fn heat(rows: &[(String, Vec<Option<f64>>)], page: &mut Page) {
    let columns = rows.iter().map(|(_, cells)| cells.len()).max();
    page.markup("<table class=\"heat\">\n<thead><tr><td></td>");
    for column in 0..columns.unwrap_or(0) {
        page.fill("<th scope=\"col\">{}</th>", &[&format!("{column:02}")]);
    }
    page.markup("</tr></thead>\n<tbody>\n");
    for (name, cells) in rows {
        page.fill("<tr><th scope=\"row\">{}</th>", &[&cut(name, NAME)]);
        for (column, cell) in cells.iter().enumerate() {
            let Some(mean) = cell else {
                page.markup("<td class=\"none\">–</td>");
                continue;
            };
            let shade = SHADES[((mean / 10.0) as usize).min(SHADES.len() - 1)];
            let title = format!("{name} {column:02}: {}", percent(*mean));
            let mean = format!("{mean:.0}");
            page.fill("<td class=\"{}\" title=\"{}\">{}</td>", &[&shade, &title, &mean]);
        }
        page.markup("</tr>\n");
    }
    page.markup("</tbody>\n</table>\n");
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

/// Bars side by side, from zero to the largest.
fn bars(page: &mut Page, bars: &[Bar], title: &str) {
    let known = bars.iter().filter_map(|bar| Some(bar.whole?.max(bar.part)));
    let Some(most) = known.max().filter(|most| *most > Decimal::ZERO) else {
        return page.markup("<p>Nothing to plot.</p>\n");
    };
    let height = |amount: Decimal| {
        let share = amount.max(Decimal::ZERO).checked_div(most);
        share.and_then(|share| share.to_f64()).unwrap_or(0.0) * HEIGHT
    };
    page.markup(
        "<svg class=\"days\" viewBox=\"0 0 1000 160\" preserveAspectRatio=\"none\" role=\"img\">",
    );
    page.fill("<title>{}</title>", &[&title]);
    let step = WIDTH / bars.len() as f64;
    let length = |length: f64| format!("{length:.2}");
    // A tenth of each step is free.
    let width = length(step * 0.9);
    for (place, bar) in bars.iter().enumerate() {
        let left = length(place as f64 * step);
        let rect = |page: &mut Page, class: &str, height: f64| {
            if height > 0.0 {
                let (top, height) = (length(HEIGHT - height), length(height));
                page.fill(
                    "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    &[&class, &left, &top, &width, &height],
                );
            }
        };
        match bar.whole {
            Some(whole) => rect(page, "today", height(whole)),
            None => page.fill(
                "<rect fill=\"url(#no-data)\" x=\"{}\" y=\"0\" width=\"{}\" height=\"160\"/>",
                &[&left, &width],
            ),
        }
        rect(page, "stays", height(bar.part));
    }
    page.markup("</svg>\n");
}
