//! NVIDIA's management library (NVML), loaded at run time: what it says about
//! every GPU and MIG instance. Every metric is optional; what a driver does
//! not support is asked once, named as a gap, and never asked again.
//!
//! Only Linux, and only with the feature `nvml`; elsewhere opening it is an
//! error that says so.

#[cfg(not(all(target_os = "linux", feature = "nvml")))]
mod absent;
#[cfg(all(target_os = "linux", feature = "nvml"))]
mod driver;

#[cfg(not(all(target_os = "linux", feature = "nvml")))]
pub use absent::NvmlSource;
#[cfg(all(target_os = "linux", feature = "nvml"))]
pub use driver::NvmlSource;

use crate::domain::shown;
use std::io::Write;
use std::path::PathBuf;
use thiserror::Error;

/// Where to write what NVML answers, as JSON lines, one a sample. The lines
/// hold neither the name of the host nor those of processes.
pub type Record = Box<dyn Write + Send>;

/// What the loader or the driver said.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why NVML could not be opened, and what to do about it.
#[derive(Debug, Error)]
pub enum NvmlError {
    /// Not Linux, or built without the feature `nvml`.
    #[error("this build of gpucost has no GPU support")]
    NotBuilt,
    /// The library is not there, or cannot be loaded.
    #[error("cannot load the NVIDIA management library {}", shown(library))]
    NoLibrary {
        /// Name or path of the library.
        library: PathBuf,
        /// What the loader said.
        #[source]
        cause: Cause,
    },
    /// The library is there, the kernel's part of the driver is not.
    #[error("the NVIDIA driver is not loaded")]
    NoDriver,
    /// The library was replaced under a running driver.
    #[error("the NVIDIA driver and its library have different versions")]
    VersionMismatch,
    /// The device nodes may not be opened.
    #[error("no permission to access the NVIDIA driver")]
    NoPermission,
    /// A driver without a GPU.
    #[error("the NVIDIA driver finds no GPU on this host")]
    NoGpus,
    /// Anything else that the library answers.
    #[error("the NVIDIA management library failed to initialize")]
    Failed(#[source] Cause),
}

impl NvmlError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotBuilt => {
                "reading GPUs requires Linux and a build with the `nvml` feature (the \
                 default); `gpucost profile --read FILE` summarizes an nvidia-smi log on any \
                 system"
            }
            Self::NoLibrary { .. } => {
                "install the NVIDIA driver (on Ubuntu `sudo ubuntu-drivers install --gpgpu`, \
                 or use an AMI that includes it); in a container, start it with `--gpus all`"
            }
            Self::NoDriver => {
                "load it with `sudo modprobe nvidia`; if that fails, check `sudo dmesg | \
                 grep -i nvrm`; on an instance without a GPU there is nothing to load"
            }
            Self::VersionMismatch => {
                "the driver was updated while running: reboot, or stop all processes that \
                 use the GPUs and reload the `nvidia` module"
            }
            Self::NoPermission => {
                "the user must be able to open /dev/nvidiactl and /dev/nvidia0; in a container, \
                 start it with `--gpus all`"
            }
            Self::NoGpus => {
                "check `lspci -d 10de:`; in a container, `--gpus` or NVIDIA_VISIBLE_DEVICES \
                 may expose no GPU"
            }
            Self::Failed(_) => {
                "check whether `nvidia-smi` works here; a container that lost its GPUs must \
                 be restarted"
            }
        }
    }
}
