//! `--group-by`: who pays for what, and how much of that did useful work.

use crate::analysis::Grouping;
use crate::report::groups::sheet::{GroupName, Sheet};
use crate::report::shared::markup::{NAME, Page, cut, html};

/// Every group and their total.
pub(super) fn groups(by: &Grouping, page: &mut Page) {
    let sheet = Sheet::of_page(by);
    let keys: Vec<String> = sheet.keys.iter().map(|key| cut(key, NAME)).collect();
    html!(
        page,
        "<section id=\"groups\">\n<h2>Cost by ",
        keys.join(", "),
        "</h2>\n<p class=\"lead\">Per month. ",
        sheet.split,
        "</p>\n<div class=\"scroll\" role=\"region\" ",
        "aria-label=\"Table of groups\" tabindex=\"0\">\n<table class=\"list\">\n<thead><tr>"
    );
    for key in &keys {
        html!(page, "<th scope=\"col\">", key, "</th>");
    }
    for title in &sheet.titles {
        html!(
            page,
            "<th scope=\"col\" class=\"n\">",
            capitalized(title),
            "</th>"
        );
    }
    html!(page, "</tr></thead>\n<tbody>\n");
    for row in &sheet.rows {
        html!(page, "<tr>");
        for name in &row.names {
            html!(page, "<th scope=\"row\">");
            value(*name, page);
            html!(page, "</th>");
        }
        figures(&row.figures, page);
    }
    html!(page, "<tr class=\"total\">");
    for (place, _) in keys.iter().enumerate() {
        let label = if place == 0 { "total" } else { "" };
        html!(page, "<th scope=\"row\">", label, "</th>");
    }
    figures(&sheet.total, page);
    html!(page, "</tbody>\n</table>\n</div>\n");
    for note in &sheet.notes {
        html!(page, "<p class=\"note\">", capitalized(note), ".</p>\n");
    }
    html!(page, "</section>\n");
}

fn value(name: GroupName<'_>, page: &mut Page) {
    match name.value {
        None => {
            html!(page, "<i>", name.absent(), "</i>");
            return;
        }
        Some("") => page.markup("<i>&quot;&quot;</i>"),
        Some(value) => page.text(cut(value, NAME)),
    }
    if let Some(part) = name.part {
        html!(page, " <i>", part, "</i>");
    }
}

fn figures(cells: &[String], page: &mut Page) {
    for cell in cells {
        html!(page, "<td class=\"n\">", cell, "</td>");
    }
    html!(page, "</tr>\n");
}

fn capitalized(words: &str) -> String {
    let mut rest = words.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
}
