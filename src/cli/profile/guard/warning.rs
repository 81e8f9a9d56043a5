//! Ways to warn a command: a signal, a file that it watches, or a command of the user.

use crate::cli::profile::event::{News, SpotNoticeKind};
use crate::cli::profile::signals;
use jiff::Timestamp;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::SystemTime;

/// Signals that leave a process the time to save its work.
const SIGNALS: [&str; 7] = [
    "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM",
];
/// What ends or halts a process at once.
const HARD_SIGNALS: [&str; 2] = ["SIGKILL", "SIGSTOP"];

/// How a command is warned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Warning {
    /// A signal of the list, by its name.
    Signal(&'static str),
    /// A file that is created, or whose time is set.
    File(PathBuf),
    /// A program and its arguments; no shell reads them.
    Command {
        program: String,
        arguments: Vec<String>,
    },
}

/// What a command of the user gets, in variables of its environment.
#[derive(Debug, Clone)]
pub(super) struct Warned {
    pub kind: SpotNoticeKind,
    /// The command that is to be warned.
    pub pid: u32,
    /// What EC2 does, and until when work can be saved; absent for a recommendation.
    pub interruption: Option<(&'static str, Timestamp)>,
}

/// Reads `TERM`, `SIGUSR1`, `file:PATH` or a command.
pub(super) fn warning(text: &str) -> Result<Warning, String> {
    if let Some(path) = text.strip_prefix("file:") {
        return match path {
            "" => Err("expected a path after `file:`".to_owned()),
            path => Ok(Warning::File(PathBuf::from(path))),
        };
    }
    let full = format!("SIG{}", text.strip_prefix("SIG").unwrap_or(text));
    if let Some(name) = SIGNALS.into_iter().find(|name| *name == full) {
        return Ok(Warning::Signal(name));
    }
    if HARD_SIGNALS.contains(&full.as_str()) {
        return Err(format!("{full} leaves no time to save work"));
    }
    if text.starts_with("SIG") {
        return Err(format!("expected a signal of {}", SIGNALS.join(", ")));
    }
    let words = shlex::split(text).ok_or("a quote is not closed")?;
    let mut words = words.into_iter();
    let program = words.next().filter(|program| !program.is_empty());
    Ok(Warning::Command {
        program: program.ok_or("expected a signal, file:PATH or a command")?,
        arguments: words.collect(),
    })
}

impl Warning {
    /// As the summary names it: arguments and paths may hold secrets.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Signal(name) => name,
            Self::File(_) => "file",
            Self::Command { .. } => "command",
        }
    }

    /// Warns the command. What may take long happens beside the run, and is reported as an
    /// event where it fails.
    pub(super) fn pass_on(&self, warned: &Warned, events: &Sender<News>) {
        match self {
            Self::Signal(name) => signals::send(name, warned.pid),
            Self::File(path) => {
                let path = path.clone();
                beside(warned.kind, events, move || touch(&path));
            }
            Self::Command { program, arguments } => {
                let mut command = Command::new(program);
                command.args(arguments);
                set_variables(&mut command, warned);
                beside(warned.kind, events, move || finish(&mut command));
            }
        }
    }
}

fn beside(
    kind: SpotNoticeKind,
    events: &Sender<News>,
    work: impl FnOnce() -> Result<(), String> + Send + 'static,
) {
    let events = events.clone();
    thread::spawn(move || {
        if let Err(reason) = work() {
            // It fails once the run is over.
            let _ = events.send(News::NotWarned(kind, reason));
        }
    });
}

fn set_variables(command: &mut Command, warned: &Warned) {
    let notice = match warned.kind {
        SpotNoticeKind::Rebalance => "rebalance",
        SpotNoticeKind::Interruption => "interruption",
    };
    command
        .env("GPUCOST_SPOT_NOTICE", notice)
        .env("GPUCOST_COMMAND_PID", warned.pid.to_string());
    if let Some((action, deadline)) = warned.interruption {
        command
            .env("GPUCOST_SPOT_ACTION", action)
            .env("GPUCOST_SPOT_DEADLINE", deadline.to_string());
    }
}

/// Runs a command of the user to its end. Stdout belongs to the command that is warned.
fn finish(command: &mut Command) -> Result<(), String> {
    let ended = command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|error| error.to_string())?;
    if ended.success() {
        Ok(())
    } else {
        Err(format!("it ended with {ended}"))
    }
}

/// Creates a file, or sets the time of one and keeps what it holds.
fn touch(path: &Path) -> Result<(), String> {
    let file = File::options().create(true).append(true).open(path);
    file.and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_files_and_commands_are_distinguished() {
        assert_eq!(warning("TERM"), Ok(Warning::Signal("SIGTERM")));
        assert_eq!(warning("SIGUSR1"), Ok(Warning::Signal("SIGUSR1")));
        let file = Warning::File(PathBuf::from("/tmp/a b"));
        assert_eq!(warning("file:/tmp/a b"), Ok(file));
        // Quotes group words; what a shell would run stays an argument.
        let command = Warning::Command {
            program: "save.sh".to_owned(),
            arguments: ["to s3", "$(reboot);", "&"].map(str::to_owned).to_vec(),
        };
        assert_eq!(warning("save.sh 'to s3' '$(reboot);' &"), Ok(command));
        for (text, reason) in [
            ("KILL", "SIGKILL leaves no time to save work"),
            ("SIGSTOP", "SIGSTOP leaves no time to save work"),
            ("SIGUSR3", "expected a signal of SIGTERM, SIGUSR1"),
            ("file:", "expected a path"),
            ("save.sh 'a", "a quote is not closed"),
            ("", "expected a signal, file:PATH or a command"),
            ("''", "expected a signal, file:PATH or a command"),
        ] {
            let error = warning(text).expect_err(text);
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_touched_file_keeps_what_it_holds() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("stop");
        touch(&path).expect("it is created");
        assert_eq!(std::fs::read(&path).expect("there"), b"");
        std::fs::write(&path, "kept").expect("written");
        let long_ago = SystemTime::UNIX_EPOCH;
        let file = File::options().append(true).open(&path).expect("there");
        file.set_modified(long_ago).expect("set");
        touch(&path).expect("it is there");
        assert_eq!(std::fs::read(&path).expect("there"), b"kept");
        let changed = path.metadata().and_then(|data| data.modified());
        assert!(changed.expect("a time") > long_ago);
        assert!(touch(&folder.path().join("no/such/folder")).is_err());
    }
}
