//! Where there is no NVML: another system, or a build without the feature.

use super::{NvmlError, Record};
use crate::GpuSource;
use crate::domain::{Gap, GpuIdentity, GpuSample};
use std::path::Path;
use std::time::Duration;

/// The GPUs as NVML shows them; cannot be had in this build.
#[derive(Debug)]
pub enum NvmlSource {}

impl NvmlSource {
    /// Always [`NvmlError::NotBuilt`].
    pub fn open(_library: Option<&Path>, _record: Option<Record>) -> Result<Self, NvmlError> {
        Err(NvmlError::NotBuilt)
    }

    /// There is no trace.
    pub fn record_failure(&self) -> Option<&str> {
        match *self {}
    }
}

impl GpuSource for NvmlSource {
    fn identities(&self) -> &[GpuIdentity] {
        match *self {}
    }

    fn driver_version(&self) -> Option<&str> {
        match *self {}
    }

    fn read(&mut self, _at: Duration) -> Vec<GpuSample> {
        match *self {}
    }

    fn gaps(&self) -> Vec<Gap> {
        match *self {}
    }
}
