//! Streams, environment and clock are arguments, so that most command-line
//! tests run in-process.

use jiff::Timestamp;
use ratatui::crossterm::terminal;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
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
