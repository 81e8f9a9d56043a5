//! The few calls of NVML that the wrapper does not have. The only unsafe code
//! of this package.

#![allow(unsafe_code)]

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::nvmlMemory_t;

/// `[total, free, used]` bytes, by the call that drivers before 510 know. What
/// the driver keeps for itself counts as used.
pub(super) fn memory_v1(device: &Device<'_>) -> Result<[u64; 3], NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref())?;
    let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: the function comes from the library that made the handle, which
    // stays loaded as long as `device` borrows it; it writes one
    // `nvmlMemory_t`, and `memory` is one.
    nvml_try(unsafe { call(device.handle(), &mut memory) })?;
    Ok([memory.total, memory.free, memory.used])
}

/// The GPU instance that a MIG device belongs to.
pub(super) fn gpu_instance(device: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: as above; it writes one unsigned integer, and `id` is one.
    nvml_try(unsafe { call(device.handle(), &mut id) })?;
    Ok(id)
}

/// The compute instance that a MIG device belongs to.
pub(super) fn compute_instance(device: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetComputeInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: as above; it writes one unsigned integer, and `id` is one.
    nvml_try(unsafe { call(device.handle(), &mut id) })?;
    Ok(id)
}

/// Starts the library again after the driver went away and came back.
pub(super) fn start_again(nvml: &Nvml) -> Result<(), NvmlError> {
    let call = nvml_sym(nvml.lib().nvmlInit_v2.as_ref())?;
    // SAFETY: it takes nothing, may be called at any time, and counts how
    // often it was.
    nvml_try(unsafe { call() })
}
