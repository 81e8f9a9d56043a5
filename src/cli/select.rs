//! `gpucost select`: which type to rent.

use super::args::{hourly_price, hours_of_a_month, kind, positive};
use super::choices::Choices;
use super::model_args::{MemoryArgs, ModelArgs, dtype, typed};
use super::planning::{CatalogArgs, Planning, WorkloadArgs, exact_rate};
use super::rightsize::size_mib;
use super::{
    ExitCode, Io, Outcome, choices, flags, hint, known_prices, output, parsers, refusal, refuse_if,
    refused, sampled,
};
use crate::analysis::{Question, RunningWorkload, select_types};
use crate::config::SettingsFile;
use crate::domain::{Architecture, GpuShare, MOST_GPUS, Policy, WorkloadKind, counted, shown};
use crate::planners::Paying;
use crate::planners::model::Dtype;
use crate::planners::select::{Budget, Refusal, Selection, Wanted, vcpus_for};
use crate::planners::serving::{MeasuredMemory, ServedModel, ServingRefusal, with_fewer};
use crate::profiling::RunProfile;
use crate::report::planners::select::select_answer;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

flags! {
    /// `gpucost select`.
    pub(super) struct SelectArgs {
        /// Kind of work: training, serving, batch, evaluation, development
        kind: WorkloadKind = arg(long, value_name = "KIND", value_parser = kind, default_value = "unknown", hide_default_value = true);
        /// Treat the work as safe to interrupt and restart, so that spot prices count; not for
        /// serving
        restartable: bool = arg(long);
        /// Memory needed on each GPU, such as 40GiB
        vram: Option<f64> = arg(long, value_name = "SIZE", value_parser = needed_mib, allow_hyphen_values = true, help_heading = "Needs");
        /// Memory needed on all GPUs of an instance together
        vram_total: Option<f64> = arg(long, value_name = "SIZE", value_parser = needed_mib, allow_hyphen_values = true, help_heading = "Needs");
        /// GPUs per instance, at least; a part such as 0.125 lets parts of a GPU compete [default:
        /// 1; with a model, as many as hold it]
        gpus: Option<GpuShare> = arg(long, value_name = "N", value_parser = gpus, allow_negative_numbers = true, help_heading = "Needs");
        /// GPU model, memory or both: H100, A100:80GB, 24GB.., 24GB..48GB
        gpu: Option<String> = arg(long, value_name = "GPU", help_heading = "Needs");
        /// Host memory needed, such as 100GiB
        memory: Option<f64> = arg(long, value_name = "SIZE", value_parser = needed_mib, allow_hyphen_values = true, help_heading = "Needs");
        /// Require NVLink between the GPUs
        nvlink: bool = arg(long, help_heading = "Needs");
        /// Require EFA
        efa: bool = arg(long, help_heading = "Needs");
        /// CPU architecture
        arch: Arch = arg(long, value_parser = ARCHITECTURES, value_name = "ARCH", default_value = "x86_64", help_heading = "Needs");
        /// Requests per unit of time, such as 2/s, 120/min or 7200/h
        rate: Option<Decimal> = arg(long, value_name = "RATE", value_parser = exact_rate, allow_hyphen_values = true, requires = "cpu_seconds", conflicts_with_all = ["model", "params"], help_heading = "Needs");
        /// CPU time of a request without a GPU, in seconds; lets CPU types compete
        cpu_seconds: Option<Decimal> = arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true, requires = "rate", help_heading = "Needs");
        model: ModelArgs = command(flatten);
        /// Types of the weights to compare, the preferred one first: fp32, fp16, bf16, fp8, int8,
        /// int4 [default: fp16]
        dtype: Vec<Dtype> = arg(long, value_name = "DTYPE[,DTYPE…]", value_parser = dtype, value_delimiter = ',', help_heading = "Model");
        model_memory: MemoryArgs = command(flatten);
        of: WorkloadArgs = command(flatten);
        /// Samples written by `gpucost profile --samples`, to take the needs from; with a model, to
        /// compare its memory with theirs
        profile_data: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = ["from", "demo", "workload"], help_heading = "Measured");
        /// Most to pay per hour, in USD
        budget_hourly: Option<Decimal> = arg(long, value_name = "USD", value_parser = hourly_price, allow_negative_numbers = true, help_heading = "Budget");
        /// Most to pay per month, in USD
        budget_monthly: Option<Decimal> = arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true, help_heading = "Budget");
        /// Hours per month that the instance runs [default: hours_per_month of the policy, 730]
        hours_per_month: Option<Decimal> = arg(long, value_name = "HOURS", value_parser = hours_of_a_month, allow_negative_numbers = true, help_heading = "Budget");
        /// Price to rank by [default: spot where --restartable allows it, else on-demand]
        rank_by: Option<Paying> = arg(long, value_parser = RANKED_BY, value_name = "PRICE", help_heading = "Budget");
        /// Instance types to check [default: every type]
        instance_types: Vec<String> = arg(long = "type", value_name = "TYPE[,TYPE…]", value_delimiter = ',');
        /// Comma-separated regions, with `*` as a wildcard, or `all` [default: that of the workload,
        /// else us-east-1]
        region: Option<String> = arg(long, value_name = "R[,R…]|all");
        catalog: CatalogArgs = command(flatten);
    }
}

