//! `gpucost history --format html`: one file with plots, for readers away from a terminal. No
//! network and no script.

use super::forecast::{bounds_words, unrecorded_words};
use super::trend::history_answer;
use super::words::days;
use crate::report::doc::body;
use crate::report::shared::markup::{Page, SENTENCE, STYLE_ONLY, begin, cut, html};
use crate::report::shared::plots::{Bar, MOST_BARS, bars};
use crate::report::shared::text::{money, unit_price};
use crate::trend::{Overview, Period};

/// A history as a page that stands alone.
pub fn history_html(found: &Overview) -> String {
    let answer = history_answer(found, "");
    let title = format!("GPU cost history, {}", days(found.span));
    let mut page = begin(STYLE_ONLY, &title);
    html!(
        page,
        "<header>\n<h1>GPU cost history</h1>\n<p class=\"scope\">",
        cut(&answer.headline, SENTENCE),
        "</p>\n</header>\n<main>\n"
    );
    tiles(found, &mut page);
    spend_plot(found, &mut page);
    useful_plot(found, &mut page);
    body(&answer, "forecast", &mut page);
    html!(page, "</main>\n</body>\n</html>\n");
    page.finish()
}

fn tiles(found: &Overview, page: &mut Page) {
    let of = |amount| money(found.ledger.money(amount));
    html!(
        page,
        "<section aria-label=\"Headline numbers\" class=\"tiles\">\n"
    );
    tile(page, "Spent", of(found.sums.spend), days(found.span));
    tile(
        page,
        "Waste",
        of(found.sums.waste),
        "idle hours, unused commitments, idle storage".to_owned(),
    );
    let useful = found.sums.cost_per_useful_gpu_hour();
    if let Some(useful) = useful {
        let useful = unit_price(found.ledger.money(useful.round_dp(4)));
        let note = "of what was measured".to_owned();
        tile(page, "A useful GPU hour", useful, note);
    }
    if !found.realised.actions.is_empty() {
        let note = "by advised actions, price cuts left out".to_owned();
        tile(page, "Saved", money(found.realised.claimed), note);
    }
    if let Some(forecast) = &found.forecast {
        let label = "Forecast";
        let note = format!(
            "{}; {}{}",
            days(forecast.span),
            bounds_words(forecast),
            unrecorded_words(forecast)
        );
        tile(page, label, money(forecast.total()), note);
    }
    html!(page, "</section>\n");
}

fn tile(page: &mut Page, label: &'static str, figure: String, note: String) {
    html!(page, "<div class=\"tile\"><h2>");
    page.markup(label);
    html!(
        page,
        "</h2><p class=\"figure\">",
        figure,
        "</p><p class=\"note\">",
        note,
        "</p></div>\n"
    );
}

/// The newest periods that a plot has room for.
fn newest(found: &Overview) -> &[Period] {
    let all = &found.periods;
    &all[all.len().saturating_sub(MOST_BARS)..]
}

fn spend_plot(found: &Overview, page: &mut Page) {
    let shown = newest(found);
    let most = shown.iter().map(|one| one.sums.spend).max();
    html!(
        page,
        "<section id=\"plot\">\n<h2>Spend and waste by ",
        found.ask.step,
        "</h2>\n<p class=\"lead\"><span class=\"key today\"></span> spent, of which ",
        "<span class=\"key stays\"></span> did nothing. The highest bar is "
    );
    page.text(money(found.ledger.money(most.unwrap_or_default())));
    html!(page, ".</p>\n");
    let spent = shown.iter().map(|one| Bar {
        whole: Some(one.sums.spend),
        part: one.sums.waste,
    });
    bars(page, &spent.collect::<Vec<_>>(), "Spend and waste");
    ends(shown, page);
    html!(page, "</section>\n");
}

fn useful_plot(found: &Overview, page: &mut Page) {
    let shown = newest(found);
    html!(
        page,
        "<section id=\"hours\">\n<h2>GPU hours by ",
        found.ask.step,
        "</h2>\n<p class=\"lead\"><span class=\"key today\"></span> all, of which ",
        "<span class=\"key stays\"></span> were useful: times mean utilization.</p>\n"
    );
    let hours = shown.iter().map(|one| Bar {
        whole: Some(one.sums.gpu_hours),
        part: one.sums.useful_gpu_hours,
    });
    bars(page, &hours.collect::<Vec<_>>(), "GPU hours");
    ends(shown, page);
    html!(page, "</section>\n");
}

/// What the first and the last bar are.
fn ends(shown: &[Period], page: &mut Page) {
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
        return;
    };
    html!(
        page,
        "<p class=\"note\">From ",
        first.span.first,
        " on the left to ",
        last.span.last,
        " on the right. Days without a record are left out.</p>\n"
    );
}
