//! What more than one suite needs.

pub mod data;
pub mod skip;
pub mod source;
