//! The figures that matter most, and the way from today's cost to the planned one.

use super::charts::{percent_of, span_bar};
use crate::analysis::Audit;
use crate::domain::Money;
use crate::report::audit::not_counted::not_counted;
use crate::report::shared::markup::{Page, html};
use crate::report::shared::text::{
    ABSENT, count, counted, money, money_or_absent, percent, rounded,
};
use rust_decimal::Decimal;

/// The headline numbers.
pub(super) fn tiles(audit: &Audit, page: &mut Page) {
    let totals = &audit.totals;
    let funnel = &audit.funnel;
    let not_counted = not_counted(audit);
    let unpriced = if not_counted.is_empty() {
        "every instance is priced".to_owned()
    } else {
        format!("{}, not counted", not_counted.join(", "))
    };
    let less = totals.savings_percent().map_or(String::new(), |share| {
        format!("{}% less than today", rounded(share, 1))
    });
    let running = totals.instances - totals.stopped_instances;
    let mut gpus = format!("{:.1} effective", funnel.effective_gpus);
    if funnel.unmeasured_gpus > 0 {
        gpus.push_str(&format!(", {} unmeasured", count(funnel.unmeasured_gpus)));
    }
    html!(
        page,
        "<section aria-label=\"Headline numbers\" class=\"tiles\">\n"
    );
    tile(
        page,
        "Monthly cost",
        money_or_absent(totals.monthly_cost),
        unpriced,
    );
    tile(
        page,
        "After the plan",
        money_or_absent(totals.planned_monthly_cost),
        less,
    );
    tile(
        page,
        "Savings",
        money_or_absent(totals.monthly_savings()),
        "waste and optimization, per month".to_owned(),
    );
    tile(
        page,
        "Waste",
        money_or_absent(totals.monthly_waste),
        "certain savings: stop or release".to_owned(),
    );
    tile(
        page,
        "Optimization",
        money_or_absent(totals.monthly_optimization),
        "additional optimization savings".to_owned(),
    );
    tile(
        page,
        "Instances",
        count(totals.instances),
        format!(
            "{} running, {} stopped",
            count(running),
            count(totals.stopped_instances)
        ),
    );
    tile(page, "GPUs", count(totals.gpus), gpus);
    tile(
        page,
        "Active GPUs",
        count(funnel.active_gpus),
        format!(
            "{} with memory or compute in use",
            count(funnel.allocated_gpus)
        ),
    );
    html!(page, "</section>\n");
}

fn tile(page: &mut Page, label: &str, figure: String, note: String) {
    html!(
        page,
        "<div class=\"tile\"><h2>",
        label,
        "</h2><p class=\"figure\">",
        figure,
        "</p><p class=\"note\">",
        note,
        "</p></div>\n"
    );
}

/// A bar for each kind of action, from today's cost to the planned one.
pub(super) fn waterfall(audit: &Audit, page: &mut Page) {
    html!(
        page,
        "<section id=\"waterfall\">\n<h2>From today to the plan</h2>\n"
    );
    let totals = &audit.totals;
    match (totals.monthly_cost, totals.planned_monthly_cost) {
        (Some(today), Some(_)) if today.amount() <= Decimal::ZERO => {
            html!(page, "<p>No cost.</p>\n");
        }
        (Some(today), Some(planned)) => steps(audit, today, planned, page),
        _ => {
            html!(
                page,
                "<p>No workload is priced, so no total is available.</p>\n"
            );
        }
    }
    html!(page, "</section>\n");
}

fn steps(audit: &Audit, today: Money, planned: Money, page: &mut Page) {
    html!(
        page,
        "<p class=\"lead\">Per month, by action: each action applies after the previous ",
        "ones, so these savings add up.</p>\n<table class=\"bars waterfall\">\n",
        "<thead><tr><th scope=\"col\">Step</th><td></td><th scope=\"col\">Per month</th>",
        "<th scope=\"col\">Share of today</th></tr></thead>\n<tbody>\n"
    );
    let whole = today.amount();
    let from_to = |from: Decimal, to: Decimal| {
        let ends = percent_of(from, whole).zip(percent_of(to, whole));
        ends.map(|(from, to)| from..to)
    };
    row(
        page,
        "today",
        from_to(Decimal::ZERO, whole),
        "today",
        money(today),
        percent_of(whole, whole),
    );
    let mut rest = whole;
    for (kind, saved) in &audit.totals.by_action {
        let before = rest;
        rest -= saved.amount();
        row(
            page,
            kind.name(),
            from_to(rest, before),
            "saved",
            format!("−{}", money(*saved)),
            percent_of(saved.amount(), whole),
        );
    }
    row(
        page,
        "after the plan",
        from_to(Decimal::ZERO, planned.amount()),
        "stays",
        money(planned),
        percent_of(planned.amount(), whole),
    );
    html!(page, "</tbody>\n</table>\n");
    if let Some(share) = audit.totals.savings_percent() {
        html!(
            page,
            "<p class=\"note\">",
            counted(
                audit
                    .workloads
                    .iter()
                    .filter(|one| !one.actions.is_empty())
                    .count() as u64,
                "workload changes",
                "workloads change"
            ),
            "; the monthly cost is ",
            rounded(share, 1),
            "% lower.</p>\n"
        );
    }
}

fn row(
    page: &mut Page,
    label: &str,
    span: Option<std::ops::Range<f64>>,
    class: &'static str,
    amount: String,
    percent_of_today: Option<f64>,
) {
    html!(page, "<tr><th scope=\"row\">", label, "</th><td>");
    span_bar(page, span.map(|span| (span, class)).as_slice());
    html!(
        page,
        "</td><td>",
        amount,
        "</td><td>",
        percent_of_today.map_or_else(|| ABSENT.to_owned(), percent),
        "</td></tr>\n"
    );
}
