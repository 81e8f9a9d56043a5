//! NVIDIA's management library (NVML), loaded at run time: what it says about
//! every GPU and MIG instance. Every metric is optional; what a driver does
//! not support is asked once, named as a gap, and never asked again.
//!
//! Only Linux, and only with the feature `nvml`; elsewhere opening it is an
//! error that says so.

mod error;

pub use error::NvmlError;

#[cfg(not(all(target_os = "linux", feature = "nvml")))]
mod absent;
#[cfg(all(target_os = "linux", feature = "nvml"))]
mod driver;

#[cfg(not(all(target_os = "linux", feature = "nvml")))]
pub use absent::NvmlSource;
#[cfg(all(target_os = "linux", feature = "nvml"))]
pub use driver::NvmlSource;

use std::io::Write;

/// Where to write what NVML answers, as JSON lines, one a sample. The lines
/// hold neither the name of the host nor those of processes.
pub type Record = Box<dyn Write + Send>;
