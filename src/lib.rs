//! gpucost audits GPU instances: what they cost, what of it is wasted, why,
//! and how sure that is.
//!
//! Layers, top to bottom; a file imports only from layers above its own line or
//! from its own folder:
//!
//! 1. [`domain`] pure types
pub mod analysis;
pub mod catalog;
pub mod domain;
pub mod rules;
pub mod savings;
pub mod sources;
pub mod report;
