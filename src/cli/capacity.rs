//! `gpucost capacity`: how many GPUs a rate of requests needs.

use super::capacity_args::CapacityArgs;
use super::capacity_measured::{Measured, gpu_question, invalid, uncounted};
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::{Io, audit, batching, estate, output, planner, pricing};
use crate::catalog::{self, Prices};
use crate::config::SettingsFile;
use crate::domain::{AcceleratorKind, InstanceShape, PriceKey, shown};
use crate::planners::capacity::{
    CapacityQuestion, Demand, Load, Objective, RequestCounts, Service, Types, Zones, capacity,
};
use crate::report::capacity_answer;
use crate::sources::files::{read_arrivals, read_request_counts};
use std::path::Path;

pub(super) fn run(args: &CapacityArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    if args.batches.is_stated() {
        return batching::run(args, io);
    }
    if let Some(flag) = args.batches.stray() {
        return Err(
            Failure::input(format!("`--{flag}` is about batches")).with_hint(
                "pass their throughput as in `--curve 1:35,8:210,32:520`, or a `--model` and its \
             `--type`",
            ),
        );
    }
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let samples = args.estate.profile_data.iter();
    let samples = samples.map(|path| ("--profile-data", Some(path.as_path())));
    let read = samples.chain([
        ("--arrivals", args.arrivals.as_deref()),
        ("--request-counts", args.request_counts.as_deref()),
    ]);
    planner::check_output(&read.collect::<Vec<_>>(), &args.estate.out)?;
    let requests = match &args.arrivals {
        Some(path) => read_arrivals(path).map_err(|error| {
            Failure::new(ExitCode::Input, error)
                .with_hint("see docs/planners/capacity.md for the columns")
        })?,
        None => Vec::new(),
    };
    let counts = match &args.request_counts {
        Some(path) => Some(counted(path, args)?),
        None => None,
    };
    let measured = Measured::of(args, (&requests, counts.as_ref()), &settings, io)?;
    let prices = Prices::new(&measured.prices, &settings.policy.discount_percent);
    let place = measured.place.as_ref();
    let question = CapacityQuestion {
        service: service(args, &measured, counts.as_ref(), &settings),
        basis: measured.basis.clone(),
        is_target_stated: args.target.is_some(),
        arrivals_file: args.arrivals.as_deref().map(shown),
        counts: counts.as_ref(),
        types: match place {
            Some((shape, key)) => Some(Types {
                measured: shape,
                others: others(args, key, &prices)?,
                vram_peak_mib: args.vram_peak,
                vram_headroom: settings.policy.vram_headroom,
                bound: args.bound,
                prices: &prices,
                key,
            }),
            None => None,
        },
    };
    let plan = capacity(question).map_err(|error| invalid(error, args))?;
    let candidates = plan.candidates.iter();
    let fits = candidates.filter_map(|candidate| candidate.fits.as_ref().ok());
    let quotes = fits.filter_map(|fits| fits.quote.as_ref());
    let warning = age.check(quotes.map(|quote| quote.seen_on).min(), io.now)?;
    let code = planner::print(&capacity_answer(&plan), format, &args.estate.out, io)?;
    output::warn(warning, &args.estate.out, io);
    Ok(match &measured.seen {
        Some((count, gaps)) => output::close("analyzed", *count, 0, gaps, &args.estate, io),
        None => code,
    })
}

/// Requests of a file, with the peak that is asked for.
fn counted(path: &Path, args: &CapacityArgs) -> Result<RequestCounts, Failure> {
    let counts = read_request_counts(path).map_err(|error| {
        Failure::new(ExitCode::Input, error)
            .with_hint("see docs/planners/capacity.md for the commands that write such a file")
    })?;
    // The flag has at most eleven days.
    let period = args.request_period;
    let period = period.map(|seconds| (seconds * 1_000.0).round() as i64);
    RequestCounts::new(&shown(path), counts, (period, args.request_peak))
        .map_err(|error| uncounted(&error))
}

fn service<'a>(
    args: &CapacityArgs,
    measured: &'a Measured,
    counts: Option<&RequestCounts>,
    settings: &SettingsFile,
) -> Service<'a> {
    let of_policy = settings.policy.serving_target_percent;
    let recording = measured.recording.as_ref();
    let recorded = recording.map(|recording| recording.per_second);
    let counted = counts.map(|counts| counts.peak_per_second);
    let tokens = recording.and_then(|recording| recording.mean_tokens);
    Service {
        load: Load {
            demand: recording.map_or(Demand::Random, Demand::Recorded),
            per_second: args.rate.or(counted).or(recorded).unwrap_or_default(),
            headroom_percent: args.headroom,
            gpu: measured.gpu,
            target_percent: args.target.map_or(of_policy, |share| share * 100.0),
            objective: args.objective.map(|seconds| Objective {
                seconds,
                percentile: args.percentile,
            }),
            service_times: args.service_times.into(),
        },
        mean_per_second: counts.map(|counts| counts.mean_per_second),
        zones: Zones {
            count: args.zones,
            survive: args.survive_zones,
        },
        tokens_per_request: tokens.or(args.tokens_per_request),
        hours_per_month: settings.policy.hours_per_month,
    }
}

/// The other types that are asked for, where they are sold.
fn others(
    args: &CapacityArgs,
    key: &PriceKey,
    prices: &Prices<'_>,
) -> Result<Vec<&'static InstanceShape>, Failure> {
    let question = gpu_question(args.gpu.as_deref(), &key.region, key.operating_system)?;
    if question.gpu.is_none() && args.vram_peak.is_none() {
        return Ok(Vec::new());
    }
    pricing::refuse_unknown(&question, prices)?;
    let is_asked = |shape: &&InstanceShape| {
        let offer = shape.gpu.as_ref();
        let offer = offer.filter(|_| shape.accelerator == AcceleratorKind::Gpu);
        offer.is_some_and(|offer| {
            let filter = question.gpu.as_ref();
            filter.is_none_or(|filter| filter.matches(offer.model.name(), offer.vram_mib))
        })
    };
    let is_sold = |shape: &&InstanceShape| {
        let name = &shape.instance_type;
        catalog::bundled_regions_of(name).contains(&key.region.as_str())
            || prices
                .gathered_regions_of(name)
                .contains(key.region.as_str())
    };
    Ok(catalog::shapes().filter(is_asked).filter(is_sold).collect())
}
