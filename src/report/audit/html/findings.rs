//! Findings with their evidence and steps, then what was not seen and what the
//! prices rest on.

use super::workloads::place;
use crate::analysis::Audit;
use crate::domain::{Evidence, Finding, Observation, Severity};
use crate::report::audit::finding_rows::evidence;
use crate::report::shared::markup::{NAME, Page, SENTENCE, anchor, cut, html};
use crate::report::shared::text::{count, counted, money, rounded};
use std::collections::BTreeMap;

/// Every finding, the largest saving first.
pub(super) fn findings(audit: &Audit, page: &mut Page) {
    html!(page, "<section id=\"findings\">\n<h2>Findings</h2>\n");
    if audit.findings.is_empty() {
        html!(page, "<p>None.</p>\n</section>\n");
        return;
    }
    let number = |severity: Severity| {
        let of_it = audit.findings.iter().filter(|one| one.severity == severity);
        of_it.count() as u64
    };
    html!(
        page,
        "<p class=\"lead\">",
        format!(
            "{} critical, {} warning, {} info.",
            count(number(Severity::Critical)),
            count(number(Severity::Warning)),
            count(number(Severity::Info))
        ),
        " Largest savings first. Savings are per finding; they overlap and do not add up.</p>\n"
    );
    let workloads: BTreeMap<String, (&str, String)> = audit
        .workloads
        .iter()
        .enumerate()
        .map(|(number, audited)| {
            let workload = &audited.workload;
            (
                workload.id(),
                (workload.name.as_str(), place(audited, number)),
            )
        })
        .collect();
    for (number, one) in audit.findings.iter().enumerate() {
        finding(page, one, number, workloads.get(one.workload()));
    }
    html!(page, "</section>\n");
}

fn finding(page: &mut Page, one: &Finding, number: usize, of: Option<&(&str, String)>) {
    let saving = one
        .monthly_savings
        .map_or_else(|| "no estimate".to_owned(), money);
    let name = cut(of.map_or(one.workload(), |(name, _)| name), NAME);
    html!(
        page,
        "<details id=\"",
        anchor("finding", &one.id(), number),
        "\"><summary><span class=\"",
        one.severity.name(),
        "\">",
        one.severity,
        "</span> <b>",
        name,
        "</b> <span class=\"sum\">",
        saving,
        "</span> <span class=\"said\">",
        cut(&one.title, SENTENCE),
        "</span></summary>\n<p>",
        one.rule(),
        ", ",
        one.confidence,
        ", ",
        one.kind,
        ", of "
    );
    match of {
        Some((_, place)) => {
            html!(page, "<a href=\"#", place, "\">", name, "</a>");
        }
        None => page.text(name),
    }
    html!(page, "</p>\n<h3>Evidence</h3>\n<ul>");
    for piece in one.evidence() {
        html!(page, "<li>", evidence(piece), origin(piece), "</li>");
    }
    let recommendation = &one.recommendation;
    html!(
        page,
        "</ul>\n<h3>Recommendation: ",
        cut(&recommendation.action, SENTENCE)
    );
    if !recommendation.to.is_empty() {
        html!(page, ": ", cut(&recommendation.to, SENTENCE));
    }
    html!(page, "</h3>\n");
    if !recommendation.steps.is_empty() {
        html!(page, "<ol>");
        for step in &recommendation.steps {
            html!(page, "<li>", cut(step, SENTENCE), "</li>");
        }
        html!(page, "</ol>\n");
    }
    for caveat in &recommendation.caveats {
        html!(page, "<p>Caveat: ", cut(caveat, SENTENCE), "</p>\n");
    }
    html!(page, "</details>\n");
}

/// Who says so.
fn origin(evidence: &Evidence) -> String {
    match &evidence.observation {
        Observation::Sampled { source, .. } => format!("; {source}"),
        Observation::Fact { origin, .. } if origin.is_empty() => String::new(),
        Observation::Fact { origin, .. } => format!("; {}", cut(origin, SENTENCE)),
    }
}

pub(super) fn gaps(audit: &Audit, page: &mut Page) {
    html!(page, "<section id=\"gaps\">\n<h2>Data gaps</h2>\n");
    if audit.gaps.is_empty() {
        html!(page, "<p>No data gaps.</p>\n</section>\n");
        return;
    }
    html!(page, "<ul class=\"gaps\">\n");
    for gap in &audit.gaps {
        html!(
            page,
            "<li><b>",
            cut(&gap.what.name(), NAME),
            "</b> of ",
            cut(&gap.place, NAME),
            ": ",
            cut(&gap.reason, SENTENCE),
            "<br><i>",
            cut(&gap.hint, SENTENCE),
            "</i></li>\n"
        );
    }
    html!(page, "</ul>\n</section>\n");
}

/// What the prices rest on, and what gathering cost.
pub(super) fn prices(audit: &Audit, page: &mut Page) {
    html!(
        page,
        "<section id=\"prices\">\n<h2>Prices and origin</h2>\n<dl>"
    );
    let origins: Vec<String> = audit
        .prices
        .by_origin()
        .iter()
        .map(|(origin, number)| format!("{} {origin}", count(*number)))
        .collect();
    if !origins.is_empty() {
        html!(page, "<dt>Prices</dt><dd>", origins.join(", "), "</dd>");
    }
    if let Some(date) = audit.prices.oldest_effective_date() {
        html!(
            page,
            "<dt>Oldest price effective since</dt><dd>",
            date,
            "</dd>"
        );
    }
    if let Some(date) = audit.prices.oldest_seen_on() {
        html!(
            page,
            "<dt>Oldest price list read on</dt><dd>",
            date,
            "</dd>"
        );
    }
    html!(
        page,
        "<dt>Currency</dt><dd>",
        audit.totals.currency,
        "</dd><dt>Source</dt><dd>",
        audit.source,
        "</dd>"
    );
    for (what, names) in [("Accounts", &audit.accounts), ("Regions", &audit.regions)] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| cut(name, NAME)).collect();
            html!(page, "<dt>", what, "</dt><dd>", names.join(", "), "</dd>");
        }
    }
    if audit.api.calls > 0 {
        html!(
            page,
            "<dt>AWS calls</dt><dd>",
            format!(
                "{}, {}, about ${}",
                counted(audit.api.calls, "call", "calls"),
                counted(audit.api.retries, "retry", "retries"),
                rounded(audit.api.estimated_cost_usd, 4)
            ),
            "</dd>"
        );
    }
    html!(
        page,
        "<dt>As of</dt><dd>",
        audit.as_of,
        "</dd><dt>Generated by</dt><dd>gpucost ",
        env!("CARGO_PKG_VERSION").to_owned(),
        "</dd></dl>\n<p class=\"note\">Based on list prices and measurements: an estimate, not a ",
        "bill.</p>\n</section>\n"
    );
}
