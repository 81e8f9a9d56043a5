//! The command line: arguments in, a document on stdout, everything else on
//! stderr, and an exit code.

mod args;
mod audit;
mod autoscale;
mod aws_args;
mod bill;
mod cache;
mod capacity;
mod capacity_args;
mod capacity_batches;
mod check;
mod choices;
mod command;
mod demo;
mod diff;
mod doctor;
mod estate;
mod exit;
mod explain;
mod fix;
mod history;
mod instances;
mod interactive;
#[cfg(unix)]
mod interrupts;
mod io;
mod known_prices;
mod kpi;
mod kubernetes;
mod live;
mod mcp;
mod model_args;
mod output;
mod place;
mod planning;
mod pricing;
mod profile;
mod prometheus;
mod redact;
mod rent_or_buy;
mod reserved;
mod rightsize;
mod sampled;
mod scope;
mod select;
mod setup;
mod share;
mod spot;
mod start;
mod terminal;
mod view_args;

pub use command::command;
pub use exit::ExitCode;
pub use io::Io;

use args::AuditArgs;
use choices::{choices, flags, parsers};
use clap::FromArgMatches;
use command::{Cli, Command, commands};
use exit::{Failure, Outcome, did_you_mean, hint, hinted, is_full, refusal, refuse_if, refused};
use io::Guard;
use live::{Watch, is_quiet};
use mcp::McpArgs;
use setup::SetupArgs;
use std::ffi::OsString;
use std::io::Write;

/// How the names of this program's own variables begin.
const OWN_VARIABLES: &str = "GPUCOST_";

/// Runs one command. Nothing that it says on stderr is a command to a code host.
pub fn main(arguments: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> ExitCode {
    let watch = Watch::default();
    let mut stdout = watch.before(&mut *io.stdout, true);
    let mut stderr = watch.before(&mut *io.stderr, false);
    let mut stderr = Guard::new(&mut stderr);
    let mut guarded = Io {
        stdout: &mut stdout,
        stderr: &mut stderr,
        env: io.env.clone(),
        unreadable: io.unreadable.clone(),
        now: io.now,
        folder: io.folder.clone(),
        stdout_is_terminal: io.stdout_is_terminal,
        stderr_is_terminal: io.stderr_is_terminal,
        ends_at_signals: io.ends_at_signals,
    };
    let code = run(arguments, &watch, &mut guarded);
    watch.stop();
    // Nothing more can be done when stderr itself is gone.
    let _ = stderr.flush();
    code
}

fn run(arguments: impl IntoIterator<Item = OsString>, watch: &Watch, io: &mut Io<'_>) -> ExitCode {
    let program = command();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() <= 1 && io.stdout_is_terminal {
        return start::run(io).unwrap_or_else(|failure| failure.report(io));
    }
    let arguments = demo::tell_apart(arguments, &program);
    let parsed = program
        .try_get_matches_from(arguments)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error, io),
    };
    if let Some(name) = io.unreadable.iter().find(|name| name.starts_with(OWN_VARIABLES)) {
        let failure = refusal!("the value of {name} is not UTF-8";
            "run `unset {name}`, or set it to UTF-8 text");
        return failure.report(io);
    }
    #[cfg(unix)]
    if io.ends_at_signals && !matches!(cli.command, Command::Profile(_)) {
        interrupts::end_at_once();
    }
    // A run of the sampler shows itself.
    if io.stderr_is_terminal && !is_quiet(&matches) && !matches!(cli.command, Command::Profile(_)) {
        watch.start();
    }
    let answer = if demo::is_list(&matches) {
        output::print(demo::list().as_bytes(), io)
    } else {
        dispatch(&cli.command, io)
    };
    match answer {
        Ok(code) => code,
        Err(failure) => failure.report(io),
    }
}

macro_rules! dispatch {
    ($($heading:literal { $($(#[$help:meta])* $name:ident($flags:ty) = $run:path, $($shown:expr),*;)* })*) => {
        /// Runs what was parsed.
        fn dispatch(command: &Command, io: &mut Io<'_>) -> Outcome {
            match command { $($(Command::$name(flags) => $run(flags, io),)*)* }
        }
    };
}
commands!(dispatch);

fn run_audit(audit: &AuditArgs, io: &mut Io<'_>) -> Outcome {
    if audit.interactive { interactive::run(audit, io) } else { audit::run(audit, io) }
}

fn run_setup(setup: &SetupArgs, io: &mut Io<'_>) -> Outcome {
    setup::run(setup, command(), io)
}

fn run_mcp(server: &McpArgs, io: &mut Io<'_>) -> Outcome {
    mcp::run(server, dispatch, io)
}

/// Help and version are answers; anything else is the user's error.
fn usage(error: &clap::Error, io: &mut Io<'_>) -> ExitCode {
    let text = error.render();
    if error.use_stderr() {
        // Nothing more can be done when stderr itself is gone.
        let _ = write!(io.stderr, "{text}");
        return ExitCode::Input;
    }
    match write!(io.stdout, "{text}") {
        Ok(()) => ExitCode::Done,
        Err(error) => Failure::write("the help", error).report(io),
    }
}
