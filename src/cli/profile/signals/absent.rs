//! Where there are no signals of Unix: none is reported, and Ctrl-C ends this process
//! and its command as the system does by default.

use super::Event;
use std::io;
use std::process::ExitStatus;
use std::sync::mpsc::Sender;

/// Nothing is reported.
#[derive(Debug)]
pub(in crate::cli) struct Listening;

/// Tells nothing.
///
/// # Errors
/// Never; the other systems have some.
pub(in crate::cli) fn listen(_events: Sender<Event>, _for_command: bool) -> io::Result<Listening> {
    Ok(Listening)
}

/// There is nothing to send on.
pub(in crate::cli) fn forward(_number: i32, _pid: u32) {}

/// There is nothing to send.
pub(in crate::cli) fn interrupt_all() {}

/// There is nothing to send.
pub(in crate::cli) fn send(_name: &str, _pid: u32) {}

/// The exit code of what ended.
pub(in crate::cli) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}
