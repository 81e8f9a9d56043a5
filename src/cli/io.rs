//! Streams, environment and clock are arguments, so that most command-line tests run in-process. No
//! code host takes what is printed for a command of a workflow: names from outside are printed, and
//! a runner reads what is printed.

use jiff::Timestamp;
use ratatui::crossterm::terminal;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// The world that a command runs in.
pub struct Io<'a> {
    /// For data.
    pub stdout: &'a mut dyn Write,
    /// For everything else.
    pub stderr: &'a mut dyn Write,
    /// The environment; on a terminal, with its width as `COLUMNS` where that is not set.
    pub env: BTreeMap<String, String>,
    /// Environment variables whose values are not UTF-8.
    pub unreadable: Vec<String>,
    /// The present.
    pub now: Timestamp,
    /// Where settings files without a name are searched for; empty for nowhere.
    pub folder: PathBuf,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    /// Whether Ctrl-C and SIGTERM end the process in which the command runs.
    pub ends_at_signals: bool,
}

impl<'a> Io<'a> {
    /// An environment variable; an empty one counts as unset.
    pub fn variable(&self, name: &str) -> Option<&String> {
        self.env.get(name).filter(|value| !value.is_empty())
    }

    /// The world of this process.
    pub fn of_process(stdout: &'a mut dyn Write, stderr: &'a mut dyn Write) -> Self {
        let mut env = BTreeMap::new();
        let mut unreadable = Vec::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => {
                    env.insert(name, value);
                }
                Err(_) => unreadable.push(name),
            }
        }
        let stdout_is_terminal = std::io::stdout().is_terminal();
        if stdout_is_terminal && let Ok((columns, _)) = terminal::size() {
            // A width that was exported takes precedence, as in other programs.
            env.entry("COLUMNS".to_owned()).or_insert_with(|| columns.to_string());
        }
        Self {
            stdout,
            stderr,
            env,
            unreadable,
            now: Timestamp::now(),
            folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            stdout_is_terminal,
            stderr_is_terminal: std::io::stderr().is_terminal(),
            ends_at_signals: true,
        }
    }
}

/// Variables that code hosts set while they run a workflow: GitHub, Azure, GitLab.
pub(super) const HOSTS: [&str; 3] = ["GITHUB_ACTIONS", "TF_BUILD", "GITLAB_CI"];

/// How a document may be changed without changing what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// Strings know `\u003a`.
    Json,
    /// Text knows `&#58;`.
    Markup,
    /// Words for people: a command is broken by a space.
    Text,
}

impl Syntax {
    /// Of a document by its first character.
    fn of(text: &str) -> Self {
        match text.trim_start().as_bytes().first() {
            Some(b'{' | b'[') => Self::Json,
            Some(b'<') => Self::Markup,
            _ => Self::Text,
        }
    }
}

/// A document in which no line is a command: `::name::` at the beginning of a line
/// (GitHub), `##[name]` and `##vso[name]` anywhere (GitHub, Azure). GitLab's commands need
/// control characters, which no name is printed with.
pub(super) fn without_commands(text: &str) -> String {
    let syntax = Syntax::of(text);
    text.split_inclusive('\n').map(|line| broken(line, syntax)).collect()
}

/// A line in which no command begins.
fn broken(line: &str, syntax: Syntax) -> String {
    let (colons, hashes) = match syntax {
        Syntax::Json => ("\\u003a\\u003a", "#\\u0023"),
        Syntax::Markup => ("&#58;&#58;", "#&#35;"),
        Syntax::Text => (": :", "# #"),
    };
    let mut line = line.to_owned();
    if line.contains("##[") || line.contains("##vso[") {
        line =
            line.replace("##[", &format!("{hashes}[")).replace("##vso[", &format!("{hashes}vso["));
    }
    let begins = line.len() - line.trim_start().len();
    if syntax == Syntax::Json && line.contains("::") {
        return line.replace("::", colons);
    }
    if line[begins..].starts_with("::") {
        line.replace_range(begins..begins + 2, colons);
    }
    line
}

/// A stream of words whose lines are written when they are whole, and never as commands.
pub(super) struct Guard<'a> {
    inner: &'a mut dyn Write,
    /// What was written of the line that is not whole yet.
    line: Vec<u8>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(inner: &'a mut dyn Write) -> Self {
        Self { inner, line: Vec::new() }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line) {
            Ok(text) => self.inner.write_all(broken(text, Syntax::Text).as_bytes()),
            // Bytes that are not text do not hold a name of ours.
            Err(_) => self.inner.write_all(&line),
        }
    }
}

impl Write for Guard<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.write_line()?;
        }
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let mut out = Vec::new();
        let mut guard = Guard::new(&mut out);
        // In pieces, as a formatter writes.
        for piece in text.as_bytes().chunks(3) {
            guard.write_all(piece).expect("a vector takes all");
        }
        guard.flush().expect("a vector takes all");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn words_begin_no_command() {
        for (text, expected) in [
            ("::stop-commands::x\n", ": :stop-commands::x\n"),
            ("  ::error::x", "  : :error::x"),
            ("a ::error::x\nb\n", "a ::error::x\nb\n"),
            ("a ##[error]x\n", "a # #[error]x\n"),
            ("a ##vso[task]x\n", "a # #vso[task]x\n"),
            ("\u{a0}::error::x\n", "\u{a0}: :error::x\n"),
            ("# ## heading\n", "# ## heading\n"),
        ] {
            assert_eq!(said(text), expected);
            assert_eq!(without_commands(text), expected);
        }
    }

    #[test]
    fn documents_say_the_same() {
        let json = "{\n\"::error::x\": \"a ##[warning]\"}\n";
        let shown = without_commands(json);
        assert!(!shown.contains("::") && !shown.contains("##["), "{shown}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(value(&shown), value(json));
        let xml = "<a>\n::error::x ##[y]\n</a>\n";
        assert_eq!(without_commands(xml), "<a>\n&#58;&#58;error::x #&#35;[y]\n</a>\n");
        assert_eq!(without_commands("NAME\n::x\n"), "NAME\n: :x\n");
    }
}
