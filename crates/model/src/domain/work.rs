//! How far a long piece of work is, for what shows it. Work only counts up and never reads the counts: no
//! result depends on these counts, so that one place for the whole process is enough.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkUnit {
    Bytes,
    /// Workloads, calls, pages.
    Things,
}

/// A piece of work under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPiece {
    /// In words, such as `reading estate.json.gz`.
    pub what: String,
    /// Of how many; absent where it is unknown.
    pub all: Option<u64>,
    pub unit: WorkUnit,
    /// Distinguishes it from a later one with the same words.
    pub number: u64,
}

/// What the process works on now.
#[derive(Debug)]
pub struct Work {
    now: Mutex<Now>,
    done: AtomicU64,
}

#[derive(Debug)]
struct Now {
    /// Pieces so far.
    begun: u64,
    counted: Option<WorkPiece>,
    /// A stage that is not counted.
    stage: Option<String>,
    /// What is waited for in it.
    waiting: Option<String>,
}

/// The work of this process.
pub static WORK: Work = Work::new();

impl Work {
    const fn new() -> Self {
        Self {
            now: Mutex::new(Now { begun: 0, counted: None, stage: None, waiting: None }),
            done: AtomicU64::new(0),
        }
    }

    fn held(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a piece, which lasts until the answer is dropped.
    #[must_use]
    pub fn begin(&self, what: String, all: Option<u64>, unit: WorkUnit) -> BegunWork<'_> {
        let mut now = self.held();
        now.begun += 1;
        let number = now.begun;
        now.counted = Some(WorkPiece { what, all: all.filter(|all| *all > 0), unit, number });
        self.done.store(0, Ordering::Relaxed);
        BegunWork { work: self, number }
    }

    /// So much more of the piece is done.
    pub fn advance(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Names a stage that is not counted, and what is waited for in it.
    pub fn say(&self, stage: Option<String>, waiting: Option<String>) {
        let mut now = self.held();
        now.stage = stage;
        now.waiting = waiting;
    }

    /// The piece under way, else the stage, and how much of it is done.
    pub fn seen(&self) -> Option<(WorkPiece, u64)> {
        let now = self.held();
        let stage = now.stage.clone().filter(|stage| !stage.is_empty());
        let stage =
            stage.map(|what| WorkPiece { what, all: None, unit: WorkUnit::Things, number: 0 });
        let mut piece = now.counted.clone().or(stage)?;
        if let Some(waiting) = &now.waiting {
            piece.what = format!("{}: {waiting}", piece.what);
        }
        Some((piece, self.done.load(Ordering::Relaxed)))
    }
}

/// A piece that ends when this is dropped.
#[derive(Debug)]
pub struct BegunWork<'a> {
    work: &'a Work,
    number: u64,
}

impl Drop for BegunWork<'_> {
    fn drop(&mut self) {
        let mut now = self.work.held();
        // Another one may have begun in the meantime.
        if now.counted.as_ref().is_some_and(|piece| piece.number == self.number) {
            now.counted = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_seen_until_it_ends_or_another_begins() {
        let work = Work::new();
        assert_eq!(work.seen(), None);
        let first = work.begin("reading".to_owned(), Some(10), WorkUnit::Bytes);
        work.advance(4);
        work.advance(3);
        let (piece, done) = work.seen().expect("one is under way");
        assert_eq!((piece.what.as_str(), piece.all, done), ("reading", Some(10), 7));
        let second = work.begin("judging".to_owned(), Some(0), WorkUnit::Things);
        drop(first);
        let (piece, done) = work.seen().expect("the second is");
        assert_eq!((piece.what.as_str(), piece.all, done), ("judging", None, 0));
        work.say(Some("metrics".to_owned()), Some("throttled".to_owned()));
        let shown = || work.seen().map(|(piece, _)| piece.what);
        assert_eq!(shown().as_deref(), Some("judging: throttled"));
        drop(second);
        assert_eq!(shown().as_deref(), Some("metrics: throttled"));
        work.say(None, None);
        assert_eq!(work.seen(), None);
    }
}
