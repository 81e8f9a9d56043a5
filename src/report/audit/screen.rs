//! An audit on a terminal, in Markdown and as a page: what can be saved, what to do in which
//! order, and what has no advice; then every list, unless it is brief.

use super::actions::{Step, actions};
use super::findings::findings_table;
use super::record::{measured, record};
use super::workloads::{unused_table, workloads_table};
use crate::analysis::{Audit, AuditedWorkload, ClassTotals, DayCost, Grouping};
use crate::domain::{ActionKind, Classification, EstateSource, Kpi, Money};
use crate::report::doc::{Doc, Plot, PlotKind, Table, columns, tables};
use crate::report::groups::groups_table;
use crate::report::promises::purchases_table;
use crate::report::shared::next::{Invocation, Setup};
use crate::report::shared::plots::{Bar, MOST_BARS};
use crate::report::shared::style::worth_words;
use crate::report::shared::text::{count, counted, minute, money, percent, rounded};
use crate::report::shared::view::{Picked, View, sum, summed};
use crate::report::target::target_in_words;
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
const OF_FILTERS: &str = "Filters choose the rows of workloads, actions and findings; all other \
                          figures are of everything in scope.";

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
        record: record(audit),
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
    let cost = money(cost);
    let saved = totals.monthly_savings();
    let Some(saved) = saved.filter(|saved| !saved.amount().is_zero()) else {
        return format!("The GPUs cost {cost} per month; the plan saves nothing");
    };
    let share = totals.savings_percent();
    let share = share.map_or(String::new(), |share| format!(" ({}%)", rounded(share, 1)));
    let certain = totals.monthly_waste.filter(|waste| !waste.amount().is_zero());
    let certain = certain.map_or("none of it is certain today".to_owned(), |waste| {
        format!("{} of it is certain today", money(waste))
    });
    format!("{} of {cost} per month can be saved{share}; {certain}", money(saved))
}

/// From today's cost and utilization to those after the plan.
fn closing(audit: &Audit) -> String {
    let totals = &audit.totals;
    let (Some(today), Some(planned)) = (totals.monthly_cost, totals.planned_monthly_cost) else {
        return String::new();
    };
    let year = totals
        .annual_savings()
        .map_or(String::new(), |saved| format!(", {} less per year", money(saved)));
    let busy = measured(audit, Kpi::Utilization);
    let busy = busy.zip(audit.planned_utilization_percent);
    let busy = busy.map_or(String::new(), |(today, planned)| {
        let unmeasured = audit.funnel.unmeasured_gpus;
        let excluded =
            (unmeasured > 0).then(|| format!(", {} unmeasured excluded", count(unmeasured)));
        let (today, planned) = (percent(today), percent(planned));
        format!("; GPUs {today} busy today → {planned} after{}", excluded.unwrap_or_default())
    });
    format!(
        "Total: {} per month today → {} after the plan{year}{busy}",
        money(today),
        money(planned)
    )
}

