//! `gpucost select`: which type to rent.

use super::exit::{ExitCode, Failure};
use super::model_args::{typed, with_less};
use super::planning::Planning;
use super::select_args::SelectArgs;
use super::select_measured::{of_run, of_workload};
use super::{Io, known_prices, output, sampled};
use crate::analysis::{Question, RunningWorkload, select_types};
use crate::config::SettingsFile;
use crate::domain::{GpuShare, Policy};
use crate::planners::model::Dtype;
use crate::planners::select::{Budget, Refusal, Selection, Wanted, vcpus_for};
use crate::planners::serving::{Nearest, ServedModel, ServingRefusal};
use crate::report::select_answer;
use crate::report::text::counted;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run(args: &SelectArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let read =
        [("--from", args.of.from.as_deref()), ("--profile-data", args.profile_data.as_deref())];
    let planning = Planning::of(&args.catalog.answer, &read, io)?;
    let settings = &planning.settings;
    let (running, gathered) = args.of.running(settings)?.unzip();
    let question = question(args, running.as_ref(), settings, io)?;
    let wanted = wanted(args, &question, running.as_ref(), settings)?;
    let book = planning.book(gathered, args.catalog.answer.offline, io)?;
    let prices = planning.prices(&book);
    known_prices::refuse_unknown(&question, &prices)?;
    let selection = select_types(&question, wanted, &prices, &settings.policy);
    let fits = selection.fits.iter();
    let quotes = fits.filter_map(|fit| fit.offered.quote(fit.paying));
    let oldest = quotes.map(|quote| quote.seen_on).min();
    let code = planning.print(&select_answer(&selection), oldest, io.now, io)?;
    if selection.fits.is_empty() {
        output::complain(&nothing(&selection), &hint(&selection), io);
        return Ok(ExitCode::Nothing);
    }
    // An offer that holds a model in several types of numbers is one.
    let count = |is_checked: bool| {
        let fits = selection.fits.iter();
        let alike = fits.filter(|fit| fit.is_checked() == is_checked);
        let offers = alike.map(|fit| (&fit.offered.shape.instance_type, &fit.offered.region));
        offers.collect::<BTreeSet<_>>().len()
    };
    let checked = count(true);
    let unchecked = match count(false) {
        0 => String::new(),
        count => format!(", {count} not checked for the rate"),
    };
    let (checked, refused) = (counted(checked as u64, "offer", "offers"), selection.refused.len());
    planning.say(&format!("{checked} fit{unchecked}, {refused} out"), io);
    Ok(code)
}

fn hint(selection: &Selection) -> String {
    let nearest = selection.refused.first();
    let of_model = nearest.and_then(|refused| {
        let mut models = selection.wanted.models.iter();
        let is_out = |served: &&ServedModel| match refused.reason {
            Refusal::Model { dtype, .. } => dtype == served.dtype,
            _ => false,
        };
        models.find(is_out)?.nearest_on(refused.offered.shape)
    });
    if let Some(nearest) = most_held(selection).or(of_model) {
        return with_less(&nearest);
    }
    match nearest.map(|refused| &refused.reason) {
        Some(Refusal::Currency) => {
            "budgets are in dollars: omit the budget, or pass a `--region` with prices in dollars"
                .to_owned()
        }
        Some(Refusal::Model { .. }) => {
            "pass a smaller model or `--context`, or smaller weights such as `--dtype int4`"
                .to_owned()
        }
        _ => "raise the budget, lower the need that the nearest type misses, or search other \
              regions with `--region all`"
            .to_owned(),
    }
}

/// The type that holds the model with the most sequences, where that is too few of them.
fn most_held(selection: &Selection) -> Option<Nearest> {
    let held = selection.refused.iter().filter_map(|refused| match refused.reason {
        Refusal::Model { dtype, reason: ServingRefusal::Memory { holds, .. }, .. } => {
            Some((holds, dtype, refused))
        }
        _ => None,
    });
    let held = held.filter(|(holds, ..)| *holds > 0);
    // Of equal ones, the nearest.
    let (sequences, dtype, refused) = held.rev().max_by_key(|(holds, ..)| *holds)?;
    Some(Nearest::Fewer {
        dtype,
        instance_type: refused.offered.shape.instance_type.clone(),
        sequences,
    })
}

fn nothing(selection: &Selection) -> String {
    let nearest = selection.refused.first().map(|refused| {
        let name = &refused.offered.shape.instance_type;
        format!("; the nearest is {name}: {}", refused.reason)
    });
    format!("no instance type fits{}", nearest.unwrap_or_default())
}

