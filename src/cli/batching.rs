//! `gpucost batching`: how long requests wait for each other, and what that saves.

use super::batching_measured::{MeasuredCurve, SampledBatch, sampled_batch};
use super::exit::{ExitCode, Failure};
use super::model_args::{ModelArgs, dtype, share, tokens};
use super::planner_flags::CatalogArgs;
use super::planning::Planning;
use super::workload_args::WorkloadArgs;
use super::{Io, fit, planner_flags, pricing};
use crate::analysis::{Question, RunningWorkload};
use crate::catalog::{Prices, shape};
use crate::config::SettingsFile;
use crate::domain::{HourlyRate, PriceKey, shell_word};
use crate::planners::batching::{BatchingAsk, BatchingError, Machine, batching};
use crate::planners::curve::{CurveError, CurvePoint, ThroughputCurve};
use crate::planners::fit::NothingFits;
use crate::planners::model::Dtype;
use crate::report::batching_answer;
use clap::Args;

/// Seconds that a request may wait.
const LONGEST: f64 = 3_600.0;

/// A length of time up to an hour, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    planner_flags::seconds(text)
        .filter(|seconds| (0.0..=LONGEST).contains(seconds))
        .ok_or_else(|| "expected a time up to one hour, such as 20ms, 1.5s or 2m".to_owned())
}

/// A point such as 8:210.
fn point(text: &str) -> Result<CurvePoint, String> {
    let read = || {
        let (batch, items) = text.split_once(':')?;
        Some(CurvePoint {
            batch: batch.trim().parse().ok()?,
            items_per_second: items.trim().parse().ok()?,
        })
    };
    read().ok_or_else(|| "expected BATCH:ITEMS_PER_SECOND, such as 8:210".to_owned())
}

/// `gpucost batching`.
#[derive(Debug, Args)]
pub(super) struct BatchingArgs {
    /// Requests of all servers, such as 300, 300/s, 18000/min or 1080000/h
    #[arg(long, value_name = "RATE", value_parser = planner_flags::rate, allow_hyphen_values = true)]
    pub rate: f64,
    /// Measured throughput of one GPU by batch, such as 1:35,8:210,32:520
    #[arg(long, value_name = "BATCH:ITEMS_PER_SECOND,…", value_parser = point, value_delimiter = ',', allow_hyphen_values = true, conflicts_with_all = ["model", "params"])]
    pub curve: Vec<CurvePoint>,
    /// Samples of a run at a batch, written by `gpucost profile --samples --log-unit`; a point of
    /// the curve for each (can be repeated)
    #[arg(long, value_name = "BATCH:FILE", value_parser = sampled_batch, conflicts_with_all = ["curve", "model", "params"])]
    pub profile_data: Vec<SampledBatch>,
    /// Unit of these runs that is a request [default: the only one]
    #[arg(long, value_name = "NAME", requires = "profile_data")]
    pub unit: Option<String>,
    /// Longest time that the first request of a batch waits for others
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true, default_value = "50ms")]
    pub max_wait: f64,
    /// Longest time that a request may take, such as 200ms
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    pub latency: Option<f64>,
    /// Percentage of its largest throughput that a server has to do at most [default:
    /// serving_target_percent of the policy, 80]
    #[arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true)]
    pub target: Option<f64>,
    /// Instance type, for the cost; required with `--params` or `--model`, unless `--workload` or
    /// samples name it
    #[arg(long = "type", value_name = "TYPE")]
    pub instance_type: Option<String>,

    #[command(flatten)]
    pub model: ModelArgs,
    /// Type of the weights: fp32, fp16, bf16, fp8, int8, int4
    #[arg(long, value_name = "DTYPE", value_parser = dtype, default_value = "fp16", help_heading = "Model")]
    pub dtype: Dtype,
    /// Mean tokens of a prompt
    #[arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, default_value = "1024", help_heading = "Model")]
    pub input_tokens: u64,
    /// Mean tokens of an answer
    #[arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, default_value = "128", help_heading = "Model")]
    pub output_tokens: u64,

    #[command(flatten)]
    pub of: WorkloadArgs,
    /// Region of the prices [default: that of the workload or of the samples, else us-east-1]
    #[arg(long, value_name = "R")]
    pub region: Option<String>,
    #[command(flatten)]
    pub catalog: CatalogArgs,
}

