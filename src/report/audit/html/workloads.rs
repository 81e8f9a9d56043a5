//! Every workload as a row, then its verdict and its part of the plan.

use super::pictures::drawn;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, Classification, UtilizationSummary, Workload, floored};
use crate::report::audit::workload_rows::is_advised;
use crate::report::promises::{break_even, evidence};
use crate::report::shared::markup::{NAME, Page, SENTENCE, anchor, cut, html};
use crate::report::shared::text::{
    ABSENT, count, counted, money, money_or_absent, percent, rounded,
};

/// Characters of a region or a type in the table.
const SHORT: usize = 24;
/// Instances and tags that a workload names before it counts the rest.
const SHOWN_INSTANCES: usize = 6;
const SHOWN_TAGS: usize = 12;
/// Characters that the search knows of all workloads together beside their cells:
/// each has the same share, so that a page does not grow with the sizes of groups.
const SEARCHED: usize = 600_000;

/// The place of a workload in the page.
pub(super) fn place(audited: &AuditedWorkload, number: usize) -> String {
    anchor("workload", &audited.workload.id(), number)
}

fn class(audited: &AuditedWorkload) -> (&'static str, &'static str) {
    if !audited.workload.key.running {
        return ("stopped", "off");
    }
    let class = audited.verdict.classification;
    let shade = match class {
        Classification::Overprovisioned => "over",
        Classification::Underutilized => "under",
        Classification::WellUtilized => "well",
        Classification::InsufficientData => "unknown",
    };
    (class.name(), shade)
}

fn or_absent(value: Option<String>) -> String {
    value.unwrap_or_else(|| ABSENT.to_owned())
}

/// The table of workloads. The script makes it sortable and filterable.
pub(super) fn table(audit: &Audit, page: &mut Page) {
    html!(
        page,
        "<section id=\"workloads\">\n<h2>Workloads</h2>\n",
        "<div class=\"tools\" id=\"tools\" hidden><label>Search <input type=\"search\" ",
        "id=\"search\"></label> <label>Class <select id=\"class\"><option value=\"\">all",
        "</option></select></label> <label>Region <select id=\"region\"><option value=\"\">",
        "all</option></select></label> <output id=\"shown\" aria-live=\"polite\"></output>",
        "</div>\n"
    );
    if audit.workloads.is_empty() {
        html!(page, "<p>No workloads in scope.</p>\n</section>\n");
        return;
    }
    html!(
        page,
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table of workloads\" ",
        "tabindex=\"0\">\n<table class=\"list\" id=\"list\">\n<thead><tr>",
        "<th scope=\"col\">Name</th><th scope=\"col\">Class</th>",
        "<th scope=\"col\" class=\"n\">Per month</th><th scope=\"col\" class=\"n\">Planned</th>",
        "<th scope=\"col\" class=\"n\">Saves</th><th scope=\"col\" class=\"n\">Mean</th>",
        "<th scope=\"col\" class=\"n\">p95</th><th scope=\"col\" class=\"n\">VRAM peak</th>",
        "<th scope=\"col\">State</th><th scope=\"col\">Kind</th>",
        "<th scope=\"col\" class=\"n\">Count</th><th scope=\"col\">Type</th>",
        "<th scope=\"col\">Option</th><th scope=\"col\">Region</th>"
    );
    let is_advised = is_advised(audit);
    if is_advised {
        html!(page, "<th scope=\"col\">AWS says</th>");
    }
    html!(page, "</tr></thead>\n<tbody>\n");
    let share = SEARCHED / audit.workloads.len();
    for (number, audited) in audit.workloads.iter().enumerate() {
        row(page, audited, number, share);
        if is_advised {
            let opinion = audited.workload.aws_opinion();
            let shown = opinion.map(|words| cut(&words, NAME));
            html!(page, "<td>", or_absent(shown), "</td>");
        }
        html!(page, "</tr>\n");
    }
    html!(page, "</tbody>\n</table>\n</div>\n</section>\n");
}

