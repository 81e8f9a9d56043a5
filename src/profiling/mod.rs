//! What a host's own samples say: readings, and the pure code that judges
//! them. Sampling itself is a source.

mod join;
mod periods;
mod profiled;
mod reading;
mod run;

pub use join::{NamedProfile, join_profiles, mask_profile_gap};
pub use periods::{OutsideLooks, PeriodPoints, Periods};
pub use profiled::{Profiled, Reducer};
pub use reading::{
    Activity, FineSample, GpuProcess, GpuReading, GpuSample, HostReading, Sample, ThrottleReasons,
};
pub use run::{GpuIdentity, MigSlot, RunEnd, RunFacts};
