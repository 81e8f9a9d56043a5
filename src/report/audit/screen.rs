//! An audit on a terminal, in Markdown and as a page: what can be saved, what to do in which
//! order, and what has no advice; then every list, unless it is brief.

use super::findings::findings_table;
use super::record::{document, measured};
use super::workloads::{Step, actions, unused_table, workloads_table};
use crate::analysis::{Audit, AuditedWorkload, ClassTotals, DayCost, Grouping};
use crate::domain::{ActionKind, Classification, EstateSource, Kpi, Money};
use crate::report::doc::{Bar, MOST_BARS};
use crate::report::doc::{Doc, Plot, PlotKind, Record, Table, columns, rows, tables};
use crate::report::groups::groups_table;
use crate::report::promises::purchases_table;
use crate::report::promises::target_in_words;
use crate::report::shared::next::{Invocation, setup_command};
use crate::report::shared::style::worth_words;
use crate::report::shared::text::{count, counted, joined, minute, percent, rounded};
use crate::report::shared::view::{Picked, View, sum, summed};
use crate::savings::{Purchase, Refused, SkipReason, averaged_peaks};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Rows of the lists of a brief screen.
const FIRST: usize = 3;
const OWNED: usize = 3;
const PROMISED: usize = 1;
const CAUSES: usize = 2;
/// What a list of actions adds up to.
const SUMMED: &[&str] = &["monthly_savings"];

/// How an audit is shown.
pub struct AuditScreen<'a> {
    pub view: &'a View,
    pub by: Option<&'a Grouping>,
    /// What led to it.
    pub invocation: &'a Invocation,
    /// What each day cost, for a page.
    pub days: &'a [DayCost],
    /// Whether it fits a terminal, and lists only what to do.
    pub is_brief: bool,
    /// Whether what shows it may know no more than ASCII.
    pub ascii: bool,
}

/// An audit for people.
pub fn audit_screen(audit: &Audit, how: &AuditScreen<'_>) -> Doc {
    let picked = how.view.workloads(audit);
    let mut tables = plan(audit, &picked, how);
    tables.extend(how.by.map(groups_table));
    let mut doc = Doc {
        name: "audit",
        headline: headline(audit),
        about: about(audit, how),
        record: Record::of(document(), &audit),
        closing: closing(audit),
        ..Doc::default()
    };
    if !how.is_brief {
        tables.extend(lists(audit, &picked, how));
        doc.plots = plots(audit, how.days);
        doc.gaps = Some(audit.gaps.clone());
        doc.next = next(audit, how.invocation);
    }
    if let Some(limit) = how.view.limit {
        for table in &mut tables {
            table.most = Some(limit);
        }
    }
    Doc { tables, ..doc }
}

/// What can be saved of what, and what of it is certain.
pub(super) fn headline(audit: &Audit) -> String {
    let totals = &audit.totals;
    let Some(cost) = totals.monthly_cost else {
        return "The cost of the GPUs is unknown: nothing has a price".to_owned();
    };
    let is_some = |amount: &Money| !amount.amount().is_zero();
    let Some(saved) = totals.monthly_savings().filter(is_some) else {
        return format!("The GPUs cost {cost} per month; the plan saves nothing");
    };
    let share = totals.savings_percent();
    let share = share.map_or(String::new(), |share| format!(" ({}%)", rounded(share, 1)));
    let certain = totals.monthly_waste.filter(is_some);
    let certain = certain.map_or("none".to_owned(), |waste| waste.to_string());
    format!("{saved} of {cost} per month can be saved{share}; {certain} of it is certain today")
}

/// From today's cost and utilization to those after the plan.
fn closing(audit: &Audit) -> String {
    let totals = &audit.totals;
    let (Some(today), Some(planned)) = (totals.monthly_cost, totals.planned_monthly_cost) else {
        return String::new();
    };
    let year =
        totals.annual_savings().map_or(String::new(), |saved| format!(", {saved} less per year"));
    let busy = measured(audit, Kpi::Utilization).zip(audit.planned_utilization_percent);
    let busy = busy.map_or(String::new(), |(today, planned)| {
        let excluded = match audit.funnel.unmeasured_gpus {
            0 => String::new(),
            unmeasured => format!(", {} unmeasured excluded", count(unmeasured)),
        };
        format!("; GPUs {} busy today → {} after{excluded}", percent(today), percent(planned))
    });
    format!("Total: {today} per month today → {planned} after the plan{year}{busy}")
}

