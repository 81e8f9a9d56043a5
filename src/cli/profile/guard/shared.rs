//! What the thread of the guard and that of the run both know.

use super::so_far::{SoFar, Step};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the user is to read.
#[derive(Debug)]
pub(in crate::cli::profile) enum Note {
    Said(String),
    Complained { error: String, hint: &'static str },
}

impl Note {
    /// Of a step that only says something.
    pub(super) fn of(step: Step) -> Option<Self> {
        match step {
            Step::Say(text) => Some(Self::Said(text)),
            Step::Complain { error, hint } => Some(Self::Complained { error, hint }),
            Step::Warn(_) => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) so_far: SoFar,
    /// What was not shown yet.
    pub(super) notes: Vec<Note>,
    /// Whether the run is over, after which no warning is sent.
    pub(super) is_over: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<Watched>>);

impl Shared {
    pub(super) fn new(so_far: SoFar) -> Self {
        Self(Arc::new(Mutex::new(Watched {
            so_far,
            notes: Vec::new(),
            is_over: false,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
