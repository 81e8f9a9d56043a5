//! `gpucost fit`: which types hold a language model, and what it costs to serve it.

use super::exit::{ExitCode, Failure};
use super::fit_measured::MeasuredArgs;
use super::model_args::{MemoryArgs, ModelArgs, dtype, passed, share, tokens};
use super::planner_flags::CatalogArgs;
use super::planning::Planning;
use super::{Io, pricing};
use crate::analysis::Question;
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::{OperatingSystem, Policy};
use crate::planners::curve::CurvePoint;
use crate::planners::fit::{
    FitAsk, FitRefusal, FitTerms, Load, MeasuredMemory, Nearest, NothingFits, fit,
};
use crate::planners::model::{Dtype, Model};
use crate::report::fit_answer;
use clap::Args;
use std::collections::BTreeSet;

/// Sizes of batches of a computed curve: up to 1,024.
const MOST_DOUBLINGS: u32 = 11;

/// `gpucost fit`.
#[derive(Debug, Args)]
pub(super) struct FitArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Types of the weights to compare: fp32, fp16, bf16, fp8, int8, int4
    #[arg(long, value_name = "DTYPE[,DTYPE…]", value_parser = dtype, value_delimiter = ',', default_value = "fp16", help_heading = "Model")]
    pub dtype: Vec<Dtype>,
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Mean tokens of a prompt [default: the rest of the context, or half of it]
    #[arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, help_heading = "Load")]
    pub input_tokens: Option<u64>,
    /// Mean tokens of an answer [default: the rest of the context, or half of it]
    #[arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, help_heading = "Load")]
    pub output_tokens: Option<u64>,
    /// Percentage of the hours in which so many sequences are in flight [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true, help_heading = "Load")]
    pub utilization: Option<f64>,

    /// Percentage of the peak that the engine reaches [default: 65, on linked GPUs 50]
    #[arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true, help_heading = "Assumptions")]
    pub efficiency: Option<f64>,

    /// Instance types to check [default: every GPU type]
    #[arg(long = "type", value_name = "TYPE[,TYPE…]", value_delimiter = ',')]
    pub instance_types: Vec<String>,
    /// Region of the prices [default: us-east-1]
    #[arg(long, value_name = "R")]
    pub region: Option<String>,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub catalog: CatalogArgs,
}

pub(super) fn run(args: &FitArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let answer = &args.catalog.answer;
    let read = [
        ("--from", args.measured.of.from.as_deref()),
        ("--profile-data", args.measured.profile_data.as_deref()),
    ];
    let planning = Planning::of(answer, &read, io)?;
    let seen = args
        .measured
        .seen(&args.instance_types, &planning.settings)?;
    let (memory, gathered) = seen.map(|seen| (seen.memory, seen.prices)).unzip();
    let ask = ask(args, memory.as_ref(), &planning.settings, io)?;
    let book = planning.book(gathered.flatten(), answer.offline, io)?;
    let prices = planning.prices(&book);
    pricing::refuse_unknown(&question(&ask), &prices)?;
    let found = fit(ask, &prices).map_err(|error| nothing(error, &WAYS))?;
    let priced = found.candidates.iter();
    let seen_on = priced.filter_map(|one| Some(one.price.as_ref()?.seen_on));
    let doc = fit_answer(&found, memory.as_ref());
    planning.print(&doc, seen_on.min(), io.now, io)
}

fn ask(
    args: &FitArgs,
    memory: Option<&MeasuredMemory>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<FitAsk, Failure> {
    let mut dtypes = Vec::new();
    for dtype in &args.dtype {
        if !dtypes.contains(dtype) {
            dtypes.push(*dtype);
        }
    }
    let mut flags = args.model.passed();
    flags.extend(args.memory.passed());
    flags.extend(args.passed());
    let names = args.instance_types.iter();
    let measured_in = memory.and_then(|memory| memory.region.as_deref());
    let region = args.region.as_deref().or(measured_in);
    Ok(FitAsk {
        model: args.model.model()?,
        dtypes,
        load: load(args)?,
        terms: terms(args, &settings.policy),
        region: pricing::one_region(region, settings, io)?,
        operating_system: pricing::operating_system(&args.catalog.os)?,
        instance_types: names.map(|name| name.trim().to_ascii_lowercase()).collect(),
        flags,
    })
}

impl FitArgs {
    fn passed(&self) -> BTreeSet<&'static str> {
        passed(&[
            ("input-tokens", self.input_tokens.is_some()),
            ("output-tokens", self.output_tokens.is_some()),
            ("utilization", self.utilization.is_some()),
            ("efficiency", self.efficiency.is_some()),
        ])
    }
}

