//! `gpucost rightsize`: every type that workloads could move to, beside what the plan does.

use super::doc::{Doc, Record, Table, columns, doc_schema, rows};
use super::promises::RISKS;
use super::reserved::CURRENCIES;
use super::shared::gaps::tally;
use super::shared::next::Invocation;
use super::shared::text::{
    a_year, count, counted, joined, money_or_absent, percent, shell_word, some_of,
};
use super::shared::view::{hidden_rows, sum};
use super::spot::{WORKLOAD_KINDS, grouped, reasons_table};
use crate::analysis::{Candidate, Sized, Sizing};
use crate::domain::{Action, ActionKind, Gap, GpuOffer, Money, Risk};
use crate::savings::{Demand, Projection, averaged, averaged_peaks};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeSet;

/// Workloads that are named beside one caveat.
const NAMED: usize = 3;

columns! {
    fn document(accepted: Risk) {
        word[RISKS] "risk", "", Data, accepted.name(), "The accepted risk.";
    }

    fn workloads<'a>(row: &'a Sizing) {
        text "id", "", Data, row.id.clone(), "";
        text "name", "", Data, row.name.clone(), "";
        text "region", "", Data, row.region.clone(), "";
        text "instance_type|from_instance_type", "", Data, row.instance_type.clone(), "";
        count "instances|from_instances", "", Data, row.instances, "";
        word[WORKLOAD_KINDS] "kind", "", Data, row.kind.name(), "";
        opt word[CURRENCIES] "currency", "", Data, row.monthly.map(|monthly| monthly.currency().code()), "";
        opt money "monthly_cost|from_monthly_cost", "", Data, row.monthly, "";
        opt text "left_alone", "", Data, row.outcome.as_ref().err().cloned(), "Why no type is considered.";
        texts "plan", "", Data, plan(&row.plan), "What the plan of the audit does with it, in order; empty where it does nothing, and for a type alone.";
        count "demand.gpus_active", "", Data, demand(row).map(|demand| demand.gpus_active), "GPUs that compute.";
        count "demand.gpus_held", "", Data, demand(row).map(|demand| demand.gpus_held), "GPUs whose memory is in use.";
        opt utilization "demand.gpu_peak", "", Data, demand(row).and_then(|demand| demand.gpu_peak), "Utilization of the busiest GPU.";
        number "demand.vram_peak_mib", "", Data, demand(row).and_then(|demand| Decimal::from_f64(demand.vram_peak_mib)), "Of the GPU with the most in use.";
        opt utilization "demand.cpu_p95", "", Data, demand(row).and_then(|demand| demand.cpu_p95), "";
        opt number "demand.memory_p95_mib", "", Data, demand(row).and_then(|demand| Decimal::from_f64(demand.memory_p95_mib?)), "";
        word[&["bandwidth", "compute", "unknown"]] "demand.bound", "", Data, demand(row).map(|demand| demand.bound.name()), "What limits the GPUs.";
        count "demand.least_instances", "", Data, demand(row).map(|demand| demand.least_instances), "";
        rows[candidates] "candidates", "", Wide, row.outcome.iter().flat_map(|sized| &sized.candidates), "";
    }

    pub(in crate::report) fn candidates<'a>(row: &'a Candidate) {
        text "instance_type", "", Data, row.considered.shape.instance_type.clone(), "";
        count "count", "", Data, row.considered.count, "Instances of it.";
        flag "accepted", "", Data, row.considered.is_accepted(), "";
        opt word[&["accelerator", "not-launchable", "unpriced", "price-not-comparable", "not-cheaper", "architecture", "compute-capability", "unknown-fact", "larger", "gpus", "vram", "reserved-vram", "nvlink", "efa", "double-precision", "network", "vcpu", "cpu-baseline", "memory", "never-worked", "utilization", "slowdown", "risk"]] "rejected_for", "", Data, row.considered.rejection.as_ref().map(|reason| reason.name()), "null for an accepted type.";
        opt text "reason", "", Data, row.considered.rejection.as_ref().map(ToString::to_string), "The same in words.";
        text "gpu.model", "", Data, gpu(row).map(|offer| offer.model.name().to_owned()), "";
        opt number "gpu.count", "", Data, gpu(row).map(|offer| offer.share.count()), "GPUs per machine; a part of one where the machine has a part.";
        opt count "gpu.vram_mib", "", Data, gpu(row).and_then(|offer| offer.vram_mib), "Of each GPU, in MiB.";
        count "vcpu", "", Data, row.considered.shape.vcpu, "";
        count "memory_mib", "", Data, row.considered.shape.memory_mib, "In MiB.";
        word[&["kept", "replicas", "tenants", "processes"]] "spread", "", Data, row.considered.spread.name(), "How the machines take over the work: one for each of today's, as many replicas as the load takes, a GPU for each GPU in use, or a GPU for several of them.";
        opt percent "projected_p95", "", Data, projected(row, |projection| projection.utilization), "GPU utilization to expect, 0-100 and above where it is too small.";
        opt number "slowdown", "", Data, projected(row, |projection| projection.slowdown).and_then(Decimal::from_f64), "How much longer work takes at most; 1 is as long as today.";
        opt number "ratio", "", Data, projected(row, |projection| projection.ratio.value).and_then(Decimal::from_f64), "Speed of a GPU compared with that of today.";
        opt word[&["same-gpu", "bandwidth", "compute"]] "ratio_basis", "", Data, projected(row, |projection| projection.ratio.basis.name()), "";
        opt price "hourly_cost", "", Data, row.considered.hourly.zip(row.considered.monthly).map(|(hourly, monthly)| Money::new(hourly, monthly.currency())), "Of one of its instances.";
        opt money "monthly_cost", "", Data, row.considered.monthly, "";
        opt money "monthly_savings", "", Data, row.monthly_savings, "";
        word[RISKS] "risk", "", Data, row.considered.risk.name(), "";
        texts "caveats", "", Data, row.caveats.clone(), "What would stop an engineer, the gravest first; empty for a rejected type.";
        texts "steps", "", Data, row.steps.clone(), "What to check before moving.";
    }

    /// Workloads that could move, each to the first type that will do.
    fn moves<'a>(row: (&'a Sizing, &'a Candidate)) {
        text "name", "workload", Narrow(0), row.0.name.clone(), "";
        text "from", "now", Narrow(0), format!("{} × {}", row.0.instances, row.0.instance_type), "";
        text "to", "target", Narrow(0), target(row.1), "";
        opt money "monthly_cost", "$/month", Narrow(2), row.0.monthly, "";
        opt money "monthly_savings", "saves/month", Narrow(0), row.1.monthly_savings, "";
        opt money "annual_savings", "saves/year", Narrow(0), row.1.monthly_savings.map(a_year), "";
        word[RISKS] "risk", "risk", Narrow(0), row.1.considered.risk.name(), "";
        opt percent "projected_p95", "p95", Narrow(3), projected(row.1, |projection| projection.utilization), "";
        text "plan", "plan", Narrow(0), plan_words(&row.0.plan), "";
    }

    fn suitable<'a>(row: (&'a Candidate, bool)) {
        text "to", "type", Narrow(0), target(row.0), "";
        flag "planned", "planned", Narrow(0), row.1, "";
        opt text "gpu", "gpu", Narrow(1), gpus(row.0), "";
        opt percent "projected_p95", "p95", Narrow(0), projected(row.0, |projection| projection.utilization), "";
        opt text "slowdown", "slower", Narrow(2), projected(row.0, |projection| format!("{:.2}×", projection.slowdown)), "";
        opt money "monthly_cost", "month", Narrow(0), row.0.considered.monthly, "";
        opt money "monthly_savings", "saves", Narrow(0), row.0.monthly_savings, "";
        word[RISKS] "risk", "risk", Narrow(0), row.0.considered.risk.name(), "";
    }

    fn rejected<'a>(row: &'a Candidate) {
        text "to", "type", Narrow(0), target(row), "";
        opt text "gpu", "gpu", Narrow(1), gpus(row), "";
        opt money "monthly_cost", "month", Narrow(0), row.considered.monthly, "";
        opt text "reason", "why", Narrow(0), row.considered.rejection.as_ref().map(ToString::to_string), "";
    }
}

