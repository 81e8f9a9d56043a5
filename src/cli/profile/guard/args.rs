//! The flags of the spot guard.

use crate::cli::args::time;
use crate::cli::choices::flags;
use jiff::SignedDuration;

/// EC2 announces an interruption so long before it.
const LONGEST_MARGIN: SignedDuration = SignedDuration::from_secs(110);
/// Signals that leave a process the time to save its work.
const SIGNALS: [&str; 7] =
    ["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM"];

flags! {
    /// `gpucost profile --spot-guard`.
    pub(in crate::cli) struct GuardArgs {
        /// Signal the command before EC2 interrupts this spot instance, and record the notice
        spot_guard: bool = arg(long, requires = "command", conflicts_with = "no_imds", help_heading = "Spot guard");
        /// Signal that the command gets [default: TERM, and none before a hibernation]
        on_interrupt: Option<&'static str> = arg(long, value_name = "SIGNAL", value_parser = signal, requires = "spot_guard", help_heading = "Spot guard");
        /// Time before the interruption at which to stop waiting for the command [default: 10s]
        interrupt_margin: Option<SignedDuration> = arg(long, value_name = "TIME", value_parser = margin, requires = "spot_guard", help_heading = "Spot guard");
    }
}

/// Reads `TERM` or `SIGTERM`.
fn signal(text: &str) -> Result<&'static str, String> {
    let known = SIGNALS.into_iter();
    let mut own = known.filter(|name| *name == text || name.strip_prefix("SIG") == Some(text));
    own.next().ok_or_else(|| format!("expected a signal of {}", SIGNALS.join(", ")))
}

fn margin(text: &str) -> Result<SignedDuration, String> {
    let margin = time(text).ok().filter(|margin| *margin <= LONGEST_MARGIN);
    margin.ok_or_else(|| "expected a duration from 1s to 110s".to_owned())
}