fn load(args: &FitArgs) -> Result<Load, Failure> {
    let load = args.memory.load();
    let context = load.context_tokens;
    let rest = |of: u64| context.saturating_sub(of).max(1);
    let (input, output) = match (args.input_tokens, args.output_tokens) {
        (Some(input), Some(output)) => (input, output),
        (Some(input), None) => (input, rest(input)),
        (None, Some(output)) => (rest(output), output),
        (None, None) => return Ok(load),
    };
    let longest = input.saturating_add(output);
    if longest > context.max(2) {
        return Err(Failure::input(format!(
            "a prompt of {input} and an answer of {output} tokens do not fit into a context of \
             {context}"
        ))
        .with_hint(format!("pass `--context {longest}`, or fewer tokens")));
    }
    Ok(Load {
        input_tokens: input,
        output_tokens: output,
        ..load
    })
}

fn terms(args: &FitArgs, policy: &Policy) -> FitTerms {
    FitTerms {
        efficiency: args.efficiency,
        utilization: args.utilization.unwrap_or(1.0),
        ..args.memory.terms(policy)
    }
}

/// Where prices are from.
pub(super) struct Place<'a> {
    pub region: &'a str,
    pub operating_system: OperatingSystem,
}

/// What one request to a model is.
pub(super) struct Request {
    pub model: Model,
    pub dtype: Dtype,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// Requests a second of an instance by how many it serves at a time, as far as they fit and
/// the throughput rises.
///
/// # Errors
/// [`NothingFits`] where not even one fits.
pub(super) fn computed_curve(
    request: &Request,
    instance_type: &str,
    place: &Place<'_>,
    policy: &Policy,
    prices: &Prices<'_>,
) -> Result<Vec<CurvePoint>, NothingFits> {
    let asked = |sequences: u32| FitAsk {
        model: request.model.clone(),
        dtypes: vec![request.dtype],
        load: Load {
            context_tokens: request.input_tokens.saturating_add(request.output_tokens),
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            sequences,
        },
        terms: MemoryArgs::default().terms(policy),
        region: place.region.to_owned(),
        operating_system: place.operating_system,
        instance_types: vec![instance_type.to_owned()],
        flags: BTreeSet::new(),
    };
    let mut points: Vec<CurvePoint> = Vec::new();
    for batch in (0..MOST_DOUBLINGS).map(|power| 1 << power) {
        let found = match fit(asked(batch), prices) {
            Ok(found) => found,
            Err(error) if points.is_empty() => return Err(error),
            Err(_) => break,
        };
        let Some(fastest) = found.candidates.first() else {
            break;
        };
        let items_per_second = fastest.tokens_per_second / request.output_tokens as f64;
        let rises = |before: &CurvePoint| items_per_second > before.items_per_second;
        if points.last().is_none_or(rises) {
            points.push(CurvePoint {
                batch,
                items_per_second,
            });
        }
    }
    Ok(points)
}

/// The names of types and of the region, to be checked.
fn question(ask: &FitAsk) -> Question {
    Question {
        operating_system: ask.operating_system,
        ..Question::of_aws(ask.instance_types.clone(), vec![ask.region.clone()])
    }
}

/// What a command can do where nothing holds a model.
pub(super) struct Ways<'a> {
    /// What to pass so that sequences take less memory.
    pub less: &'a str,
    /// How to list the types that hold the model, as a sentence without its end.
    pub list: &'a str,
}

const WAYS: Ways<'static> = Ways {
    less: "a smaller `--context` or `--concurrency`",
    list: "without `--type`, the types that hold the model are listed",
};

/// The failure where nothing holds a model, with the nearest possibility.
pub(super) fn nothing(error: NothingFits, ways: &Ways<'_>) -> Failure {
    let hint = match (&error.nearest, error.reason.as_deref()) {
        (Some(nearest), _) => with_less(nearest),
        (
            None,
            None
            | Some(FitRefusal::Memory {
                weights_fit: true, ..
            }),
        ) => {
            format!("pass {}, or a smaller model", ways.less)
        }
        (None, Some(FitRefusal::NotSold)) => {
            format!("pass another `--region` or `--type`; {}", ways.list)
        }
        (None, Some(_)) => format!("pass another `--type`; {}", ways.list),
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}

/// What to pass to come to what is nearest.
pub(super) fn with_less(nearest: &Nearest) -> String {
    match nearest {
        Nearest::Fewer {
            dtype,
            instance_type,
            sequences,
        } => {
            format!(
                "{instance_type} holds {sequences} in {dtype}: pass `--concurrency {sequences}`"
            )
        }
        Nearest::Smaller {
            dtype,
            instance_type,
        } => format!("{instance_type} holds it in {dtype}: pass `--dtype {dtype}`"),
    }
}
