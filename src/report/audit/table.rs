//! `audit --format table` and `wide`: money first, then how far the GPUs are
//! used, then classes, findings by money with one line of evidence each, what is
//! ignored, gaps, and what to type next. Readable without colour.

use super::committed::committed_section;
use super::finding_rows::{caveats, findings};
use super::not_counted::not_counted;
use super::plan_rows::{steps, worth};
use super::workload_rows::{is_advised, workloads};
use crate::analysis::{Audit, AuditedWorkload, ClassTotals};
use crate::domain::{Action, ActionKind, Classification, EstateSource, Money};
use crate::report::promises::promise_words;
use crate::report::shared::gaps::gap_section;
use crate::report::shared::next::{Invocation, Setup, next_section};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, outside_of_filters};
use crate::report::shared::text::{
    a_year, count, counted, fit, hanging, minute, money, money_or_absent, rounded, safe,
};
use crate::report::shared::view::{Picked, View};
use crate::savings::averaged_away;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Rows shown before the rest is announced.
const SHOWN_ACTIONS: usize = 12;
const SHOWN_IGNORED: usize = 8;
/// What a filtered view says above the figures that it leaves as they are.
const OF_FILTERS: &str = "filters choose the rows of WORKLOADS, PLAN and FINDINGS; all other \
                          figures are of everything in scope";

/// The audit for a terminal; `invocation` is what led to it,
/// and `view` says which rows of its lists are shown.
pub fn audit_table(
    audit: &Audit,
    view: &View,
    invocation: &Invocation,
    style: TableStyle,
) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw((audit, view), invocation, style, &mut out);
    out
}

fn draw(
    (audit, view): (&Audit, &View),
    invocation: &Invocation,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let picked = view.workloads(audit);
    header(audit, style, out)?;
    if view.is_filtered() {
        hanging("  ", 2, OF_FILTERS, style.width, out)?;
        writeln!(out)?;
    }
    money_block(audit, style, out)?;
    funnel(audit, style, out)?;
    classes(audit, style, out)?;
    workloads((&picked, view), is_advised(audit), style, out)?;
    plan((audit, &picked, view), style, out)?;
    purchases(audit, style, out)?;
    waterfall(audit, style, out)?;
    committed_section(audit, style, out)?;
    unused(audit, style, out)?;
    findings(audit, &picked, style, out)?;
    ignored(audit, style, out)?;
    gap_section(&audit.gaps, style, out)?;
    let is_unmeasured = audit.funnel.unmeasured_gpus > 0;
    let setup = is_unmeasured.then(|| Setup::of(audit.source));
    next_section(invocation, setup, style, out)?;
    footer(audit, out)
}

fn header(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let regions = match audit.regions.as_slice() {
        [] => "no region".to_owned(),
        [one] => one.clone(),
        many => format!("{} regions", many.len()),
    };
    let source = match audit.source {
        EstateSource::Demo => "the demo estate".to_owned(),
        EstateSource::Kubernetes if audit.accounts.is_empty() => "a Kubernetes cluster".to_owned(),
        _ => match audit.accounts.as_slice() {
            [one] => format!("account {one}"),
            many => counted(many.len() as u64, "account", "accounts"),
        },
    };
    let days = audit.window.seconds() as f64 / 86_400.0;
    let line = format!(
        "GPU audit of {}, {}, {} to {}",
        safe(&source),
        safe(&regions),
        crate::domain::counted(format!("{days:.0}"), "day", "days"),
        minute(audit.as_of)
    );
    writeln!(out, "{}\n", style.heading(&fit(&line, style.width)))
}

fn money_block(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let totals = &audit.totals;
    let running = totals.instances - totals.stopped_instances;
    let mut notes = vec![
        counted(running, "running instance", "running instances"),
        format!("{} stopped", totals.stopped_instances),
        counted(totals.gpus, "GPU", "GPUs"),
    ];
    notes.extend(not_counted(audit));
    let percent = totals.savings_percent().map_or(String::new(), |share| {
        format!("{}% less", rounded(share, 1))
    });
    let per_year = totals.annual_savings().map_or(String::new(), |saved| {
        format!("per month; {} per year", money(saved))
    });
    let rows: [(&str, Option<Money>, String); 5] = [
        ("Monthly cost", totals.monthly_cost, notes.join(", ")),
        (
            "Waste",
            totals.monthly_waste,
            "certain savings: stop or release".to_owned(),
        ),
        (
            "Optimization",
            totals.monthly_optimization,
            "additional optimization savings".to_owned(),
        ),
        ("Savings", totals.monthly_savings(), per_year),
        ("After the plan", totals.planned_monthly_cost, percent),
    ];
    for (label, amount, note) in rows {
        let first = format!("  {label:<15}{:>16}   ", money_or_absent(amount));
        hanging(&first, 36, &note, style.width, out)?;
    }
    writeln!(out)
}

