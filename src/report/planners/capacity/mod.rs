//! What `gpucost capacity` answers.

mod fleets;
mod notes;
mod rented;

use super::figures::{basis, step};
use crate::planners::capacity::{Capacity, Demand, ThroughputBasis};
use crate::report::shared::text::{count, counted};
use crate::report::{Doc, Given, Step, Value};
use fleets::sheets;
use notes::{caveats, missing, next, plain};
use rented::{rented, rented_steps};

/// An answer in words.
pub fn capacity_answer(found: &Capacity<'_>) -> Doc {
    Doc {
        name: "capacity",
        headline: headline(found),
        given: given(found),
        steps: steps(found),
        tables: sheets(found),
        caveats: caveats(found),
        missing: missing(found),
        next: next(found),
        ..Doc::default()
    }
}

fn headline(found: &Capacity<'_>) -> String {
    let load = &found.question.service.load;
    let mut text = format!(
        "{} {} {} requests per second",
        counted(found.need.gpus, "GPU", "GPUs"),
        if found.need.gpus == 1 {
            "serves"
        } else {
            "serve"
        },
        plain(load.per_second)
    );
    if load.headroom_percent > 0.0 {
        text.push_str(&format!(" with {}% headroom", plain(load.headroom_percent)));
    }
    if let Some(objective) = load.objective {
        text.push_str(&format!(
            ", p{} within {} s",
            plain(objective.percentile),
            plain(objective.seconds)
        ));
    }
    text.push_str(&rented(found));
    text
}

fn given(found: &Capacity<'_>) -> Vec<Given> {
    let question = &found.question;
    let load = &question.service.load;
    let mut given = vec![basis(
        "rate_per_second",
        "requests per second",
        Value::Number(load.per_second, 3),
        &rate_source(found),
    )];
    given.extend(counted_rates(found));
    given.extend([
        basis(
            "headroom_percent",
            "headroom",
            Value::Percent(load.headroom_percent),
            "--headroom",
        ),
        basis(
            "target_percent",
            "how busy a GPU may be",
            Value::Percent(load.target_percent),
            "serving_target_percent of the policy",
        ),
        basis(
            "per_gpu_per_second",
            "requests per second of a GPU",
            Value::Number(load.gpu.per_second(), 3),
            &throughput_source(&question.basis),
        ),
        basis(
            "batch",
            "requests at the same time on a GPU",
            Value::Count(u64::from(load.gpu.batch)),
            "--batch",
        ),
        basis(
            "service_seconds",
            "seconds of a request on a GPU, mean",
            Value::Number(load.gpu.service_seconds, 6),
            "batch / requests per second of a GPU",
        ),
    ]);
    if let Some(objective) = load.objective {
        given.push(basis(
            "objective_seconds",
            "objective, seconds",
            Value::Number(objective.seconds, 3),
            "--objective",
        ));
        given.push(basis(
            "objective_percentile",
            "percentile of the objective",
            Value::Number(objective.percentile, 2),
            "--percentile",
        ));
    }
    given.extend(tokens(found));
    if let Some(types) = &question.types {
        let region = &types.key.region;
        given.push(basis(
            "measured_type",
            "instance type",
            Value::text(&types.measured.instance_type),
            &format!("where the throughput is known; prices of {region}"),
        ));
    }
    given
}

/// What the counts say beside the peak.
fn counted_rates(found: &Capacity<'_>) -> Vec<Given> {
    let Some(counts) = found.question.counts else {
        return Vec::new();
    };
    vec![
        basis(
            "mean_per_second",
            "requests per second, mean",
            Value::Number(counts.mean_per_second, 3),
            "over the periods with a count",
        ),
        basis(
            "max_per_second",
            "requests per second, largest period",
            Value::Number(counts.max_per_second, 3),
            "the same",
        ),
    ]
}

fn rate_source(found: &Capacity<'_>) -> String {
    let load = &found.question.service.load;
    if let Some(counts) = found.question.counts {
        let periods = counted(counts.periods, "period", "periods");
        let seconds = plain(counts.period_seconds);
        let name = &counts.name;
        return format!("{name}: {} of {periods} of {seconds} s", counts.peak);
    }
    let (Demand::Recorded(recording), Some(file)) = (load.demand, &found.question.arrivals_file)
    else {
        return "--rate".to_owned();
    };
    let requests = count(recording.count() as u64);
    let recorded = format!(
        "{file}: {requests} requests in {} s",
        plain(recording.lasted_seconds())
    );
    if (recording.per_second - load.per_second).abs() < f64::EPSILON {
        recorded
    } else {
        format!("--rate; {recorded}, replayed at it")
    }
}

