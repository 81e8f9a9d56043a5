//! `audit --format table` and `wide`: money first, then how far the GPUs are
//! used, then classes, findings by money with one line of evidence each, what is
//! ignored, gaps, and what to type next. Readable without colour.

use super::committed::committed_section;
use super::practices::practices_line;
use crate::analysis::{Audit, AuditedWorkload, ClassTotals};
use crate::domain::{
    Action, Classification, EstateSource, Evidence, Finding, Money, Observation, Severity,
    decimals_apart, floored,
};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::next::{Invocation, Setup, next_section};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, left_out};
use crate::report::shared::text::{
    ABSENT, count, counted, fit, minute, money, money_or_absent, percent, rounded, safe, wrap,
};
use rust_decimal::Decimal;
use std::fmt::Write;

/// Rows shown before the rest is announced.
const SHOWN_ACTIONS: usize = 12;
const SHOWN_FINDINGS: usize = 12;
const SHOWN_IGNORED: usize = 8;

/// The audit for a terminal; `invocation` is what led to it.
pub fn audit_table(audit: &Audit, invocation: &Invocation, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(audit, invocation, style, &mut out);
    out
}

fn draw(
    audit: &Audit,
    invocation: &Invocation,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    header(audit, style, out)?;
    money_block(audit, style, out)?;
    funnel(audit, out)?;
    classes(audit, out)?;
    practices_line(audit, style, out)?;
    if style.wide {
        workloads(audit, style, out)?;
    }
    plan(audit, style, out)?;
    purchases(audit, style, out)?;
    waterfall(audit, style, out)?;
    committed_section(audit, style, out)?;
    unused(audit, style, out)?;
    findings(audit, style, out)?;
    ignored(audit, style, out)?;
    gap_section(&audit.gaps, style, out)?;
    let is_unmeasured = audit.funnel.unmeasured_gpus > 0;
    let setup = is_unmeasured.then(|| Setup::of(audit.source));
    next_section(invocation, setup, style, out)?;
    footer(audit, out)
}

fn severity(severity: Severity, style: TableStyle) -> String {
    let padded = format!("{:<8}", severity.name());
    match severity {
        Severity::Critical => style.paint("1;31", &padded),
        Severity::Warning => style.paint("33", &padded),
        Severity::Info => padded,
    }
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
    if totals.unpriced_instances > 0 {
        notes.push(format!("{} unpriced", count(totals.unpriced_instances)));
    }
    let percent = totals.savings_percent().map_or(String::new(), |share| {
        format!("{}% less", rounded(share, 1))
    });
    let a_year = totals.annual_savings().map_or(String::new(), |saved| {
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
        ("Savings", totals.monthly_savings(), a_year),
        ("After the plan", totals.planned_monthly_cost, percent),
    ];
    for (label, amount, note) in rows {
        let line = format!("  {label:<15}{:>16}   {note}", money_or_absent(amount));
        writeln!(out, "{}", fit(line.trim_end(), style.width))?;
    }
    writeln!(out)
}

fn funnel(audit: &Audit, out: &mut String) -> std::fmt::Result {
    let funnel = &audit.funnel;
    let unmeasured = if funnel.unmeasured_gpus > 0 {
        format!("   ({} unmeasured)", count(funnel.unmeasured_gpus))
    } else {
        String::new()
    };
    writeln!(
        out,
        "  GPUs  {} total → {} allocated → {} active → {:.1} effective{unmeasured}\n",
        count(funnel.total_gpus),
        count(funnel.allocated_gpus),
        count(funnel.active_gpus),
        funnel.effective_gpus,
    )
}

fn indented(table: &PlainTable, out: &mut String) -> std::fmt::Result {
    for line in table.lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)
}

fn classes(audit: &Audit, out: &mut String) -> std::fmt::Result {
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
    indented(&table, out)
}

fn workloads(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", style.heading("WORKLOADS"))?;
    let mut columns = vec![
        "NAME",
        "REGION",
        "TYPE",
        "COUNT",
        "OPTION",
        "KIND",
        "CLASS",
        "STATE",
        "MEAN",
        "P95",
        "VRAM PEAK",
        "COVERAGE",
        "$/MONTH",
        "PLANNED",
    ];
    let is_advised = is_advised(audit);
    if is_advised {
        columns.push("AWS SAYS");
    }
    let mut table = PlainTable::new(&columns, [3, 8, 9, 10, 11, 12, 13]);
    for audited in &audit.workloads {
        let mut row = workload_row(audited);
        if is_advised {
            let opinion = audited.workload.aws_opinion();
            row.push(opinion.map_or_else(|| ABSENT.to_owned(), |words| fit(&words, 48)));
        }
        table.row(row);
    }
    indented(&table, out)
}

