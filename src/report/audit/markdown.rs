//! `audit --format markdown`.

use super::finding_rows::{NAMED, alike, evidence, names, span_of_savings};
use super::not_counted::not_counted;
use super::plan_rows::{Step, steps, worth};
use super::workload_rows::is_advised;
use crate::analysis::{Audit, AuditedWorkload, Grouping};
use crate::domain::{Action, EstateSource, Finding, Money};
use crate::report::groups::markdown::groups_section;
use crate::report::promises::{break_even, evidence as evidence_of};
use crate::report::shared::gaps::alike as alike_gaps;
use crate::report::shared::markdown::escape::{code, text};
use crate::report::shared::markdown::gaps::{OF_GAPS, gap_row};
use crate::report::shared::markdown::page::{Column, Page, Row, Section, figures, words};
use crate::report::shared::next::Invocation;
use crate::report::shared::style::worth_words;
use crate::report::shared::text::{
    ABSENT, a_year, count, counted, minute, money, money_or_absent, percent, rounded,
};
use crate::report::shared::view::{Picked, View, class_of, summed};
use crate::savings::{Promise, Purchase, UnusedCommitment};
use std::collections::BTreeMap;
use std::fmt::Write;

const OF_ACTIONS: &[Column] = &[
    figures("monthly savings"),
    figures("yearly savings"),
    words("workload"),
    words("action"),
    words("to"),
    words("risk"),
    words("caveats"),
];
const OF_PURCHASES: &[Column] = &[
    figures("monthly savings"),
    figures("total of the term"),
    figures("upfront"),
    figures("per month"),
    figures("count"),
    words("type"),
    words("region"),
    words("what"),
    figures("break-even"),
    words("evidence"),
    words("before"),
];
const OF_FINDINGS: &[Column] = &[
    words("severity"),
    words("rule"),
    words("workload"),
    words("what"),
    words("why"),
    figures("individual savings"),
];
/// The last one only where AWS was asked.
const OF_WORKLOADS: &[Column] = &[
    words("workload"),
    words("region"),
    words("type"),
    figures("count"),
    words("kind"),
    words("class"),
    words("state"),
    figures("mean GPU use"),
    figures("per month"),
    figures("planned"),
    figures("saves per month"),
    figures("saves per year"),
    words("risk"),
    words("AWS says"),
];
const OF_UNUSED: &[Column] = &[
    words("commitment"),
    words("kind"),
    words("what"),
    figures("per month"),
    figures("planned"),
];
const OF_IGNORED: &[Column] = &[words("workload"), words("reason in tag")];

