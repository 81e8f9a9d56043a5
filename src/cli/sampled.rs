//! What a run that was sampled used, from its file.

use super::exit::Failure;
use super::profile_data::unreadable;
use crate::config::SettingsFile;
use crate::domain::{RunEnd, RunFacts};
use crate::profiling::{Cadence, Profiler, RunProfile};
use crate::sources::files::{ReadOptions, SampleReader, open_samples};
use jiff::SignedDuration;
use std::path::Path;

/// The profile of a file of samples or of a log of nvidia-smi.
pub(super) fn profile_of(path: &Path, settings: &SettingsFile) -> Result<RunProfile, Failure> {
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
) -> Result<(RunProfile, Cadence), Failure> {
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
    let end = samples.end().cloned().unwrap_or(RunEnd {
        elapsed_seconds: last_seconds,
        exit_code: None,
        spot: None,
        units: Vec::new(),
    });
    Ok((profiler.finish(end, cadence.pace()), cadence))
}
