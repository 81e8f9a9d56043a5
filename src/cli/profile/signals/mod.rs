//! What ends a run, or goes on to the command that runs under it.

#[cfg(not(unix))]
mod absent;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(in crate::cli) use absent::{exit_code, forward, listen};
#[cfg(unix)]
pub(in crate::cli) use unix::{exit_code, forward, listen};

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::Sender;
use std::thread;

/// Something that a run reacts to.
#[derive(Debug)]
pub(in crate::cli) enum Event {
    /// A signal came; whether from the keyboard, in which case the command, in
    /// the same group of processes, has had it too.
    #[cfg_attr(not(unix), expect(dead_code, reason = "none is reported there"))]
    Signal {
        /// Its number.
        number: i32,
        /// Whether a process sent it to this one alone.
        to_us_alone: bool,
    },
    /// The command ended.
    Ended(io::Result<ExitStatus>),
}

/// Starts a command with this process's own streams; its end is reported as an
/// event.
///
/// # Errors
/// When it cannot be started.
pub(in crate::cli) fn start(command: &[OsString], events: Sender<Event>) -> io::Result<u32> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    let pid = child.id();
    thread::spawn(move || {
        let ended = child.wait();
        // Signals are not handled any more once the run is over.
        let _ = events.send(Event::Ended(ended));
    });
    Ok(pid)
}
