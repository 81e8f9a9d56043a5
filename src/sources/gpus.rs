//! Whatever can be asked about the GPUs of this host.

use crate::domain::{Gap, GpuIdentity, GpuSample};
use std::time::Duration;

/// The GPUs of this host, sample by sample.
pub trait GpuSource {
    /// The GPUs, by index, each followed by its MIG instances.
    fn identities(&self) -> &[GpuIdentity];

    /// Version of the driver, where it tells.
    fn driver_version(&self) -> Option<&str>;

    /// One sample of all of them, in the order of [`Self::identities`]. It never
    /// fails: a GPU that no longer answers is lost, with the reason. `at` is
    /// the time since the run began, on a clock that no one can set.
    fn read(&mut self, at: Duration) -> Vec<GpuSample>;

    /// What could not be read so far, by name, once for a GPU model.
    fn gaps(&self) -> Vec<Gap>;
}
