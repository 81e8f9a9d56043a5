//! Why NVML could not be opened, and what to do about it.

use crate::domain::shown;
use std::path::PathBuf;
use thiserror::Error;

/// What the loader or the driver said.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Cause(pub String);

/// Why NVML could not be opened.
#[derive(Debug, Error)]
pub enum NvmlError {
    /// Not Linux, or built without the feature `nvml`.
    #[error("this build of gpucost does not read GPUs")]
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
    #[error("the NVIDIA driver and its library are of different versions")]
    VersionMismatch,
    /// The device nodes may not be opened.
    #[error("no permission to talk to the NVIDIA driver")]
    NoPermission,
    /// A driver without a GPU.
    #[error("the NVIDIA driver sees no GPU on this host")]
    NoGpus,
    /// Anything else that the library answers.
    #[error("the NVIDIA management library does not start")]
    Failed(#[source] Cause),
}

impl NvmlError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotBuilt => {
                "GPUs are read on Linux only, by a build with the feature `nvml` (the default); \
                 `gpucost profile --read FILE` summarises a log of nvidia-smi anywhere"
            }
            Self::NoLibrary { .. } => {
                "install the NVIDIA driver (on Ubuntu `sudo ubuntu-drivers install --gpgpu`, or \
                 take an AMI that has it); in a container, start it with `--gpus all`"
            }
            Self::NoDriver => {
                "load it with `sudo modprobe nvidia`, and see `sudo dmesg | grep -i nvrm` when \
                 that fails; on an instance without a GPU there is nothing to load"
            }
            Self::VersionMismatch => {
                "the driver was updated while it ran: reboot, or stop what uses the GPUs and \
                 reload the module `nvidia`"
            }
            Self::NoPermission => {
                "the user must be able to open /dev/nvidiactl and /dev/nvidia0; in a container, \
                 start it with `--gpus all`"
            }
            Self::NoGpus => {
                "see `lspci -d 10de:`; in a container, `--gpus` or NVIDIA_VISIBLE_DEVICES may \
                 leave none"
            }
            Self::Failed(_) => {
                "see whether `nvidia-smi` works here; a container that lost its GPUs must be \
                 restarted"
            }
        }
    }
}
