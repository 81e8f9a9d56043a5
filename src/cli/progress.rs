//! A line on stderr for work that takes long, on a terminal only: how much of how much, how
//! fast, and how long it will take. It is gone before anything else is written.

use crate::domain::{WORK, WorkPiece, WorkUnit, safe};
use clap::ArgMatches;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Work that takes longer than this is shown.
const AFTER: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(120);

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
