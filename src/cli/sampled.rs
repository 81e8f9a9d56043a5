//! What a run that was sampled used, for planners.

use super::exit::Failure;
use super::profile_data::unreadable;
use crate::config::SettingsFile;
use crate::domain::RunEnd;
use crate::profiling::{Cadence, Profiler, RunProfile};
use crate::sources::files::{ReadOptions, open_samples};
use std::path::Path;

/// The profile of a file of samples or of a log of nvidia-smi.
pub(super) fn profile_of(path: &Path, settings: &SettingsFile) -> Result<RunProfile, Failure> {
    let mut samples = open_samples(path, &ReadOptions::default()).map_err(unreadable)?;
    let facts = samples.facts().clone();
    let mut cadence = Cadence::new(&facts, None);
    let mut profiler = Profiler::new(facts, &settings.policy);
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
    Ok(profiler.finish(end, cadence.pace()))
}
