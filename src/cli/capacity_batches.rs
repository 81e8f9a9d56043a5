//! `gpucost capacity` for requests in batches: how long they wait for each other, and what that
//! saves.

use super::capacity_args::{BatchArgs, CapacityArgs, SampledBatch};
use super::model_args::{MemoryArgs, ModelArgs};
use super::planning::Planning;
use super::{
    Failure, Io, Outcome, hint, known_prices, output, refusal, refuse_if, refused, sampled,
};
use crate::analysis::{Audit, Question, RunningWorkload, running_workload};
use crate::catalog::shape;
use crate::config::SettingsFile;
use crate::domain::{InstanceShape, Policy, PriceKey, RunFacts, shell_word, shown};
use crate::planners::batching::{BatchingRequest, Machine, batching};
use crate::planners::batching::{CurvePoint, ThroughputCurve};
use crate::planners::model::Dtype;
use crate::planners::serving::{Load, ServedModel, ServingRefusal};
use crate::profiling::RunProfile;
use crate::report::planners::capacity::batching_answer;
use std::path::Path;

/// Sizes of batches of a computed curve: up to 1,024.
const MOST_DOUBLINGS: u32 = 11;
/// Seconds that the first request of a batch waits.
const MAX_WAIT: f64 = 0.05;
/// Tokens of a prompt and of an answer.
const INPUT_TOKENS: u64 = 1_024;
const OUTPUT_TOKENS: u64 = 128;

