//! The types that gpucost computes with: money, time, GPUs, prices, findings and gaps; the bundled
//! catalog of prices and shapes; usage, and the estate. Pure: no I/O, no clock, no environment.

#![forbid(unsafe_code)]

pub mod domain;

pub mod catalog;

pub mod usage;
