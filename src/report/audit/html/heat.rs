//! Utilization by hour of the week.

use crate::analysis::Audit;
use crate::report::shared::markup::{NAME, Page, cut, html};
use crate::usage::WeekHour;

use crate::report::shared::text::{counted, percent};

pub(super) const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Shades of a cell, by tens of a percentage.
const SHADES: [&str; 10] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"];

/// The heat map, a table whose cells say their figure.
pub(super) fn week(audit: &Audit, page: &mut Page) {
    html!(
        page,
        "<section id=\"week\">\n<h2>Utilization by hour of the week</h2>\n"
    );
    if !audit.week.is_measured() {
        html!(
            page,
            "<p>No GPU utilization was measured.</p>\n</section>\n"
        );
        return;
    }
    html!(
        page,
        "<p class=\"lead\">Mean GPU utilization in percent over all samples in the window, ",
        "with equal weight per GPU. Time zone ",
        cut(audit.week.zone(), NAME),
        ". GPUs without data are not included.</p>\n",
        "<p class=\"scale\" aria-hidden=\"true\">0%"
    );
    for shade in SHADES {
        html!(page, "<span class=\"", shade, "\"></span>");
    }
    html!(
        page,
        "100%</p>\n<table class=\"heat\">\n<thead><tr><td></td>"
    );
    for hour in 0..24 {
        html!(page, "<th scope=\"col\">", format!("{hour:02}"), "</th>");
    }
    html!(page, "</tr></thead>\n<tbody>\n");
    for (day, hours) in DAYS.iter().zip(audit.week.hours().chunks(24)) {
        html!(page, "<tr><th scope=\"row\">", day, "</th>");
        for (hour, cell) in hours.iter().enumerate() {
            self::cell(page, day, hour, cell);
        }
        html!(page, "</tr>\n");
    }
    html!(page, "</tbody>\n</table>\n</section>\n");
}

fn cell(page: &mut Page, day: &str, hour: usize, cell: &WeekHour) {
    let Some(mean) = cell.mean() else {
        html!(
            page,
            "<td class=\"none\" title=\"",
            format!("{day} {hour:02}:00: no samples"),
            "\">–</td>"
        );
        return;
    };
    let shade = ((mean / 10.0) as usize).min(SHADES.len() - 1);
    html!(page, "<td class=\"", SHADES[shade], "\" title=\"");
    html!(
        page,
        format!(
            "{day} {hour:02}:00: {} over {}",
            percent(mean),
            counted(cell.n_samples, "sample", "samples")
        ),
        "\">",
        format!("{mean:.0}"),
        "</td>"
    );
}
