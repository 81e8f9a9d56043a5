//! `audit --format html`: one file for readers away from a terminal. No network,
//! no framework; it follows the reader's light or dark theme and prints.

mod charts;
mod days;
mod findings;
mod fleet;
mod groups;
mod headline;
mod heat;
mod pictures;
mod workloads;

use crate::analysis::{Audit, DayCost, Grouping};
use crate::domain::EstateSource;

use crate::report::shared::markup::{NAME, Page, begin, cut, html};
use crate::report::shared::plots::gap_pattern;
use crate::report::shared::text::counted;

const SCRIPT: &str = include_str!("script.js");

/// What the page may do: its own style and its own script, by their SHA-256, and
/// nothing else. Whatever else got into the page would not run.
const CONTENT_SECURITY_POLICY: &str = concat!(
    "default-src 'none'; ",
    "style-src 'sha256-wl8VMctHbxmjqkOb077K9jO6wBibtJ9LHGQKyOeXbFA='; ",
    "script-src 'sha256-9pgApVeMZlICRMZLQ58tAssLWV7r43kzYyHiEoCfkfg='; ",
    "base-uri 'none'; form-action 'none'"
);

/// The audit as a page that stands alone, with its groups where they were asked for, and what
/// each day cost of which that is known.
pub fn audit_html(audit: &Audit, by: Option<&Grouping>, costs: &[DayCost]) -> String {
    let title = format!(
        "GPU cost audit of {}, {}",
        cut(&subject(audit), NAME),
        audit.as_of.strftime("%Y-%m-%d")
    );
    let mut page = begin(CONTENT_SECURITY_POLICY, &title);
    header(audit, by.is_some(), &mut page);
    html!(page, "<main>\n");
    gap_pattern(&mut page);
    headline::tiles(audit, &mut page);
    headline::waterfall(audit, &mut page);
    days::days(costs, &mut page);
    charts::breakdowns(audit, &mut page);
    fleet::teams(audit, &mut page);
    if let Some(by) = by {
        groups::groups(by, &mut page);
    }
    fleet::states(audit, &mut page);
    heat::week(audit, &mut page);
    workloads::table(audit, &mut page);
    workloads::plans(audit, &mut page);
    workloads::unused(audit, &mut page);
    workloads::purchases(audit, &mut page);
    findings::findings(audit, &mut page);
    findings::gaps(audit, &mut page);
    findings::prices(audit, &mut page);
    html!(page, "</main>\n<script>");
    page.markup(SCRIPT);
    html!(page, "</script>\n</body>\n</html>\n");
    page.finish()
}

/// What was audited, in a few words.
fn subject(audit: &Audit) -> String {
    match (audit.source, audit.accounts.as_slice()) {
        (EstateSource::Demo, _) => "the demo estate".to_owned(),
        (EstateSource::Kubernetes, []) => "a Kubernetes cluster".to_owned(),
        (_, [one]) => format!("account {one}"),
        (_, many) => counted(many.len() as u64, "account", "accounts"),
    }
}

fn header(audit: &Audit, is_grouped: bool, page: &mut Page) {
    let regions = match audit.regions.as_slice() {
        [] => "no region".to_owned(),
        [one] => cut(one, NAME),
        many => counted(many.len() as u64, "region", "regions"),
    };
    let day = "%Y-%m-%d %H:%M UTC";
    html!(
        page,
        "<header>\n<h1>GPU cost audit</h1>\n<p class=\"scope\">",
        cut(&subject(audit), NAME),
        " · ",
        regions,
        " · <time>",
        audit.window.start.strftime(day),
        "</time> to <time>",
        audit.window.end.strftime(day),
        "</time></p>\n<nav aria-label=\"Sections\"><a href=\"#waterfall\">Waterfall</a> ",
        "<a href=\"#days\">Days</a> <a href=\"#costs\">Costs</a> "
    );
    if is_grouped {
        html!(page, "<a href=\"#groups\">Groups</a> ");
    }
    html!(
        page,
        "<a href=\"#states\">GPUs</a> <a href=\"#week\">Week</a> <a href=\"#workloads\">Workloads</a> <a href=\"#plan\">Plan</a> ",
        "<a href=\"#findings\">Findings</a> <a href=\"#gaps\">Gaps</a> ",
        "<a href=\"#prices\">Prices</a></nav>\n</header>\n"
    );
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