fn tokens(found: &Capacity<'_>) -> Option<Given> {
    let service = &found.question.service;
    let source = match service.load.demand {
        Demand::Recorded(recording) if recording.mean_tokens.is_some() => {
            "mean of the recorded requests"
        }
        _ => "--tokens-per-request",
    };
    Some(basis(
        "tokens_per_request",
        "tokens of a request",
        Value::Number(service.tokens_per_request?, 1),
        source,
    ))
}

fn throughput_source(basis: &ThroughputBasis) -> String {
    match basis {
        ThroughputBasis::Stated => "--per-gpu".to_owned(),
        ThroughputBasis::Latency => "--batch / --latency".to_owned(),
        ThroughputBasis::Tokens {
            per_second,
            prompt_per_second: None,
        } => format!(
            "{} tokens per second, --tokens-per-second",
            plain(*per_second)
        ),
        ThroughputBasis::Tokens {
            per_second,
            prompt_per_second: Some(prompt),
        } => format!(
            "{} generated and {} prompt tokens per second",
            plain(*per_second),
            plain(*prompt)
        ),
        ThroughputBasis::Recorded => "recorded service times".to_owned(),
        ThroughputBasis::Utilization {
            measured,
            served_per_second,
        } => format!(
            "{}: {} per second on {} GPUs at {:.1}% ({} samples)",
            measured.name,
            plain(*served_per_second),
            plain(measured.gpus),
            measured.mean_percent,
            count(measured.samples)
        ),
    }
}

fn steps(found: &Capacity<'_>) -> Vec<Step> {
    let service = &found.question.service;
    let load = &service.load;
    let need = &found.need;
    let planned = load.planned_per_second();
    let per_gpu = load.gpu.per_second();
    let mut steps = vec![
        step(
            "planned requests per second",
            format!(
                "{} × (1 + {} / 100)",
                plain(load.per_second),
                plain(load.headroom_percent)
            ),
            Value::Number(planned, 3),
        ),
        step(
            "GPUs for the rate",
            format!(
                "{} / ({} × {}%) = {}, rounded up",
                plain(planned),
                plain(per_gpu),
                plain(load.target_percent),
                plain(planned / load.usable_per_second(load.gpu))
            ),
            Value::Count(need.gpus_by_rate),
        ),
    ];
    steps.extend(objective_steps(found));
    steps.push(step(
        "how busy they are",
        format!("{} / ({} × {})", plain(planned), need.gpus, plain(per_gpu)),
        Value::Percent(need.utilization_percent),
    ));
    let zones = service.zones;
    if zones.count > 1 {
        let fleet = found.fleet;
        let left = zones.left();
        steps.push(step(
            "GPUs per zone",
            format!(
                "{} / ({} − {}) = {}, rounded up",
                need.gpus,
                zones.count,
                zones.survive,
                plain(need.gpus as f64 / f64::from(left))
            ),
            Value::Count(fleet.gpus_per_zone),
        ));
        steps.push(step(
            "GPUs in all zones",
            format!("{} × {}", zones.count, fleet.gpus_per_zone),
            Value::Count(fleet.gpus),
        ));
    }
    steps.extend(rented_steps(found));
    steps
}

fn objective_steps(found: &Capacity<'_>) -> Vec<Step> {
    let load = &found.question.service.load;
    let (Some(objective), Some(latency)) = (load.objective, found.need.latency) else {
        return Vec::new();
    };
    let gpus = found.need.gpus;
    let batch = u64::from(load.gpu.batch);
    let late = (100.0 - objective.percentile) / 100.0;
    let how = match load.demand {
        Demand::Random => format!(
            "fewest with P(T > {} s) ≤ {} in M/M/c, c = {gpus} × {batch}",
            plain(objective.seconds),
            plain(late)
        ),
        Demand::Recorded(_) => format!(
            "fewest with at most {} of the requests over {} s, replayed on {gpus} × {batch}",
            plain(late),
            plain(objective.seconds)
        ),
    };
    let percentile = plain(objective.percentile);
    vec![
        step("GPUs for the objective", how, Value::Count(gpus)),
        step(
            &format!("p{percentile} on a GPU alone, seconds"),
            "no number of GPUs is faster".to_owned(),
            Value::Number(latency.floor_seconds, 3),
        ),
        step(
            &format!("p{percentile} with these GPUs, seconds"),
            "from arrival to end".to_owned(),
            Value::Number(latency.seconds, 3),
        ),
        step(
            "requests that wait",
            "all GPUs work on as many as they can".to_owned(),
            Value::Percent(latency.waiting_share * 100.0),
        ),
    ]
}
