//! Calls about one device that answer with a value.

use crate::system::{put, write_text};
use crate::trace::{self, UNKNOWN};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlUtilization_t};
use std::ffi::{c_char, c_uint, c_ulonglong};

/// Exports a call that answers one unsigned integer.
macro_rules! number {
    ($($name:ident),*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(device: nvmlDevice_t, value: *mut c_uint) -> u32 {
                trace::with(|player| {
                    let number = player.device(device)?.number(stringify!($name))?;
                    put(value, number as c_uint);
                    Ok(())
                })
            }
        )*
    };
}

number!(
    nvmlDeviceGetGpuInstanceId, nvmlDeviceGetComputeInstanceId, nvmlDeviceGetEnforcedPowerLimit,
    nvmlDeviceGetPowerManagementDefaultLimit, nvmlDeviceGetMaxPcieLinkGeneration,
    nvmlDeviceGetMaxPcieLinkWidth, nvmlDeviceGetPowerUsage
);

/// Exports a call that answers a text.
macro_rules! text {
    ($($name:ident),*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(device: nvmlDevice_t, text: *mut c_char, length: c_uint) -> u32 {
                trace::with(|player| {
                    let answer = player.device(device)?.answer(stringify!($name))?;
                    write_text(answer.as_str().ok_or(UNKNOWN)?, text, length)
                })
            }
        )*
    };
}

text!(nvmlDeviceGetName, nvmlDeviceGetUUID);

/// Exports a call that answers a percentage and the period it is of.
macro_rules! engine {
    ($($name:ident),*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(
                device: nvmlDevice_t,
                percent: *mut c_uint,
                period: *mut c_uint,
            ) -> u32 {
                trace::with(|player| {
                    let number = player.device(device)?.number(stringify!($name))?;
                    put(percent, number as c_uint);
                    put(period, 1_000_000);
                    Ok(())
                })
            }
        )*
    };
}

engine!(nvmlDeviceGetEncoderUtilization, nvmlDeviceGetDecoderUtilization);

/// Exports a call that answers one long unsigned integer.
macro_rules! long_number {
    ($($name:ident),*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(device: nvmlDevice_t, value: *mut c_ulonglong) -> u32 {
                trace::with(|player| {
                    let number = player.device(device)?.number(stringify!($name))?;
                    put(value, number + player.gained(device, stringify!($name)));
                    Ok(())
                })
            }
        )*
    };
}

long_number!(nvmlDeviceGetTotalEnergyConsumption, nvmlDeviceGetCurrentClocksThrottleReasons);

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> u32 {
    trace::with(|player| {
        let [now, then] = player.device(device)?.numbers("nvmlDeviceGetMigMode")?;
        put(current, now as c_uint);
        put(pending, then as c_uint);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    rates: *mut nvmlUtilization_t,
) -> u32 {
    trace::with(|player| {
        let call = "nvmlDeviceGetUtilizationRates";
        let [gpu, memory] = player.device(device)?.numbers(call)?;
        let [gpu, memory] = [gpu as c_uint, memory as c_uint];
        put(rates, nvmlUtilization_t { gpu, memory });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, memory: *mut nvmlMemory_t) -> u32 {
    trace::with(|player| {
        let call = "nvmlDeviceGetMemoryInfo";
        let [total, free, used] = player.device(device)?.numbers(call)?;
        put(memory, nvmlMemory_t { total, free, used });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    memory: *mut nvmlMemory_v2_t,
) -> u32 {
    trace::with(|player| {
        let call = "nvmlDeviceGetMemoryInfo_v2";
        let [total, free, used] = player.device(device)?.numbers(call)?;
        let whole = nvmlMemory_v2_t {
            version: 0,
            total,
            reserved: total.saturating_sub(free + used),
            free,
            used,
        };
        put(memory, whole);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    _sensor: c_uint,
    value: *mut c_uint,
) -> u32 {
    trace::with(|player| {
        let number = player.device(device)?.number("nvmlDeviceGetTemperature")?;
        put(value, number as c_uint);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetClockInfo(
    device: nvmlDevice_t,
    clock: c_uint,
    value: *mut c_uint,
) -> u32 {
    let call = match clock {
        1 => "nvmlDeviceGetClockInfo.sm",
        2 => "nvmlDeviceGetClockInfo.memory",
        _ => return trace::NOT_SUPPORTED,
    };
    trace::with(|player| {
        put(value, player.device(device)?.number(call)? as c_uint);
        Ok(())
    })
}
