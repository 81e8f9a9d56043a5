//! Servers of the Prometheus family, read-only: Prometheus, Thanos, Mimir, Cortex,
//! VictoriaMetrics, and the services of clouds that have the same HTTP API.

mod address;
mod answer;
mod ask;
mod auth;
mod client;
#[cfg(test)]
mod client_tests;
mod devices;
mod error;
mod hosts;
mod hours;
mod labels;
#[cfg(test)]
mod loopback;
mod metric_map;
mod mutual_tls;
mod numbers;
mod plan;
mod pods;
mod queries;
mod readings;
mod request;
#[cfg(test)]
mod scenes;
mod source;
mod transport;

pub use address::Destination;
pub use answer::{Labels, Row};
pub use auth::{Auth, Server};
pub use client::{Client, ClientOptions};
pub use error::{is_known_code, is_too_large};
pub use metric_map::{Exporter, MappedMetric, MetricMap, Quantity};
pub use mutual_tls::ClientCertificate;
pub use request::ACTIONS;
pub use source::{connect, gpu_series};