/// What the search finds a workload by beside its cells: the account, tags and
/// instances, as many as there is room for.
fn also(workload: &Workload, share: usize) -> String {
    let tags = workload.tags.iter();
    let instances = workload.instances.iter();
    let short = |word: &str| word.chars().take(NAME).collect::<String>();
    let mut room = share;
    let words: Vec<String> = std::iter::once(short(&workload.key.account))
        .chain(tags.map(|(key, value)| format!("{}={}", short(key), short(value))))
        .chain(instances.map(|id| short(id.as_str())))
        .take_while(|word| {
            let left = room.checked_sub(word.chars().count() + 1);
            room = left.unwrap_or_default();
            left.is_some()
        })
        .collect();
    words.join(" ")
}

/// A row up to its last cell.
fn row(page: &mut Page, audited: &AuditedWorkload, number: usize, share: usize) {
    let workload = &audited.workload;
    let summary = workload.utilization.as_ref();
    let (class, shade) = class(audited);
    html!(
        page,
        "<tr data-also=\"",
        also(workload, share),
        "\"><th scope=\"row\"><a href=\"#",
        place(audited, number),
        "\">",
        cut(&workload.name, NAME),
        "</a></th><td><span class=\"",
        shade,
        "\">",
        class,
        "</span></td><td>",
        money_or_absent(workload.monthly_cost()),
        "</td><td>",
        money_or_absent(audited.planned_monthly_cost()),
        "</td><td>",
        money_or_absent(audited.planned_monthly_savings()),
        "</td><td>",
        or_absent(summary.map(|summary| percent(summary.distribution.mean))),
        "</td><td>",
        or_absent(summary.map(|summary| percent(summary.distribution.p95))),
        "</td><td>",
        or_absent(
            workload
                .vram()
                .map(|vram| format!("{:.1} GiB", vram.peak_mib / 1024.0))
        ),
        "</td><td>",
        or_absent(audited.verdict.state.map(|state| state.to_string())),
        "</td><td>",
        workload.kind,
        "</td><td>",
        count(workload.instances.len() as u64),
        "</td><td>",
        cut(&workload.key.instance_type, SHORT),
        "</td><td>",
        workload.key.purchase_option,
        "</td><td>",
        cut(&workload.key.region, SHORT),
        "</td>"
    );
}

/// Each workload with its verdict and its part of the plan.
pub(super) fn plans(audit: &Audit, page: &mut Page) {
    html!(
        page,
        "<section id=\"plan\">\n<h2>Verdict and plan by workload</h2>\n",
        "<p class=\"lead\">Most expensive first. Savings of an action apply after ",
        "the previous ones.</p>\n<p class=\"lead\">Pictures of utilization go from 0 at the bottom ",
        "to 100% at the top: the line is the mean, and the band ends at the 95th percentile of a ",
        "step, or at the largest average of the day of a GPU. Hatched: no data. Empty: nothing ",
        "ran."
    );
    let pictures = drawn(audit);
    let left_out = audit.workloads.iter().skip(pictures.len());
    let left_out = left_out.filter(|one| one.course.is_some()).count() as u64;
    if left_out > 0 {
        let number = counted(
            left_out,
            "less expensive workload",
            "less expensive workloads",
        );
        html!(page, " The page has no room for pictures of ", number, ".");
    }
    html!(page, "</p>\n");
    for (number, audited) in audit.workloads.iter().enumerate() {
        detail(page, audited, number, pictures.get(number));
    }
    html!(page, "</section>\n");
}

fn detail(page: &mut Page, audited: &AuditedWorkload, number: usize, picture: Option<&Page>) {
    let workload = &audited.workload;
    let (class, shade) = class(audited);
    let kinds: Vec<&str> = audited
        .actions
        .iter()
        .map(|one| one.kind().name())
        .collect();
    let actions = if kinds.is_empty() {
        "keep".to_owned()
    } else {
        kinds.join(", ")
    };
    html!(
        page,
        "<details id=\"",
        place(audited, number),
        "\"><summary><b>",
        cut(&workload.name, NAME),
        "</b> <span class=\"",
        shade,
        "\">",
        class,
        "</span> <span class=\"what\">",
        actions,
        "</span> <span class=\"sum\">",
        money_or_absent(workload.monthly_cost()),
        " → ",
        money_or_absent(audited.planned_monthly_cost()),
        "</span></summary>\n<p>",
        cut(&audited.verdict.reason, SENTENCE),
        "</p>\n"
    );
    facts(page, audited);
    if !audited.actions.is_empty() {
        html!(page, "<ol class=\"actions\">\n");
        for one in &audited.actions {
            action(page, one);
        }
        html!(page, "</ol>\n");
    }
    if let Some(picture) = picture {
        page.append(picture);
    }
    html!(page, "</details>\n");
}

