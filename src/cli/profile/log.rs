//! Summarising a log that somebody has already.

use super::args::ProfileArgs;
use super::summary::{self, Pricing};
use crate::cli::Io;
use crate::cli::exit::{ExitCode, Failure};
use crate::config::SettingsFile;
use crate::profiling::{Pace, Profiler, RunEnd};
use crate::sources::aws::InstancePlace;
use crate::sources::files::{ReadOptions, SamplesError, open_samples};
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
    let place = InstancePlace {
        instance_id: facts.instance_id.clone(),
        instance_type: facts.instance_type.clone(),
        region: facts.region.clone(),
        is_spot: None,
    };
    let mut profiler = Profiler::new(facts, &settings.policy);
    let mut pace = Pace::default();
    let mut last_seconds = 0.0;
    for sample in &mut samples {
        let sample = sample.map_err(unreadable)?;
        profiler.add(&sample);
        pace.taken += 1;
        last_seconds = sample.at_seconds;
    }
    let end = samples.end().cloned().unwrap_or(RunEnd {
        elapsed_seconds: last_seconds,
        exit_code: None,
    });
    let mut gaps = samples.gaps();
    pricing.settle(&place, &mut gaps);
    let report = pricing.report(profiler.finish(end, pace), gaps);
    summary::print(&report, args, io)?;
    Ok(ExitCode::Done)
}

fn unreadable(error: SamplesError) -> Failure {
    let hint = error.hint();
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
