//! Calls that answer with a list: a caller asks for its length first.

use crate::system::put;
use crate::trace::{
    self, FUNCTION_NOT_FOUND, INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED,
    SAMPLES, SUCCESS, UNKNOWN,
};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlFieldValue_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t,
    nvmlSample_t, nvmlValue_t,
};
use serde_json::Value;
use std::ffi::{c_int, c_uint, c_ulonglong};

/// NVML's tags of values.
const UNSIGNED_INT: c_uint = 1;
const UNSIGNED_LONG_LONG: c_uint = 3;

/// Gives a list by NVML's convention: too short a buffer is told the length.
fn give<T: Copy>(items: &[T], count: *mut c_uint, buffer: *mut T) -> Result<(), u32> {
    // SAFETY: the caller gives a count, and a buffer of as many items or none.
    unsafe {
        let room = count.read() as usize;
        count.write(items.len() as c_uint);
        if items.is_empty() {
            return Ok(());
        }
        if buffer.is_null() || room < items.len() {
            return Err(INSUFFICIENT_SIZE);
        }
        std::ptr::copy_nonoverlapping(items.as_ptr(), buffer, items.len());
    }
    Ok(())
}

fn process(pair: &Value) -> Option<nvmlProcessInfo_t> {
    Some(nvmlProcessInfo_t {
        pid: pair.get(0)?.as_u64()? as c_uint,
        usedGpuMemory: pair.get(1)?.as_u64().unwrap_or(c_ulonglong::MAX),
        gpuInstanceId: c_uint::MAX,
        computeInstanceId: c_uint::MAX,
    })
}

/// Exports a call that lists processes.
macro_rules! processes {
    ($($name:ident),*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(
                device: nvmlDevice_t,
                count: *mut c_uint,
                buffer: *mut nvmlProcessInfo_t,
            ) -> u32 {
                trace::with(|player| {
                    let answer = player.device(device)?.answer(stringify!($name))?;
                    let list = answer.as_array().ok_or(UNKNOWN)?;
                    let list: Vec<_> = list.iter().filter_map(process).collect();
                    give(&list, count, buffer)
                })
            }
        )*
    };
}

processes!(
    nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses_v2,
    nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDeviceGetMPSComputeRunningProcesses_v3
);

/// `[pid, microseconds, percent]`.
fn process_use(row: &Value) -> Option<nvmlProcessUtilizationSample_t> {
    Some(nvmlProcessUtilizationSample_t {
        pid: row.get(0)?.as_u64()? as c_uint,
        timeStamp: row.get(1)?.as_u64()?,
        smUtil: row.get(2)?.as_u64()? as c_uint,
        memUtil: 0,
        encUtil: 0,
        decUtil: 0,
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    buffer: *mut nvmlProcessUtilizationSample_t,
    count: *mut c_uint,
    last_seen: c_ulonglong,
) -> u32 {
    trace::with(|player| {
        let answer = player.device(device)?.answer("nvmlDeviceGetProcessUtilization")?;
        let rows = answer.as_array().ok_or(UNKNOWN)?;
        let rows: Vec<_> = rows.iter().filter_map(process_use).collect();
        let newer = rows.into_iter().filter(|one| one.timeStamp > last_seen);
        let newer: Vec<_> = newer.collect();
        if newer.is_empty() {
            return Err(NOT_FOUND);
        }
        give(&newer, count, buffer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetSamples(
    device: nvmlDevice_t,
    kind: c_uint,
    last_seen: c_ulonglong,
    tag: *mut c_uint,
    count: *mut c_uint,
    buffer: *mut nvmlSample_t,
) -> u32 {
    const GPU_UTILIZATION: c_uint = 1;
    if kind != GPU_UTILIZATION {
        return NOT_SUPPORTED;
    }
    trace::with(|player| {
        let device = player.device(device)?;
        device.answer(SAMPLES)?;
        let newer = device.samples.iter().filter(|(at, _)| *at > last_seen);
        let samples: Vec<nvmlSample_t> = newer
            .map(|(at, percent)| nvmlSample_t {
                timeStamp: *at,
                sampleValue: nvmlValue_t { uiVal: *percent as c_uint },
            })
            .collect();
        if samples.is_empty() {
            return Err(NOT_FOUND);
        }
        put(tag, UNSIGNED_INT);
        // With room for none it is the length that is asked for, and it is
        // given without an error.
        if buffer.is_null() {
            put(count, samples.len() as c_uint);
            return Ok(());
        }
        give(&samples, count, buffer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    fields: *mut nvmlFieldValue_t,
) -> u32 {
    trace::with(|player| {
        player.device(device)?.alive()?;
        // SAFETY: the caller gives as many fields as it says.
        let fields = unsafe { std::slice::from_raw_parts_mut(fields, count as usize) };
        for field in fields {
            let call = format!("nvmlDeviceGetFieldValues.{}", field.fieldId);
            let gained = player.gained(device, &call);
            let answer = player.device(device)?.answer(&call);
            field.nvmlReturn = SUCCESS;
            match answer.map(|value| (value.as_u64(), value.get("uint"))) {
                Ok((Some(value), _)) => {
                    field.valueType = UNSIGNED_LONG_LONG;
                    field.value.ullVal = value + gained;
                }
                Ok((None, Some(value))) => {
                    field.valueType = UNSIGNED_INT;
                    field.value.uiVal = value.as_u64().unwrap_or(0) as c_uint;
                }
                Ok(_) => field.nvmlReturn = UNKNOWN,
                Err(FUNCTION_NOT_FOUND) => field.nvmlReturn = INVALID_ARGUMENT,
                Err(error) => field.nvmlReturn = error,
            }
        }
        Ok(())
    })
}