fn facts(page: &mut Page, audited: &AuditedWorkload) {
    let workload = &audited.workload;
    let (shown, rest) = workload
        .instances
        .split_at(workload.instances.len().min(SHOWN_INSTANCES));
    let names: Vec<String> = shown.iter().map(|id| cut(id.as_str(), NAME)).collect();
    let mut instances = names.join(", ");
    if !rest.is_empty() {
        instances.push_str(&format!(" and {} more", count(rest.len() as u64)));
    }
    html!(
        page,
        "<dl><dt>Runs on</dt><dd>",
        format!(
            "{} × {}, {}, {} ({}), account {}",
            count(workload.instances.len() as u64),
            cut(&workload.key.instance_type, NAME),
            workload.key.purchase_option,
            workload.kind,
            workload.kind_basis,
            cut(&workload.key.account, NAME),
        ),
        "</dd><dt>Instances</dt><dd>",
        instances,
        "</dd>"
    );
    if let Some(summary) = &workload.utilization {
        html!(page, "<dt>Measured</dt><dd>", measured(summary), "</dd>");
    }
    if let Some(rate) = workload.cost_per_useful_gpu_hour() {
        let sign = workload
            .cost
            .as_ref()
            .map_or("", |cost| cost.hourly.currency().sign());
        html!(
            page,
            "<dt>Useful GPU hour</dt><dd>",
            sign,
            rounded(rate, 2),
            "</dd>"
        );
    }
    if let Some(opinion) = workload.aws_opinion() {
        let estimate = workload.aws_savings();
        let estimate = estimate.map_or(String::new(), |saved| format!(", {}", money(saved)));
        html!(
            page,
            "<dt>AWS says</dt><dd>",
            cut(&opinion, SENTENCE),
            estimate,
            "</dd>"
        );
    }
    if let Some(reason) = &workload.ignored {
        html!(
            page,
            "<dt>Recommendations</dt><dd>excluded by tag: ",
            cut(reason, SENTENCE),
            "</dd>"
        );
    }
    if !workload.tags.is_empty() {
        html!(page, "<dt>Tags</dt><dd>");
        for (key, value) in workload.tags.iter().take(SHOWN_TAGS) {
            html!(
                page,
                "<code>",
                cut(key, NAME),
                "=",
                cut(value, NAME),
                "</code> "
            );
        }
        if workload.tags.len() > SHOWN_TAGS {
            let rest = (workload.tags.len() - SHOWN_TAGS) as u64;
            html!(page, "and ", counted(rest, "more tag", "more tags"));
        }
        html!(page, "</dd>");
    }
    html!(page, "</dl>\n");
}

fn measured(summary: &UtilizationSummary) -> String {
    format!(
        "{}: mean {}, p50 {}, p95 {}, p99 {}; {} of {} of {} s ({}%) from {}",
        summary.signal,
        percent(summary.distribution.mean),
        percent(summary.distribution.p50),
        percent(summary.distribution.p95),
        percent(summary.distribution.p99),
        count(summary.n_samples),
        counted(summary.expected_samples, "sample", "samples"),
        summary.period_seconds,
        floored(summary.coverage() * 100.0, 1),
        summary.source,
    )
}

fn action(page: &mut Page, action: &Action) {
    html!(page, "<li><b>", action.kind());
    if let Some(target) = action.target() {
        html!(
            page,
            " to ",
            count(u64::from(target.count)),
            " × ",
            cut(&target.instance_type, NAME)
        );
    }
    html!(
        page,
        "</b> saves ",
        money(action.monthly_savings()),
        " (",
        action.risk(),
        " risk)<br>",
        cut(action.detail(), SENTENCE)
    );
    for caveat in action.caveats() {
        html!(page, "<br>Caveat: ", cut(caveat, SENTENCE));
    }
    html!(page, "</li>\n");
}

