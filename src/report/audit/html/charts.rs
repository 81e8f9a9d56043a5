//! Bars, and what the parts of the fleet cost.

use crate::analysis::{Audit, CostPart, Dimension, cost_by, prevailing_tags};
use crate::domain::Money;
use crate::report::shared::markup::{NAME, Page, cut, html};
use crate::report::shared::text::{counted, money_or_absent};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::ops::Range;

/// Bars shown before the rest becomes one.
const SHOWN: usize = 8;
/// Tags by which the cost is broken down.
const SHOWN_TAGS: usize = 3;

/// A part in percent; absent of nothing.
pub(super) fn percent_of(part: Decimal, whole: Decimal) -> Option<f64> {
    (part * Decimal::ONE_HUNDRED).checked_div(whole)?.to_f64()
}

/// The class of a span whose state is not known: it is hatched.
pub(super) const NO_DATA: &str = "no-data";

/// Spans of a bar from 0 to 100, each in a class of the style, drawn over one
/// another. The figures stand beside it, so it is hidden from screen readers.
pub(super) fn span_bar(page: &mut Page, spans: &[(Range<f64>, &'static str)]) {
    html!(
        page,
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" ",
        "aria-hidden=\"true\">"
    );
    for (span, class) in spans {
        // What is there is seen, however little it is.
        let width = (span.end - span.start).max(0.4);
        if *class == NO_DATA {
            html!(page, "<rect fill=\"url(#no-data)\" x=\"");
        } else {
            html!(page, "<rect class=\"", class, "\" x=\"");
        }
        html!(
            page,
            format!("{:.1}", span.start.min(100.0 - width)),
            "\" width=\""
        );
        html!(page, format!("{width:.1}"), "\" height=\"10\"/>");
    }
    html!(page, "</svg>");
}

/// Cost by class, type, region and tag.
pub(super) fn breakdowns(audit: &Audit, page: &mut Page) {
    html!(
        page,
        "<section id=\"costs\">\n<h2>Cost breakdown</h2>\n<p class=\"lead\">",
        "Per month: <span class=\"key today\"></span> today, of which ",
        "<span class=\"key stays\"></span> remains after the plan.</p>\n<div class=\"panels\">\n"
    );
    panel(audit, Dimension::Class, "By class", page);
    panel(audit, Dimension::InstanceType, "By instance type", page);
    panel(audit, Dimension::Region, "By region", page);
    for key in prevailing_tags(audit, SHOWN_TAGS) {
        let title = format!("By tag {}", cut(key, NAME));
        panel(audit, Dimension::Tag(key), &title, page);
    }
    html!(page, "</div>\n</section>\n");
}

fn panel(audit: &Audit, dimension: Dimension<'_>, title: &str, page: &mut Page) {
    let parts = cost_by(audit, dimension);
    let (shown, rest) = parts.split_at(parts.len().min(SHOWN));
    let rest = (!rest.is_empty()).then(|| (rest.len() as u64, together(rest)));
    let most = shown
        .iter()
        .chain(rest.iter().map(|(_, part)| part))
        .filter_map(|part| part.monthly_cost)
        .map(Money::amount)
        .max()
        .unwrap_or_default();
    html!(
        page,
        "<div class=\"panel\">\n<table class=\"bars\">\n<caption>",
        title,
        "</caption>\n<thead><tr><th scope=\"col\">Part</th><td></td>",
        "<th scope=\"col\">Today</th><th scope=\"col\">Planned</th></tr></thead>\n<tbody>\n"
    );
    for part in shown {
        let name = part.label.as_deref().map_or_else(
            || "untagged".to_owned(),
            |label| {
                if label.is_empty() {
                    "empty value".to_owned()
                } else {
                    cut(label, NAME)
                }
            },
        );
        part_row(page, &name, part, most, part.label.is_some());
    }
    if let Some((number, part)) = &rest {
        let name = counted(*number, "other", "others");
        part_row(page, &name, part, most, false);
    }
    html!(page, "</tbody>\n</table>\n</div>\n");
}

/// The sums of what is not shown by itself.
fn together(parts: &[CostPart]) -> CostPart {
    let sum = |amounts: &mut dyn Iterator<Item = Option<Money>>| {
        amounts
            .flatten()
            .reduce(|sum, part| sum.checked_add(part).unwrap_or(sum))
    };
    CostPart {
        label: None,
        workloads: parts.iter().map(|part| part.workloads).sum(),
        instances: parts.iter().map(|part| part.instances).sum(),
        monthly_cost: sum(&mut parts.iter().map(|part| part.monthly_cost)),
        planned_monthly_cost: sum(&mut parts.iter().map(|part| part.planned_monthly_cost)),
    }
}

fn part_row(page: &mut Page, name: &str, part: &CostPart, most: Decimal, is_named: bool) {
    let counts = format!(
        "{}, {}",
        counted(part.workloads, "workload", "workloads"),
        counted(part.instances, "instance", "instances")
    );
    html!(page, "<tr title=\"", counts, "\"><th scope=\"row\"");
    if !is_named {
        html!(page, " class=\"rest\"");
    }
    html!(page, ">", name, "</th><td>");
    let reach = |amount: Option<Money>, class| {
        let percent = percent_of(amount?.amount(), most)?;
        (percent > 0.0).then_some((0.0..percent, class))
    };
    let today = reach(part.monthly_cost, "today");
    let stays = reach(part.planned_monthly_cost, "stays");
    let drawn: Vec<_> = today.into_iter().chain(stays).collect();
    span_bar(page, &drawn);
    html!(
        page,
        "</td><td>",
        money_or_absent(part.monthly_cost),
        "</td><td>",
        money_or_absent(part.planned_monthly_cost),
        "</td></tr>\n"
    );
}
