//! The library itself: its calls, their answers, and what a driver refuses.

mod activity;
mod calls;
mod counter;
mod events;
mod fine;
mod gaps;
mod identity;
mod probe;
mod processes;
mod raw;
mod reading;
mod row;
mod source;
mod trace;

pub use source::NvmlSource;