/// The commitments that the plan buys.
pub(super) fn purchases(audit: &Audit, page: &mut Page) {
    if audit.purchases.is_empty() {
        return;
    }
    html!(
        page,
        "<section id=\"purchases\">\n<h2>To buy</h2>\n<p class=\"lead\">Promises, after all ",
        "actions above: they are paid until the term ends, used or not. These savings are ",
        "included in those above.</p>\n<div class=\"scroll\" ",
        "role=\"region\" aria-label=\"Commitments to buy\" tabindex=\"0\">\n",
        "<table class=\"list\">\n<thead><tr><th scope=\"col\">Commitment</th>",
        "<th scope=\"col\">Type</th><th scope=\"col\">Region</th>",
        "<th scope=\"col\" class=\"n\">Count</th><th scope=\"col\" class=\"n\">On-demand per hour",
        "</th><th scope=\"col\" class=\"n\">Committed per hour</th>",
        "<th scope=\"col\" class=\"n\">Upfront</th><th scope=\"col\" class=\"n\">Paid per month</th>",
        "<th scope=\"col\" class=\"n\">Total of the term</th>",
        "<th scope=\"col\" class=\"n\">Break-even</th><th scope=\"col\" class=\"n\">Evidence</th>",
        "<th scope=\"col\" class=\"n\">Saves per month</th></tr></thead>\n<tbody>\n"
    );
    for one in &audit.purchases {
        let sign = one.on_demand_hourly.currency().sign();
        let promise = one.promise();
        let promise = promise.as_ref();
        html!(page, "<tr><th scope=\"row\">", cut(&one.what(), NAME));
        for step in &one.steps {
            html!(page, "<br>First: ", cut(step, SENTENCE));
        }
        for caveat in &one.caveats {
            html!(page, "<br>Caveat: ", cut(caveat, SENTENCE));
        }
        html!(
            page,
            "</th><td>",
            cut(&one.key.instance_type, NAME),
            "</td><td>",
            cut(&one.key.region, NAME),
            "</td><td class=\"n\">",
            count(u64::from(one.count)),
            "</td><td class=\"n\">",
            sign,
            rounded(one.on_demand_hourly.amount(), 4),
            "</td><td class=\"n\">",
            sign,
            rounded(one.term.effective_hourly.amount(), 4),
            "</td><td class=\"n\">",
            money_or_absent(promise.map(|promise| promise.upfront)),
            "</td><td class=\"n\">",
            money_or_absent(promise.map(|promise| promise.monthly)),
            "</td><td class=\"n\">",
            money_or_absent(promise.map(|promise| promise.term_total)),
            "</td><td class=\"n\">",
            promise.map_or(ABSENT.to_owned(), break_even),
            "</td><td class=\"n\">",
            promise.map_or(ABSENT.to_owned(), evidence),
            "</td><td class=\"n\">",
            money(one.monthly_savings),
            "</td></tr>\n"
        );
    }
    html!(page, "</tbody>\n</table>\n</div>\n</section>\n");
}

/// What is paid for and does not run, with what the plan does about it.
pub(super) fn unused(audit: &Audit, page: &mut Page) {
    if audit.unused.is_empty() {
        return;
    }
    html!(
        page,
        "<section id=\"unused\">\n<h2>Paid for but not running</h2>\n<p class=\"lead\">Part of ",
        "the monthly cost, not assigned to a workload.</p>\n<div class=\"scroll\" ",
        "role=\"region\" aria-label=\"Paid for but not running\" tabindex=\"0\">\n",
        "<table class=\"list\">\n<thead><tr><th scope=\"col\">Commitment</th>",
        "<th scope=\"col\">Kind</th><th scope=\"col\">Details</th><th scope=\"col\">Plan</th>",
        "<th scope=\"col\" class=\"n\">Per month</th><th scope=\"col\" class=\"n\">Planned</th>",
        "</tr></thead>\n<tbody>\n"
    );
    for one in &audit.unused {
        html!(
            page,
            "<tr><th scope=\"row\">",
            cut(&one.id, NAME),
            "</th><td>",
            one.kind,
            "</td><td>",
            cut(&one.name_among(&audit.accounts), NAME),
            "</td><td>"
        );
        if !one.actions.is_empty() {
            html!(page, "<ol class=\"actions\">\n");
            for step in &one.actions {
                action(page, step);
            }
            html!(page, "</ol>");
        }
        html!(
            page,
            "</td><td class=\"n\">",
            money_or_absent(one.monthly_cost),
            "</td><td class=\"n\">",
            money_or_absent(one.planned_monthly_cost()),
            "</td></tr>\n"
        );
    }
    html!(page, "</tbody>\n</table>\n</div>\n</section>\n");
}