/// The sizing as a document: screens show of one workload every type, and of several a row each.
/// The workloads are in order of the audit, `shown` are the places of those to list, in order, and
/// `invocation` is what led to them.
pub fn rightsize_doc(
    accepted: Risk,
    workloads: &[Sizing],
    gaps: &[Gap],
    shown: &[usize],
    invocation: &Invocation,
) -> Doc {
    let listed: Vec<&Sizing> = shown.iter().filter_map(|place| workloads.get(*place)).collect();
    let first = listed.first().filter(|_| listed.len() > 1).map(|first| shell_word(&first.id));
    let first = first.as_deref();
    let (headline, mut screens) = match listed.as_slice() {
        [sizing] => (one_headline(sizing), one_workload(sizing)),
        several => (fleet_headline(workloads), fleet(workloads, several)),
    };
    if let Some(table) = screens.last_mut() {
        let risk = format!("At `--risk {accepted}`; P95 is projected per GPU in use.");
        table.notes.extend(outside(workloads, shown));
        table.notes.push(risk);
    }
    Doc {
        name: "rightsize",
        headline,
        record: Record::of(document(), &accepted),
        tables: vec![sized(workloads)],
        screens,
        gaps: Some(gaps.to_vec()),
        next: rows! {
            for first in first => invocation.command("rightsize", true, &format!("--workload {first}"));
            for first in first => invocation.command("explain", true, first);
        },
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost rightsize`.
    rightsize_schema: "rightsize", [Doc::form_with_gaps(Record::heads(document()), [sized(&[])])],
    "Types that workloads could move to, and what the plan of the audit does with them. Amounts per month have cents, percentages are 0-100, sizes are in MiB. Keys may be added within a schema version."
}

fn sized(sizings: &[Sizing]) -> Table {
    Table::of("workloads", "WORKLOADS", ("workload", "workloads"), workloads(), sizings)
}

/// What the plan moves to another type.
fn fleet_headline(sizings: &[Sizing]) -> String {
    let resized = sizings.iter().flat_map(|sizing| &sizing.plan);
    let resized = resized.filter(|action| action.kind() == ActionKind::Rightsize);
    let saved: Vec<Money> = resized.map(Action::monthly_savings).collect();
    let words = sum(saved.iter().copied().map(Some));
    let words = words.map_or(String::new(), |saved| format!(", which saves {saved} per month"));
    let workloads = counted(sizings.len(), "workload", "workloads");
    format!("The plan moves {} of {workloads} to another type{words}", count(saved.len() as u64))
}

/// Several workloads, a row each, and why the others stay as they are.
fn fleet(sizings: &[Sizing], listed: &[&Sizing]) -> Vec<Table> {
    let savings: Vec<Option<Money>> =
        sizings.iter().filter_map(|sizing| Some(sizing.best()?.monthly_savings)).collect();
    let total = sum(savings.iter().copied()).map_or(String::new(), |saved| {
        format!(" would save {saved} per month, {} per year, each by itself", a_year(saved))
    });
    let workloads = counted(sizings.len(), "workload", "workloads");
    let title = format!("RIGHTSIZE  {} of {workloads}{total}", count(savings.len() as u64));
    let best: Vec<(&Sizing, &Candidate)> =
        listed.iter().filter_map(|sizing| Some((*sizing, sizing.best()?))).collect();
    let mut table = Table {
        summed: &["monthly_savings"],
        ..Table::of("moves", title, ("workload", "workloads"), moves(), best.iter().copied())
    };
    let caveats = best.iter().flat_map(|(sizing, best)| {
        best.caveats.iter().map(|caveat| (caveat.as_str(), sizing.name.as_str()))
    });
    let seconds =
        best.iter().filter_map(|(sizing, best)| averaged(demand(sizing)?, &best.considered));
    table.notes = rows! {
        for (caveat, names) in grouped(caveats) => format!("! {}: {caveat}", some_of(names.into_iter(), NAMED));
        for seconds in seconds.max() => format!("! {}", averaged_peaks(seconds));
    };
    let stays: Vec<(&str, String)> = listed
        .iter()
        .filter_map(|sizing| {
            let name = match sizing.plan.as_slice() {
                [] => sizing.name.clone(),
                _ => format!("{} (plan: {})", sizing.name, plan_words(&sizing.plan)),
            };
            Some((stays(sizing)?, name))
        })
        .collect();
    let stays = stays.iter().map(|(reason, name)| (*reason, name.as_str()));
    vec![table, reasons_table("NOT RESIZED", stays)]
}

/// Why a workload stays as it is.
fn stays(sizing: &Sizing) -> Option<&str> {
    match &sizing.outcome {
        Err(reason) => Some(reason),
        Ok(_) if sizing.best().is_none() => Some("no suitable type costs less"),
        Ok(_) => None,
    }
}

fn one_headline(sizing: &Sizing) -> String {
    let Sizing { name, instances, instance_type, region, kind, .. } = sizing;
    let name = if name == instance_type { String::new() } else { format!("{name}: ") };
    let uses = demand(sizing).map_or(String::new(), |demand| format!("; {}", uses(demand)));
    let plan = match sizing.plan.as_slice() {
        [] => String::new(),
        _ => format!("; the plan: {}", plan_words(&sizing.plan)),
    };
    let month = money_or_absent(sizing.monthly);
    format!(
        "{name}{instances} × {instance_type} in {region}, {kind}, {month} per month{uses}{plan}"
    )
}

/// What a workload uses, in words.
fn uses(demand: &Demand) -> String {
    let holders = demand.gpus_held.saturating_sub(demand.gpus_active);
    let holders = counted(holders, "GPU only holding memory", "GPUs only holding memory");
    let active = match demand.gpus_active {
        0 => "no GPU in use".to_owned(),
        gpus => counted(gpus, "GPU in use", "GPUs in use"),
    };
    let peak = demand.gpu_peak.filter(|_| demand.gpus_active > 0);
    let cpu = demand.cpu_p95.map_or("unknown".to_owned(), |p95| format!("p95 {}", percent(p95)));
    let memory = demand.memory_p95_mib;
    let memory = memory.map_or("unknown".to_owned(), |mib| format!("{:.1} GiB", mib / 1024.0));
    let least = counted(demand.least_instances, "replica", "replicas");
    let parts: Vec<String> = rows! {
        active;
        if demand.gpus_held > demand.gpus_active => holders;
        for peak in peak => format!("{} peak per GPU", percent(peak));
        format!("VRAM peak {} MiB", count(demand.vram_peak_mib.round() as u64));
        format!("CPU {cpu}");
        format!("host memory {memory}");
        format!("bound by: {}", demand.bound);
        if demand.least_instances < demand.instances => format!("at least {least}");
    };
    parts.join(" · ")
}

/// Every type for one workload: those that will do, and those that will not.
fn one_workload(sizing: &Sizing) -> Vec<Table> {
    let sized: &Sized = match &sizing.outcome {
        Ok(sized) => sized,
        Err(reason) => {
            let stays = std::iter::once((reason.as_str(), sizing.name.as_str()));
            return vec![reasons_table("NOT RESIZED", stays)];
        }
    };
    let noun = ("type", "types");
    let planned = |row: &Candidate| {
        let resizes = |action: &&Action| action.kind() == ActionKind::Rightsize;
        let mut targets = sizing.plan.iter().filter(resizes).filter_map(Action::target);
        targets.any(|target| row.is_at(target))
    };
    let rows = sized.accepted().map(|row| (row, planned(row)));
    let mut accepted = Table::of("suitable", "SUITABLE", noun, suitable(), rows);
    accepted.notes =
        sized.accepted().next().map_or(vec!["no suitable type costs less".to_owned()], |first| {
            let caveats = first.caveats.iter().map(|caveat| format!("! {caveat}"));
            let steps = first.steps.iter().map(|step| format!("- {step}"));
            let title = format!("before moving to {}:", target(first));
            std::iter::once(title).chain(caveats).chain(steps).collect()
        });
    let mut others = Table::of("rejected", "NOT SUITABLE", noun, rejected(), sized.rejected());
    let reasons = sized.rejected().filter_map(|row| row.considered.rejection.as_ref());
    let total = counted(others.rows.len(), "type", "types");
    let mut counts: Vec<(&str, u64)> =
        tally(reasons.map(|reason| reason.name())).into_iter().collect();
    counts.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let counts = counts.iter();
    let counts = counts.map(|(reason, number)| format!("{number} {}", reason.replace('-', " ")));
    others.notes = vec![format!("rejected {total}: {}", joined(counts, ", "))];
    vec![accepted, others]
}

/// What the filters leave out.
fn outside(sizings: &[Sizing], shown: &[usize]) -> Option<String> {
    let listed: BTreeSet<&usize> = shown.iter().collect();
    let hidden = sizings.iter().enumerate().filter(|(place, _)| !listed.contains(place));
    let hidden: Vec<&Sizing> = hidden.map(|(_, sizing)| sizing).collect();
    let costs = sum(hidden.iter().map(|sizing| sizing.monthly));
    let savings = sum(hidden.iter().map(|sizing| sizing.best()?.monthly_savings));
    let rest = hidden_rows(hidden.len(), "other", costs, savings)?;
    Some(format!("… and {rest}, outside of the filters"))
}

/// What the plan does with a workload, in order.
fn plan(actions: &[Action]) -> Vec<String> {
    let words = actions.iter().map(|action| {
        let kind = action.kind();
        action.target().map_or_else(|| kind.to_string(), |target| format!("{kind} to {target}"))
    });
    words.collect()
}

fn plan_words(actions: &[Action]) -> String {
    if actions.is_empty() { "nothing".to_owned() } else { plan(actions).join(", ") }
}

fn demand(sizing: &Sizing) -> Option<&Demand> {
    Some(&sizing.outcome.as_ref().ok()?.demand)
}

fn target(row: &Candidate) -> String {
    let considered = &row.considered;
    format!("{} × {}", considered.count, considered.shape.instance_type)
}

fn gpu(row: &Candidate) -> Option<&GpuOffer> {
    row.considered.shape.gpu.as_ref()
}

fn gpus(row: &Candidate) -> Option<String> {
    gpu(row).map(|offer| format!("{} × {}", offer.share, offer.model))
}

fn projected<T>(row: &Candidate, of: impl FnOnce(&Projection) -> T) -> Option<T> {
    row.considered.projection.as_ref().map(of)
}
