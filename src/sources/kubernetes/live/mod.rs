//! A cluster that is asked: its kubeconfig, its lists page by page, and what could not be
//! listed.

mod client;
mod cluster;
mod config;
mod lists;
mod page;
mod plugin;
mod refusal;

pub use cluster::LiveCluster;
