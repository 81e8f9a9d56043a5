//! `gpucost history`: recorded audits and what they add up to, and archives of any size.

mod places;
mod sql;
mod trend;

pub(super) use places::{
    Keeping, Opening, check, day_facts, days, flag, read_recorded, rollups, wanted, warn,
};

use super::args::{EstateArgs, OutputArgs, RISKS, place};
use super::aws_args::BucketArgs;
use super::choices::flags;
use super::exit::{ExitCode, Failure, Outcome, refusal, refuse_if, refused};
use super::live::unopened;
use super::{Io, audit, estate, live, output};
use crate::analysis::audit_once;
use crate::domain::{Risk, counted, safe, shell_word, shown};
use crate::report::verified_text;
use crate::sources::files::{HistoryError, Imported, Records, import_rollups};
use crate::sources::store::Place;
use clap::{Subcommand, ValueHint};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

flags! {
    /// `gpucost history`.
    #[command(args_conflicts_with_subcommands = true)]
    pub(in crate::cli) struct HistoryArgs {
        action: Option<HistoryAction> = command(subcommand);
        trend: trend::TrendArgs = command(flatten);
    }
}

/// What to do with a history.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HistoryAction {
    /// Audit, and keep what each workload cost on each day that is over, and the plan
    ///
    /// A day is kept once. Files are created and never changed, so several machines can
    /// record into one place at the same time.
    Record(Box<RecordArgs>),
    /// Check every file: damaged, half-written, and not of gpucost
    Verify(Box<VerifyArgs>),
    /// Report what happened since an earlier audit, and send it to Slack or a webhook
    ///
    /// Compares two audits that `gpucost history record` kept: spend and why it changed, what
    /// became of advised actions, new ones, and missing data. `--since last` is for a schedule
    /// of its own; the default is a week.
    Digest(Box<trend::DigestArgs>),
    /// Print SQL that turns an archive of points into the tables of a history
    ///
    /// Calls nothing and reads nothing. The rows are those that gpucost itself keeps of the
    /// same points; `docs/scale.md` has the limits. With `--bill`, the statements turn a bill
    /// into hours of resources.
    Sql(Box<sql::SqlArgs>),
    /// Keep the roll-ups that an engine wrote in a history, for `--rollups`
    ///
    /// The tables are those of the statements that `gpucost history sql` prints, as Parquet
    /// files in `TABLE/dt=DAY/`. Each day is read, checked, and written as gpucost writes it.
    Import(Box<ImportArgs>),
    /// Turn an archive of points into a history, with `gpucost-engine`
    ///
    /// `gpucost history rollup --help` shows the flags of `gpucost-engine rollup`.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Rollup(CompanionArgs),
    /// Turn a bill into hours of resources, with `gpucost-engine`
    ///
    /// `gpucost history bill --help` shows the flags of `gpucost-engine bill`.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bill(CompanionArgs),
}

pub(super) fn run(args: &HistoryArgs, io: &mut Io<'_>) -> Outcome {
    let Some(action) = &args.action else { return trend::run(&args.trend, io) };
    match action {
        HistoryAction::Record(args) => record(args, io),
        HistoryAction::Verify(args) => verify(args, io),
        HistoryAction::Digest(args) => trend::digest(args, io),
        HistoryAction::Sql(args) => sql::run(args, io),
        HistoryAction::Import(args) => import(args, io),
        HistoryAction::Rollup(args) => run_companion("rollup", &args.arguments, io),
        HistoryAction::Bill(args) => run_companion("bill", &args.arguments, io),
    }
}

flags! {
    /// `gpucost history record`.
    pub(in crate::cli) struct RecordArgs {
        /// Directory, or s3://BUCKET/PREFIX [default: the place of `--history`, or `history`]
        place: Option<Place> = arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        estate: EstateArgs = command(flatten);
        /// Maximum risk level of the plan [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
    }
}

fn record(args: &RecordArgs, io: &mut Io<'_>) -> Outcome {
    let settings = estate::settings(&args.estate.out, io)?;
    let accepted = audit::risk(args.risk, &settings, io)?;
    let estate = estate::read(&args.estate, &settings, io)?;
    let keeping = Keeping::of(args.place.as_ref(), &estate, (&args.estate, &settings), io)?;
    let audited = audit_once(estate, &settings.policy, accepted);
    let text = keeping.keep(&audited, &settings.policy, &args.estate.out, io)?;
    output::document(&format!("{text}\n"), &args.estate.out, io)?;
    Ok(output::close("recorded", audit::seen(&audited), &audited.gaps, &args.estate, io))
}

flags! {
    /// `gpucost history verify`.
    pub(in crate::cli) struct VerifyArgs {
        /// Directory, or s3://BUCKET/PREFIX [default: `history`]
        place: Option<Place> = arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        bucket: BucketArgs = command(flatten);
        out: OutputArgs = command(flatten);
        /// Exit with code 3 for half-written files and files of others, too
        strict: bool = arg(long, help_heading = "Output");
    }
}

