//! `gpucost select`: which type to rent.

use super::exit::{ExitCode, Failure};
use super::planning::Planning;
use super::select_args::SelectArgs;
use super::select_measured::{of_run, of_workload};
use super::{Io, fit, output, pricing, sampled};
use crate::analysis::{GpuFilter, Question, RunningWorkload, select_types};
use crate::config::SettingsFile;
use crate::domain::{GpuShare, Policy};
use crate::planners::fit::ServedModel;
use crate::planners::model::Dtype;
use crate::planners::select::{Budget, Refusal, Selection, Wanted, vcpus_for};
use crate::report::select_answer;
use crate::report::text::counted;
use std::collections::BTreeMap;

pub(super) fn run(args: &SelectArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let out = &args.catalog.answer.out;
    let read = [
        ("--from", args.of.from.as_deref()),
        ("--profile-data", args.profile_data.as_deref()),
    ];
    let planning = Planning::of(&args.catalog.answer, &read, io)?;
    let settings = &planning.settings;
    let (running, gathered) = args.of.running(settings)?.unzip();
    let question = question(args, running.as_ref(), settings, io)?;
    let wanted = wanted(args, &question, running.as_ref(), settings)?;
    let book = planning.book(gathered, args.catalog.answer.offline, io)?;
    let prices = planning.prices(&book);
    pricing::refuse_unknown(&question, &prices)?;
    let found = select_types(&question, wanted, &prices, &settings.policy);
    let fits = found.fits.iter();
    let quotes = fits.filter_map(|one| one.offered.quote(one.paying));
    let oldest = quotes.map(|quote| quote.seen_on).min();
    let code = planning.print(&select_answer(&found), oldest, io.now, io)?;
    if found.fits.is_empty() {
        output::complain(&nothing(&found), &hint(&found), io);
        return Ok(ExitCode::Nothing);
    }
    let checked = found.fits.iter().filter(|one| one.is_checked()).count();
    let unchecked = match found.fits.len() - checked {
        0 => String::new(),
        count => format!(", {count} not checked for the rate"),
    };
    output::say(
        &format!(
            "{} fit{unchecked}, {} out",
            counted(checked as u64, "offer", "offers"),
            found.refused.len()
        ),
        out,
        io,
    );
    Ok(code)
}

fn hint(found: &Selection) -> String {
    let nearest = found.refused.first();
    let of_model = nearest.and_then(|one| {
        let served = found.wanted.model.as_ref();
        let served = served.filter(|_| matches!(one.reason, Refusal::Model { .. }))?;
        served.nearest_on(one.offered.shape)
    });
    if let Some(nearest) = of_model {
        return fit::with_less(&nearest);
    }
    match nearest.map(|one| &one.reason) {
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

fn nothing(found: &Selection) -> String {
    let nearest = found.refused.first().map(|one| {
        let name = &one.offered.shape.instance_type;
        format!("; the nearest is {name}: {}", one.reason)
    });
    format!("no instance type fits{}", nearest.unwrap_or_default())
}

fn question(
    args: &SelectArgs,
    running: Option<&RunningWorkload>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<Question, Failure> {
    let gpu = args.gpu.as_deref().map(GpuFilter::parse).transpose();
    let gpu = gpu.map_err(|message| {
        Failure::input(message)
            .with_hint("use `--gpu MODEL`, `--gpu MODEL:SIZE` or a range of sizes")
    })?;
    let regions = args.region.as_deref().unwrap_or_default().split(',');
    let regions = regions.map(str::trim).filter(|name| !name.is_empty());
    Ok(Question {
        gpu,
        home_region: running.map_or_else(
            || pricing::home_region(settings, io),
            |one| one.key.region.clone(),
        ),
        operating_system: pricing::operating_system(&args.catalog.os)?,
        ..Question::of_aws(Vec::new(), regions.map(str::to_owned).collect())
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
    let model = served(args, policy)?;
    // Without a number, a model is held by as many as it needs.
    let gpus = args.gpus.or(match model {
        Some(_) => None,
        None => Some(GpuShare::Whole(1)),
    });
    let mut wanted = Wanted {
        kind: args.kind,
        restartable: args.restartable,
        paying: args.rank_by.map(super::select_args::RankChoice::paying),
        gpus,
        model,
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
        budget: Budget {
            hourly: args.budget_hourly,
            monthly: args.budget_monthly,
        },
        hours: args.hours_per_month.unwrap_or(policy.hours_per_month),
        hours_of_month: policy.hours_per_month,
        today: None,
        sources: BTreeMap::new(),
    };
    if args.gpus.is_none() {
        let source = if wanted.model.is_some() {
            "as many as hold the model"
        } else {
            "default"
        };
        wanted.sources.insert("gpus", source.to_owned());
    }
    wanted.sources.extend(model_sources(args));
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

/// The model that the flags describe.
fn served(args: &SelectArgs, policy: &Policy) -> Result<Option<ServedModel>, Failure> {
    let mut passed = args.model.passed();
    passed.extend(args.model_memory.passed());
    passed.extend(args.dtype.is_some().then_some("dtype"));
    if args.model.model.is_none() && args.model.params.is_none() {
        return match passed.first() {
            Some(flag) => Err(Failure::input(format!("`--{flag}` is about a model"))
                .with_hint("pass `--params`, such as `--params 70b`, or `--model`")),
            None => Ok(None),
        };
    }
    Ok(Some(ServedModel {
        model: args.model.model()?,
        dtype: args.dtype.unwrap_or(Dtype::Fp16),
        load: args.model_memory.load(),
        terms: args.model_memory.terms(policy),
    }))
}

/// Where what is said of the model is from, unless a flag of its name was passed.
fn model_sources(args: &SelectArgs) -> Vec<(&'static str, String)> {
    let (memory, model) = (&args.model_memory, &args.model);
    let assumed = "assumed, see docs/planners/fit.md";
    let of_policy = "vram_headroom of the policy";
    let default = [
        ("dtype", args.dtype.is_some(), "default"),
        ("params_billion", model.params.is_some(), "--model"),
        ("kv_dtype", memory.kv_dtype.is_some(), "default"),
        ("context_tokens", memory.context.is_some(), "default"),
        ("sequences", memory.concurrency.is_some(), "default"),
        ("runtime_gib", memory.runtime_gib.is_some(), assumed),
        ("headroom", memory.headroom.is_some(), of_policy),
    ];
    let default = default.into_iter().filter(|(_, is_passed, _)| !is_passed);
    default
        .map(|(key, _, source)| (key, source.to_owned()))
        .collect()
}