pub(super) fn run(args: &CapacityArgs, io: &mut Io<'_>) -> Outcome {
    let (batches, estate) = (&args.batches, &args.estate);
    let samples = batches.curve_data.iter();
    let samples = samples.map(|curve| ("--curve-data", Some(curve.path.as_path())));
    let read: Vec<_> = samples.chain([("--from", estate.from.as_deref())]).collect();
    let planning = Planning::of_estate(estate, args.format, &read, io)?;
    let settings = &planning.settings;
    args.check_estate()?;
    refuse_if!(args.workload.is_none() && !estate.profile_data.is_empty();
        "`--profile-data` shows the throughput at one load alone";
        "pass a run at each batch, as in `--curve-data 8:run.jsonl`");
    let looked_up = args.workload.as_deref().map(|name| {
        let running = |audit: &Audit| running_workload(audit, name, &settings.policy);
        args.audited(settings, running, io)
    });
    let (running, estate) = looked_up.transpose()?.unzip();
    let (gathered, seen) =
        estate.map(|estate| (estate.prices, (estate.instances.len(), estate.gaps))).unzip();
    let measured = MeasuredCurve::read(&batches.curve_data, batches.unit.as_deref(), settings)?;
    let book = planning.book(gathered, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    let (ran_on, ran_in) = match (&running, &measured) {
        (Some(workload), _) => {
            (Some(&workload.today.instance_type), Some(&workload.workload.key.region))
        }
        (None, Some(run)) => (run.instance_type.as_ref(), run.region.as_ref()),
        (None, None) => (None, None),
    };
    let region = args.estate.aws.region.as_ref().or(ran_in);
    let region = known_prices::region(region.map(String::as_str), settings, io)?;
    let name = args.instance_type.as_ref().or(ran_on);
    let name = name.map(|name| name.trim().to_ascii_lowercase());
    let question = Question {
        operating_system: known_prices::operating_system(&args.os)?,
        ..Question::of_aws(name.iter().cloned().collect(), vec![region.clone()])
    };
    known_prices::refuse_unknown(&question, &prices)?;
    let key = name.as_deref().map(|name| PriceKey {
        operating_system: question.operating_system,
        ..PriceKey::linux_on_demand(&region, name)
    });
    let price = key.and_then(|key| prices.get(&key).ok());
    // What an hour of its type costs the workload where it runs.
    let is_there = |workload: &&RunningWorkload| workload.workload.key.region == region;
    let paid = running.as_ref().filter(is_there).and_then(|workload| workload.today.rate);
    let on = name.as_deref().and_then(shape);
    let throughput = throughput(batches, measured, on, &settings.policy)?;
    let target = settings.policy.serving_target_percent / 100.0;
    let request = BatchingRequest {
        curve: throughput.curve,
        requests_per_second: args.rate.unwrap_or_default(),
        max_wait_seconds: batches.max_wait.unwrap_or(MAX_WAIT),
        target: args.target.unwrap_or(target),
        objective_seconds: args.objective,
        machine: Machine {
            servers: throughput.servers,
            rate: paid.or(price.as_ref().map(|quote| quote.rate)),
            instance_type: name,
        },
        hours_per_month: settings.policy.hours_per_month,
    };
    let answer = batching(request)?;
    let today = running.as_ref().map(|workload| &workload.today);
    let doc = batching_answer(&answer, &throughput.source, throughput.server, today);
    let code = planning.print(&doc, None, (price.map(|quote| quote.seen_on), io.now), io)?;
    Ok(match seen {
        Some((count, gaps)) => output::close("analyzed", (count, 0), &gaps, &args.estate, io),
        None => code,
    })
}

/// What a server does, and how many an instance has.
struct Throughput {
    curve: ThroughputCurve,
    source: String,
    /// What a server is, for one and for many.
    server: (&'static str, &'static str),
    servers: u32,
}

fn throughput(
    args: &BatchArgs,
    measured: Option<MeasuredCurve>,
    on: Option<&InstanceShape>,
    policy: &Policy,
) -> Outcome<Throughput> {
    let stated = || (!args.curve.is_empty()).then(|| (args.curve.clone(), "--curve".to_owned()));
    let of_gpu = measured.map(|run| (run.points, run.source)).or_else(stated);
    let (points, source, server, servers) = match (of_gpu, on) {
        (Some((points, source)), _) => {
            let gpus = on.and_then(|shape| shape.gpu.as_ref());
            let gpus = gpus.map_or(1, |gpu| gpu.share.visible_devices().into());
            (points, source, ("GPU", "GPUs"), gpus)
        }
        (None, Some(shape)) => {
            let source = "computed as by gpucost select".to_owned();
            (curve_of(args, shape, policy)?, source, ("instance", "instances"), 1)
        }
        (None, None) => {
            return Err(refusal!(
            "how fast a model is served depends on the instance type";
            "pass `--type`, such as `--type g6e.xlarge`"));
        }
    };
    let curve = ThroughputCurve::new(points)?;
    Ok(Throughput { curve, source, server, servers })
}

/// Requests a second of an instance by how many it serves at a time, as far as they fit and
/// the throughput rises.
fn curve_of(args: &BatchArgs, shape: &InstanceShape, policy: &Policy) -> Outcome<Vec<CurvePoint>> {
    let input_tokens = args.input_tokens.unwrap_or(INPUT_TOKENS);
    let output_tokens = args.output_tokens.unwrap_or(OUTPUT_TOKENS);
    let mut served = ServedModel {
        model: args.model.model()?,
        dtype: args.dtype.unwrap_or(Dtype::Fp16),
        load: Load {
            context_tokens: input_tokens.saturating_add(output_tokens),
            input_tokens,
            output_tokens,
            sequences: 1,
        },
        terms: MemoryArgs::default().terms(policy),
    };
    let mut points: Vec<CurvePoint> = Vec::new();
    for batch in (0..MOST_DOUBLINGS).map(|power| 1 << power) {
        served.load.sequences = batch;
        let held = match served.on(shape) {
            Ok(held) => held,
            Err(reason) if points.is_empty() => {
                return Err(does_not_fit(&reason, &served, shape, &args.model));
            }
            Err(_) => break,
        };
        let items_per_second = held.tokens_per_second / output_tokens as f64;
        let rises = |before: &CurvePoint| items_per_second > before.items_per_second;
        if points.last().is_none_or(rises) {
            points.push(CurvePoint { batch, items_per_second });
        }
    }
    Ok(points)
}

/// No batch fits: not even one request does.
fn does_not_fit(
    reason: &ServingRefusal,
    served: &ServedModel,
    shape: &InstanceShape,
    model: &ModelArgs,
) -> Failure {
    let of_model = match (&model.model, model.params) {
        (Some(name), _) => format!("--model {}", shell_word(name)),
        (None, params) => format!("--params {}", params.unwrap_or_default()),
    };
    let hint = hint! { (served.nearest_on(shape), reason);
        (Some(nearest), _) => "{nearest}";
        (None, ServingRefusal::Memory { weights_fit: true, .. }) => "pass fewer `--input-tokens` or `--output-tokens`, or a smaller model";
        (None, _) => "pass another `--type`; `gpucost select {of_model}` lists the types that hold the model";
    };
    let (name, dtype) = (&shape.instance_type, served.dtype);
    refusal!("{name} does not hold the model in {dtype}: {reason}"; "{hint}")
}

/// Requests a second of one GPU by batch.
struct MeasuredCurve {
    /// By batch, ascending.
    points: Vec<CurvePoint>,
    source: String,
    instance_type: Option<String>,
    region: Option<String>,
}

impl MeasuredCurve {
    /// Of runs on one type; `None` without any.
    fn read(
        runs: &[SampledBatch],
        unit: Option<&str>,
        settings: &SettingsFile,
    ) -> Outcome<Option<Self>> {
        let mut curve: Option<Self> = None;
        for run in runs {
            let profile = sampled::profile_of(&run.path, settings)?;
            let (unit, items_per_second) = units_per_second(&profile, unit, &run.path)?;
            let RunFacts { instance_type, region, .. } = profile.facts;
            let curve = curve.get_or_insert_with(|| Self {
                points: Vec::new(),
                source: format!("{unit} per second and GPU in --curve-data"),
                instance_type: instance_type.clone(),
                region,
            });
            refuse_if!(curve.instance_type != instance_type;
                "{} was sampled on another type than the first of `--curve-data`", shown(&run.path);
                "pass runs on one type");
            curve.points.push(CurvePoint { batch: run.batch, items_per_second });
            curve.points.sort_by_key(|point| point.batch);
        }
        Ok(curve)
    }
}

/// The unit that was counted, and how many of them a GPU did per second.
fn units_per_second(
    profile: &RunProfile,
    unit: Option<&str>,
    path: &Path,
) -> Outcome<(String, f64)> {
    let file = shown(path);
    let units = &profile.end.units;
    let of_name = units.iter().filter(|counted| unit.is_none_or(|name| counted.unit == name));
    let of_name: Vec<_> = of_name.collect();
    let done = match of_name.as_slice() {
        [done] => *done,
        [] => {
            return Err(refusal!("{file} does not say how many requests were done";
            "sample it with `gpucost profile --samples run.jsonl --log server.log --log-unit \
             requests=TEXT`, or pass `--curve`"));
        }
        [first, ..] => {
            return Err(refusal!("{file} counted {} units", of_name.len();
            "pass the one that is a request, such as `--unit {}`", first.unit));
        }
    };
    let seconds = profile.end.elapsed_seconds;
    let used = profile.gpus_used().filter(|used| *used > 0);
    let used = used.filter(|_| seconds > 0.0).ok_or_else(refused!(
        "{file} does not show on how many GPUs it ran";
        "sample it with `gpucost profile` on the host, or pass `--curve`"))?;
    Ok((done.unit.clone(), done.count as f64 / seconds / used as f64))
}