/// The fleet in one line, and what the screen leaves out.
fn about(audit: &Audit, how: &AuditScreen<'_>) -> Vec<String> {
    let totals = &audit.totals;
    let source = match (audit.source, audit.accounts.as_slice()) {
        (EstateSource::Demo, _) => "Demo estate".to_owned(),
        (EstateSource::Kubernetes, []) => "Kubernetes cluster".to_owned(),
        (_, [account]) => format!("Account {account}"),
        (_, many) => counted(many.len(), "account", "accounts"),
    };
    let regions = match audit.regions.as_slice() {
        [] => "no region".to_owned(),
        [region] => region.clone(),
        many => format!("{} regions", many.len()),
    };
    let running = totals.instances.saturating_sub(totals.stopped_instances);
    let unmeasured = audit.funnel.unmeasured_gpus;
    let fleet: Vec<String> = rows! {
        counted(running, "running instance", "running instances");
        format!("{} stopped", count(totals.stopped_instances));
        counted(totals.gpus, "GPU", "GPUs");
        for busy in measured(audit, Kpi::Utilization) => format!("{} busy", percent(busy));
        if unmeasured > 0 => format!("{} unmeasured", count(unmeasured));
        ..not_counted(audit);
    };
    let days = audit.window.seconds() as f64 / 86_400.0;
    let days = counted(format!("{days:.0}"), "day", "days");
    let origins = audit.prices.by_origin();
    let origins = joined(origins.iter().map(|(origin, number)| format!("{number} {origin}")), ", ");
    let oldest = audit.prices.oldest_effective_date();
    let oldest = oldest.map_or(String::new(), |date| format!(", oldest from {date}"));
    rows! {
        format!("{source}, {regions}: {}; {days} to {}", fleet.join(", "), minute(audit.as_of));
        if !origins.is_empty() => format!("Prices: {origins}{oldest}");
        for target in &audit.target => target_in_words(target);
        if how.view.is_filtered() => "Filters choose the rows of workloads, actions and findings; all other figures are of everything in scope.".to_owned();
        if !how.is_brief && audit.api.calls > 0 => format!("{}, about ${}.", counted(audit.api.calls, "API call", "API calls"), rounded(audit.api.estimated_cost_usd, 4));
    }
}

/// How many instances no sum counts, in words: those without a price, such as `1 unpriced`, and
/// those that cost another currency than the sums have.
fn not_counted(audit: &Audit) -> Vec<String> {
    let currency = audit.totals.currency;
    let is_other = |cost: Money| cost.currency() != currency;
    let workloads = audit.workloads.iter().map(|audited| &audited.workload);
    let others = workloads.filter(|workload| workload.monthly_cost().is_some_and(is_other));
    let others: usize = others.map(|workload| workload.instances.len()).sum();
    let unpriced = audit.totals.unpriced_instances;
    rows! {
        if unpriced > 0 => counted(unpriced, "unpriced", "unpriced");
        if others > 0 => counted(others, "in another currency", "in other currencies");
    }
}

/// What to do first, what to do with the owner, what to promise, and what has no advice.
fn plan(audit: &Audit, picked: &Picked<'_>, how: &AuditScreen<'_>) -> Vec<Table> {
    let (steps, outside) = Step::in_order(audit, picked, how.view);
    let most = |rows: usize| how.is_brief.then_some(rows);
    let (first, owned): (Vec<_>, Vec<_>) = steps.into_iter().partition(Step::is_harmless);
    let [first, mut owned] = tables! {
        "do_first", "DO FIRST  no running work is at risk", ("action", "actions"), actions(), first, summed: SUMMED, most: most(FIRST);
        "with_owner", "WITH THE OWNER  each action applies after the ones before it", ("action", "actions"), actions(), owned, summed: SUMMED, most: most(OWNED);
    };
    if !outside.is_empty() {
        let saved = outside.iter().map(|step| Some(step.action.monthly_savings()));
        let number = counted(outside.len(), "action", "actions");
        owned.notes.push(format!("{number}{} outside of the filters.", worth_words(sum(saved))));
    }
    if !how.is_brief {
        owned.notes.extend(averages(&picked.kept));
    }
    if audit.plan_risk < audit.accepted && audit.target.is_none() {
        let risk = audit.plan_risk;
        owned.notes.push(format!("The plan of `--risk {risk}` costs less and is shown."));
    }
    let mut purchases: Vec<&Purchase> = audit.purchases.iter().collect();
    purchases.sort_by_cached_key(|purchase| {
        Reverse(purchase.promise().map(|promise| promise.term_total.amount()))
    });
    let promises = Table { most: most(PROMISED), ..purchases_table(purchases) };
    vec![first, owned, promises, silent(audit, picked, how)]
}

