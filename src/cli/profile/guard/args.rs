//! The flags of the spot guard.

use super::warning::{Warning, warning};
use crate::cli::args::time;
use clap::Args;
use jiff::SignedDuration;
use std::path::PathBuf;

/// EC2 announces an interruption so long before it.
const LONGEST_MARGIN: SignedDuration = SignedDuration::from_secs(110);

/// `gpucost profile --spot-guard`.
#[derive(Debug, Args)]
pub(in crate::cli) struct GuardArgs {
    /// Warn the command before EC2 interrupts this spot instance, and measure what is lost
    #[arg(
        long,
        requires = "command",
        conflicts_with = "no_imds",
        help_heading = "Spot guard"
    )]
    pub spot_guard: bool,
    /// How to warn it: a signal, file:PATH to touch, or a command to run [default: TERM, and
    /// nothing before a hibernation]
    #[arg(
        long,
        value_name = "HOW",
        value_parser = warning,
        requires = "spot_guard",
        help_heading = "Spot guard"
    )]
    pub on_interrupt: Option<Warning>,
    /// The same when an interruption becomes more likely [default: only report it]
    #[arg(
        long,
        value_name = "HOW",
        value_parser = warning,
        requires = "spot_guard",
        help_heading = "Spot guard"
    )]
    pub on_rebalance: Option<Warning>,
    /// Time before the interruption at which to stop waiting for the command [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = margin,
        requires = "spot_guard",
        help_heading = "Spot guard"
    )]
    pub interrupt_margin: Option<SignedDuration>,
    /// File that the command writes last in each checkpoint, or its log
    #[arg(
        long,
        value_name = "FILE",
        requires = "spot_guard",
        help_heading = "Spot guard"
    )]
    pub checkpoint_mark: Option<PathBuf>,
    /// Text in a line of the log after each checkpoint
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = text,
        requires = "checkpoint_mark",
        help_heading = "Spot guard"
    )]
    pub checkpoint_done: Option<String>,
    /// Text in a line of the log before each checkpoint, to measure its time
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = text,
        requires = "checkpoint_done",
        help_heading = "Spot guard"
    )]
    pub checkpoint_begin: Option<String>,
    /// Time that each checkpoint takes [default: as measured]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = time,
        requires = "spot_guard",
        help_heading = "Spot guard"
    )]
    pub checkpoint_cost: Option<SignedDuration>,
}

fn margin(text: &str) -> Result<SignedDuration, String> {
    time(text)
        .ok()
        .filter(|margin| *margin <= LONGEST_MARGIN)
        .ok_or_else(|| "expected a duration from 1s to 110s".to_owned())
}

fn text(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected a text that is in no other line".to_owned()),
        _ => Ok(text.to_owned()),
    }
}
