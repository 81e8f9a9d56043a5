//! gpucost audits GPU instances: what they cost, what of it is wasted, why,
//! and how sure that is.
//!
//! Facts are gathered first, judged by pure code second, printed third. What
//! reads facts and what judges them are crates that know nothing of each other.
//! The modules below are layers, top to bottom: a file imports only from layers
//! above its own or from its own folder, which `tests/layers` enforces.
//!
//! An estate in, an audit out:
//!
//! ```
//! use gpucost::analysis::audit;
//! use gpucost::domain::{Classification, Policy, Risk};
//! use gpucost::sources::files::parse_estate;
//!
//! // One instance, with its CPU at 30% and its GPU at 12% for two weeks.
//! let json = r#"{
//!     "estate_version": "1",
//!     "as_of": "2026-11-01T00:00:00Z",
//!     "instances": [
//!         {"id": "i-1", "account": "111122223333", "region": "us-east-1",
//!          "instance_type": "g5.xlarge", "state": "running",
//!          "launch_time": "2026-09-01T00:00:00Z"}
//!     ],
//!     "metrics": [
//!         {"instance": "i-1", "metric": "cpu_utilization", "statistic": "average",
//!          "source": "ec2", "period_seconds": 300,
//!          "start": "2026-10-18T00:00:00Z", "values": [[30, 4032]]},
//!         {"instance": "i-1", "gpu": 0, "metric": "gpu_utilization",
//!          "statistic": "average", "source": "cloudwatch-agent", "period_seconds": 300,
//!          "start": "2026-10-18T00:00:00Z", "values": [[12, 4032]]}
//!     ]
//! }"#;
//! let estate = parse_estate(json.as_bytes())?;
//! let found = audit(&estate, &Policy::default(), Risk::Medium);
//!
//! // The bundled price, 1.006 an hour, for the 730 hours of a month.
//! let cost = found.workloads[0].workload.monthly_cost();
//! assert_eq!(cost.map(|cost| cost.to_string()).as_deref(), Some("$734.38"));
//! let verdict = &found.workloads[0].verdict;
//! assert_eq!(verdict.classification, Classification::Overprovisioned);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub use gpucost_model::{catalog, domain, usage};

pub use gpucost_sources::{self as sources, gather};

pub use gpucost_judge::{analysis, billing, planners, profiling, rules, savings, trend};

pub mod report;

pub mod config;

pub mod cli;
