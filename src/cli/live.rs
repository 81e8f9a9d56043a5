//! Waiting for a live account: what is shown meanwhile, Ctrl-C, and what an
//! error of the gathering means to the user.

use super::args::OutputArgs;
use super::usage_history::unopened;
use super::{Failure, Io, Outcome, hinted};
use crate::domain::WORK;
use crate::gather::GatherError;
use crate::sources::aws::Notice;
use std::cell::RefCell;
use std::io;
use std::time::Duration;
use tokio::runtime::Runtime;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// How often what is waited for is polled.
const STEP: Duration = Duration::from_millis(120);

/// Runs calls to the end or until Ctrl-C; `work` is handed what it tells its
/// progress to.
///
/// # Errors
/// When it fails, or is interrupted.
pub(super) fn wait_for<T>(
    out: &OutputArgs,
    notice: &Notice,
    io: &Io<'_>,
    work: impl AsyncFnOnce(&dyn Fn(&str)) -> Result<T, GatherError>,
) -> Outcome<T> {
    watched(out, notice, io, work)?.map_err(failed)
}

/// The same for work whose errors are those of the caller.
///
/// # Errors
/// When it is interrupted.
pub(super) fn run<T>(
    out: &OutputArgs,
    io: &Io<'_>,
    work: impl AsyncFnOnce(&dyn Fn(&str)) -> T,
) -> Outcome<T> {
    watched(out, &Notice::default(), io, work)
}

fn watched<T>(
    out: &OutputArgs,
    notice: &Notice,
    io: &Io<'_>,
    work: impl AsyncFnOnce(&dyn Fn(&str)) -> T,
) -> Outcome<T> {
    log(out.verbose);
    let runtime = runtime().map_err(Failure::unexpected)?;
    let is_watched = io.stderr_is_terminal && !out.quiet;
    let stage = RefCell::default();
    let name = |text: &str| {
        tracing::debug!("{text}");
        stage.replace(text.to_owned());
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = work(&name) => Some(done),
            () = show(&stage, notice), if is_watched => None,
        }
    });
    WORK.say(None, None);
    // Requests under way are not waited for.
    runtime.shutdown_background();
    done.ok_or_else(Failure::interrupted)
}

/// What waits for calls, on the thread that asks it to.
///
/// # Errors
/// When the system has no more handles.
pub(super) fn runtime() -> io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build()
}

fn failed(error: GatherError) -> Failure {
    match error {
        GatherError::History(error) => unopened(error),
        GatherError::Source(ref source) | GatherError::EveryRegion { first: ref source, .. } => {
            let hint = source.hint();
            Failure::unexpected(error).with_hint(hint)
        }
        _ => hinted! { error;
            GatherError::TooExpensive { .. } => "raise `--max-api-cost`, shorten the list of regions, or pass `--metrics-source none`";
            GatherError::Window(_) => "check `--as-of` and `--lookback`";
            _ => "use a window of at most 63 days such as `--lookback 14d`, or an estate without metrics: `--metrics-source none`";
        },
    }
}

/// Shows this program's own steps, never the SDK's: its logs quote requests,
/// and requests carry signatures.
fn log(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    let own = Targets::new().with_target(env!("CARGO_PKG_NAME"), level);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(own);
    // A second command in the same process keeps the first one's log.
    let _ = tracing_subscriber::registry().with(layer).try_init();
}

/// Has the stage shown, with what is waited for; never ends.
async fn show(stage: &RefCell<String>, notice: &Notice) {
    loop {
        let stage = stage.borrow().clone();
        WORK.say(Some(stage), notice.text());
        tokio::time::sleep(STEP).await;
    }
}