/// The audit as a comment on a pull request, with its groups where they were asked
/// for; `view` says which rows of its lists are shown, and `invocation` is what led to it.
pub fn audit_markdown(
    audit: &Audit,
    view: &View,
    groups: Option<&Grouping>,
    invocation: &Invocation,
) -> String {
    let picked = view.workloads(audit);
    let limit = view.limit.unwrap_or(usize::MAX);
    let ignored = audit.workloads.iter().filter_map(ignored_row).collect();
    let gaps = audit.gaps.len() as u64;
    let not_seen = counted(gaps, "data gap", "data gaps");
    let gap_groups = alike_gaps(&audit.gaps, view.lists_members());
    let is_advised = is_advised(audit);
    let of_workloads = match OF_WORKLOADS.split_last() {
        Some((_, own)) if !is_advised => own,
        _ => OF_WORKLOADS,
    };
    let (shown, cut) = picked.kept.split_at(limit.min(picked.kept.len()));
    let rows = shown.iter();
    let workloads = rows.map(|one| workload_row(one, is_advised)).collect();
    let (steps, outside) = steps(audit, &picked, view);
    let actions = steps.iter().map(|(name, action)| action_row(name, action));
    let of_plan = limited(actions.collect(), limit);
    let of_findings = limited(findings(audit, &picked, view), limit);
    let mut sections: Vec<Section> = groups.map(groups_section).into_iter().collect();
    sections.extend([
        folded(
            &format!(
                "Plan: these savings add up{}{}",
                of_plan.1,
                outside_of_filters(&outside)
            ),
            OF_ACTIONS,
            of_plan.0,
            ("action", "actions"),
        ),
        folded(
            "To buy, after all actions above: promises, paid until the term ends, used or not",
            OF_PURCHASES,
            audit.purchases.iter().map(purchase_row).collect(),
            ("purchase", "purchases"),
        ),
        folded(
            &format!(
                "Findings, largest savings first: savings are per finding; they overlap and do \
                 not add up{}",
                of_findings.1
            ),
            OF_FINDINGS,
            of_findings.0,
            ("finding", "findings"),
        ),
        folded(
            &format!("Workloads{}", hidden_workloads(cut, &picked)),
            of_workloads,
            workloads,
            ("workload", "workloads"),
        ),
        folded(
            "Paid for but not running: included in the cost",
            OF_UNUSED,
            audit
                .unused
                .iter()
                .map(|one| unused_row(one, &audit.accounts))
                .collect(),
            ("commitment", "commitments"),
        ),
        folded(
            "Ignored because of a tag",
            OF_IGNORED,
            ignored,
            ("workload", "workloads"),
        ),
        folded(
            &format!("Incomplete: {not_seen}"),
            OF_GAPS,
            gap_groups.iter().map(|group| gap_row(group)).collect(),
            ("gap", "gaps"),
        ),
    ]);
    let page = Page {
        head: head(audit, view),
        sections,
        foot: foot(audit),
        again: invocation.short_command("audit", "--format wide"),
    };
    page.text()
}

fn folded(
    title: &str,
    columns: &'static [Column],
    rows: Vec<Row>,
    noun: (&'static str, &'static str),
) -> Section {
    Section {
        title: title.to_owned(),
        folded: true,
        columns: columns.into(),
        rows,
        noun,
    }
}

/// The headline, what it is about, and where the money goes.
fn head(audit: &Audit, view: &View) -> String {
    let mut head = String::from("<!-- gpucost audit -->\n");
    // Writing to a string cannot fail.
    let _ = write!(head, "### {}\n\n", headline(audit));
    let _ = write!(head, "{}\n\n", scope(audit));
    if view.is_filtered() {
        head.push_str(
            "Filters choose the rows of the plan, findings and workloads; all other figures are \
             of everything in scope.\n\n",
        );
    }
    let _ = money_table(audit, &mut head);
    let _ = funnel(audit, &mut head);
    head
}

fn headline(audit: &Audit) -> String {
    let totals = &audit.totals;
    let Some(cost) = totals.monthly_cost else {
        return "GPU cost is unknown".to_owned();
    };
    let saved = totals
        .monthly_savings()
        .filter(|saved| !saved.amount().is_zero());
    match saved {
        None => format!(
            "GPUs cost {} per month; the plan changes nothing",
            money(cost)
        ),
        Some(saved) => {
            let share = totals
                .savings_percent()
                .map_or(String::new(), |share| format!(" ({}%)", rounded(share, 1)));
            format!(
                "The plan saves {} per month{share} of {} for GPUs",
                money(saved),
                money(cost)
            )
        }
    }
}

fn scope(audit: &Audit) -> String {
    let regions = match audit.regions.as_slice() {
        [] => "no region".to_owned(),
        [one] => code(one),
        many => format!("{} regions", many.len()),
    };
    let source = match (audit.source, audit.accounts.as_slice()) {
        (EstateSource::Demo, _) => "The demo estate".to_owned(),
        (EstateSource::Kubernetes, []) => "A Kubernetes cluster".to_owned(),
        (_, [one]) => format!("Account {}", code(one)),
        (_, many) => counted(many.len() as u64, "account", "accounts"),
    };
    let days = audit.window.seconds() as f64 / 86_400.0;
    let end = minute(audit.as_of);
    let days = crate::domain::counted(format!("{days:.0}"), "day", "days");
    format!("{source}, {regions}, {days} to {end}")
}