/// Absent where it may be either.
type Arch = Option<Architecture>;

const ARCHITECTURES: Choices<Arch> = Choices(&[
    ("x86_64", "Intel and AMD", Some(Architecture::X86_64)),
    ("arm64", "Graviton and Grace", Some(Architecture::Arm64)),
    ("any", "Either", None),
]);

choices! {
    RANKED_BY: Paying {
        "on-demand" = OnDemand, "On-demand price";
        "reserved-1yr" = Reserved1yr, "1-year reserved instance, no upfront, effective per hour";
        "reserved-3yr" = Reserved3yr, "3-year reserved instance, no upfront, effective per hour";
    }
}

parsers! {
    /// Whole GPUs, or a part of one.
    fn gpus(text) -> GpuShare = text.trim().parse().ok().and_then(GpuShare::from_count), format!("expected a number of GPUs from 1 to {MOST_GPUS}, or a part of one such as 0.125");
    /// A size above zero.
    fn needed_mib(text) -> f64 = Some(size_mib(text)?).filter(|mib| *mib > 0.0), "expected a size above zero, such as 40GiB";
}

pub(super) fn run(args: &SelectArgs, io: &mut Io<'_>) -> Outcome {
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
    let code = planning.print(&select_answer(&selection), None, (oldest, io.now), io)?;
    if selection.fits.is_empty() {
        let (error, hint) = (nothing(&selection), hint(&selection));
        return Ok(output::complain(&error, &hint, ExitCode::Nothing, io));
    }
    // An offer that holds a model in several types of numbers is one.
    let count = |is_checked: bool| {
        let alike = selection.fits.iter().filter(|fit| fit.is_checked() == is_checked);
        let offers = alike.map(|fit| (&fit.offered.shape.instance_type, &fit.offered.region));
        offers.collect::<BTreeSet<_>>().len()
    };
    let checked = count(true);
    let unchecked = match count(false) {
        0 => String::new(),
        count => format!(", {count} not checked for the rate"),
    };
    let (checked, refused) = (counted(checked, "offer", "offers"), selection.refused.len());
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
        return nearest;
    }
    hint! { nearest.map(|refused| &refused.reason);
        Some(Refusal::Currency) => "budgets are in dollars: omit the budget, or pass a `--region` with prices in dollars";
        Some(Refusal::Model { .. }) => "pass a smaller model or `--context`, or smaller weights such as `--dtype int4`";
        _ => "raise the budget, lower the need that the nearest type misses, or search other regions with `--region all`";
    }
}