fn funnel(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let funnel = &audit.funnel;
    let line = format!(
        "  GPUs  {} total → {} allocated → {} active → {:.1} effective",
        count(funnel.total_gpus),
        count(funnel.allocated_gpus),
        count(funnel.active_gpus),
        funnel.effective_gpus,
    );
    out.push_str(&line);
    if funnel.unmeasured_gpus > 0 {
        let unmeasured = format!("({} unmeasured)", count(funnel.unmeasured_gpus));
        let fits = line.width() + 3 + unmeasured.width() <= style.width;
        let between = if fits { "   " } else { "\n        " };
        write!(out, "{between}{unmeasured}")?;
    }
    writeln!(out, "\n")
}

fn classes(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let mut table = PlainTable::new(
        &["CLASS", "WORKLOADS", "INSTANCES", "GPUS", "MONTHLY COST"],
        1..5,
    );
    let mut row = |label: &str, sums: &ClassTotals| {
        table.row(vec![
            format!("{label:<18}"),
            count(sums.workloads),
            count(sums.instances),
            count(sums.gpus),
            money_or_absent(sums.monthly_cost),
        ]);
    };
    for class in Classification::ALL {
        if let Some(sums) = audit.totals.running_by_classification.get(class) {
            row(class.name(), sums);
        }
    }
    if audit.totals.stopped.workloads > 0 {
        row("stopped", &audit.totals.stopped);
    }
    for line in table.lines_in(style, 2) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)
}

/// Columns before what an action of the plan is.
const BEFORE_ACTION: usize = 40;