/// What right-sizing does not see, once for all of it: the longest averages count.
fn averages(workloads: &[&AuditedWorkload]) -> Option<String> {
    let resized = workloads.iter().filter(|audited| {
        audited.actions.iter().any(|action| action.kind() == ActionKind::Rightsize)
    });
    let seconds = resized.filter_map(|audited| audited.proposals.rightsize()?.averaged_seconds);
    seconds.max().map(|seconds| format!("rightsize: {}", averaged_peaks(seconds)))
}

/// Why workloads have no advice, a line each cause, that of the largest cost first.
fn silent(audit: &Audit, picked: &Picked<'_>, how: &AuditScreen<'_>) -> Table {
    let mut causes: BTreeMap<&str, Vec<&AuditedWorkload>> = BTreeMap::new();
    for audited in picked.kept.iter().filter(|workload| workload.actions.is_empty()) {
        causes.entry(cause(audited)).or_default().push(audited);
    }
    let cost = |workloads: &[&AuditedWorkload]| {
        sum(workloads.iter().map(|workload| workload.workload.monthly_cost()))
    };
    let mut causes: Vec<(&str, Vec<&AuditedWorkload>)> = causes.into_iter().collect();
    causes.sort_by_key(|(_, workloads)| Reverse(cost(workloads).map(Money::amount)));
    let most = if how.is_brief { CAUSES } else { causes.len() };
    let line = |(cause, workloads): &(&str, Vec<&AuditedWorkload>)| {
        let cost = cost(workloads).map_or(String::new(), |cost| format!(", {cost} per month"));
        format!("{}{cost}: {cause}", counted(workloads.len(), "workload", "workloads"))
    };
    let rest: usize = causes.iter().skip(most).map(|(_, rest)| rest.len()).sum();
    let gaps = audit.gaps.len() as u64;
    let notes = rows! {
        ..causes.iter().take(most).map(line);
        if rest > 0 => format!("… and {}: see `--all`", counted(rest, "more workload", "more workloads"));
        if how.is_brief && gaps > 0 => format!("{}: `--all` lists them, with every workload and finding", counted(gaps, "data gap", "data gaps"));
    };
    Table { key: "no_advice", title: "NO ADVICE".to_owned(), notes, ..Table::default() }
}

/// Why the plan does nothing with a workload.
fn cause(audited: &AuditedWorkload) -> &'static str {
    let workload = &audited.workload;
    let reasons: Vec<SkipReason> = audited.skipped.values().copied().collect();
    let offers = audited.skipped.iter();
    let mut offers = offers.filter(|(kind, _)| audited.proposals.offered(**kind).is_some());
    let has_riskier = offers.any(|(_, why)| matches!(why, SkipReason::Risk(_)))
        || audited.proposals.refused().any(Refused::is_for_risk);
    if workload.ignored.is_some() {
        "a tag takes it out of advice"
    } else if !workload.key.running {
        "it is stopped, and nothing of it can be released"
    } else if workload.monthly_cost().is_none() {
        "its price is unknown"
    } else if audited.verdict.classification == Classification::InsufficientData {
        "too little was measured"
    } else if reasons.contains(&SkipReason::Target) {
        "less risky actions reach the target"
    } else if has_riskier {
        "what could be done takes a higher `--risk`"
    } else if reasons.contains(&SkipReason::Rejected) {
        "a person decided against it"
    } else {
        "nothing that is offered costs less"
    }
}