fn question(
    args: &SelectArgs,
    running: Option<&RunningWorkload>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<Question, Failure> {
    let names = args.instance_types.iter();
    let regions = args.region.as_deref().unwrap_or_default().split(',');
    let regions = regions.map(str::trim).filter(|name| !name.is_empty());
    Ok(Question {
        gpu: known_prices::gpu_filter(args.gpu.as_deref())?,
        home_region: running.map_or_else(
            || known_prices::home_region(settings, io),
            |workload| workload.key.region.clone(),
        ),
        operating_system: known_prices::operating_system(&args.catalog.os)?,
        ..Question::of_aws(
            names.map(|name| name.trim().to_ascii_lowercase()).collect(),
            regions.map(str::to_owned).collect(),
        )
    })
}

fn wanted(
    args: &SelectArgs,
    question: &Question,
    running: Option<&RunningWorkload>,
    settings: &SettingsFile,
) -> Result<Wanted, Failure> {
    let policy = &settings.policy;
    let filter = question.gpu.as_ref();
    let models = served(args, policy)?;
    // Without a number, a model is held by as many as it needs.
    let one_gpu = GpuShare::Whole(1);
    let gpus = args.gpus.or(models.is_empty().then_some(one_gpu));
    let mut wanted = Wanted {
        kind: args.kind,
        restartable: args.restartable,
        paying: args.rank_by,
        gpus,
        models,
        measured: None,
        names_accelerator: filter.is_some_and(|filter| filter.model().is_some()),
        vram_mib: args.vram,
        vram_total_mib: args.vram_total,
        memory_mib: args.memory,
        vcpu: None,
        vcpu_without_gpu: None,
        architecture: args.arch.architecture(),
        nvlink: args.nvlink,
        efa: args.efa,
        rate_per_second: args.rate,
        budget: Budget { hourly: args.budget_hourly, monthly: args.budget_monthly },
        hours: args.hours_per_month.unwrap_or(policy.hours_per_month),
        hours_of_month: policy.hours_per_month,
        today: None,
        sources: BTreeMap::new(),
    };
    if args.gpus.is_none() {
        let source = match wanted.model() {
            Some(_) => "as many as hold the model",
            None => "default",
        };
        wanted.sources.insert("gpus", source.to_owned());
    }
    let sources = wanted.model().map(|served| model_sources(args, served));
    wanted.sources.extend(sources.into_iter().flatten());
    if let Some((rate, seconds)) = args.rate.zip(args.cpu_seconds) {
        let target = policy.serving_target_percent;
        wanted.vcpu_without_gpu = vcpus_for(rate, seconds, target);
        let source = format!(
            "{} × {} / {target}%: --rate, --cpu-seconds and the target of the policy",
            rate.round_dp(6).normalize(),
            seconds.normalize()
        );
        wanted.sources.insert("vcpu_without_gpu", source);
    }
    if let Some(path) = &args.profile_data {
        let run = sampled::profile_of(path, settings)?;
        of_run(&mut wanted, args, &run, path, policy)?;
    }
    if let Some(running) = running {
        of_workload(&mut wanted, args, running, policy)?;
    }
    if wanted.nvlink && wanted.gpus.is_some_and(|gpus| gpus.visible_devices() < 2) {
        return Err(Failure::input(
            "`--nvlink` links the GPUs of an instance, and one GPU is asked for",
        )
        .with_hint("pass `--gpus 2` or more, or omit `--nvlink`"));
    }
    Ok(wanted)
}

/// The flags of a model that were passed.
fn passed(args: &SelectArgs) -> BTreeSet<&'static str> {
    let mut passed = args.model.passed();
    passed.extend(args.model_memory.passed());
    passed.extend((!args.dtype.is_empty()).then_some("dtype"));
    passed
}

/// The model that the flags describe, in each type of numbers once.
fn served(args: &SelectArgs, policy: &Policy) -> Result<Vec<ServedModel>, Failure> {
    if args.model.model.is_none() && args.model.params.is_none() {
        return match passed(args).first() {
            Some(flag) => Err(Failure::input(format!("`{}` is about a model", typed(flag)))
                .with_hint("pass `--params`, such as `--params 70b`, or `--model`")),
            None => Ok(Vec::new()),
        };
    }
    let served = ServedModel {
        model: args.model.model()?,
        dtype: Dtype::Fp16,
        load: args.model_memory.load()?,
        terms: args.model_memory.terms(policy),
    };
    let mut models: Vec<ServedModel> = Vec::new();
    for &dtype in &args.dtype {
        if models.iter().all(|model| model.dtype != dtype) {
            let served = served.clone();
            models.push(ServedModel { dtype, ..served });
        }
    }
    if models.is_empty() {
        models.push(served);
    }
    Ok(models)
}

/// Where what is said of the model is from.
fn model_sources(args: &SelectArgs, served: &ServedModel) -> Vec<(&'static str, String)> {
    let passed = passed(args);
    let shape = served.model.shape_of;
    let shape = shape.map_or("flags".to_owned(), |name| format!("config.json of {name}"));
    let active = match served.model.is_mixture() {
        true => &shape,
        false => "all of a dense model",
    };
    let assumed = "assumed, see docs/planners/select.md";
    let of_policy = "vram_headroom of the policy";
    let rest = "the rest of the context, or half of it";
    let of_shape = shape.as_str();
    [
        ("dtype", "dtype", "default"),
        ("params_billion", "params", "--model"),
        ("active_params_billion", "active_params", active),
        ("layers", "layers", of_shape),
        ("heads", "heads", of_shape),
        ("kv_heads", "kv_heads", of_shape),
        ("head_dim", "head_dim", of_shape),
        ("kv_dtype", "kv_dtype", "default"),
        ("context_tokens", "context", "default"),
        ("sequences", "concurrency", "default"),
        ("input_tokens", "input_tokens", rest),
        ("output_tokens", "output_tokens", rest),
        ("runtime_gib", "runtime_gib", assumed),
        ("headroom", "headroom", of_policy),
        ("efficiency_percent", "efficiency", assumed),
        ("linked_efficiency_percent", "efficiency", assumed),
        ("utilization_percent", "utilization", "default"),
    ]
    .map(|(key, flag, otherwise)| {
        let source = match passed.contains(flag) {
            true => typed(flag),
            false => otherwise.to_owned(),
        };
        (key, source)
    })
    .to_vec()
}
