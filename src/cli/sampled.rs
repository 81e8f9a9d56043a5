//! What a run that was sampled used, from its file.

use super::{Failure, Outcome};
use crate::config::SettingsFile;
use crate::domain::{RunEnd, RunFacts, shown};
use crate::profiling::{Cadence, NamedProfile, Profiler, Reducer, RunProfile, join_profiles};
use crate::sources::files::{ReadOptions, SampleReader, SamplesError, open_samples};
use crate::usage::Estate;
use jiff::SignedDuration;
use std::path::{Path, PathBuf};

/// Opens every file, so that an error in a name shows before a cloud is asked.
pub(super) fn open_all(paths: &[PathBuf]) -> Outcome<Vec<(String, SampleReader)>> {
    let open = |path: &PathBuf| {
        Ok((shown(path), open_samples(path, &ReadOptions::default()).map_err(unreadable)?))
    };
    paths.iter().map(open).collect()
}

/// Reads the files to their ends and joins them into an estate: each reduced to the grid of its
/// window, in memory that the window bounds.
pub(super) fn join(estate: &mut Estate, files: Vec<(String, SampleReader)>) -> Outcome<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut profiles = Vec::with_capacity(files.len());
    for (name, mut file) in files {
        let mut reducer = Reducer::new(file.facts().clone(), estate.window, estate.period_seconds);
        for sample in &mut file {
            reducer.add(&sample.map_err(unreadable)?);
        }
        estate.gaps.extend(file.gaps());
        profiles.push(NamedProfile { name, profiled: reducer.finish(file.end()) });
    }
    join_profiles(estate, profiles);
    Ok(())
}

pub(super) fn unreadable(error: SamplesError) -> Failure {
    Failure::hinted(error.hint())(error)
}

/// The profile of a file of samples or of a log of nvidia-smi.
pub(super) fn profile_of(path: &Path, settings: &SettingsFile) -> Outcome<RunProfile> {
    let mut samples = open_samples(path, &ReadOptions::default()).map_err(unreadable)?;
    let facts = samples.facts().clone();
    Ok(read(&mut samples, facts, None, settings)?.0)
}

/// Reads a file to its end, with what is known of its host, and the interval that somebody
/// states.
pub(super) fn read(
    samples: &mut SampleReader,
    facts: RunFacts,
    interval: Option<SignedDuration>,
    settings: &SettingsFile,
) -> Outcome<(RunProfile, Cadence)> {
    let mut cadence = Cadence::new(&facts, interval);
    let mut profiler = Profiler::new(facts, &settings.policy)
        .with_interval(interval.map(|interval| interval.as_secs_f64()));
    let mut last_seconds = 0.0;
    for sample in &mut *samples {
        let sample = sample.map_err(unreadable)?;
        profiler.add(&sample);
        cadence.sampled(&sample);
        last_seconds = sample.at_seconds;
    }
    cadence.ended(samples.end());
    let cut_short = RunEnd { elapsed_seconds: last_seconds, ..RunEnd::default() };
    let end = samples.end().cloned().unwrap_or(cut_short);
    Ok((profiler.finish(end, cadence.pace()), cadence))
}
