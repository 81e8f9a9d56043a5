//! The library that plays traces: where it is, and copies of it that each play
//! a trace of their own, so that tests may run side by side.

use gpucost::domain::{GpuReading, GpuSample};
use gpucost::sources::GpuSource;
use gpucost::sources::nvml::{NvmlError, NvmlSource, Record};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// The library as it was built. For a run of the program in a child process:
/// this path, with `GPUCOST_NVML_TRACE` naming the trace and
/// `GPUCOST_NVML_CLOCK=step` or none. It is built here when a test target that
/// runs alone finds none, or one older than its sources.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().expect("tests have a path");
        let profile = test.ancestors().nth(2).expect("it is in deps");
        let library = profile.join("examples/libnvml_stub.so");
        if changed(&library).is_none_or(|built| built < newest_source()) {
            build(profile);
        }
        assert!(library.is_file(), "{} was not built", library.display());
        library
    })
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn newest_source() -> SystemTime {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvml-stub");
    let files = fs::read_dir(folder).expect("the sources are here");
    let times = files.filter_map(|file| changed(&file.expect("a file").path()));
    times.max().expect("there are sources")
}

fn build(profile: &Path) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--example", "nvml-stub"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.arg("--target-dir").arg(profile.parent().expect("target"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.status().expect("cargo runs");
    assert!(built.success(), "the stub does not build");
}

/// The trace of a fixture.
pub fn trace(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvml");
    fixtures.join(name).join("trace.jsonl")
}

/// A copy of the library that plays a trace, a line for every sample.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Plays a text.
    pub fn of_text(trace: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        // A copy, because the loader takes two names of one file for the same
        // library.
        fs::copy(library(), folder.path().join("libnvml.so")).expect("room for a copy");
        fs::write(folder.path().join("trace.jsonl"), trace).expect("room for a trace");
        fs::write(folder.path().join("clock"), "step").expect("room for a word");
        Self { folder }
    }

    /// Plays a fixture.
    pub fn of(fixture: &str) -> Self {
        Self::of_text(&fs::read_to_string(trace(fixture)).expect("the fixture is here"))
    }

    /// With another clock than `step`.
    pub fn with_clock(self, clock: &str) -> Self {
        fs::write(self.folder.path().join("clock"), clock).expect("room for a word");
        self
    }

    /// The copy.
    pub fn library(&self) -> PathBuf {
        self.folder.path().join("libnvml.so")
    }

    /// A file beside it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Opens it.
    pub fn try_open(&self) -> Result<NvmlSource, NvmlError> {
        self.open_with(None)
    }

    /// Opens it and records to a file.
    pub fn open_with(&self, record: Option<&Path>) -> Result<NvmlSource, NvmlError> {
        let record = record.map(|path| {
            let file = fs::File::create(path).expect("room for a trace");
            Box::new(file) as Record
        });
        NvmlSource::open(Some(&self.library()), record)
    }

    /// Opens it, which works.
    pub fn open(&self) -> NvmlSource {
        self.try_open().expect("the stub opens")
    }
}

/// A sample of a second.
pub fn sample(source: &mut NvmlSource, second: f64) -> Vec<GpuSample> {
    source.read(Duration::from_secs_f64(second))
}

/// The reading of a GPU that answered.
pub fn reading(samples: &[GpuSample], row: usize) -> &GpuReading {
    let sample = &samples[row];
    sample.reading().unwrap_or_else(|| panic!("row {row}: {sample:?}"))
}

/// The metrics that are missing, each with its place.
pub fn missing(source: &NvmlSource) -> Vec<(String, String)> {
    let gaps = source.gaps().into_iter();
    gaps.map(|gap| (gap.what.to_string(), gap.place)).collect()
}