/// The actions of the plan, those of what saves most first.
fn plan(
    (audit, picked, view): (&Audit, &Picked<'_>, &View),
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let (steps, outside) = steps(audit, picked, view);
    if steps.is_empty() && outside.is_empty() {
        return Ok(());
    }
    let cheaper = if audit.plan_risk < audit.accepted {
        format!("; the --risk {} plan costs less", audit.plan_risk)
    } else {
        String::new()
    };
    let heading = format!(
        "PLAN  savings per month and year, risk; each action applies after the previous \
         ones{cheaper}"
    );
    style.title(&heading, out)?;
    let (shown, hidden) = steps.split_at(style.shown(steps.len(), SHOWN_ACTIONS));
    for (name, action) in shown {
        let what = action.target().map_or(String::new(), |target| {
            format!(" to {} × {}", target.count, target.instance_type)
        });
        let saved = action.monthly_savings();
        let first = format!(
            "{:>14} {:>15}  {:<6}  ",
            money(saved),
            money(a_year(saved)),
            action.risk().name()
        );
        let line = format!("{}: {}{what}", safe(name), action.kind());
        hanging(&first, BEFORE_ACTION, &line, style.width, out)?;
        caveats(action.caveats(), 24, style, out)?;
    }
    style.left_out(hidden.len(), "action", "actions", worth(hidden), out)?;
    outside_of_filters(outside.len(), "action", "actions", worth(&outside), out)?;
    averages(&picked.kept, style, out)?;
    writeln!(out)
}

/// What right-sizing does not see, once for all of it: the longest averages count.
fn averages(
    workloads: &[&AuditedWorkload],
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let is_resize = |action: &Action| action.kind() == ActionKind::Rightsize;
    let resized = workloads
        .iter()
        .filter(|audited| audited.actions.iter().any(is_resize));
    let seconds = resized.filter_map(|audited| audited.proposals.rightsize()?.averaged_seconds);
    let said = seconds
        .max()
        .map(|seconds| format!("rightsize: {}", averaged_away(seconds)));
    caveats(said.as_slice(), 2, style, out)
}

/// What is paid for and does not run.
fn unused(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if audit.unused.is_empty() {
        return Ok(());
    }
    style.title(
        "UNUSED  included in the monthly cost, paid for but not running",
        out,
    )?;
    for one in &audit.unused {
        let until = one.committed_until.map_or(String::new(), |until| {
            format!(
                ", committed until {}",
                until.to_zoned(jiff::tz::TimeZone::UTC).date()
            )
        });
        let first = format!("{:>14}  ", money_or_absent(one.monthly_cost));
        let name = one.name_among(&audit.accounts);
        let line = format!("{} {}: {}{until}", one.kind, safe(&one.id), safe(&name));
        hanging(&first, 16, &line, style.width, out)?;
    }
    writeln!(out)
}

/// The commitments that the plan buys, each for a pool of workloads.
fn purchases(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if audit.purchases.is_empty() {
        return Ok(());
    }
    style.title(
        "TO BUY  promises: what is paid until the term ends, after all actions above",
        out,
    )?;
    for one in &audit.purchases {
        let promise = one.promise();
        let total = money_or_absent(promise.as_ref().map(|promise| promise.term_total));
        let first = format!("{total:>14}  ");
        let line = format!(
            "{} × {} in {}: {}",
            one.count,
            safe(&one.key.instance_type),
            safe(&one.key.region),
            safe(&one.what()),
        );
        hanging(&first, 16, &line, style.width, out)?;
        let below = " ".repeat(16);
        if let Some(promise) = &promise {
            hanging(&below, 16, &promise_words(one, promise), style.width, out)?;
        }
        for step in &one.steps {
            hanging(&below, 16, &safe(step), style.width, out)?;
        }
        caveats(&one.caveats, 16, style, out)?;
    }
    writeln!(out)
}

/// From today's cost to the planned one, a line for each kind of action.
fn waterfall(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let totals = &audit.totals;
    let (Some(today), Some(planned)) = (totals.monthly_cost, totals.planned_monthly_cost) else {
        return Ok(());
    };
    if totals.by_action.is_empty() {
        return Ok(());
    }
    style.title("WATERFALL  monthly cost, from today to the plan", out)?;
    writeln!(out, "{:>14}  today", money(today))?;
    for (kind, saved) in &totals.by_action {
        writeln!(out, "{:>14}  {kind}", format!("−{}", money(*saved)))?;
    }
    writeln!(out, "{:>14}  after the plan\n", money(planned))
}

/// Workloads that a tag takes out of advice, each with the tag's value.
fn ignored(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let ignored: Vec<(&str, &str)> = audit
        .workloads
        .iter()
        .filter_map(|audited| {
            let workload = &audited.workload;
            Some((workload.name.as_str(), workload.ignored.as_deref()?))
        })
        .collect();
    if ignored.is_empty() {
        return Ok(());
    }
    let title = format!(
        "IGNORED  {} excluded from recommendations by tag",
        counted(ignored.len() as u64, "workload", "workloads")
    );
    style.title(&title, out)?;
    let shown = style.shown(ignored.len(), SHOWN_IGNORED);
    for (name, reason) in &ignored[..shown] {
        let line = format!("{}: {}", safe(name), safe(reason));
        hanging("  ", 2, &line, style.width, out)?;
    }
    style.left_out(ignored.len() - shown, "workload", "workloads", None, out)?;
    writeln!(out)
}

/// Where the prices come from, and what the calls cost.
fn footer(audit: &Audit, out: &mut String) -> std::fmt::Result {
    let prices = audit.prices.by_origin();
    let origins: Vec<String> = prices
        .iter()
        .map(|(origin, number)| format!("{number} {origin}"))
        .collect();
    let oldest = audit
        .prices
        .oldest_effective_date()
        .map_or(String::new(), |date| format!(", oldest from {date}"));
    if !origins.is_empty() {
        writeln!(out, "\nprices: {}{oldest}", origins.join(", "))?;
    }
    if audit.api.calls > 0 {
        writeln!(
            out,
            "API: {}, {}{}",
            counted(audit.api.calls, "call", "calls"),
            counted(audit.api.retries, "retry", "retries"),
            api_cost(audit)
        )?;
    }
    Ok(())
}

/// Fractions of a cent matter here: a whole audit costs less than one.
fn api_cost(audit: &Audit) -> String {
    let cost_usd = audit.api.estimated_cost_usd;
    if cost_usd.is_zero() {
        return String::new();
    }
    format!(", about ${} in API cost", rounded(cost_usd, 4))
}
