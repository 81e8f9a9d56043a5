//! The command that runs under the sampler, and where it writes while the live view has the
//! screen: to a file, whose last lines the view shows.

use super::args::ProfileArgs;
use super::signals::{Event, exit_code, forward};
use crate::cli::output::unwritable;
use crate::cli::{Io, Outcome};
use crate::domain::shown;
use crate::sources::files::append_private;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

/// The file unless one is named, in the current folder.
const USUAL_FILE: &str = "gpucost-command.log";
/// Lines that the view may show.
const MOST_LINES: usize = 3;
/// Bytes from the end in which these lines are searched for.
const TAIL_BYTES: u64 = 4_096;

/// Starts a command with this process's own streams, or those of a log; its end is
/// reported as an event.
///
/// # Errors
/// When it cannot be started.
pub(super) fn start(
    command: &[OsString],
    log: Option<&CommandLog>,
    events: Sender<Event>,
) -> io::Result<u32> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut started = Command::new(program);
    started.args(arguments);
    if let Some(log) = log {
        log.take_streams(&mut started)?;
    }
    let mut child = started.spawn()?;
    let pid = child.id();
    thread::spawn(move || {
        let ended = child.wait();
        // Signals are not handled any more once the run is over.
        let _ = events.send(Event::Ended(ended));
    });
    Ok(pid)
}

/// Waits until the command ends, and gives its exit code.
/// Signals go on to it.
pub(super) fn wait_for_end(pid: u32, events: &Receiver<Event>) -> i32 {
    for event in events {
        match event {
            Event::Ended(Ok(status)) => return exit_code(status),
            Event::Ended(Err(_)) => break,
            Event::Signal { number, to_us_alone: true } => forward(number, pid),
            _ => {}
        }
    }
    1
}

/// The file that a command writes to, and how much of it was seen.
#[derive(Debug)]
pub(super) struct CommandLog {
    path: PathBuf,
    /// For the command: what it writes goes to the end.
    file: File,
    takes_stdout: bool,
    /// Bytes that the file had when the run began.
    offset: u64,
    /// Bytes that it had when its last lines were read.
    seen: u64,
    lines: Vec<String>,
}

impl CommandLog {
    /// By the flags; `None` where no command shares the screen with the live view.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn of(args: &ProfileArgs, io: &Io<'_>) -> Outcome<Option<Self>> {
        if !args.live || args.command.is_empty() {
            return Ok(None);
        }
        let path = log_path(args).to_owned();
        let opened = append_private(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (offset, file) = opened.map_err(|error| {
            unwritable(&path, error).with_hint(
                "the output of the command goes to this file; name another one with \
                 `--command-log FILE`",
            )
        })?;
        Ok(Some(Self {
            path,
            file,
            takes_stdout: io.stdout_is_terminal,
            offset,
            seen: offset,
            lines: Vec::new(),
        }))
    }

    /// How the file is called on a screen.
    pub(super) fn name(&self) -> String {
        shown(&self.path)
    }

    /// Takes those streams of a command that would be the terminal: its output goes to
    /// the file, and it has no input, because the view reads the keys. What is redirected
    /// already stays so.
    ///
    /// # Errors
    /// When the system has no more handles.
    pub(super) fn take_streams(&self, command: &mut Command) -> io::Result<()> {
        if io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        if self.takes_stdout {
            command.stdout(self.file.try_clone()?);
        }
        command.stderr(self.file.try_clone()?);
        Ok(())
    }

    /// The last lines of this run, oldest first; those of before where the file cannot be
    /// read.
    pub(super) fn last_lines(&mut self) -> &[String] {
        if let Ok(size) = self.file.metadata().map(|data| data.len())
            && size != self.seen
            && let Ok(lines) = tail(&self.path, self.offset, size)
        {
            self.seen = size;
            self.lines = lines;
        }
        &self.lines
    }
}

/// The file that the flags name, or the usual one.
pub(super) fn log_path(args: &ProfileArgs) -> &Path {
    args.command_log.as_deref().unwrap_or(Path::new(USUAL_FILE))
}

/// The last lines between two places of a file. A carriage return begins a line as well:
/// progress bars write over themselves.
fn tail(path: &Path, from: u64, to: u64) -> io::Result<Vec<String>> {
    // A file that was emptied holds nothing of before the run.
    let from = if from > to { 0 } else { from };
    let start = from.max(to.saturating_sub(TAIL_BYTES));
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(to - start).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.split(['\n', '\r']).map(str::trim_end);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    Ok(lines[lines.len().saturating_sub(MOST_LINES)..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_last_lines_are_those_of_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("command.log");
        let before = "of an earlier run\n";
        let text = format!("{before}one\n\n10%\r20%\r30%\nlast, not ended");
        fs::write(&path, &text).expect("written");
        let read = |from: usize, to: usize| tail(&path, from as u64, to as u64).expect("read");
        let offset = before.len();
        assert_eq!(read(offset, text.len()), ["20%", "30%", "last, not ended"]);
        assert_eq!(read(offset, offset + 3), ["one"]);
        assert_eq!(read(offset, offset), [""; 0]);
        // Emptied since: what is there is of this run.
        assert_eq!(read(1_000, offset), ["of an earlier run"]);
    }

    #[test]
    fn no_line_is_too_long_and_no_byte_too_strange() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("command.log");
        let text = [b"x".repeat(100_000), vec![0xff, 0x1b, b'\n']].concat();
        fs::write(&path, &text).expect("written");
        let lines = tail(&path, 0, text.len() as u64).expect("read");
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with('x') && lines[0].chars().count() <= 4_096);
    }
}
