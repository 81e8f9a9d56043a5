//! What each day of the window cost.

use crate::analysis::DayCost;
use crate::domain::Money;
use crate::report::shared::markup::{Page, html};
use crate::report::shared::plots::{Bar, MOST_BARS, bars};
use crate::report::shared::text::{counted, money, money_or_absent};

/// A bar for each day, and the figures below.
pub(super) fn days(costs: &[DayCost], page: &mut Page) {
    html!(page, "<section id=\"days\">\n<h2>Cost by day</h2>\n");
    let shown = &costs[costs.len().saturating_sub(MOST_BARS)..];
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
        html!(
            page,
            "<p>The window has no whole day of UTC that was over six hours before it was ",
            "read.</p>\n</section>\n"
        );
        return;
    };
    html!(
        page,
        "<p class=\"lead\"><span class=\"key today\"></span> a whole day of UTC, of which ",
        "<span class=\"key stays\"></span> idle storage and unused commitments. Instances that ",
        "ended before this audit are not included."
    );
    let known = || shown.iter().filter_map(|one| one.cost);
    let range = known()
        .min_by_key(|cost| cost.amount())
        .zip(known().max_by_key(|cost| cost.amount()));
    if let Some((_, most)) = range {
        html!(page, " The highest bar is ", money(most), ".");
    }
    html!(page, "</p>\n");
    let range = range.map_or_else(String::new, |(least, most)| {
        format!(": {} to {} a day", money(least), money(most))
    });
    let title = format!("Cost by day, {} to {}{range}", first.day, last.day);
    let drawn = shown.iter().map(|one| Bar {
        whole: one.cost.map(Money::amount),
        part: one.unused.amount(),
    });
    bars(page, &drawn.collect::<Vec<_>>(), &title);
    html!(
        page,
        "<p class=\"axis\"><span>",
        first.day,
        "</span><span>",
        last.day,
        "</span></p>\n"
    );
    let partly = shown.iter().filter(|one| one.unknown_rows > 0).count() as u64;
    if partly > 0 {
        html!(
            page,
            "<p class=\"note\">Hatched: no amount is known. Part of the cost is unknown on ",
            counted(partly, "day", "days"),
            ", and not included.</p>\n"
        );
    }
    html!(
        page,
        "<details><summary>Figures by day</summary>\n<table class=\"list\">\n<thead><tr>",
        "<th scope=\"col\">Day</th><th scope=\"col\" class=\"n\">Cost</th>",
        "<th scope=\"col\" class=\"n\">Not running</th></tr></thead>\n<tbody>\n"
    );
    for one in shown {
        html!(
            page,
            "<tr><th scope=\"row\">",
            one.day,
            "</th><td class=\"n\">",
            money_or_absent(one.cost),
            "</td><td class=\"n\">",
            money_or_absent(one.cost.map(|_| one.unused)),
            "</td></tr>\n"
        );
    }
    html!(page, "</tbody>\n</table>\n</details>\n</section>\n");
}