pub(super) fn run(args: &BatchingArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let answer = &args.catalog.answer;
    let samples = args.profile_data.iter();
    let samples = samples.map(|one| ("--profile-data", Some(one.path.as_path())));
    let estate = [("--from", args.of.from.as_deref())];
    let read: Vec<_> = samples.chain(estate).collect();
    let planning = Planning::of(answer, &read, io)?;
    let settings = &planning.settings;
    let (running, gathered) = args.of.running(settings)?.unzip();
    let measured = MeasuredCurve::read(&args.profile_data, args.unit.as_deref(), settings)?;
    let book = planning.book(gathered, answer.offline, io)?;
    let prices = planning.prices(&book);
    let (ran_on, ran_in) = match (&running, &measured) {
        (Some(one), _) => (Some(&one.key.instance_type), Some(&one.key.region)),
        (None, Some(run)) => (run.instance_type.as_ref(), run.region.as_ref()),
        (None, None) => (None, None),
    };
    let region = args.region.as_ref().or(ran_in).map(String::as_str);
    let region = pricing::one_region(region, settings, io)?;
    let name = args.instance_type.as_ref().or(ran_on);
    let name = name.map(|name| name.trim().to_ascii_lowercase());
    let question = Question {
        operating_system: pricing::operating_system(&args.catalog.os)?,
        ..Question::of_aws(name.iter().cloned().collect(), vec![region.clone()])
    };
    pricing::refuse_unknown(&question, &prices)?;
    let key = name.as_deref().map(|name| PriceKey {
        operating_system: question.operating_system,
        ..PriceKey::linux_on_demand(&region, name)
    });
    let price = key.and_then(|key| prices.get(&key).ok());
    let paid = paid(running.as_ref(), name.as_deref(), &region);
    let place = (name.as_deref(), region.as_str());
    let throughput = throughput(args, measured, place, settings, &prices)?;
    let ask = BatchingAsk {
        curve: throughput.curve,
        requests_per_second: args.rate,
        max_wait_seconds: args.max_wait,
        target: args
            .target
            .unwrap_or(settings.policy.serving_target_percent / 100.0),
        objective_seconds: args.latency,
        machine: Machine {
            servers: throughput.servers,
            rate: paid.or(price.as_ref().map(|quote| quote.rate)),
            instance_type: name,
        },
        hours_per_month: settings.policy.hours_per_month,
    };
    let found = batching(ask).map_err(missed)?;
    let today = running.as_ref().map(RunningWorkload::today);
    let doc = batching_answer(
        &found,
        &throughput.source,
        throughput.server,
        today.as_ref(),
    );
    planning.print(&doc, price.map(|quote| quote.seen_on), io.now, io)
}

/// What an hour of the type costs a workload that runs on it there.
fn paid(running: Option<&RunningWorkload>, name: Option<&str>, region: &str) -> Option<HourlyRate> {
    let one = running?;
    let is_there = name == Some(one.key.instance_type.as_str()) && one.key.region == region;
    one.rate.filter(|_| is_there)
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
    args: &BatchingArgs,
    measured: Option<MeasuredCurve>,
    (name, region): (Option<&str>, &str),
    settings: &SettingsFile,
    prices: &Prices<'_>,
) -> Result<Throughput, Failure> {
    let of_gpu = measured.map(|run| (run.points, run.source));
    let stated = || (args.curve.clone(), "--curve".to_owned());
    let of_gpu = of_gpu.or_else(|| (!args.curve.is_empty()).then(stated));
    if let Some((points, source)) = of_gpu {
        let gpus = name.and_then(shape).and_then(|shape| shape.gpu.as_ref());
        return Ok(Throughput {
            curve: ThroughputCurve::new(points).map_err(no_curve)?,
            source,
            server: ("GPU", "GPUs"),
            servers: gpus.map_or(1, |gpu| gpu.share.visible_devices().into()),
        });
    }
    let Some(name) = name else {
        return Err(
            Failure::input("no throughput and no model is given").with_hint(
                "pass `--curve 1:35,8:210,32:520`, `--profile-data 8:run.jsonl` of a run at each \
                 batch, or `--params 8b --type g6e.xlarge`",
            ),
        );
    };
    let place = fit::Place {
        region,
        operating_system: pricing::operating_system(&args.catalog.os)?,
    };
    let load = fit::Request {
        model: args.model.model()?,
        dtype: args.dtype,
        input_tokens: args.input_tokens,
        output_tokens: args.output_tokens,
    };
    let points = fit::computed_curve(&load, name, &place, &settings.policy, prices)
        .map_err(|error| does_not_fit(error, &args.model))?;
    Ok(Throughput {
        curve: ThroughputCurve::new(points).map_err(no_curve)?,
        source: "computed as by gpucost fit".to_owned(),
        server: ("instance", "instances"),
        servers: 1,
    })
}

/// No batch fits: not even one request does.
fn does_not_fit(error: NothingFits, model: &ModelArgs) -> Failure {
    let of_model = match (&model.model, model.params) {
        (Some(name), _) => format!("--model {}", shell_word(name)),
        (None, Some(params)) => format!("--params {params}"),
        (None, None) => String::new(),
    };
    let ways = fit::Ways {
        less: "fewer `--input-tokens` or `--output-tokens`",
        list: &format!("`gpucost fit {of_model}` lists the types that hold the model"),
    };
    fit::nothing(error, &ways)
}

fn no_curve(error: CurveError) -> Failure {
    let hint = match error {
        CurveError::Falls { before, .. } => {
            format!("leave out what is beyond batch {}", before.batch)
        }
        CurveError::Order { .. } => "sort the points by batch, each once".to_owned(),
        CurveError::Few(_)
        | CurveError::Many(_)
        | CurveError::Batch(_)
        | CurveError::Throughput { .. } => {
            "measure batches of several sizes, and pass them as in `--curve 1:35,8:210,32:520`"
                .to_owned()
        }
    };
    Failure::input(error).with_hint(hint)
}

fn missed(error: BatchingError) -> Failure {
    let hint = match error {
        BatchingError::Many => "pass a lower `--rate`".to_owned(),
        BatchingError::Objective {
            shortest_seconds, ..
        } => format!(
            "pass a shorter `--max-wait`, or `--latency {:.0}ms`",
            (shortest_seconds * 1e3).ceil()
        ),
    };
    Failure::input(error).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_points_two_numbers() {
        assert_eq!(seconds("20ms"), Ok(0.02));
        assert_eq!(seconds("1.5s"), Ok(1.5));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("0ms"), Ok(0.0));
        for bad in ["", "20", "ms", "-1s", "nans", "2h", "61m"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        let read = point("8:210").expect("a point");
        assert_eq!((read.batch, read.items_per_second), (8, 210.0));
        for bad in ["", "8", "8:", ":210", "-1:5", "1.5:5", "8:210:3"] {
            assert!(point(bad).is_err(), "{bad}");
        }
    }
}
