//! Bars of a page, in the page itself. What is missing is a hatched gap. A title says what they
//! show; the figures stand in a table beside them.

use crate::report::shared::markup::{Page, html};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

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