fn money_table(audit: &Audit, out: &mut String) -> std::fmt::Result {
    let totals = &audit.totals;
    let running = totals.instances.saturating_sub(totals.stopped_instances);
    let mut seen = format!(
        "{}, {} stopped, {}",
        counted(running, "running instance", "running instances"),
        count(totals.stopped_instances),
        counted(totals.gpus, "GPU", "GPUs")
    );
    for words in not_counted(audit) {
        write!(seen, ", {words}")?;
    }
    writeln!(out, "| | per month | |\n| --- | --: | --- |")?;
    let rows: [(&str, Option<Money>, &str); 4] = [
        ("Cost", totals.monthly_cost, &seen),
        (
            "Waste",
            totals.monthly_waste,
            "certain savings: stop or release",
        ),
        (
            "Optimization",
            totals.monthly_optimization,
            "additional optimization savings",
        ),
        ("After the plan", totals.planned_monthly_cost, ""),
    ];
    for (label, amount, note) in rows {
        writeln!(out, "| {label} | {} | {note} |", money_or_absent(amount))?;
    }
    writeln!(out)
}

fn funnel(audit: &Audit, out: &mut String) -> std::fmt::Result {
    let funnel = &audit.funnel;
    write!(
        out,
        "GPUs: {} total → {} allocated → {} active → {:.1} effective",
        count(funnel.total_gpus),
        count(funnel.allocated_gpus),
        count(funnel.active_gpus),
        funnel.effective_gpus,
    )?;
    if funnel.unmeasured_gpus > 0 {
        write!(out, " ({} unmeasured)", count(funnel.unmeasured_gpus))?;
    }
    out.push_str("\n\n");
    Ok(())
}

/// As many rows as are shown, and how many are not.
fn limited(mut rows: Vec<Row>, limit: usize) -> (Vec<Row>, String) {
    let hidden = rows.len().saturating_sub(limit);
    rows.truncate(limit);
    let words = match hidden {
        0 => String::new(),
        hidden => format!("; {} not shown", count(hidden as u64)),
    };
    (rows, words)
}

