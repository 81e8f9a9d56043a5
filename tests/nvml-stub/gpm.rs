//! Counters of the multiprocessors: a sample remembers whose it is and when it
//! was taken.

use crate::system::put;
use crate::trace::{self, INVALID_ARGUMENT, NOT_SUPPORTED, Player, SUCCESS, UNKNOWN};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t,
};
use std::ffi::c_uint;

#[derive(Default)]
struct Sample {
    device: usize,
    look: u64,
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmQueryDeviceSupport(
    device: nvmlDevice_t,
    support: *mut nvmlGpmSupport_t,
) -> u32 {
    trace::with(|player| {
        let call = "nvmlGpmQueryDeviceSupport";
        let is_supported = player.device(device)?.number(call)?;
        // SAFETY: the caller gives one `nvmlGpmSupport_t`.
        unsafe { (*support).isSupportedDevice = is_supported as c_uint };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleAlloc(sample: *mut nvmlGpmSample_t) -> u32 {
    put(sample, Box::into_raw(Box::<Sample>::default()).cast());
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> u32 {
    // SAFETY: the sample was made above, and is freed once.
    drop(unsafe { Box::from_raw(sample.cast::<Sample>()) });
    SUCCESS
}

fn fill(player: &mut Player, device: usize, sample: nvmlGpmSample_t) -> Result<(), u32> {
    let look = player.look;
    let answers = player.device(device as nvmlDevice_t)?;
    match answers.answer("nvmlGpmSampleGet") {
        Ok(_) | Err(trace::FUNCTION_NOT_FOUND) => {}
        Err(error) => return Err(error),
    }
    // SAFETY: the sample was made above.
    unsafe { *sample.cast::<Sample>() = Sample { device, look } };
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> u32 {
    trace::with(|player| fill(player, device as usize, sample))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmMigSampleGet(
    gpu: nvmlDevice_t,
    instance: c_uint,
    sample: nvmlGpmSample_t,
) -> u32 {
    trace::with(|player| {
        let own = player.device(gpu)?;
        if own.mig.is_some() {
            return Err(NOT_SUPPORTED);
        }
        let own = own.gpu;
        let id = Ok(u64::from(instance));
        let slice = player.find(|device| {
            device.gpu == own
                && device.mig.is_some()
                && device.number("nvmlDeviceGetGpuInstanceId") == id
        });
        fill(player, slice?, sample)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> u32 {
    trace::with(|player| {
        // SAFETY: the caller gives one request with two samples made above; of
        // its metrics only the first `numMetrics` may be touched, because the
        // list is longer in newer headers.
        let (first, second, metrics) = unsafe {
            let metrics = (&raw mut (*request).metrics).cast();
            let count = (*request).numMetrics as usize;
            (
                &*(*request).sample1.cast::<Sample>(),
                &*(*request).sample2.cast::<Sample>(),
                std::slice::from_raw_parts_mut::<nvml_wrapper_sys::bindings::nvmlGpmMetric_t>(
                    metrics, count,
                ),
            )
        };
        if first.device != second.device || first.look >= second.look {
            return Err(INVALID_ARGUMENT);
        }
        let device = player.device(second.device as nvmlDevice_t)?;
        device.alive()?;
        for metric in metrics {
            let call = format!("nvmlGpmMetricsGet.{}", metric.metricId);
            match device.answer(&call).map(|value| value.as_f64()) {
                Ok(Some(value)) => {
                    metric.nvmlReturn = SUCCESS;
                    metric.value = value;
                }
                Ok(None) => metric.nvmlReturn = UNKNOWN,
                Err(trace::FUNCTION_NOT_FOUND) => metric.nvmlReturn = NOT_SUPPORTED,
                Err(error) => metric.nvmlReturn = error,
            }
        }
        Ok(())
    })
}
