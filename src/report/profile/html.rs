//! A run as a page that stands alone: `gpucost profile --format html`. No network and no
//! script.

use super::ProfileReport;
use super::blocks::{blocks, facts};
use super::table::title;
use super::words::headline;
use crate::report::shared::markup::{Page, SENTENCE, STYLE_ONLY, begin, cut, html};
use crate::report::shared::page_table::PageTable;
use crate::report::shared::text::{money_or_absent, percent};

/// Rows of a table before the rest is counted.
const MOST_ROWS: usize = 500;

/// The summary of a run as a page.
pub fn profile_html(report: &ProfileReport) -> String {
    let name = cut(&title(&report.profile), SENTENCE);
    let mut page = begin(STYLE_ONLY, &format!("GPU run, {name}"));
    html!(
        page,
        "<header>\n<h1>GPU run</h1>\n<p class=\"scope\">",
        name,
        "</p>\n"
    );
    for sentence in headline(report) {
        html!(page, "<p>", cut(&sentence, SENTENCE), "</p>\n");
    }
    html!(page, "</header>\n<main>\n");
    tiles(report, &mut page);
    html!(page, "<section id=\"run\">\n<h2>Run</h2>\n<ul>\n");
    for (name, words) in facts(report) {
        html!(page, "<li>", name, ": ", cut(&words, SENTENCE), "</li>\n");
    }
    html!(page, "</ul>\n</section>\n");
    for block in blocks(report) {
        let table = PageTable {
            key: block.key,
            title: block.title,
            columns: block.columns.to_vec(),
            rows: block.rows,
            most: MOST_ROWS,
        };
        table.write(&mut page);
    }
    html!(page, "</main>\n</body>\n</html>\n");
    page.finish()
}

fn tiles(report: &ProfileReport, page: &mut Page) {
    let profile = &report.profile;
    let mean = profile.utilization.map(|figures| figures.mean);
    let mfu = report
        .work
        .as_ref()
        .and_then(|work| work.mfu.as_ref()?.as_ref().ok());
    let tiles = [
        (
            "This run",
            report.cost.as_ref().map(|cost| money_or_absent(cost.run)),
        ),
        ("Mean GPU utilization", mean.map(percent)),
        (
            "Model FLOPs utilization",
            mfu.map(|found| percent(found.percent)),
        ),
        (
            "Verdict",
            Some(profile.verdict.classification.name().to_owned()),
        ),
    ];
    html!(
        page,
        "<section aria-label=\"Headline numbers\" class=\"tiles\">\n"
    );
    for (label, figure) in tiles {
        let Some(figure) = figure else { continue };
        html!(
            page,
            "<div class=\"tile\"><h2>",
            label,
            "</h2><p class=\"figure\">",
            figure,
            "</p></div>\n"
        );
    }
    html!(page, "</section>\n");
}
