//! What the samples of a host say about its GPUs. Sampling itself is a source.

mod alerts;
mod diagnosis;
mod figures;
mod gpu;
mod join;
#[cfg(test)]
mod lab;
mod pace;
#[cfg(test)]
mod page_tests;
mod periods;
mod phases;
mod profile;
mod profiled;
mod profiler;
mod rules;
#[cfg(test)]
mod run_tests;
mod signals;
mod windows;

pub use alerts::{Alert, AlertKind};
pub use diagnosis::Diagnosis;
pub use figures::{GpuRanges, HostProfile, PowerBasis, PowerFigures};
pub use join::{NamedProfile, join_profiles};
pub use pace::{Cadence, Hole, Pace, Pacer};
pub use periods::{OutsideSamples, PeriodPoints, Periods};
pub use phases::{Phase, PhaseKind};
pub use profile::{GpuProfile, LostGpu, RunProfile, ThrottleTime, UtilizationBasis, XidEvent};
pub use profiled::{BusyGpus, Profiled, Reducer};
pub use profiler::{GpuStatus, Profiler, RunStatus, shortfall};
pub use signals::{Bottleneck, Sign, Tier};
