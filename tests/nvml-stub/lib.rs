//! A library that looks like NVIDIA's management library and plays a trace, so
//! that sampling can be tested without a GPU.
//!
//! The trace is the file `trace.jsonl` beside the library, else the one named by
//! `GPUCOST_NVML_TRACE`; its format is that of `gpucost profile --record`, told
//! in `crates/sources/src/nvml/driver/trace.rs`. Three things are for traces made by hand: a
//! call that is never named answers as a library does that has no such call; the
//! call `*` of a device answers for all its calls until it is null again; and
//! `nvmlInit_v2` among the system's answers of the first line lets opening fail.
//!
//! A look begins with `nvmlDeviceGetCount_v2` (the first of which, at opening,
//! belongs to the first line). How time goes is said by the file `clock` beside
//! the library, else by `GPUCOST_NVML_CLOCK`: with the word `step` every look
//! takes the next line, without it lines follow the monotonic clock by their
//! `at`. After the last line its answers stay, or with the word `loop` the looks
//! begin again, counters and time stamps going on. `step loop` is both.
//!
//! With `GPUCOST_NVML_SLOW`, each sample but the first takes so many seconds.
//!
//! Preloaded, it is also a wall clock that somebody sets: see `clock`.

#![cfg(target_os = "linux")]
// Every export is called by the wrapper under NVML's own contract: pointers are
// valid or null where the contract allows null.
#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]

mod clock;
mod devices;
mod events;
mod gpm;
mod lists;
mod system;
mod trace;
