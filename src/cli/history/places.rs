//! The place of a history, and how it is reached.

use crate::cli::args::OutputArgs;
use crate::cli::exit::Failure;
use crate::cli::{Io, live, usage_history};
use crate::domain::shell_word;
use crate::sources::aws::{AwsOptions, Notice};
use crate::sources::files::{HistoryError, Records};
use crate::sources::store::{BucketAccess, Place};
use std::io::ErrorKind;

/// The directory without a name.
const DEFAULT_FOLDER: &str = "history";

/// The flag that leads to a place, with a blank before it.
pub(in crate::cli) fn flag(named: Option<&Place>) -> String {
    named.map_or(String::new(), |place| format!(" --history {}", shell_word(&place.word())))
}

/// Fails where a place on this host is not a directory.
pub(in crate::cli) fn check(place: &Place) -> Result<(), Failure> {
    match place {
        Place::Folder(folder) if !folder.is_dir() => {
            Err(Failure::input(format!("{place} is not a directory"))
                .with_hint("pass the directory or URL that `gpucost history record` wrote to"))
        }
        _ => Ok(()),
    }
}

/// A history, and how it is reached.
pub(in crate::cli) struct Opening {
    pub place: Place,
    access: BucketAccess,
}

impl Opening {
    /// The first place that is named, or the usual one.
    pub(super) fn of<'a>(
        named: impl IntoIterator<Item = &'a Place>,
        aws: &AwsOptions,
        io: &Io<'_>,
    ) -> Self {
        let first = named.into_iter().next().cloned();
        Self {
            place: first.unwrap_or_else(|| Place::Folder(DEFAULT_FOLDER.into())),
            access: usage_history::bucket_access(aws, io),
        }
    }

    /// Runs something on its files.
    pub(super) fn run<T>(
        &self,
        out: &OutputArgs,
        io: &Io<'_>,
        work: impl AsyncFnOnce(Records) -> Result<T, HistoryError>,
    ) -> Result<T, Failure> {
        let done = live::run(out, &Notice::default(), io, async |progress| {
            progress("history");
            work(Records::open(&self.place, &self.access).await?).await
        });
        done?.map_err(|error| failed(error, &self.place))
    }
}

/// What it means that a history cannot be read or written.
fn failed(error: HistoryError, place: &Place) -> Failure {
    if error.why.kind() == ErrorKind::AlreadyExists {
        let hint = format!(
            "a run of this name did not end, or recorded something else; `gpucost history \
             verify {}` names its files",
            shell_word(&place.word())
        );
        return Failure::unexpected(error).with_hint(hint);
    }
    usage_history::unopened(error)
}
