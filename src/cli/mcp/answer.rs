//! Running the command behind a tool, and its document in a size for a model.

use crate::cli::command::{Cli, Command, command};
use crate::cli::{ExitCode, Failure, Io, Outcome};
use crate::config::ConfigError;
use crate::domain::{shell_word, shown};
use crate::report::text::json_document;
use crate::sources::files::{EstateError, OwnPricesError, RowsError};
use clap::FromArgMatches;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What runs a command of this program.
pub(super) type Runner = fn(&Command, &mut Io<'_>) -> Outcome;

/// Bytes of the longest answer.
const MOST_BYTES: usize = 1 << 20;
/// Bytes of what is said beside it, and of an error.
const MOST_NOTE_BYTES: usize = 16 << 10;

/// What a tool answers.
#[derive(Debug)]
pub(super) struct Answer {
    /// The document, where it is JSON.
    pub document: Option<Value>,
    /// The document as text.
    pub text: String,
    /// What is said beside it: what was audited, what to be careful with, what was left out.
    pub notes: String,
}

/// Runs a command line. Its document is text, or JSON whose lists have at most so many entries.
///
/// # Errors
/// With what the command line prints on stderr, when it fails or has no answer.
pub(super) fn of(
    runner: Runner,
    arguments: Vec<OsString>,
    limit: Option<usize>,
) -> Result<Answer, String> {
    let cli = command()
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| error.render().to_string())?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut io = Io {
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        ends_at_signals: false,
        // A client starts the server wherever a project says, which may be a stranger's.
        folder: PathBuf::new(),
        ..Io::of_process(&mut stdout, &mut stderr)
    };
    let done = runner(&cli.command, &mut io);
    let text = String::from_utf8_lossy(&stdout).into_owned();
    let notes = String::from_utf8_lossy(&stderr).trim_end().to_owned();
    let notes = cut(notes, MOST_NOTE_BYTES);
    match done {
        Ok(ExitCode::Done) => shaped(text, notes, limit),
        Ok(_) => Err(notes),
        Err(failure) => Err(cut(without_contents(&failure), MOST_NOTE_BYTES)),
    }
}

/// What a failure says. An error about the inside of a file quotes it, and the file may be
/// something else that was not meant to be shown: that it cannot be used is all that is said.
fn without_contents(failure: &Failure) -> String {
    let unfit = |path: &Path, what: &str, flag: &str| {
        format!(
            "error: {} {what}\nhint: run `gpucost audit {flag} {}` in a terminal for what is wrong \
             in it",
            shown(path),
            shell_word(&path.to_string_lossy())
        )
    };
    if let Some(
        EstateError::Malformed { path, .. }
        | EstateError::Wrong { path, .. }
        | EstateError::Newer { path, .. },
    ) = failure.error_as::<EstateError>()
    {
        return unfit(path, "is not an estate that this version reads", "--from");
    }
    if let Some(ConfigError::Invalid { path, .. }) = failure.error_as::<ConfigError>() {
        return unfit(path, "has invalid settings", "--demo --config");
    }
    if let Some(OwnPricesError(RowsError::Line { path, .. })) = failure.error_as::<OwnPricesError>()
    {
        return format!(
            "error: the price file {} is invalid\nhint: run `gpucost audit --demo --config FILE` in \
             a terminal, with the settings file of the server, for what is wrong in it",
            shown(path)
        );
    }
    failure.text()
}

fn shaped(text: String, notes: String, limit: Option<usize>) -> Result<Answer, String> {
    let Some(limit) = limit else {
        return Ok(Answer { document: None, text: cut(text, MOST_BYTES), notes });
    };
    let unreadable = |error: serde_json::Error| format!("error: {error}");
    let mut document: Map<String, Value> = serde_json::from_str(&text).map_err(unreadable)?;
    let mut notes = vec![notes];
    notes.extend(shorten(&mut document, limit));
    let document = Value::Object(document);
    let text = json_document(&document).map_err(unreadable)?;
    if text.len() > MOST_BYTES {
        return Err(format!(
            "error: the answer has {} bytes, more than {MOST_BYTES}\nhint: pass a `limit` below \
             {limit}, or ask about less",
            text.len()
        ));
    }
    notes.retain(|note| !note.is_empty());
    Ok(Answer { document: Some(document), text, notes: notes.join("\n") })
}

/// Keeps the first entries of each list of a document, and says of which it left some out.
fn shorten(document: &mut Map<String, Value>, limit: usize) -> Vec<String> {
    let mut skipped = Vec::new();
    for (key, value) in document {
        if let Value::Array(list) = value
            && list.len() > limit
        {
            skipped.push(format!("{key}: the first {limit} of {}; `limit` gives more", list.len()));
            list.truncate(limit);
        }
    }
    skipped
}

/// The lines of a text that fit in so many bytes.
fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let line = text.as_bytes()[..most].iter().rposition(|byte| *byte == b'\n');
        text.truncate(line.map_or(0, |at| at + 1));
        text.push_str("… the rest does not fit\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn json_of(document: &Value, limit: usize) -> Result<Answer, String> {
        shaped(document.to_string(), "closing line".to_owned(), Some(limit))
    }

    #[test]
    fn lists_are_shortened_and_totals_are_not() {
        let whole = json!({"summary": {"list": [1, 2, 3]}, "a": [1, 2, 3], "b": [1, 2], "c": 4});
        let answer = json_of(&whole, 2).expect("it fits");
        let expected = json!({"summary": {"list": [1, 2, 3]}, "a": [1, 2], "b": [1, 2], "c": 4});
        assert_eq!(answer.document, Some(expected));
        assert_eq!(answer.notes, "closing line\na: the first 2 of 3; `limit` gives more");
        let answer = json_of(&whole, 3).expect("it fits");
        assert_eq!(answer.document, Some(whole));
        assert_eq!(answer.notes, "closing line");
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let long = json!({"a": ["x".repeat(600_000), "y".repeat(600_000)]});
        assert!(json_of(&long, 1).is_ok());
        let problem = json_of(&long, 2).expect_err("1.2 MB");
        assert!(problem.contains("pass a `limit` below 2"), "{problem}");
    }

    #[test]
    fn long_texts_end_with_a_whole_line() {
        let line = "é".repeat(50) + "\n";
        let long = line.repeat(20_000);
        let text = cut(long.clone(), MOST_BYTES);
        assert!(text.len() <= MOST_BYTES + 40);
        let kept = text.strip_suffix("… the rest does not fit\n").expect("it is cut");
        assert!(long.starts_with(kept) && kept.ends_with('\n'));
        assert_eq!(cut(line.clone(), MOST_BYTES), line);
        // Of an error that is one long line, nothing is left but that.
        let problem = "x".repeat(MOST_NOTE_BYTES + 1);
        assert_eq!(cut(problem, MOST_NOTE_BYTES), "… the rest does not fit\n");
    }

    #[test]
    fn texts_have_no_character_that_acts_on_a_terminal() {
        let answer = json_of(&json!({"name": "\u{1b}[31m\u{202e}x\u{9b}"}), 1).expect("it fits");
        let unsafe_ones = ['\u{1b}', '\u{202e}', '\u{9b}'];
        assert!(!answer.text.contains(unsafe_ones), "{:?}", answer.text);
    }
}
