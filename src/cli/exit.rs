//! Exit codes, and failures with their causes and a hint.

use super::Io;
use crate::domain::safe;
use crate::planners::NoResult;
use std::error::Error;
use std::{fmt, io};

/// What a process ends with. Scripts rely on these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done, findings or not; a closed pipe too.
    Done,
    /// Unexpected: no credentials, network, input or output, internal.
    Unexpected,
    /// The user's input: flags, configuration, policy, estate file.
    Input,
    /// Parts could not be read, under `--strict`; or a rule of a gate lacked data.
    Incomplete,
    /// Nothing to audit in the scope.
    Nothing,
    /// The policy is violated (`check` only).
    Violated,
    Interrupted,
    /// What the command that `profile` ran ended with.
    Command(u8),
}

impl ExitCode {
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unexpected => 1,
            Self::Input => 2,
            Self::Incomplete => 3,
            Self::Nothing => 4,
            Self::Violated => 100,
            Self::Interrupted => 130,
            Self::Command(code) => code,
        }
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(super) struct Failure {
    code: ExitCode,
    error: Option<anyhow::Error>,
    hint: Option<String>,
}

/// What to do about an error, a row for each of its patterns.
macro_rules! hint {
    ($error:expr; $($pattern:pat $(if $condition:expr)? => $words:literal $(, $value:expr)*;)+) => {
        match $error {
            $($pattern $(if $condition)? => format!($words $(, $value)*),)+
        }
    };
}
pub(super) use hint;

/// An error as the user's, with what to do about it: a row for each of its patterns.
macro_rules! hinted {
    ($error:ident; $($rows:tt)+) => {{
        let hint = $crate::cli::exit::hint! { &$error; $($rows)+ };
        $crate::cli::exit::Failure::new($crate::cli::exit::ExitCode::Input, $error).with_hint(hint)
    }};
}
pub(super) use hinted;

/// The user's error in words, then what to do about it.
macro_rules! refusal {
    ($error:literal $(, $value:expr)*; $hint:literal $(, $part:expr)*) => {
        $crate::cli::exit::Failure::input(format!($error $(, $value)*))
            .with_hint(format!($hint $(, $part)*))
    };
}
pub(super) use refusal;

/// Ends with the user's error in words where something holds.
macro_rules! refuse_if {
    ($condition:expr; $($words:tt)+) => {
        if $condition {
            return Err($crate::cli::exit::refusal!($($words)+));
        }
    };
}
pub(super) use refuse_if;

/// The same where it may not come to that.
macro_rules! refused {
    ($($words:tt)+) => { || $crate::cli::exit::refusal!($($words)+) };
}
pub(super) use refused;

/// What a command, or a part of one, comes to.
pub(super) type Outcome<T = ExitCode> = Result<T, Failure>;

impl From<NoResult> for Failure {
    fn from(error: NoResult) -> Self {
        Self::hinted(error.hint.clone())(error)
    }
}

impl Failure {
    /// An error with its code. A disk without room is nobody's input, whatever was being done.
    pub(super) fn new(code: ExitCode, error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let is_of_disk =
            |cause: &(dyn Error + 'static)| cause.downcast_ref::<io::Error>().is_some_and(is_full);
        let code = if error.chain().any(is_of_disk) { ExitCode::Unexpected } else { code };
        Self { code, error: Some(error), hint: None }
    }

    /// Makes an error the user's, with what to do about it.
    pub(super) fn hinted<E: Into<anyhow::Error>>(
        hint: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        |error| Self::new(ExitCode::Input, error).with_hint(hint)
    }

    /// An error of this program or of its surroundings.
    pub(super) fn unexpected(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ExitCode::Unexpected, error)
    }

    /// The user's error, in words.
    pub(super) fn input(message: impl fmt::Display) -> Self {
        Self::new(ExitCode::Input, anyhow::anyhow!("{message}"))
    }

    /// A document could not be written. A reader that has seen enough (`| head`)
    /// is not a failure.
    pub(super) fn write(what: &str, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { code: ExitCode::Done, error: None, hint: None };
        }
        Self::unexpected(anyhow::Error::new(error).context(format!("cannot write {what}")))
    }

    /// The user pressed Ctrl-C.
    pub(super) fn interrupted() -> Self {
        Self::new(ExitCode::Interrupted, anyhow::anyhow!("interrupted"))
    }

    /// Adds what to do about it.
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Writes `error:`, `caused by:` and `hint:`, and gives the code.
    pub(super) fn report(self, io: &mut Io<'_>) -> ExitCode {
        // Nothing more can be done when stderr itself is gone.
        let _ = io.stderr.write_all(self.text().as_bytes());
        self.code
    }

    /// `error:`, `caused by:` and `hint:`; empty where nothing failed.
    pub(super) fn text(&self) -> String {
        let Some(error) = &self.error else { return String::new() };
        let mut text = format!("error: {}\n", lines(&error.to_string()));
        for cause in error.chain().skip(1) {
            text.push_str(&format!("  caused by: {}\n", lines(&cause.to_string())));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("hint: {}\n", lines(hint)));
        }
        text
    }

    /// The error itself, if it is of a type.
    pub(super) fn error_as<E>(&self) -> Option<&E>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        self.error.as_ref()?.downcast_ref()
    }
}

/// What to do about a name that is not known: the nearest names, or something else without any.
pub(super) fn did_you_mean(nearest: &[String], otherwise: &str) -> String {
    match nearest {
        [] => otherwise.to_owned(),
        names => format!("did you mean {}?", names.join(", ")),
    }
}

/// Whether there was no room to write: on the disk, in a quota, or in a file.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Messages quote words from outside: only line feeds may pass, and what comes
/// after one is indented, so that no line passes itself off as ours.
fn lines(text: &str) -> String {
    let shown: Vec<String> = text.lines().map(|line| safe(line.trim())).collect();
    shown.join("\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_not_the_users_input() {
        let code = |kind: io::ErrorKind| {
            let error = anyhow::Error::new(io::Error::from(kind)).context("cannot read the bill");
            Failure::new(ExitCode::Input, error).code
        };
        for kind in
            [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge]
        {
            assert_eq!(code(kind), ExitCode::Unexpected, "{kind}");
        }
        assert_eq!(code(io::ErrorKind::NotFound), ExitCode::Input);
    }
}