/// How many actions of the plan the filters leave out, and what they save.
fn outside_of_filters(steps: &[Step<'_>]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let actions = counted(steps.len() as u64, "action", "actions");
    let worth = worth_words(worth(steps));
    format!("; outside of the filters: {actions}{worth}")
}

/// How many workloads are not among the rows, and what they cost.
fn hidden_workloads(cut: &[&AuditedWorkload], picked: &Picked<'_>) -> String {
    let cut = summed(cut, "more").map(|words| format!("; not shown: {words}"));
    let outside = summed(&picked.left_out, "other");
    let outside = outside.map(|words| format!("; outside of the filters: {words}"));
    [cut, outside].into_iter().flatten().collect()
}

fn action_row(name: &str, action: &Action) -> Row {
    let saved = action.monthly_savings();
    let to = action.target().map_or_else(
        || ABSENT.to_owned(),
        |target| format!("{} × {}", target.count, code(&target.instance_type)),
    );
    Row::of_cells(&[
        money(saved),
        money(a_year(saved)),
        code(name),
        action.kind().to_string(),
        to,
        action.risk().to_string(),
        text(&action.caveats().join("; ")),
    ])
    .worth(saved)
}

fn purchase_row(purchase: &Purchase) -> Row {
    let promise = purchase.promise();
    let promise = promise.as_ref();
    let amount = |amount: fn(&Promise) -> Money| money_or_absent(promise.map(amount));
    let before = purchase.steps.iter().chain(&purchase.caveats);
    Row::of_cells(&[
        money(purchase.monthly_savings),
        amount(|promise| promise.term_total),
        amount(|promise| promise.upfront),
        amount(|promise| promise.monthly),
        purchase.count.to_string(),
        code(&purchase.key.instance_type),
        code(&purchase.key.region),
        text(&purchase.what()),
        promise.map_or(ABSENT.to_owned(), break_even),
        promise.map_or(ABSENT.to_owned(), evidence_of),
        text(&before.cloned().collect::<Vec<_>>().join("; ")),
    ])
    .worth(purchase.monthly_savings)
}

fn findings(audit: &Audit, picked: &Picked<'_>, view: &View) -> Vec<Row> {
    let names = names(audit);
    let all = audit.findings.iter();
    let kept: Vec<&Finding> = all.filter(|one| picked.keeps(one.workload())).collect();
    let groups = alike(&kept, view.lists_members());
    groups
        .iter()
        .filter_map(|group| finding_row(group, &names))
        .collect()
}

/// A finding, or a group of them with the largest one in full.
fn finding_row(group: &[&Finding], names: &BTreeMap<String, &str>) -> Option<Row> {
    let finding = group.first()?;
    let why = finding
        .evidence()
        .first()
        .map_or(String::new(), |decisive| {
            text(&format!("{} ({})", evidence(decisive), finding.confidence))
        });
    let name = |one: &&Finding| {
        let name = names.get(one.workload()).copied();
        code(name.unwrap_or(one.workload()))
    };
    let named: Vec<String> = group.iter().take(NAMED).map(name).collect();
    let named = named.join(", ");
    let members = match group.len() {
        number if number <= NAMED => named,
        number => {
            let rest = count((number - NAMED) as u64);
            let number = counted(number as u64, "workload", "workloads");
            format!("{number}: {named} and {rest} more")
        }
    };
    let savings = match span_of_savings(group) {
        Some((least, most)) => format!("{} to {}", money(least), money(most)),
        None => money_or_absent(finding.monthly_savings),
    };
    Some(Row::of_cells(&[
        finding.severity.to_string(),
        code(finding.rule()),
        members,
        text(&finding.title),
        why,
        savings,
    ]))
}

fn workload_row(audited: &AuditedWorkload, is_advised: bool) -> Row {
    let workload = &audited.workload;
    let or_absent = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    let mean = workload.utilization.as_ref();
    let saved = audited.planned_monthly_savings();
    let risk = audited.actions.iter().map(Action::risk).max();
    let mut cells = vec![
        code(&workload.name),
        code(&workload.key.region),
        code(&workload.key.instance_type),
        count(workload.instances.len() as u64),
        workload.kind.to_string(),
        class_of(audited).to_owned(),
        or_absent(audited.verdict.state.map(|state| state.to_string())),
        or_absent(mean.map(|summary| percent(summary.distribution.mean))),
        money_or_absent(workload.monthly_cost()),
        money_or_absent(audited.planned_monthly_cost()),
        money_or_absent(saved),
        money_or_absent(saved.map(a_year)),
        or_absent(risk.map(|risk| risk.to_string())),
    ];
    if is_advised {
        let opinion = workload.aws_opinion();
        cells.push(or_absent(opinion.map(|words| code(&words))));
    }
    Row::of_cells(&cells)
}

fn unused_row(one: &UnusedCommitment, accounts: &[String]) -> Row {
    Row::of_cells(&[
        code(&one.id),
        one.kind.to_owned(),
        text(&one.name_among(accounts)),
        money_or_absent(one.monthly_cost),
        money_or_absent(one.planned_monthly_cost()),
    ])
}

fn ignored_row(audited: &AuditedWorkload) -> Option<Row> {
    let workload = &audited.workload;
    let reason = workload.ignored.as_deref()?;
    Some(Row::of_cells(&[code(&workload.name), text(reason)]))
}

/// Where the prices come from.
fn foot(audit: &Audit) -> String {
    let origins: Vec<String> = audit
        .prices
        .by_origin()
        .iter()
        .map(|(origin, number)| format!("{number} {origin}"))
        .collect();
    if origins.is_empty() {
        return String::new();
    }
    let oldest = audit
        .prices
        .oldest_effective_date()
        .map_or(String::new(), |date| format!(", oldest from {date}"));
    format!("Prices: {}{oldest}\n", origins.join(", "))
}
