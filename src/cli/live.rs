//! Waiting: for a live account, with Ctrl-C and what an error of the gathering means to the user, and
//! the line on stderr for work that takes long, on a terminal only: how much of how much, how fast,
//! and how long it will take. It is gone before anything else is written.

use super::args::OutputArgs;
use super::{Failure, Io, Outcome, hinted, is_full};
use crate::domain::{WORK, WorkPiece, WorkUnit, safe, shell_word};
use crate::gather::GatherError;
use crate::sources::SourceError;
use crate::sources::aws::Notice;
use crate::sources::files::HistoryError;
use clap::ArgMatches;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// How often what is waited for is polled, and the line drawn.
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

/// What it means that the place of a history cannot be used.
pub(super) fn unopened(error: HistoryError) -> Failure {
    let cause = error.why.get_ref().and_then(|cause| cause.downcast_ref::<SourceError>());
    let hint = match (cause, error.bucket_url()) {
        (Some(cause), _) => cause.hint(),
        (None, Some(url)) => format!(
            "check the name of the bucket; `gpucost setup iam --history {}` prints the permissions \
             that it takes",
            shell_word(url)
        ),
        (None, None) if is_full(&error.why) => {
            "free space there, or use another directory".to_owned()
        }
        (None, None) => {
            return Failure::hinted("use a directory that can be created and listed")(error);
        }
    };
    Failure::unexpected(error).with_hint(hint)
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

/// Work that takes longer than this is shown.
const AFTER: Duration = Duration::from_millis(500);

const OF_BYTES: &str = "{spinner} {msg}: {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
// The width of a rate is the number of its decimals.
const OF_THINGS: &str = "{spinner} {msg}: {human_pos} of {human_len}, {per_sec:1}, {eta} left";
const BYTES: &str = "{spinner} {msg}: {bytes}, {bytes_per_sec}";
const WORDS: &str = "{spinner} {msg}";

/// Whether a command line asks for silence.
pub(super) fn is_quiet(matches: &ArgMatches) -> bool {
    let own = matches.try_get_one::<bool>("quiet").ok().flatten();
    let inner = matches.subcommand();
    own.copied().unwrap_or(false) || inner.is_some_and(|(_, inner)| is_quiet(inner))
}

/// What is shown of the work of this process.
#[derive(Default, Clone)]
pub(super) struct Watch(Arc<Mutex<Line>>);

#[derive(Default)]
struct Line {
    /// Absent before it is started, and after the end.
    bar: Option<ProgressBar>,
    /// The piece that the bar is about; absent before the first.
    number: Option<u64>,
}

impl Line {
    /// The bar, once there is something of it to clear.
    fn drawn(&self) -> Option<&ProgressBar> {
        self.bar.as_ref().filter(|_| self.number.is_some())
    }

    fn draw(&mut self) {
        let Some(bar) = &self.bar else { return };
        let Some((piece, done)) = WORK.seen() else { return };
        if self.number != Some(piece.number) {
            self.number = Some(piece.number);
            if let Ok(style) = ProgressStyle::with_template(template(&piece)) {
                bar.set_style(style);
            }
            match piece.all {
                Some(total) => bar.set_length(total),
                None => bar.unset_length(),
            }
            bar.reset();
        }
        bar.set_message(safe(&piece.what));
        bar.set_position(piece.all.map_or(done, |total| done.min(total)));
        bar.tick();
    }
}

fn template(piece: &WorkPiece) -> &'static str {
    match (piece.unit, piece.all) {
        (WorkUnit::Bytes, Some(_)) => OF_BYTES,
        (WorkUnit::Bytes, None) => BYTES,
        (WorkUnit::Things, Some(_)) => OF_THINGS,
        (WorkUnit::Things, None) => WORDS,
    }
}

impl Watch {
    fn held(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows from now on what takes long, until it is stopped.
    pub(super) fn start(&self) {
        self.held().bar = Some(ProgressBar::new_spinner());
        let watch = self.clone();
        std::thread::spawn(move || {
            std::thread::sleep(AFTER);
            loop {
                let mut line = watch.held();
                if line.bar.is_none() {
                    return;
                }
                line.draw();
                drop(line);
                std::thread::sleep(STEP);
            }
        });
    }

    /// Clears the line for good.
    pub(super) fn stop(&self) {
        let mut line = self.held();
        let drawn = line.drawn().cloned();
        line.bar = None;
        if let Some(bar) = drawn {
            bar.finish_and_clear();
        }
    }

    /// A stream before whose writes the line is cleared; for good, if it is the document's.
    pub(super) fn before<'a>(&self, inner: &'a mut dyn Write, is_document: bool) -> Cleared<'a> {
        Cleared { inner, watch: self.clone(), is_document }
    }
}

/// A stream that shares a terminal with the line.
pub(super) struct Cleared<'a> {
    inner: &'a mut dyn Write,
    watch: Watch,
    is_document: bool,
}

impl Write for Cleared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_document {
            self.watch.stop();
            return self.inner.write(bytes);
        }
        let mut line = self.watch.held();
        // It is drawn anew below what is written, where work goes on.
        if let Some(bar) = line.drawn() {
            bar.finish_and_clear();
            *line = Line { bar: Some(ProgressBar::new_spinner()), number: None };
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
