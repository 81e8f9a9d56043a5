//! Signals of Unix.

use super::Event;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Sent};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::{io, thread};

/// Signals are reported as events as long as this lives.
#[derive(Debug)]
pub(in crate::cli) struct Listening(Handle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Tells signals as events. Those that a user may send to a command for a
/// purpose of its own (USR1, USR2, ALRM) only where there is one.
///
/// # Errors
/// When the system refuses.
pub(in crate::cli) fn listen(events: Sender<Event>, for_command: bool) -> io::Result<Listening> {
    let mut wanted = vec![SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    if for_command {
        wanted.extend([SIGUSR1, SIGUSR2, SIGALRM]);
    }
    // A file at its size limit fails the write and ends nothing. A handler, unlike
    // ignoring it, is not handed down to the command.
    flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = SignalsInfo::<WithOrigin>::new(wanted)?;
    let handle = signals.handle();
    let own = std::process::id();
    thread::spawn(move || {
        for origin in signals.forever() {
            let sender = origin.process.and_then(|process| u32::try_from(process.pid).ok());
            // What this process sends goes to its whole group, see `interrupt_all`.
            let to_us_alone = matches!(origin.cause, Cause::Sent(Sent::User | Sent::Queue))
                && sender != Some(own);
            if events.send(Event::Signal { number: origin.signal, to_us_alone }).is_err() {
                return;
            }
        }
    });
    Ok(Listening(handle))
}

/// Sends a signal on. A command that is gone needs none.
pub(in crate::cli) fn forward(number: i32, pid: u32) {
    if let (Ok(signal), Ok(pid)) = (Signal::try_from(number), i32::try_from(pid)) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Interrupts this process, its command and whatever that started, as Ctrl-C does where
/// the terminal reads it.
pub(in crate::cli) fn interrupt_all() {
    // Process 0 is the whole group of the caller.
    let _ = kill(Pid::from_raw(0), Signal::SIGINT);
}

/// Sends a signal by its name, such as `SIGTERM`.
pub(in crate::cli) fn send(name: &str, pid: u32) {
    if let Ok(signal) = Signal::from_str(name) {
        forward(signal as i32, pid);
    }
}

/// The exit code that a shell gives: 128 and the signal for what died of one.
pub(in crate::cli) fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
