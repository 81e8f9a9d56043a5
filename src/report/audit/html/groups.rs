//! `--group-by`: who pays for what, and how much of that did useful work.

use super::markup::{NAME, Page, cut, html};
use crate::analysis::{GroupSums, Groups};
use crate::report::groups::{NO_VALUE, cells, unpriced_note};
use crate::report::shared::text::money_or_absent;

/// Every group and their total.
pub(super) fn groups(groups: &Groups, page: &mut Page) {
    let keys: Vec<String> = groups
        .keys
        .iter()
        .map(|key| cut(&key.to_string(), NAME))
        .collect();
    html!(
        page,
        "<section id=\"groups\">\n<h2>Cost by ",
        keys.join(", "),
        "</h2>\n<p class=\"lead\">Per month. Cost is split into useful (cost times mean GPU \
         utilization), ",
        "idle, unmeasured and stopped.</p>\n<div class=\"scroll\" role=\"region\" ",
        "aria-label=\"Table of groups\" tabindex=\"0\">\n<table class=\"list\">\n<thead><tr>"
    );
    for key in &keys {
        html!(page, "<th scope=\"col\">", key, "</th>");
    }
    html!(
        page,
        "<th scope=\"col\" class=\"n\">GPUs</th><th scope=\"col\" class=\"n\">Cost</th>",
        "<th scope=\"col\" class=\"n\">Useful</th><th scope=\"col\" class=\"n\">Idle</th>",
        "<th scope=\"col\" class=\"n\">Unmeasured</th><th scope=\"col\" class=\"n\">Stopped</th>",
        "<th scope=\"col\" class=\"n\">Saves</th><th scope=\"col\" class=\"n\">Planned</th>",
        "</tr></thead>\n<tbody>\n"
    );
    for row in &groups.rows {
        html!(page, "<tr>");
        for value in &row.values {
            html!(page, "<th scope=\"row\">");
            match value.as_deref() {
                None => {
                    html!(page, "<i>", NO_VALUE, "</i>");
                }
                Some("") => page.markup("<i>&quot;&quot;</i>"),
                Some(value) => page.text(cut(value, NAME)),
            }
            html!(page, "</th>");
        }
        figures(&row.sums, page);
    }
    html!(page, "<tr class=\"total\">");
    for (place, _) in keys.iter().enumerate() {
        let label = if place == 0 { "total" } else { "" };
        html!(page, "<th scope=\"row\">", label, "</th>");
    }
    figures(&groups.total, page);
    html!(page, "</tbody>\n</table>\n</div>\n");
    if let Some(note) = unpriced_note(groups) {
        html!(page, "<p class=\"note\">", note, ".</p>\n");
    }
    html!(page, "</section>\n");
}

fn figures(sums: &GroupSums, page: &mut Page) {
    let planned = money_or_absent(sums.planned_monthly_cost());
    for cell in cells(sums).into_iter().chain([planned]) {
        html!(page, "<td class=\"n\">", cell, "</td>");
    }
    html!(page, "</tr>\n");
}