/// Whether AWS advises anything about a workload.
pub(super) fn is_advised(audit: &Audit) -> bool {
    let mut all = audit.workloads.iter();
    all.any(|one| !one.workload.opinions.is_empty())
}

fn workload_row(audited: &AuditedWorkload) -> Vec<String> {
    let workload = &audited.workload;
    let summary = workload.utilization.as_ref();
    let or_absent = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    vec![
        fit(&workload.name, 32),
        safe(&workload.key.region),
        safe(&workload.key.instance_type),
        count(workload.instances.len() as u64),
        workload.key.purchase_option.to_string(),
        workload.kind.to_string(),
        if workload.key.running {
            audited.verdict.classification.to_string()
        } else {
            "stopped".to_owned()
        },
        or_absent(audited.verdict.state.map(|state| state.to_string())),
        or_absent(summary.map(|summary| percent(summary.distribution.mean))),
        or_absent(summary.map(|summary| percent(summary.distribution.p95))),
        or_absent(
            workload
                .vram()
                .map(|vram| format!("{:.1} GiB", vram.peak_mib / 1024.0)),
        ),
        or_absent(summary.map(|summary| format!("{}%", floored(summary.coverage() * 100.0, 1)))),
        money_or_absent(workload.monthly_cost()),
        money_or_absent(audited.planned_monthly_cost()),
    ]
}

/// The actions of the plan, those of the workload that saves most first.
fn plan(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let mut planned: Vec<&AuditedWorkload> = audit
        .workloads
        .iter()
        .filter(|audited| !audited.actions.is_empty())
        .collect();
    planned.sort_by_cached_key(|audited| {
        let saved = audited
            .actions
            .iter()
            .map(|one| one.monthly_savings().amount());
        (
            std::cmp::Reverse(saved.sum::<Decimal>()),
            audited.workload.id(),
        )
    });
    let releases = audit.unused.iter().any(|one| !one.actions.is_empty());
    if planned.is_empty() && !releases {
        return Ok(());
    }
    let cheaper = if audit.plan_risk < audit.accepted {
        format!("; the --risk {} plan costs less", audit.plan_risk)
    } else {
        String::new()
    };
    let heading = format!(
        "PLAN  monthly savings, risk; each action applies after the previous ones{cheaper}"
    );
    writeln!(out, "{}", style.heading(&heading))?;
    let of_workloads = planned.iter().flat_map(|audited| {
        let name = audited.workload.name.as_str();
        audited.actions.iter().map(move |action| (name, action))
    });
    let of_unused = audit.unused.iter().flat_map(|one| {
        let actions = one.actions.iter();
        actions.map(|action| (one.id.as_str(), action))
    });
    let steps: Vec<(&str, &Action)> = of_workloads.chain(of_unused).collect();
    let (shown, hidden) = steps.split_at(style.shown(steps.len(), SHOWN_ACTIONS));
    for (name, action) in shown {
        let what = action.target().map_or(String::new(), |target| {
            format!(" to {} × {}", target.count, target.instance_type)
        });
        let line = format!(
            "{:>14}  {:<6}  {}: {}{}",
            money(action.monthly_savings()),
            action.risk().name(),
            safe(name),
            action.kind(),
            what,
        );
        writeln!(out, "{}", fit(&line, style.width))?;
        caveats(action.caveats(), 24, style, out)?;
    }
    // Two currencies have no sum.
    let worth = hidden
        .iter()
        .map(|(_, action)| Some(action.monthly_savings()))
        .reduce(|sum, part| sum?.checked_add(part?).ok())
        .flatten();
    left_out(hidden.len(), "action", "actions", worth, out)?;
    writeln!(out)
}

/// What would stop an engineer, one line each.
fn caveats(
    caveats: &[String],
    indent: usize,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    for caveat in caveats {
        let width = style.width.saturating_sub(indent + 2);
        for (index, line) in wrap(&safe(caveat), width).iter().enumerate() {
            let sign = if index == 0 { "!" } else { " " };
            writeln!(out, "{:indent$}{sign} {line}", "")?;
        }
    }
    Ok(())
}

/// What is paid for and does not run.
fn unused(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if audit.unused.is_empty() {
        return Ok(());
    }
    let heading = "UNUSED  included in the monthly cost, paid for but not running";
    writeln!(out, "{}", style.heading(heading))?;
    for one in &audit.unused {
        let until = one.committed_until.map_or(String::new(), |until| {
            format!(
                ", committed until {}",
                until.to_zoned(jiff::tz::TimeZone::UTC).date()
            )
        });
        let line = format!(
            "{:>14}  {} {}: {}{until}",
            money_or_absent(one.monthly_cost),
            one.kind,
            safe(&one.id),
            safe(&one.name),
        );
        writeln!(out, "{}", fit(&line, style.width))?;
    }
    writeln!(out)
}

