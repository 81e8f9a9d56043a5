//! Starting, and finding devices.

use crate::trace::{self, Device, INSUFFICIENT_SIZE, SUCCESS, UNKNOWN};
use nvml_wrapper_sys::bindings::nvmlDevice_t;
use std::ffi::{CStr, c_char, c_uint};

/// Writes a text with its end into a buffer.
pub fn write_text(text: &str, buffer: *mut c_char, length: c_uint) -> Result<(), u32> {
    if text.len() >= length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller gives a buffer of `length` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}

/// Writes through a pointer of the caller.
pub fn put<T>(to: *mut T, value: T) {
    // SAFETY: the caller gives a pointer to one `T`.
    unsafe { to.write(value) }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> u32 {
    trace::start()
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(buffer: *mut c_char, length: c_uint) -> u32 {
    trace::with(|player| {
        let version = player.system("nvmlSystemGetDriverVersion")?;
        write_text(version.as_str().ok_or(UNKNOWN)?, buffer, length)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> u32 {
    trace::with(|player| {
        put(count, player.count()? as c_uint);
        Ok(())
    })
}

fn handle_of(is_so: impl Fn(&Device) -> bool, to: *mut nvmlDevice_t) -> u32 {
    trace::with(|player| {
        put(to, player.find(is_so)? as nvmlDevice_t);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut nvmlDevice_t) -> u32 {
    let call = "nvmlDeviceGetHandleByIndex_v2";
    let is_it = |device: &Device| device.gpu == u64::from(index) && device.mig.is_none();
    trace::with(|player| {
        let handle = player.find(is_it)?;
        match player.devices[handle - 1].answer(call) {
            Err(error) if error != trace::FUNCTION_NOT_FOUND => return Err(error),
            _ => put(to, handle as nvmlDevice_t),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, to: *mut nvmlDevice_t) -> u32 {
    // SAFETY: the caller gives a text with its end.
    let uuid = unsafe { CStr::from_ptr(uuid) }.to_string_lossy();
    trace::with(|player| {
        let has = |device: &Device| match device.answer("nvmlDeviceGetUUID") {
            Ok(own) => own.as_str() == Some(&*uuid),
            Err(_) => false,
        };
        // One that does not answer cannot be told from one that is not there.
        put(to, player.find(has).map_err(|_| 15_u32)? as nvmlDevice_t);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    gpu: nvmlDevice_t,
    index: c_uint,
    to: *mut nvmlDevice_t,
) -> u32 {
    let mut own = None;
    let code = trace::with(|player| {
        own = Some(player.device(gpu)?.gpu);
        Ok(())
    });
    if code != SUCCESS {
        return code;
    }
    let is_it = |device: &Device| Some(device.gpu) == own && device.mig == Some(index.into());
    handle_of(is_it, to)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    mig: nvmlDevice_t,
    to: *mut nvmlDevice_t,
) -> u32 {
    trace::with(|player| {
        let gpu = player.device(mig)?.gpu;
        let parent = player.find(|device| device.gpu == gpu && device.mig.is_none())?;
        put(to, parent as nvmlDevice_t);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxMigDeviceCount(gpu: nvmlDevice_t, count: *mut c_uint) -> u32 {
    /// An A100 can be cut into seven.
    const PLACES: c_uint = 7;
    trace::with(|player| {
        player.device(gpu)?.alive()?;
        put(count, PLACES);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(_: u32) -> *const c_char {
    c"nvml-stub".as_ptr()
}
