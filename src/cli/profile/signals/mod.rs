//! What ends a run, or goes on to the command that runs under it.

#[cfg(not(unix))]
mod absent;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(in crate::cli) use absent::{exit_code, forward, interrupt_all, listen, send};
#[cfg(unix)]
pub(in crate::cli) use unix::{exit_code, forward, interrupt_all, listen, send};

use super::clock::Event;
use super::command_log::CommandLog;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

/// Starts a command with this process's own streams, or those of a log; its end is
/// reported as an event.
///
/// # Errors
/// When it cannot be started.
pub(in crate::cli) fn start(
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
pub(in crate::cli) fn wait_for_end(pid: u32, events: &Receiver<Event>) -> i32 {
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
