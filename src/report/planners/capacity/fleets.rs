//! Fleets by type, and why other types will not do.

use crate::planners::capacity::{Candidate, Capacity, CapacityError, Fits, Fleet, Need, Refusal};
use crate::report::doc::{Head, column, detail};
use crate::report::shared::text::count;
use crate::report::{Table, Value};

const COLUMNS: [Head; 14] = [
    column("instance_type", "type"),
    detail("gpu_model", "GPU"),
    detail("gpus_per_instance", "GPUs each"),
    detail("throughput", "throughput"),
    column("per_gpu_per_second", "per GPU/s"),
    column("gpus_needed", "needed"),
    detail("utilization_percent", "busy"),
    column("latency_seconds", "latency s"),
    column("instances", "instances"),
    column("gpus", "GPUs"),
    detail("hourly_cost", "hour"),
    column("monthly_cost", "month"),
    column("cost_per_million_requests", "1M requests"),
    column("cost_per_million_tokens", "1M tokens"),
];

pub(super) fn sheets(found: &Capacity<'_>) -> Vec<Table> {
    let load = &found.question.service.load;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut refused = Vec::new();
    for candidate in &found.candidates {
        match &candidate.fits {
            Ok(fits) => rows.push(row_of(candidate, fits)),
            Err(why) => refused.push(vec![
                Value::text(&candidate.shape.instance_type),
                Value::Text(refusal(why)),
            ]),
        }
    }
    if found.candidates.is_empty() {
        let per_gpu = load.gpu.per_second();
        let name = Value::Absent;
        let mut row = vec![name, Value::Absent, Value::Count(1)];
        row.push(Value::text(spelled(false)));
        row.extend(shared_cells(per_gpu, &found.need, found.fleet));
        row.resize(COLUMNS.len(), Value::Absent);
        rows.push(row);
    }
    let mut sheets = vec![Table {
        key: "fleets",
        title: "FLEETS".to_owned(),
        noun: ("type", "types"),
        columns: COLUMNS.to_vec(),
        rows,
        ..Table::default()
    }];
    if !refused.is_empty() {
        sheets.push(Table {
            key: "refused",
            title: "REFUSED".to_owned(),
            noun: ("type", "types"),
            columns: vec![column("instance_type", "type"), column("reason", "reason")],
            rows: refused,
            ..Table::default()
        });
    }
    sheets
}

fn spelled(is_derived: bool) -> &'static str {
    if is_derived { "derived" } else { "given" }
}

fn row_of(candidate: &Candidate, fits: &Fits) -> Vec<Value> {
    let model = candidate.shape.gpu.as_ref().map(|gpu| gpu.model.name());
    let mut row = vec![
        Value::text(&candidate.shape.instance_type),
        Value::of(model, Value::text),
        Value::Count(fits.fleet.gpus_per_instance),
        Value::text(spelled(fits.is_derived())),
    ];
    row.extend(shared_cells(
        fits.per_gpu_per_second,
        &fits.need,
        fits.fleet,
    ));
    let cost = fits.cost;
    row.extend([
        Value::of(cost, |cost| Value::Price(cost.hourly)),
        Value::of(cost, |cost| Value::Money(cost.monthly)),
        Value::of(
            cost.and_then(|cost| cost.per_million_requests),
            Value::Price,
        ),
        Value::of(cost.and_then(|cost| cost.per_million_tokens), Value::Price),
    ]);
    row
}

fn shared_cells(per_gpu: f64, need: &Need, fleet: Fleet) -> [Value; 6] {
    [
        Value::Number(per_gpu, 2),
        Value::Count(need.gpus),
        Value::Percent(need.utilization_percent),
        Value::of(need.latency, |latency| Value::Number(latency.seconds, 3)),
        Value::Count(fleet.instances),
        Value::Count(fleet.gpus),
    ]
}

fn refusal(why: &Refusal) -> String {
    match why {
        Refusal::NoGpu => "it has no GPU".to_owned(),
        Refusal::Vendor => "another maker's drivers and libraries".to_owned(),
        Refusal::Architecture => "different CPU architecture".to_owned(),
        Refusal::NotLaunchable => "it can no longer be launched".to_owned(),
        Refusal::Vram {
            needed_mib,
            usable_mib,
        } => format!(
            "{} MiB of VRAM needed with headroom, {} MiB usable",
            count(needed_mib.ceil() as u64),
            count(*usable_mib)
        ),
        Refusal::Unknown(rejection) => rejection.to_string(),
        Refusal::Load(CapacityError::BelowFloor {
            percentile,
            floor_seconds,
            ..
        }) => format!("p{percentile} is {floor_seconds:.3} s without any wait"),
        Refusal::Load(error) => error.to_string(),
    }
}
