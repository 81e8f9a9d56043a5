//! Tests over the wire: real SDK clients, and the compiled binary, against a
//! loopback AWS endpoint. Those that need a moto or ministack server, or boto3,
//! are skipped, saying so, where `tests/run` has not installed it.

#[cfg(feature = "s3")]
mod bills;
#[cfg(feature = "s3")]
pub mod bucket;
mod clients;
pub mod fleet;
pub mod loopback;
pub mod process;
mod sdk;

pub mod audit;
mod crosscheck;
mod doctor;
mod pricing;
#[cfg(feature = "s3")]
mod records;
mod selftest;
