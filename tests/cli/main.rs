//! The command line as users and scripts see it: documents, exit codes,
//! messages. Commands run in-process in a made-up world; the compiled binary
//! runs only where a process of its own is needed.

mod annotations;
mod bad_points;
mod baselines;
mod bounds;
mod chargeback;
mod check;
mod ci;
mod commitments;
mod contract;
mod costs_docs;
mod csv_rows;
mod demos;
mod diff;
mod docs;
mod estates;
mod explain;
mod failures;
mod group_by;
mod hostile;
mod html;
mod html_browser;
mod installed;
mod interrupts;
mod json_schemas;
mod listings;
mod markers;
mod markup;
mod own_prices;
mod pages;
mod paid_ahead;
mod plan;
mod price_cache;
mod pricing;
mod process;
mod profiled;
mod read_logs;
mod redact;
mod reserved;
mod reserved_fleet;
mod rightsize;
mod round_trip;
mod schema;
mod settings;
mod shell;
#[path = "../wire/skip.rs"]
mod skip;
mod snapshots;
mod spot;
mod tables;
mod terraform;
mod terraform_files;
mod terraform_formats;
mod terraform_unknown;
mod world;
