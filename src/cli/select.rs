//! `gpucost select`: which type to rent.

use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::select_args::SelectArgs;
use super::{Io, audit, estate, output, planner, pricing, sampled};
use crate::analysis::{AWS, GpuFilter, Question, SortBy, select_types};
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::{GpuShare, Policy, shown};
use crate::planners::select::{Budget, Refusal, Selection, Wanted, vcpus_for};
use crate::profiling::RunProfile;
use crate::report::select_answer;
use crate::report::text::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) fn run(args: &SelectArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.catalog.out, io)?;
    let format = audit::format(args.catalog.format, &settings, io)?;
    let age = PriceAge::of(args.catalog.max_price_age.as_deref(), &settings)?;
    let question = question(args, &settings, io)?;
    let wanted = wanted(args, &question, &settings)?;
    let book = pricing::book(args.catalog.offline, &settings, io)?;
    let policy = &settings.policy;
    let prices = Prices::new(&book, &policy.discount_percent);
    pricing::refuse_unknown(&question, &prices)?;
    let found = select_types(&question, wanted, &prices, policy);
    let quotes = found
        .fits
        .iter()
        .filter_map(|one| one.offered.quote(one.paying));
    let warning = age.check(quotes.map(|quote| quote.seen_on).min(), io.now)?;
    let code = planner::print(&select_answer(&found), format, &args.catalog.out, io)?;
    output::warn(warning, &args.catalog.out, io);
    if found.fits.is_empty() {
        output::complain(&nothing(&found), hint(&found), io);
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
        &args.catalog.out,
        io,
    );
    Ok(code)
}

fn hint(found: &Selection) -> &'static str {
    match found.refused.first().map(|one| &one.reason) {
        Some(Refusal::Currency) => {
            "budgets are in dollars: omit the budget, or pass a `--region` with prices in dollars"
        }
        _ => {
            "raise the budget, lower the need that the nearest type misses, or search other \
             regions with `--region all`"
        }
    }
}

fn nothing(found: &Selection) -> String {
    let nearest = found.refused.first().map(|one| {
        let name = &one.offered.shape.instance_type;
        format!("; the nearest is {name}: {}", one.reason)
    });
    format!("no instance type fits{}", nearest.unwrap_or_default())
}

fn question(args: &SelectArgs, settings: &SettingsFile, io: &Io<'_>) -> Result<Question, Failure> {
    let gpu = args.gpu.as_deref().map(GpuFilter::parse).transpose();
    let gpu = gpu.map_err(|message| {
        Failure::input(message)
            .with_hint("use `--gpu MODEL`, `--gpu MODEL:SIZE` or a range of sizes")
    })?;
    let regions = args.region.as_deref().unwrap_or_default().split(',');
    let regions = regions.map(str::trim).filter(|name| !name.is_empty());
    Ok(Question {
        instance_types: Vec::new(),
        gpu,
        count: None,
        regions: regions.map(str::to_owned).collect(),
        home_region: pricing::home_region(settings, io),
        providers: BTreeSet::from([AWS.to_owned()]),
        operating_system: pricing::operating_system(&args.catalog.os)?,
        sort: SortBy::Price,
    })
}

fn wanted(
    args: &SelectArgs,
    question: &Question,
    settings: &SettingsFile,
) -> Result<Wanted, Failure> {
    let policy = &settings.policy;
    let filter = question.gpu.as_ref();
    let mut wanted = Wanted {
        kind: args.kind,
        restartable: args.restartable,
        paying: args.rank_by.map(super::select_args::RankChoice::paying),
        gpus: args.gpus.unwrap_or(GpuShare::Whole(1)),
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
        sources: BTreeMap::new(),
    };
    if args.gpus.is_none() {
        wanted.sources.insert("gpus", "default".to_owned());
    }
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
        measure(&mut wanted, args, &run, path, policy)?;
    }
    if wanted.nvlink && wanted.gpus.visible_devices() < 2 {
        return Err(Failure::input(
            "`--nvlink` links the GPUs of an instance, and one GPU is asked for",
        )
        .with_hint("pass `--gpus 2` or more, or omit `--nvlink`"));
    }
    Ok(wanted)
}

/// Takes what the flags leave open from a run that was sampled.
fn measure(
    wanted: &mut Wanted,
    args: &SelectArgs,
    run: &RunProfile,
    path: &Path,
    policy: &Policy,
) -> Result<(), Failure> {
    let file = shown(path);
    let Some(used) = run.gpus_used() else {
        return Err(
            Failure::input(format!("{file} does not show whether every GPU was used"))
                .with_hint("pass `--vram` and `--gpus` instead"),
        );
    };
    if args.gpus.is_none() {
        wanted.gpus = GpuShare::Whole(u16::try_from(used.max(1)).unwrap_or(u16::MAX));
        wanted
            .sources
            .insert("gpus", format!("GPUs used in {file}"));
    }
    let peak = run.fullest().and_then(|gpu| gpu.vram_used_mib);
    if let Some(peak) = peak
        && args.vram.is_none()
        && used > 0
    {
        let headroom = policy.vram_headroom;
        wanted.vram_mib = Some(peak.max * headroom);
        let source = format!("peak of {:.0} MiB in {file} × {headroom}", peak.max);
        wanted.sources.insert("vram_mib", source);
    }
    let headroom = policy.vcpu_headroom;
    if let Some(memory) = run.host.memory_used_mib
        && args.memory.is_none()
    {
        wanted.memory_mib = Some(memory.max * headroom);
        let source = format!("peak of {:.0} MiB in {file} × {headroom}", memory.max);
        wanted.sources.insert("memory_mib", source);
    }
    if let Some((cores, busy)) = run.host.cores.zip(run.host.cpu_percent) {
        let vcpu = f64::from(cores) * busy.p95 / 100.0 * headroom;
        let source = format!(
            "p95 of {:.1}% of {cores} CPUs in {file} × {headroom}",
            busy.p95
        );
        wanted.vcpu = Some(vcpu);
        wanted.sources.insert("vcpu", source.clone());
        if used == 0 && wanted.vcpu_without_gpu.is_none() {
            wanted.vcpu_without_gpu = Some(vcpu);
            let source = format!("no GPU was used; {source}");
            wanted.sources.insert("vcpu_without_gpu", source);
        }
    }
    Ok(())
}
