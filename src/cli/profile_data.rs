//! `--profile-data`: samples from a host, beside what the cloud says.

use super::exit::{ExitCode, Failure};
use crate::domain::{Gap, Window, shown};
use crate::profiling::{NamedProfile, Reducer, join_profiles};
use crate::sources::files::{ReadOptions, SampleReader, SamplesError, open_samples};
use crate::usage::Estate;
use std::path::PathBuf;

/// Opens every file, so that an error in a name shows before a cloud is asked.
pub(super) fn open_all(paths: &[PathBuf]) -> Result<Vec<(String, SampleReader)>, Failure> {
    let open = |path: &PathBuf| {
        let samples = open_samples(path, &ReadOptions::default()).map_err(unreadable)?;
        Ok((shown(path), samples))
    };
    paths.iter().map(open).collect()
}

/// Reads the files and joins them into an estate.
pub(super) fn join(estate: &mut Estate, files: Vec<(String, SampleReader)>) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let (profiles, gaps) = read_profiles(files, estate.window, estate.period_seconds)?;
    estate.gaps.extend(gaps);
    join_profiles(estate, profiles);
    Ok(())
}

/// Reads files of samples to their ends, each reduced to the grid of a window, in
/// memory that the window bounds.
fn read_profiles(
    files: Vec<(String, SampleReader)>,
    window: Window,
    period_seconds: u32,
) -> Result<(Vec<NamedProfile>, Vec<Gap>), Failure> {
    let mut profiles = Vec::with_capacity(files.len());
    let mut gaps = Vec::new();
    for (name, mut file) in files {
        let mut reducer = Reducer::new(file.facts().clone(), window, period_seconds);
        for sample in &mut file {
            reducer.add(&sample.map_err(unreadable)?);
        }
        gaps.extend(file.gaps());
        let profiled = reducer.finish(file.end());
        profiles.push(NamedProfile { name, profiled });
    }
    Ok((profiles, gaps))
}

pub(super) fn unreadable(error: SamplesError) -> Failure {
    let hint = error.hint();
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