/// The fleet in one line, and what the screen leaves out.
fn about(audit: &Audit, how: &AuditScreen<'_>) -> Vec<String> {
    let totals = &audit.totals;
    let source = match (audit.source, audit.accounts.as_slice()) {
        (EstateSource::Demo, _) => "Demo estate".to_owned(),
        (EstateSource::Kubernetes, []) => "Kubernetes cluster".to_owned(),
        (_, [account]) => format!("Account {account}"),
        (_, many) => counted(many.len() as u64, "account", "accounts"),
    };
    let regions = match audit.regions.as_slice() {
        [] => "no region".to_owned(),
        [region] => region.clone(),
        many => format!("{} regions", many.len()),
    };
    let running = totals.instances.saturating_sub(totals.stopped_instances);
    let mut fleet = vec![
        counted(running, "running instance", "running instances"),
        format!("{} stopped", count(totals.stopped_instances)),
        counted(totals.gpus, "GPU", "GPUs"),
    ];
    let busy = measured(audit, Kpi::Utilization);
    fleet.extend(busy.map(|busy| format!("{} busy", percent(busy))));
    let unmeasured = audit.funnel.unmeasured_gpus;
    fleet.extend((unmeasured > 0).then(|| format!("{} unmeasured", count(unmeasured))));
    fleet.extend(not_counted(audit));
    let days = audit.window.seconds() as f64 / 86_400.0;
    let days = crate::domain::counted(format!("{days:.0}"), "day", "days");
    let mut about = vec![format!(
        "{source}, {regions}: {}; {days} to {}",
        fleet.join(", "),
        minute(audit.as_of)
    )];
    let origins = audit.prices.by_origin();
    let origins = origins.iter().map(|(origin, number)| format!("{number} {origin}"));
    let origins = origins.collect::<Vec<_>>().join(", ");
    let oldest = audit.prices.oldest_effective_date();
    let oldest = oldest.map_or(String::new(), |date| format!(", oldest from {date}"));
    about.extend((!origins.is_empty()).then(|| format!("Prices: {origins}{oldest}")));
    about.extend(audit.target.as_ref().map(target_in_words));
    about.extend(how.view.is_filtered().then(|| OF_FILTERS.to_owned()));
    if !how.is_brief && audit.api.calls > 0 {
        let calls = counted(audit.api.calls, "API call", "API calls");
        let cost = rounded(audit.api.estimated_cost_usd, 4);
        about.push(format!("{calls}, about ${cost}."));
    }
    about
}

/// How many instances no sum counts, in words: those without a price, such as `1 unpriced`, and
/// those that cost another currency than the sums have.
fn not_counted(audit: &Audit) -> Vec<String> {
    let currency = audit.totals.currency;
    let others = audit.workloads.iter().filter(|workload| {
        let cost = workload.workload.monthly_cost();
        cost.is_some_and(|cost| cost.currency() != currency)
    });
    let others: usize = others.map(|workload| workload.workload.instances.len()).sum();
    [
        (audit.totals.unpriced_instances, "unpriced", "unpriced"),
        (others as u64, "in another currency", "in other currencies"),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, singular, plural)| counted(number, singular, plural))
    .collect()
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
        let saved = outside.iter().map(|step| step.action.monthly_savings());
        let worth = worth_words(sum(saved.map(Some)));
        let number = counted(outside.len() as u64, "action", "actions");
        let notes = &mut owned.notes;
        notes.push(format!("{number}{worth} outside of the filters."));
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
        let promise = purchase.promise();
        Reverse(promise.map(|promise| promise.term_total.amount()))
    });
    let promises = Table { most: most(PROMISED), ..purchases_table(purchases) };
    vec![first, owned, promises, silent(audit, picked, how)]
}

