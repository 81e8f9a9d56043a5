//! What the samples of a host say about its GPUs. Sampling itself is a source.

mod alerts;
mod bottleneck;
mod busy;
mod diagnosis;
mod gpu;
mod host;
mod join;
#[cfg(test)]
mod losses_tests;
mod pace;
#[cfg(test)]
mod page_tests;
mod periods;
mod phases;
mod power;
mod profile;
mod profiled;
mod profiler;
mod rules;
#[cfg(test)]
mod scenes;
mod signals;
#[cfg(test)]
mod size_tests;
mod tallies;
mod verdict;
mod windows;

pub use alerts::{Alert, AlertKind};
pub use bottleneck::{Bottleneck, Sign, Tier};
pub use busy::BusyGpus;
pub use diagnosis::Diagnosis;
pub use host::HostProfile;
pub use join::{NamedProfile, join_profiles};
pub use pace::{Cadence, Hole, Pace, Pacer};
pub use periods::{OutsideSamples, PeriodPoints, Periods};
pub use phases::{Phase, PhaseKind};
pub use profile::{
    GpuProfile, LostGpu, PowerBasis, PowerFigures, RunProfile, ThrottleTime, UtilizationBasis,
    XidEvent,
};
pub use profiled::{Profiled, Reducer};
pub use profiler::{GpuStatus, Profiler, RunStatus};
pub use tallies::GpuRanges;
pub use verdict::shortfall;
