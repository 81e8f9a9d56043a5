//! What a host's own samples say: readings, and the pure code that judges
//! them. Sampling itself is a source.

mod reading;
mod run;

pub use reading::{
    Activity, FineSample, GpuProcess, GpuReading, GpuSample, HostReading, Sample, ThrottleReasons,
};
pub use run::{GpuIdentity, MigSlot, RunEnd, RunFacts};
