//! Summarising a log that somebody has already.

use super::args::ProfileArgs;
use super::clock::signed;
use super::summary::{self, Pricing};
use crate::cli::Io;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::profile_data::unreadable;
use crate::config::SettingsFile;
use crate::domain::{Cause, CauseKind, Gap, GapSubject, RunEnd};
use crate::profiling::{Cadence, Profiler};
use crate::report::elapsed_words;
use crate::sources::aws::InstancePlace;
use crate::sources::files::{ReadOptions, open_samples};
use std::path::Path;

pub(super) fn summarise(
    path: &Path,
    args: &ProfileArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let mut pricing = Pricing::of(args, settings, io)?;
    let options = ReadOptions {
        zone: args.read_zone.clone(),
        columns: args.read_columns.clone(),
        interval: args.interval,
    };
    let mut samples = open_samples(path, &options).map_err(unreadable)?;
    let mut facts = samples.facts().clone();
    // What the flags say of the host outranks what the log says.
    facts.instance_type = args.instance_type.clone().or(facts.instance_type);
    facts.region = args.region.clone().or(facts.region);
    let mut place = InstancePlace {
        instance_id: facts.instance_id.clone(),
        instance_type: facts.instance_type.clone(),
        region: facts.region.clone(),
        is_spot: None,
    };
    let mut cadence = Cadence::new(&facts, args.interval.map(signed));
    let mut profiler = Profiler::new(facts, &settings.policy)
        .with_interval(args.interval.map(|interval| interval.as_secs_f64()));
    let mut last_seconds = 0.0;
    for sample in &mut samples {
        let sample = sample.map_err(unreadable)?;
        profiler.add(&sample);
        cadence.sampled(&sample);
        last_seconds = sample.at_seconds;
    }
    cadence.ended(samples.end());
    let end = samples.end().cloned().unwrap_or(RunEnd {
        elapsed_seconds: last_seconds,
        exit_code: None,
        spot: None,
        units: Vec::new(),
    });
    // Only spot instances get notices.
    let is_announced = (end.spot.as_ref()).is_some_and(|spot| spot.interruption.is_some());
    place.is_spot = is_announced.then_some(true);
    let mut gaps = samples.gaps();
    let is_ours = samples.facts().interval_seconds.is_some();
    gaps.extend(hole(&cadence, is_ours, samples.place()));
    gaps.extend(samples.unread());
    pricing.settle(&place, &samples.facts().gpus, &mut gaps);
    let report = pricing.report(profiler.finish(end, cadence.pace()), gaps);
    summary::print(&report, args, io)?;
    Ok(ExitCode::Done)
}

/// The longest time without a sample, as a gap.
fn hole(cadence: &Cadence, is_ours: bool, place: &str) -> Option<Gap> {
    let hole = cadence.longest_hole()?;
    let kind = if is_ours {
        CauseKind::SamplerPaused
    } else {
        CauseKind::LogPaused
    };
    let pace = cadence.pace();
    let missed = pace.missed?;
    let cause = Cause::of(
        kind,
        [
            &missed.to_string(),
            &pace.taken.saturating_add(missed).to_string(),
            &elapsed_words(hole.seconds),
            &elapsed_words(hole.from_seconds),
        ],
    );
    Some(Gap::of(GapSubject::Samples, place, cause))
}