/// The commitments that the plan buys, each for a pool of workloads.
fn purchases(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if audit.purchases.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("TO BUY  after all actions above"))?;
    for one in &audit.purchases {
        let line = format!(
            "{:>14}  {} × {} in {}: {}",
            money(one.monthly_savings),
            one.count,
            safe(&one.key.instance_type),
            safe(&one.key.region),
            safe(&one.what()),
        );
        writeln!(out, "{}", fit(&line, style.width))?;
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
    writeln!(
        out,
        "{}",
        style.heading("WATERFALL  monthly cost, from today to the plan")
    )?;
    writeln!(out, "{:>14}  today", money(today))?;
    for (kind, saved) in &totals.by_action {
        writeln!(out, "{:>14}  {kind}", format!("−{}", money(*saved)))?;
    }
    writeln!(out, "{:>14}  after the plan\n", money(planned))
}

fn findings(audit: &Audit, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if audit.findings.is_empty() {
        return writeln!(out, "{}\n", style.heading("FINDINGS  none"));
    }
    writeln!(
        out,
        "{}",
        style.heading("FINDINGS  savings are per finding; they overlap and do not add up")
    )?;
    let shown = style.shown(audit.findings.len(), SHOWN_FINDINGS);
    for one in &audit.findings[..shown] {
        finding(audit, one, style, out)?;
    }
    left_out(
        audit.findings.len() - shown,
        "finding",
        "findings",
        None,
        out,
    )?;
    writeln!(out)
}

fn finding(
    audit: &Audit,
    finding: &Finding,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let name = audit
        .workloads
        .iter()
        .find(|audited| audited.workload.id() == finding.workload())
        .map_or(finding.workload(), |audited| audited.workload.name.as_str());
    let saving = finding
        .monthly_savings
        .map_or("no estimate".to_owned(), money);
    writeln!(
        out,
        "{saving:>14}  {} {}",
        severity(finding.severity, style),
        fit(
            &format!("{}  {}", finding.rule(), safe(name)),
            style.width.saturating_sub(25)
        )
    )?;
    let indent = " ".repeat(16);
    let width = style.width.saturating_sub(16);
    writeln!(out, "{indent}{}", fit(&finding.title, width))?;
    if let Some(decisive) = finding.evidence().first() {
        let why = format!("{} ({})", evidence(decisive), finding.confidence);
        writeln!(out, "{indent}{}", fit(&why, width))?;
    }
    let to = if finding.recommendation.to.is_empty() {
        String::new()
    } else {
        format!(": {}", finding.recommendation.to)
    };
    let what = format!("→ {}{to}", finding.recommendation.action);
    writeln!(out, "{indent}{}", fit(&what, width))?;
    caveats(&finding.recommendation.caveats, 16, style, out)
}

pub(in crate::report) fn evidence(evidence: &Evidence) -> String {
    let decimals = decimals_apart(evidence.observed, evidence.threshold);
    // Parts of GPUs are rounded as in titles.
    let decimals = match evidence.unit {
        "GPUs" => decimals.max(2),
        _ => decimals,
    };
    let number = |value: f64| {
        if value.fract() == 0.0 {
            format!("{value:.0}")
        } else {
            format!("{value:.decimals$}")
        }
    };
    // The unit of a count is in its name.
    let unit = match evidence.unit {
        "%" => "%",
        _ => "",
    };
    let comparator = evidence.comparator.sign();
    let judged = format!(
        "{}{unit} {comparator} {}{unit}",
        number(evidence.observed),
        number(evidence.threshold),
    );
    match &evidence.observation {
        Observation::Sampled {
            metric,
            figure,
            n_samples,
            coverage,
            ..
        } => format!(
            "{figure} of {metric} {judged}; {}, coverage {}%",
            counted(*n_samples, "sample", "samples"),
            floored(coverage * 100.0, 0)
        ),
        Observation::Fact { name, .. } => format!("{name}: {judged}"),
    }
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
    writeln!(out, "{}", style.heading(&title))?;
    let shown = style.shown(ignored.len(), SHOWN_IGNORED);
    for (name, reason) in &ignored[..shown] {
        let line = format!("  {}: {}", safe(name), safe(reason));
        writeln!(out, "{}", fit(&line, style.width))?;
    }
    left_out(ignored.len() - shown, "workload", "workloads", None, out)?;
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
