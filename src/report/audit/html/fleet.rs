//! The fleet by how its GPUs behave, and its cost by team and type.

use super::charts::{NO_DATA, percent_of, span_bar};
use crate::analysis::{Audit, CostMatrix, CostRow, Dimension, gpus_by_state, prevailing_tags};
use crate::domain::{Money, UsageState};
use crate::report::shared::markup::{NAME, Page, cut, html};
use crate::report::shared::text::{count, counted, money_or_absent};
use rust_decimal::Decimal;

/// Teams and types that have a row and a column of their own.
const SHOWN: (usize, usize) = (8, 5);
/// Colors of columns, the last for what is together.
const COLORS: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];

/// GPUs of running instances by state.
pub(super) fn states(audit: &Audit, page: &mut Page) {
    html!(page, "<section id=\"states\">\n<h2>GPUs by state</h2>\n");
    let found = gpus_by_state(audit);
    let most = found.iter().map(|one| one.gpus).max().unwrap_or_default();
    if most == 0 {
        html!(page, "<p>No GPU is running.</p>\n</section>\n");
        return;
    }
    html!(
        page,
        "<p class=\"lead\">",
        counted(audit.totals.gpus, "GPU", "GPUs"),
        " of running instances, by how each instance behaves, with its compute per month. ",
        "Hatched: too little was measured to say.</p>\n<div class=\"scroll\" role=\"region\" ",
        "aria-label=\"Table of states\" tabindex=\"0\">\n<table class=\"bars\">\n<thead><tr>",
        "<th scope=\"col\">State</th><td></td><th scope=\"col\">GPUs</th>",
        "<th scope=\"col\">Instances</th><th scope=\"col\">Per month</th></tr></thead>\n<tbody>\n"
    );
    for one in &found {
        html!(
            page,
            "<tr><th scope=\"row\">",
            one.state.map_or("unknown", UsageState::name),
            "</th><td>"
        );
        let class = if one.state.is_some() {
            "stays"
        } else {
            NO_DATA
        };
        let reach = percent_of(Decimal::from(one.gpus), Decimal::from(most));
        let reach = reach.filter(|percent| *percent > 0.0);
        span_bar(page, reach.map(|percent| (0.0..percent, class)).as_slice());
        html!(
            page,
            "</td><td>",
            count(one.gpus),
            "</td><td>",
            count(one.instances),
            "</td><td>",
            money_or_absent(one.monthly_cost),
            "</td></tr>\n"
        );
    }
    html!(page, "</tbody>\n</table>\n</div>\n</section>\n");
}

/// Cost by team and instance type; by region where nothing has a tag.
pub(super) fn teams(audit: &Audit, page: &mut Page) {
    let tags = prevailing_tags(audit, usize::MAX);
    let team = tags.iter().find(|tag| tag.eq_ignore_ascii_case("team"));
    let team = team.or(tags.first()).copied();
    let (rows, what) = match team {
        Some(tag) => (Dimension::Tag(tag), format!("tag {}", cut(tag, NAME))),
        None => (Dimension::Region, "region".to_owned()),
    };
    let matrix = CostMatrix::of(audit, (rows, Dimension::InstanceType), SHOWN);
    html!(
        page,
        "<section id=\"teams\">\n<h2>Cost by ",
        what,
        " and instance type</h2>\n"
    );
    let others = matrix.other_rows.iter().map(|(_, row)| row);
    let totals = matrix.rows.iter().chain(others).filter_map(|row| row.total);
    let most = totals.map(Money::amount).max().unwrap_or_default();
    if most <= Decimal::ZERO {
        html!(page, "<p>No cost.</p>\n</section>\n");
        return;
    }
    html!(
        page,
        "<p class=\"lead\">Per month. The parts of a bar have the order of the columns.</p>\n",
        "<div class=\"scroll\" role=\"region\" aria-label=\"Cost by two dimensions\" ",
        "tabindex=\"0\">\n<table class=\"bars matrix\">\n<thead><tr>",
        "<th scope=\"col\">Part</th><td></td><th scope=\"col\">Total</th>"
    );
    let more = (matrix.other_columns > 0).then(|| counted(matrix.other_columns, "other", "others"));
    let names = matrix.columns.iter().map(|name| label(name.as_deref()));
    for (name, color) in names.chain(more).zip(COLORS) {
        html!(
            page,
            "<th scope=\"col\"><span class=\"key ",
            color,
            "\"></span> ",
            name,
            "</th>"
        );
    }
    html!(page, "</tr></thead>\n<tbody>\n");
    for one in &matrix.rows {
        row(page, &label(one.label.as_deref()), one, most);
    }
    if let Some((number, rest)) = &matrix.other_rows {
        row(page, &counted(*number, "other", "others"), rest, most);
    }
    html!(page, "</tbody>\n</table>\n</div>\n</section>\n");
}

fn label(name: Option<&str>) -> String {
    match name {
        None => "untagged".to_owned(),
        Some("") => "empty value".to_owned(),
        Some(name) => cut(name, NAME),
    }
}

fn row(page: &mut Page, name: &str, row: &CostRow, most: Decimal) {
    html!(page, "<tr><th scope=\"row\">", name, "</th><td>");
    let mut spans = Vec::new();
    let mut end = Decimal::ZERO;
    for (cell, color) in row.cells.iter().zip(COLORS) {
        let start = end;
        end += cell.map_or(Decimal::ZERO, Money::amount);
        let ends = percent_of(start, most).zip(percent_of(end, most));
        let ends = ends.filter(|(start, end)| start < end);
        spans.extend(ends.map(|(start, end)| (start..end, color)));
    }
    span_bar(page, &spans);
    html!(page, "</td><td>", money_or_absent(row.total), "</td>");
    for cell in &row.cells {
        html!(page, "<td>", money_or_absent(*cell), "</td>");
    }
    html!(page, "</tr>\n");
}
