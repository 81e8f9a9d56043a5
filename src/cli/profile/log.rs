//! Summarising a log that somebody has already.

use super::args::ProfileArgs;
use super::clock::signed;
use super::summary::{self, Pricing};
use crate::cli::sampled::unreadable;
use crate::cli::{ExitCode, Io, Outcome, sampled};
use crate::config::SettingsFile;
use crate::domain::{Cause, CauseKind, Gap, GapSubject};
use crate::profiling::Cadence;
use crate::report::elapsed_words;
use crate::sources::aws::InstancePlace;
use crate::sources::files::{ReadOptions, open_samples};
use std::path::Path;

pub(super) fn summarise(
    path: &Path,
    args: &ProfileArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome {
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
    let (profile, cadence) =
        sampled::read(&mut samples, facts, args.interval.map(signed), settings)?;
    let facts = &profile.facts;
    // Only spot instances get notices.
    let spot = profile.end.spot.as_ref();
    let is_announced = spot.is_some_and(|spot| spot.interruption.is_some());
    let place = InstancePlace {
        instance_id: facts.instance_id.clone(),
        instance_type: facts.instance_type.clone(),
        region: facts.region.clone(),
        is_spot: is_announced.then_some(true),
    };
    let mut gaps = samples.gaps();
    gaps.extend(hole(&cadence, samples.facts().interval_seconds.is_some(), samples.place()));
    gaps.extend(samples.unread());
    pricing.settle(&place, &samples.facts().gpus, &mut gaps);
    summary::print(&pricing.report(profile, gaps), args, io)?;
    Ok(ExitCode::Done)
}

/// The longest time without a sample, as a gap.
fn hole(cadence: &Cadence, is_ours: bool, place: &str) -> Option<Gap> {
    let hole = cadence.longest_hole()?;
    let kind = if is_ours { CauseKind::SamplerPaused } else { CauseKind::LogPaused };
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