columns! {
    fn classes(row: (&'static str, ClassTotals)) {
        text "class", "class", Screen, row.0.to_owned(), "";
        count "workloads", "workloads", Screen, row.1.workloads, "";
        count "instances", "instances", Screen, row.1.instances, "";
        count "gpus", "GPUs", Screen, row.1.gpus, "";
        opt money "monthly_cost", "cost/month", Screen, row.1.monthly_cost, "";
    }

    fn steps(row: (&'static str, Money)) {
        text "step", "action", Screen, row.0.to_owned(), "";
        money "amount", "saves/month", Screen, row.1, "";
    }

    fn ignored(row: (String, String)) {
        text "name", "workload", Screen, row.0.clone(), "";
        text "reason", "reason in tag", Screen, row.1.clone(), "";
    }

    fn days<'a>(day: &'a DayCost) {
        date "day", "day", Screen, day.day, "";
        opt money "cost", "cost", Screen, day.cost, "";
        opt money "unused", "not running", Screen, day.cost.map(|_| day.unused), "";
    }
}

/// Every list below the plan.
fn lists(audit: &Audit, picked: &Picked<'_>, how: &AuditScreen<'_>) -> Vec<Table> {
    let totals = &audit.totals;
    let order = how.view.sort.map_or("most expensive first".to_owned(), |key| format!("by {key}"));
    let mut workloads = workloads_table(picked.kept.iter().copied(), how.ascii);
    workloads.title = format!("WORKLOADS  {order}");
    let chosen = summed(&picked.kept, "chosen").filter(|_| how.view.is_filtered());
    let hidden = summed(&picked.skipped, "other");
    let hidden = hidden.map(|hidden| format!("… and {hidden}, outside of the filters"));
    workloads.notes.extend(chosen.into_iter().chain(hidden));
    let of_classes = totals.running_by_classification.iter();
    let of_classes = of_classes.map(|(class, sums)| (class.name(), *sums));
    let stopped = (totals.stopped.workloads > 0).then_some(("stopped", totals.stopped));
    let kinds = totals.by_action.iter().map(|(kind, saved)| (kind.name(), *saved));
    let tagged = audit.workloads.iter().filter_map(|audited| {
        let workload = &audited.workload;
        Some((workload.name.clone(), workload.ignored.clone()?))
    });
    let findings = findings_table(audit, |id| picked.keeps(id), how.view.lists_members());
    let [classes, kinds, tagged, by_day] = tables! {
        "classes", "CLASSES", ("class", "classes"), classes(), of_classes.chain(stopped);
        "savings", "SAVINGS BY ACTION  each kind applies after the ones before it", ("action", "actions"), steps(), kinds;
        "ignored", "IGNORED  excluded from recommendations by tag", ("workload", "workloads"), ignored(), tagged;
        "days", "DAYS  what each cost, and what of it did not run", ("day", "days"), days(), &how.days[how.days.len().saturating_sub(MOST_BARS)..];
    };
    vec![workloads, classes, kinds, unused_table(&audit.unused), findings, tagged, by_day]
}

/// Utilization by hour of the week, and the cost of each day.
fn plots(audit: &Audit, days: &[DayCost]) -> Vec<Plot> {
    let mut plots = Vec::new();
    if audit.week.is_measured() {
        let rows = DAYS.iter().zip(audit.week.hours().chunks(24)).map(|(day, hours)| {
            ((*day).to_owned(), hours.iter().map(|hour| hour.mean()).collect())
        });
        plots.push(Plot {
            key: "week",
            title: "Utilization by hour of the week".to_owned(),
            kind: PlotKind::Heat(rows.collect()),
            notes: rows! {
                format!("Mean GPU utilization in percent over the window, with equal weight per GPU. Time zone {}. GPUs without data are not included.", audit.week.zone());
            },
        });
    }
    let shown = &days[days.len().saturating_sub(MOST_BARS)..];
    if !shown.is_empty() {
        let bar =
            |day: &DayCost| Bar { whole: day.cost.map(Money::amount), part: day.unused.amount() };
        let unknown = shown.iter().filter(|day| day.unknown_rows > 0).count() as u64;
        plots.push(Plot {
            key: "bars",
            title: "Cost by day".to_owned(),
            kind: PlotKind::Bars(shown.iter().map(bar).collect()),
            notes: rows! {
                "A bar is a whole day of UTC, of which the lower part is idle storage and unused commitments. Instances that ended before this audit are not included.".to_owned();
                if unknown > 0 => format!("Part of the cost is unknown on {}, and not included.", counted(unknown, "day", "days"));
            },
        });
    }
    plots
}

/// Commands that go on from here.
fn next(audit: &Audit, invocation: &Invocation) -> Vec<String> {
    rows! {
        invocation.short_command("audit", "--format wide");
        invocation.short_command("audit", "--format json");
        if audit.funnel.unmeasured_gpus > 0 => setup_command(audit.source, invocation);
    }
}
