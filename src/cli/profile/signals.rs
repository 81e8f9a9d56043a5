//! What ends a run, or goes on to the command that runs under it.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Sent};
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

/// Something that a run reacts to.
#[derive(Debug)]
pub(in crate::cli) enum Event {
    /// A signal came; whether from the keyboard, in which case the command, in
    /// the same group of processes, has had it too.
    Signal {
        /// Its number.
        number: i32,
        /// Whether a process sent it to this one alone.
        to_us_alone: bool,
    },
    /// The command ended.
    Ended(io::Result<ExitStatus>),
}

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
    thread::spawn(move || {
        for origin in signals.forever() {
            let to_us_alone = matches!(origin.cause, Cause::Sent(Sent::User | Sent::Queue));
            let event = Event::Signal {
                number: origin.signal,
                to_us_alone,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    });
    Ok(Listening(handle))
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
        // Nobody listens any more once the run is over.
        let _ = events.send(Event::Ended(ended));
    });
    Ok(pid)
}

/// Sends a signal on. A command that is gone needs none.
pub(in crate::cli) fn forward(number: i32, pid: u32) {
    if let (Ok(signal), Ok(pid)) = (Signal::try_from(number), i32::try_from(pid)) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}
