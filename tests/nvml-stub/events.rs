//! Events: a set is a list of the devices that were registered with it.

use crate::system::put;
use crate::trace::{self, SUCCESS, TIMEOUT};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t};
use std::ffi::{c_uint, c_ulonglong};

const XID_CRITICAL_ERROR: c_ulonglong = 8;

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetCreate(set: *mut nvmlEventSet_t) -> u32 {
    put(set, Box::into_raw(Box::new(Vec::<usize>::new())).cast());
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> u32 {
    // SAFETY: the set was made above, and is freed once.
    drop(unsafe { Box::from_raw(set.cast::<Vec<usize>>()) });
    SUCCESS
}

/// The devices of a set.
fn devices<'a>(set: nvmlEventSet_t) -> &'a mut Vec<usize> {
    // SAFETY: the set was made above, and is not used by two threads.
    unsafe { &mut *set.cast::<Vec<usize>>() }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceRegisterEvents(
    device: nvmlDevice_t,
    _kinds: c_ulonglong,
    set: nvmlEventSet_t,
) -> u32 {
    trace::with(|player| {
        player.device(device)?.answer("nvmlDeviceRegisterEvents")?;
        devices(set).push(device as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetWait_v2(
    set: nvmlEventSet_t,
    data: *mut nvmlEventData_t,
    _milliseconds: c_uint,
) -> u32 {
    trace::with(|player| {
        for handle in devices(set) {
            let device = *handle as nvmlDevice_t;
            if let Some(xid) = player.device(device)?.events.pop_front() {
                let event = nvmlEventData_t {
                    device,
                    eventType: XID_CRITICAL_ERROR,
                    eventData: xid,
                    gpuInstanceId: c_uint::MAX,
                    computeInstanceId: c_uint::MAX,
                };
                put(data, event);
                return Ok(());
            }
        }
        Err(TIMEOUT)
    })
}
