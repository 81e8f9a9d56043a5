//! `gpucost profile`: what a run says.

mod columns;
mod words;

pub use words::{ProfileReport, alert_line};

use crate::analysis::{Candidate, RunCost, UnitWork};
use crate::profiling::{Alert, GpuProfile, Phase};
use crate::report::doc::{Doc, Record, Table, doc_schema};
use crate::report::rightsize::candidates;
use columns::{
    Used, alert, counters, document, fact, gpu_figures, gpu_names, phase, processes, suitable,
    unit, used_figures,
};
use words::{facts, recommendation, trouble};

/// The summary of a run.
pub fn profile_doc(report: &ProfileReport) -> Doc {
    let profile = &report.profile;
    let mut alerts = alert_table(&profile.alerts, &profile.gpus);
    alerts.notes = trouble(profile);
    let mut run = Table::of("run", "RUN", ("figure", "figures"), fact(), facts(report));
    run.notes = profile.diagnosis.advice.iter().map(|advice| format!("try: {advice}")).collect();
    let work = report.work.as_ref().map(|work| unit_table(&work.units));
    let counted = profile.gpus.iter().filter(|gpu| gpu.ranges.sm_percent.is_some());
    let counters = Table::of("counters", "COUNTERS", ("GPU", "GPUs"), counters(), counted);
    let held = profile.gpus.iter().flat_map(|gpu| {
        let held = gpu.processes.iter().flatten();
        held.map(move |process| (gpu, process))
    });
    let noun = ("process", "processes");
    let processes = Table::of("processes", "PROCESSES", noun, processes(), held);
    let types = report.cost.as_ref().map(|cost| type_table(cost, report));
    let mut tables = vec![gpu_table(&profile.gpus), run];
    tables.extend(work);
    tables.extend([alerts, phase_table(&profile.phases), counters, processes]);
    tables.extend(types);
    let used = Record::of(used_figures(), &Used::of_run(report));
    Doc {
        name: "profile",
        headline: recommendation(report),
        record: Record::of(document(), &report).and(used),
        tables,
        gaps: Some(report.gaps.clone()),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost profile`.
    profile_schema: "profile", [Doc::form_with_gaps(Record::heads(document()).and(Record::heads(used_figures())), [gpu_table(&[]), unit_table(&[]), alert_table(&[], &[]), phase_table(&[]), candidate_table(Vec::new())])],
    "Summary of a profiled run, which `diff` compares with another; docs/profile.md says what each key means. What a driver does not report is null, not zero. Percentages are 0-100, shares 0-1; keys that end in _gb are in GiB. Keys may be added within a schema version."
}

fn gpu_table(gpus: &[GpuProfile]) -> Table {
    let noun = ("GPU", "GPUs");
    let used = gpus.iter().map(Used::of_gpu);
    Table::of("gpus", "GPUS", noun, gpu_names(), gpus)
        .and(Table::of("", "", noun, used_figures(), used))
        .and(Table::of("", "", noun, gpu_figures(), gpus))
}

fn unit_table(units: &[UnitWork]) -> Table {
    Table::of("work.units", "WORK", ("unit", "units"), unit(), units)
}

fn alert_table(alerts: &[Alert], gpus: &[GpuProfile]) -> Table {
    let rows = alerts.iter().map(|alert| (alert, alert.gpu.and_then(|place| gpus.get(place))));
    Table::of("alerts", "ALERTS", ("alert", "alerts"), alert(), rows)
}

fn phase_table(phases: &[Phase]) -> Table {
    Table::of("phases", "PHASES", ("phase", "phases"), phase(), phases)
}

fn candidate_table(rows: Vec<&Candidate>) -> Table {
    let noun = ("type", "types");
    let data = Table::of("", "", noun, candidates(), rows.clone());
    Table::of("cost.candidates", "SUITABLE", noun, suitable(), rows).and(data)
}

/// Types that would do, and what to check before a move to the first.
fn type_table(cost: &RunCost, report: &ProfileReport) -> Table {
    let sized = cost.sizing.iter();
    let mut table = candidate_table(sized.flat_map(|sized| sized.accepted()).collect());
    table.title = format!("SUITABLE  at `--risk {}`", report.accepted);
    if let Some(best) = report.best() {
        let name = &best.considered.shape.instance_type;
        table.notes.push(format!("before moving to {name}:"));
        table.notes.extend(best.steps.iter().map(|step| format!("- {step}")));
    }
    table
}
