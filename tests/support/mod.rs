//! What more than one suite needs.

pub mod data;
pub mod http;
pub mod skip;
pub mod source;
