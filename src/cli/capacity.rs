//! `gpucost capacity`: how many GPUs a rate of requests needs.

use super::capacity_args::CapacityArgs;
use super::capacity_measured::{Measured, invalid};
use super::model_args::typed;
use super::planning::Planning;
use super::{Failure, Io, Outcome, capacity_batches, known_prices, output, refusal};
use crate::analysis::Question;
use crate::catalog::{self, Prices};
use crate::config::SettingsFile;
use crate::domain::{AcceleratorKind, InstanceShape, PriceKey, shown};
use crate::planners::capacity::{
    CapacityQuestion, Demand, Load, Objective, RequestCounts, Service, Types, Zones, capacity,
};
use crate::report::planners::capacity::capacity_answer;
use crate::sources::files::{read_arrivals, read_request_counts};
use std::path::Path;

pub(super) fn run(args: &CapacityArgs, io: &mut Io<'_>) -> Outcome {
    if args.batches.is_stated() {
        return capacity_batches::run(args, io);
    }
    if let Some(flag) = args.batches.stray() {
        return Err(refusal!("`{}` is about batches", typed(flag);
            "pass their throughput as in `--curve 1:35,8:210,32:520`, or a `--model` and its \
             `--type`"));
    }
    let samples = args.estate.profile_data.iter();
    let read = samples.map(|path| ("--profile-data", Some(path.as_path()))).chain([
        ("--arrivals", args.arrivals.as_deref()),
        ("--request-counts", args.request_counts.as_deref()),
    ]);
    let read: Vec<_> = read.collect();
    let planning = Planning::of_estate(&args.estate, args.format, &read, io)?;
    let settings = &planning.settings;
    let requests = args.arrivals.as_deref().map(read_arrivals).transpose();
    let requests =
        requests.map_err(Failure::hinted("see docs/planners/capacity.md for the columns"))?;
    let requests = requests.unwrap_or_default();
    let counts = args.request_counts.as_deref().map(|path| counted(path, args)).transpose()?;
    let measured = Measured::of(args, (&requests, counts.as_ref()), settings, io)?;
    let prices = planning.prices(&measured.prices);
    let place = measured.place.as_ref();
    let question = CapacityQuestion {
        service: service(args, &measured, counts.as_ref(), settings),
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
    let fits = plan.candidates.iter().filter_map(|candidate| candidate.fits.as_ref().ok());
    let oldest = fits.filter_map(|fits| fits.quote.as_ref()).map(|quote| quote.seen_on).min();
    let code = planning.print(&capacity_answer(&plan), None, (oldest, io.now), io)?;
    Ok(match &measured.seen {
        Some((count, gaps)) => output::close("analyzed", (*count, 0), gaps, &args.estate, io),
        None => code,
    })
}

/// Requests of a file, with the peak that is asked for.
fn counted(path: &Path, args: &CapacityArgs) -> Outcome<RequestCounts> {
    let counts = read_request_counts(path).map_err(Failure::hinted(
        "see docs/planners/capacity.md for the commands that write such a file",
    ))?;
    // The flag has at most eleven days.
    let period = args.request_period.map(|seconds| (seconds * 1_000.0).round() as i64);
    Ok(RequestCounts::new(&shown(path), counts, (period, args.request_peak))?)
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
            objective: args
                .objective
                .map(|seconds| Objective { seconds, percentile: args.percentile }),
            service_times: args.service_times,
        },
        mean_per_second: counts.map(|counts| counts.mean_per_second),
        zones: Zones { count: args.zones, survive: args.survive_zones },
        tokens_per_request: tokens.or(args.tokens_per_request),
        hours_per_month: settings.policy.hours_per_month,
    }
}

/// The other types that are asked for, where they are sold.
fn others(
    args: &CapacityArgs,
    key: &PriceKey,
    prices: &Prices<'_>,
) -> Outcome<Vec<&'static InstanceShape>> {
    let question = Question {
        gpu: known_prices::gpu_filter(args.gpu.as_deref())?,
        home_region: key.region.clone(),
        operating_system: key.operating_system,
        ..Question::of_aws(Vec::new(), Vec::new())
    };
    if question.gpu.is_none() && args.vram_peak.is_none() {
        return Ok(Vec::new());
    }
    known_prices::refuse_unknown(&question, prices)?;
    let is_asked = |shape: &&InstanceShape| {
        let offer = shape.gpu.as_ref().filter(|_| shape.accelerator == AcceleratorKind::Gpu);
        offer.is_some_and(|offer| {
            let filter = question.gpu.as_ref();
            filter.is_none_or(|filter| filter.matches(offer.model.name(), offer.vram_mib))
        })
    };
    let is_sold = |shape: &&InstanceShape| {
        let name = &shape.instance_type;
        catalog::bundled_regions(Some(name)).contains(&key.region.as_str())
            || prices.gathered_regions_of(name).contains(key.region.as_str())
    };
    Ok(catalog::shapes().filter(is_asked).filter(is_sold).collect())
}
