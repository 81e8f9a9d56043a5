//! The compiled `gpucost` against a loopback AWS account: a whole fleet whose
//! figures were worked out by hand, recording and replaying it, bad days, and
//! tags that try to hurt whoever reads them.

pub mod account;
pub mod command;
pub mod days;
mod signals;

mod bad_days;
#[cfg(feature = "s3")]
mod bucket_history;
mod commitments;
mod containers;
mod explained;
mod fleet;
mod history;
mod hostile;
mod kubernetes;
mod opinion;
mod organization;
mod sagemaker;
mod scaling;
mod training_jobs;