/// What right-sizing does not see, once for all of it: the longest averages count.
fn averages(workloads: &[&AuditedWorkload]) -> Option<String> {
    let resized = workloads.iter().filter(|audited| {
        let mut actions = audited.actions.iter();
        actions.any(|action| action.kind() == ActionKind::Rightsize)
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
        let number = counted(workloads.len() as u64, "workload", "workloads");
        let cost =
            cost(workloads).map_or(String::new(), |cost| format!(", {} per month", money(cost)));
        format!("{number}{cost}: {cause}")
    };
    let mut notes: Vec<String> = causes.iter().take(most).map(line).collect();
    let rest: usize = causes.iter().skip(most).map(|(_, rest)| rest.len()).sum();
    if rest > 0 {
        let rest = counted(rest as u64, "more workload", "more workloads");
        notes.push(format!("… and {rest}: see `--all`"));
    }
    let gaps = audit.gaps.len() as u64;
    if how.is_brief && gaps > 0 {
        let gaps = counted(gaps, "data gap", "data gaps");
        notes.push(format!("{gaps}: `--all` lists them, with every workload and finding"));
    }
    Table { key: "no_advice", title: "NO ADVICE".to_owned(), notes, ..Table::default() }
}

/// Why the plan does nothing with a workload.
fn cause(audited: &AuditedWorkload) -> &'static str {
    let workload = &audited.workload;
    let reasons: Vec<SkipReason> = audited.left_out.values().copied().collect();
    let offers = audited.left_out.iter();
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
    let order = how.view.sort;
    let order = order.map_or("most expensive first".to_owned(), |key| format!("by {key}"));
    let mut workloads = workloads_table(picked.kept.iter().copied(), how.ascii);
    workloads.title = format!("WORKLOADS  {order}");
    let chosen = summed(&picked.kept, "chosen").filter(|_| how.view.is_filtered());
    let hidden = summed(&picked.left_out, "other");
    let hidden = hidden.map(|hidden| format!("… and {hidden}, outside of the filters"));
    workloads.notes.extend(chosen.into_iter().chain(hidden));
    let of_classes = totals.running_by_classification.iter();
    let of_classes = of_classes.map(|(class, sums)| (class.name(), *sums));
    let stopped = (totals.stopped.workloads > 0).then_some(("stopped", totals.stopped));
    let kinds = totals.by_action.iter();
    let kinds = kinds.map(|(kind, saved)| (kind.name(), *saved));
    let tagged = audit.workloads.iter().filter_map(|audited| {
        let workload = &audited.workload;
        Some((workload.name.clone(), workload.ignored.clone()?))
    });
    let apart = how.view.lists_members();
    let findings = findings_table(audit, |id| picked.keeps(id), apart);
    let [classes, kinds, tagged, by_day] = tables! {
        "classes", "CLASSES", ("class", "classes"), classes(), of_classes.chain(stopped);
        "savings", "SAVINGS BY ACTION  each kind applies after the ones before it", ("action", "actions"), steps(), kinds;
        "ignored", "IGNORED  excluded from recommendations by tag", ("workload", "workloads"), ignored(), tagged;
        "days", "DAYS  what each cost, and what of it did not run", ("day", "days"), days(), &how.days[how.days.len().saturating_sub(MOST_BARS)..];
    };
    let unused = unused_table(&audit.unused);
    vec![workloads, classes, kinds, unused, findings, tagged, by_day]
}

/// Utilization by hour of the week, and the cost of each day.
fn plots(audit: &Audit, days: &[DayCost]) -> Vec<Plot> {
    let mut plots = Vec::new();
    if audit.week.is_measured() {
        let rows = DAYS.iter().zip(audit.week.hours().chunks(24));
        let rows = rows.map(|(day, hours)| {
            let means = hours.iter().map(|hour| hour.mean());
            ((*day).to_owned(), means.collect())
        });
        plots.push(Plot {
            key: "week",
            title: "Utilization by hour of the week".to_owned(),
            kind: PlotKind::Heat(rows.collect()),
            notes: vec![format!(
                "Mean GPU utilization in percent over the window, with equal weight per GPU. Time \
                 zone {}. GPUs without data are not included.",
                audit.week.zone()
            )],
        });
    }
    let shown = &days[days.len().saturating_sub(MOST_BARS)..];
    if !shown.is_empty() {
        let bars = shown
            .iter()
            .map(|day| Bar { whole: day.cost.map(Money::amount), part: day.unused.amount() });
        let unknown = shown.iter().filter(|day| day.unknown_rows > 0).count() as u64;
        let unknown = (unknown > 0).then(|| {
            let days = counted(unknown, "day", "days");
            format!("Part of the cost is unknown on {days}, and not included.")
        });
        let note = "A bar is a whole day of UTC, of which the lower part is idle storage and unused \
                    commitments. Instances that ended before this audit are not included.";
        plots.push(Plot {
            key: "bars",
            title: "Cost by day".to_owned(),
            kind: PlotKind::Bars(bars.collect()),
            notes: std::iter::once(note.to_owned()).chain(unknown).collect(),
        });
    }
    plots
}

/// Commands that go on from here.
fn next(audit: &Audit, invocation: &Invocation) -> Vec<String> {
    let mut next = vec![
        invocation.short_command("audit", "--format wide"),
        invocation.short_command("audit", "--format json"),
    ];
    if audit.funnel.unmeasured_gpus > 0 {
        next.push(Setup::of(audit.source).command(invocation));
    }
    next
}
