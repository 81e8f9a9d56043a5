//! Servers of the Prometheus family, read-only: Prometheus, Thanos, Mimir, Cortex,
//! VictoriaMetrics, and the services of clouds that have the same HTTP API.

mod address;
mod answer;
mod auth;
mod client;
#[cfg(test)]
mod client_tests;
mod error;
#[cfg(test)]
mod loopback;
mod request;
mod signature;
mod transport;

pub use answer::{Labels, Row};
pub use auth::{Auth, Server};
pub use client::{Client, ClientOptions};
pub use error::{is_known_code, is_too_large};
pub use request::ACTIONS;
