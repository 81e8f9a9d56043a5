//! Plots of a page: bars in the page itself, hidden from screen readers, because the table
//! below has every figure.

use crate::report::shared::markup::{Page, html};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Width and height of a plot in its own units.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 160.0;
/// Bars beyond which the oldest are left out: narrower ones are not seen.
pub(super) const MOST_BARS: usize = 400;

/// One bar, with a part of it in another color.
pub(super) struct Bar {
    pub(super) whole: Decimal,
    pub(super) part: Decimal,
}

/// Bars side by side, from zero to the largest.
pub(super) fn bars(page: &mut Page, bars: &[Bar]) {
    let most = bars.iter().map(|bar| bar.whole.max(bar.part)).max();
    let Some(most) = most.filter(|most| *most > Decimal::ZERO) else {
        html!(page, "<p>Nothing to plot.</p>\n");
        return;
    };
    let height = |amount: Decimal| {
        let share = amount.max(Decimal::ZERO).checked_div(most);
        share.and_then(|share| share.to_f64()).unwrap_or(0.0) * HEIGHT
    };
    html!(
        page,
        "<svg viewBox=\"0 0 1000 160\" width=\"100%\" height=\"160\" ",
        "preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    let step = WIDTH / bars.len() as f64;
    for (place, bar) in bars.iter().enumerate() {
        let left = place as f64 * step;
        rect(page, "today", (left, step), height(bar.whole));
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
    html!(
        page,
        "\" x=\"",
        format!("{left:.2}"),
        "\" y=\"",
        format!("{:.2}", HEIGHT - height),
        "\" width=\"",
        format!("{:.2}", step * 0.9),
        "\" height=\"",
        format!("{height:.2}"),
        "\"/>"
    );
}
