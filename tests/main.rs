//! Every integration test, a module for each suite: one program, so that the
//! library and the AWS SDK are linked once. `cargo test --test all cli::` runs one
//! suite. They share a process: no test changes its environment, its current
//! folder, its limits or its signal handlers. What must do so runs in a child.

mod cli;
mod demo;
mod engines;
mod fuzz;
// Manual pages and checks of the host depend on what is built in.
#[cfg(all(feature = "kubernetes", feature = "nvml", feature = "s3"))]
mod golden;
mod habits;
mod iam;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod layers;
mod profile;
mod prometheus;
mod rules;
mod samples;
mod seam;
mod support;
mod wire;