fn verify(args: &VerifyArgs, io: &mut Io<'_>) -> Outcome {
    let access = args.bucket.access(&estate::settings(&args.out, io)?, io);
    let history = Opening::of(&args.place, access);
    check(&history.place)?;
    let verified = history.run(&args.out, io, async |records: Records| records.verify().await)?;
    let place = history.place.to_string();
    refuse_if!(verified.files == 0;
        "{place} has no file of a history";
        "pass the directory or URL that `gpucost history record` or `gpucost bill FILE \
         --record DIR` wrote to");
    output::document(&verified_text(&place, &verified), &args.out, io)?;
    if verified.has_lost() {
        let hint = format!(
            "restore the files from a copy; or remove those that are damaged, and record again \
             with `gpucost history record {word}` while the metrics of their days are kept, or \
             with `gpucost bill FILE --record {word}`",
            word = shell_word(&history.place.word())
        );
        let error = "files of the history are damaged or missing";
        return Ok(output::complain(error, &hint, ExitCode::Incomplete, io));
    }
    if args.strict && !verified.found.is_empty() {
        let hint = "the list says what each is, and what removes it";
        let error = "the history has files that do not count";
        return Ok(output::complain(error, hint, ExitCode::Incomplete, io));
    }
    Ok(ExitCode::Done)
}

flags! {
    /// `gpucost history import`.
    pub(in crate::cli) struct ImportArgs {
        /// Directory or s3://BUCKET/PREFIX of the tables
        input: Place = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        /// Directory or s3://BUCKET/PREFIX of the history
        history: Place = arg(long = "out", value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        bucket: BucketArgs = command(flatten);
        out: OutputArgs = command(flatten);
    }
}

fn import(args: &ImportArgs, io: &mut Io<'_>) -> Outcome {
    let access = args.bucket.access(&estate::settings(&args.out, io)?, io);
    let now = io.now;
    if let Place::Folder(folder) = &args.input
        && !folder.is_dir()
    {
        return Err(refusal!("{} is not a directory", args.input;
            "pass the directory or URL that the tables were written to"));
    }
    let imported = live::run(&args.out, io, async |progress| {
        progress("tables");
        import_rollups((&args.input, &args.history), &access, now).await
    })?;
    let imported = imported.map_err(not_imported)?;
    output::document(&imported_in_words(&imported, &args.history), &args.out, io)?;
    Ok(ExitCode::Done)
}

fn not_imported(error: HistoryError) -> Failure {
    if error.why.kind() == ErrorKind::InvalidData {
        let hint = "write all tables of that day again into an empty directory; docs/scale.md \
                    says what the files must be";
        return Failure::hinted(hint)(error);
    }
    unopened(error)
}

fn imported_in_words(imported: &Imported, history: &Place) -> String {
    let days = counted(imported.days.len(), "day", "days");
    let between = match (imported.days.first(), imported.days.last()) {
        (Some(first), Some(last)) if first != last => format!(" ({first} to {last})"),
        (Some(only), _) => format!(" ({only})"),
        _ => String::new(),
    };
    let machines = counted(imported.machines.len(), "instance", "instances");
    let rows = counted(imported.rows, "row", "rows");
    format!("imported {days}{between} of {machines}, {rows}, into {history}\n")
}

flags! {
    /// `gpucost history rollup` and `gpucost history bill`.
    pub(in crate::cli) struct CompanionArgs {
        /// Arguments of `gpucost-engine`
        arguments: Vec<OsString> = arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS");
    }
}

const NAME: &str = "gpucost-engine";
const HINT: &str = "run `cargo install --locked --path engine` in a checkout of gpucost, and \
                    add the folder that it installs to to PATH";

/// Runs a command of the companion in place of this process, where that is possible.
fn run_companion(command: &str, arguments: &[OsString], io: &mut Io<'_>) -> Outcome {
    let program = found_companion(io).ok_or_else(refused!("`{NAME}` is not on PATH"; "{HINT}"))?;
    let version = version(&program, io)?;
    let own = env!("CARGO_PKG_VERSION");
    refuse_if!(version != own;
        "{} is version {}, and gpucost is version {own}", shown(&program), safe(&version);
        "{HINT}");
    let mut started = Command::new(&program);
    started.arg(command).args(arguments);
    replace(started).map_err(|error| not_started(&program, error))
}

/// The first file of the name in the folders of PATH. A folder that is not absolute would be
/// another one wherever gpucost runs.
fn found_companion(io: &Io<'_>) -> Option<PathBuf> {
    let path = io.variable("PATH")?;
    let file = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|program| program.is_file())
}

/// What it says its version is.
fn version(program: &Path, io: &Io<'_>) -> Outcome<String> {
    let output = Command::new(program)
        .arg("--version")
        .env_clear()
        .envs(&io.env)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(program, error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().strip_prefix(NAME).map(str::trim);
    match version.filter(|_| output.status.success()) {
        Some(version) => Ok(version.to_owned()),
        None => Err(refusal!("{} does not say its version", shown(program); "{HINT}")),
    }
}

#[cfg(unix)]
fn replace(mut command: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace(mut command: Command) -> std::io::Result<ExitCode> {
    Ok(ExitCode::Command(u8::try_from(command.status()?.code().unwrap_or(1)).unwrap_or(1)))
}

fn not_started(program: &Path, error: std::io::Error) -> Failure {
    Failure::unexpected(
        anyhow::Error::new(error).context(format!("cannot start {}", shown(program))),
    )
    .with_hint(HINT)
}
