//! Clusters that are asked: the program and kubectl against an API server on this host.

mod faults;
mod fleet;
mod kubectl;
mod live;
mod plugins;
mod rights;
mod run;
pub mod server;
mod tls;
