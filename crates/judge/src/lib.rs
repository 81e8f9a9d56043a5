//! From an estate to verdicts, findings and one plan, and from recorded facts to trends and
//! what-ifs. Pure: it depends on nothing that reads a file, a clock or a network.

#![forbid(unsafe_code)]

use gpucost_model::{catalog, domain, usage};

pub mod savings;

pub mod profiling;

pub mod rules;

pub mod planners;

pub mod trend;

pub mod billing;

pub mod analysis;