/// The type that holds the model with the most sequences, where that is too few of them.
fn most_held(selection: &Selection) -> Option<String> {
    let held = selection.refused.iter().filter_map(|refused| match refused.reason {
        Refusal::Model { dtype, reason: ServingRefusal::Memory { holds, .. }, .. } => {
            Some((holds, dtype, refused))
        }
        _ => None,
    });
    let held = held.filter(|(holds, ..)| *holds > 0);
    // Of equal ones, the nearest.
    let (sequences, dtype, refused) = held.rev().max_by_key(|(holds, ..)| *holds)?;
    Some(with_fewer(&refused.offered.shape.instance_type, dtype, sequences))
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
) -> Outcome<Question> {
    let names = args.instance_types.iter();
    let regions = args.region.as_deref().unwrap_or_default().split(',');
    let regions = regions.map(str::trim).filter(|name| !name.is_empty());
    Ok(Question {
        gpu: known_prices::gpu_filter(args.gpu.as_deref())?,
        home_region: running.map_or_else(
            || known_prices::home_region(settings, io),
            |workload| workload.workload.key.region.clone(),
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
) -> Outcome<Wanted> {
    let policy = &settings.policy;
    let filter = question.gpu.as_ref();
    let models = served(args, policy)?;
    // Without a number, a model is held by as many as it needs.
    let gpus = args.gpus.or(models.is_empty().then_some(GpuShare::Whole(1)));
    let mut wanted = Wanted {
        kind: args.kind,
        restartable: args.restartable,
        paying: args.rank_by,
        gpus,
        models,
        measured: None,
        names_accelerator: filter.is_some_and(|filter| filter.model.is_some()),
        vram_mib: args.vram,
        vram_total_mib: args.vram_total,
        memory_mib: args.memory,
        vcpu: None,
        vcpu_without_gpu: None,
        architecture: args.arch,
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
        let source = wanted.model().map_or("default", |_| "as many as hold the model");
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
        of_run(&mut wanted, args, &sampled::profile_of(path, settings)?, path, policy)?;
    }
    if let Some(running) = running {
        of_workload(&mut wanted, args, running, policy)?;
    }
    refuse_if!(wanted.nvlink && wanted.gpus.is_some_and(|gpus| gpus.visible_devices() < 2);
        "`--nvlink` links the GPUs of an instance, and one GPU is asked for";
        "pass `--gpus 2` or more, or omit `--nvlink`");
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
fn served(args: &SelectArgs, policy: &Policy) -> Outcome<Vec<ServedModel>> {
    if args.model.model.is_none() && args.model.params.is_none() {
        return match passed(args).first() {
            Some(flag) => Err(refusal!("`{}` is about a model", typed(flag);
                "pass `--params`, such as `--params 70b`, or `--model`")),
            None => Ok(Vec::new()),
        };
    }
    let served = ServedModel {
        model: args.model.model()?,
        dtype: Dtype::Fp16,
        load: args.model_memory.load()?,
        terms: args.model_memory.terms(policy),
    };
    let usual = [served.dtype];
    let dtypes = if args.dtype.is_empty() { &usual[..] } else { &args.dtype };
    let mut models: Vec<ServedModel> = Vec::new();
    for &dtype in dtypes {
        if models.iter().all(|model| model.dtype != dtype) {
            models.push(ServedModel { dtype, ..served.clone() });
        }
    }
    Ok(models)
}

/// Where what is said of the model is from.
fn model_sources(args: &SelectArgs, served: &ServedModel) -> Vec<(&'static str, String)> {
    let passed = passed(args);
    let shape = served.model.shape_of;
    let shape = shape.map_or("flags".to_owned(), |name| format!("config.json of {name}"));
    let active = if served.model.is_mixture() { &shape } else { "all of a dense model" };
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
        (key, if passed.contains(flag) { typed(flag) } else { otherwise.to_owned() })
    })
    .to_vec()
}

/// Takes what the flags leave open from a workload, and what it is paid today.
fn of_workload(
    wanted: &mut Wanted,
    args: &SelectArgs,
    running: &RunningWorkload,
    policy: &Policy,
) -> Outcome<()> {
    let (name, kind) = (&running.today.name, running.workload.declared_kind());
    let sources = &mut wanted.sources;
    wanted.today = Some(running.today.clone());
    if wanted.kind == WorkloadKind::Unknown && kind != WorkloadKind::Unknown {
        wanted.kind = kind;
        sources.insert("kind", format!("tag of {name}"));
    }
    if running.workload.restartable && !wanted.restartable {
        wanted.restartable = true;
        sources.insert("restartable", format!("tag of {name}"));
    }
    if !wanted.models.is_empty() {
        wanted.measured = running.memory.clone();
        return Ok(());
    }
    let demand = match &running.demand {
        Ok(demand) => demand,
        // What is stated needs no measurement.
        Err(_) if args.vram.is_some() && args.gpus.is_some() => return Ok(()),
        Err(missing) => {
            return Err(refusal!("{name}: {missing}";
            "pass `--vram` and `--gpus`, or a model with `--params`; `gpucost metrics` shows \
             what is measured"));
        }
    };
    if args.gpus.is_none() {
        wanted.gpus = Some(GpuShare::Whole(demand.gpus_active.max(1)));
        sources.insert("gpus", format!("GPUs in use on an instance of {name}"));
    }
    if args.vram.is_none() {
        let (peak, headroom) = (demand.vram_peak_mib, policy.vram_headroom);
        wanted.vram_mib = Some(peak * headroom);
        sources.insert("vram_mib", format!("peak of {peak:.0} MiB of {name} × {headroom}"));
    }
    let headroom = policy.vcpu_headroom;
    if let Some(p95) = demand.memory_p95_mib.filter(|_| args.memory.is_none()) {
        wanted.memory_mib = Some(p95 * headroom);
        sources.insert("memory_mib", format!("p95 of {p95:.0} MiB of {name} × {headroom}"));
    }
    if let Some(p95) = demand.cpu_p95 {
        let cores = running.shape.vcpu;
        wanted.vcpu = Some(f64::from(cores) * p95 / 100.0 * headroom);
        sources.insert("vcpu", format!("p95 of {p95:.1}% of {cores} vCPUs of {name} × {headroom}"));
    }
    Ok(())
}

/// What the fullest whole GPU of a run held; absent where that or the type it ran on is unknown.
fn held(run: &RunProfile, file: &str, types: &[String]) -> Option<MeasuredMemory> {
    let held = run.whole().filter_map(|gpu| Some(gpu.vram_used_mib?.max));
    let stated = match types {
        [name] => Some(name.trim()),
        _ => None,
    };
    let ran_on = run.facts.instance_type.as_deref().or(stated)?;
    Some(MeasuredMemory {
        name: file.to_owned(),
        instance_type: ran_on.to_ascii_lowercase(),
        peak_mib: held.max_by(f64::total_cmp)?,
    })
}

/// Takes what the flags leave open from a run that was sampled.
fn of_run(
    wanted: &mut Wanted,
    args: &SelectArgs,
    run: &RunProfile,
    path: &Path,
    policy: &Policy,
) -> Outcome<()> {
    let file = shown(path);
    let used = run.gpus_used().ok_or_else(refused!(
        "{file} does not show whether every GPU was used";
        "pass `--vram` and `--gpus` instead"))?;
    let has_model = !wanted.models.is_empty();
    if has_model {
        wanted.measured = held(run, &file, &args.instance_types);
    }
    let sources = &mut wanted.sources;
    if args.gpus.is_none() && !has_model {
        let gpus = u16::try_from(used.max(1)).unwrap_or(u16::MAX);
        wanted.gpus = Some(GpuShare::Whole(gpus));
        sources.insert("gpus", format!("GPUs used in {file}"));
    }
    let needs_vram = args.vram.is_none() && !has_model && used > 0;
    let peak = run.fullest().and_then(|gpu| gpu.vram_used_mib);
    if let Some(peak) = peak.filter(|_| needs_vram) {
        let (peak, headroom) = (peak.max, policy.vram_headroom);
        wanted.vram_mib = Some(peak * headroom);
        sources.insert("vram_mib", format!("peak of {peak:.0} MiB in {file} × {headroom}"));
    }
    let headroom = policy.vcpu_headroom;
    if let Some(memory) = run.host.memory_used_mib.filter(|_| args.memory.is_none()) {
        let peak = memory.max;
        wanted.memory_mib = Some(peak * headroom);
        sources.insert("memory_mib", format!("peak of {peak:.0} MiB in {file} × {headroom}"));
    }
    if let Some((cores, busy)) = run.host.cores.zip(run.host.cpu_percent) {
        let p95 = busy.p95;
        let vcpu = f64::from(cores) * p95 / 100.0 * headroom;
        let source = format!("p95 of {p95:.1}% of {cores} CPUs in {file} × {headroom}");
        wanted.vcpu = Some(vcpu);
        if used == 0 && wanted.vcpu_without_gpu.is_none() {
            wanted.vcpu_without_gpu = Some(vcpu);
            sources.insert("vcpu_without_gpu", format!("no GPU was used; {source}"));
        }
        sources.insert("vcpu", source);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_above_zero() {
        assert_eq!(needed_mib("40GiB"), Ok(40_960.0));
        assert_eq!(gpus("8"), Ok(GpuShare::Whole(8)));
        assert_eq!(gpus("0.25"), Ok(GpuShare::Fraction(Decimal::new(25, 2))));
        for bad in ["0", "-1", "1.5", "257", "nan", ""] {
            assert!(gpus(bad).is_err(), "{bad}");
        }
        assert!(needed_mib("0GiB").is_err() && needed_mib("-1GiB").is_err());
    }
}
