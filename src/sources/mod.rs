//! The only I/O: each source reads one kind of place and hands over domain
//! types. Nothing here judges.

pub mod aws;
pub mod files;
pub mod gpus;
pub mod host;
pub mod nvml;
