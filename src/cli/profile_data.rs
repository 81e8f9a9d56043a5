//! `--profile-data`: samples from a host, beside what the cloud says.

use super::exit::Failure;
use crate::domain::{Estate, Gap, Window};
use crate::profiling::{NamedProfile, Reducer, RunEnd, RunFacts, Sample, join_profiles};
use std::path::{Path, PathBuf};

/// A file of samples that is open: what it was taken on, then look after look.
pub(super) trait SampleFile {
    /// What the run was taken on.
    fn facts(&self) -> &RunFacts;
    /// The next look; `None` after the last.
    fn next_sample(&mut self) -> Option<Result<Sample, Failure>>;
    /// How the run ended, once every look was read; `None` when it was cut short.
    fn end(&self) -> Option<&RunEnd>;
    /// What of the file could not be read, once every look was.
    fn gaps(&self) -> Vec<Gap>;
}

/// Opens every file, so that a slip in a name shows before a cloud is asked.
pub(super) fn open_all(paths: &[PathBuf]) -> Result<Vec<(String, Samples)>, Failure> {
    paths
        .iter()
        .map(|path| Ok((path.display().to_string(), open(path)?)))
        .collect()
}

/// Reads the files and joins them into an estate.
pub(super) fn join(
    estate: &mut Estate,
    files: Vec<(String, impl SampleFile)>,
) -> Result<(), Failure> {
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
    files: Vec<(String, impl SampleFile)>,
    window: Window,
    period_seconds: u32,
) -> Result<(Vec<NamedProfile>, Vec<Gap>), Failure> {
    let mut profiles = Vec::with_capacity(files.len());
    let mut gaps = Vec::new();
    for (name, mut file) in files {
        let mut reducer = Reducer::new(file.facts().clone(), window, period_seconds);
        while let Some(sample) = file.next_sample() {
            reducer.add(&sample?);
        }
        gaps.extend(file.gaps());
        let profiled = reducer.finish(file.end());
        profiles.push(NamedProfile { name, profiled });
    }
    Ok((profiles, gaps))
}

/// The files of samples that this program can read.
pub(super) enum Samples {}

fn open(path: &Path) -> Result<Samples, Failure> {
    Err(Failure::input(format!(
        "cannot read the samples {}: `--profile-data` has no reader yet",
        path.display()
    )))
}

impl SampleFile for Samples {
    fn facts(&self) -> &RunFacts {
        match *self {}
    }

    fn next_sample(&mut self) -> Option<Result<Sample, Failure>> {
        match *self {}
    }

    fn end(&self) -> Option<&RunEnd> {
        match *self {}
    }

    fn gaps(&self) -> Vec<Gap> {
        match *self {}
    }
}
