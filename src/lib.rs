//! gpucost audits GPU instances: what they cost, what of it is wasted, why,
//! and how sure that is.
//!
//! Facts are gathered first, judged by pure code second, printed third. The
//! modules below are layers, top to bottom: a file imports only from layers
//! above its own or from its own folder. So what reads facts knows nothing of
//! what judges them. What judges them does not read either: a pure layer
//! imports from pure layers alone. `tests/layers` enforces both.

// Denied rather than forbidden: `sources::nvml::raw` makes the few calls of the
// driver's library that no safe wrapper has.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod domain;

pub mod catalog;

pub mod usage;

pub mod sources;

pub mod gather;

pub mod savings;

pub mod profiling;

pub mod rules;

pub mod analysis;

pub mod report;

pub mod config;

pub mod cli;
