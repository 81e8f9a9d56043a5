//! Archives of GPU metrics and bills of any size, for gpucost: the statements of
//! `src/report/archive_sql` on DataFusion, in this process or on a Ballista cluster, and the
//! files that gpucost reads.

mod args;
mod bill;
mod cluster;
mod counts;
mod failure;
mod footer;
mod history;
mod inputs;
#[allow(dead_code, reason = "gpucost uses the rest")]
#[path = "../../crates/model/src/domain/names.rs"]
mod names;
mod progress;
mod rollup;
mod session;
#[allow(dead_code, unused_imports, reason = "gpucost uses the rest")]
#[path = "../../src/report/archive_sql/mod.rs"]
mod sql;
#[cfg(feature = "ballista")]
mod state;
mod table;

use args::{Cli, Command, CommonArgs};
use clap::Parser;
use failure::{Failure, Result};
use progress::Progress;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// How long threads may take to notice that a run ended.
const END_WITHIN: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let cli = Cli::parse();
    let common = match &cli.command {
        Command::Rollup(args) => &args.common,
        Command::Bill(args) => &args.common,
    };
    match run(&cli.command, common) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing more can be done when stderr itself is gone.
            let _ = write!(std::io::stderr(), "{}", failure.text());
            ExitCode::from(failure.code() as u8)
        }
    }
}

fn run(command: &Command, common: &CommonArgs) -> Result<()> {
    let threads = common.threads.map_or_else(session::cores, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::unexpected("cannot start threads").caused_by(&error))?;
    let progress = Progress::new(common.quiet);
    let done = runtime.block_on(async {
        // What is not finished goes with its folder, and no list names it.
        tokio::select! {
            done = work(command, &progress) => done,
            _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        }
    });
    runtime.shutdown_timeout(END_WITHIN);
    done
}

async fn work(command: &Command, progress: &Progress) -> Result<()> {
    match command {
        Command::Rollup(args) => rollup::run(args, progress).await,
        Command::Bill(args) => bill::run(args, progress).await,
    }
}
