//! `gpucost profile`: what this GPU host really needs, in dollars.

mod args;
mod command;
mod display;
mod endpoint;
mod guard;
mod sampling;
mod signals;
mod summary;

pub(super) use args::ProfileArgs;

use super::args::DocFormat;
use super::exit::{ExitCode, Failure, Outcome, refusal};
use super::output::{self, unwritable};
use super::{Io, estate};
use crate::config::SettingsFile;
use crate::domain::{RunFacts, shown};
use crate::profiling::{Pacer, Profiler};
use crate::sources::GpuSource;
use crate::sources::aws::InstancePlace;
use crate::sources::files::{SampleFormat, SampleWriter, create_private, try_writing};
use crate::sources::host::HostSource;
use crate::sources::nvml::{NvmlError, NvmlSource, Record};
use args::SummaryFormat;
use command::CommandLog;
use display::Display;
use endpoint::Endpoint;
use guard::Guard;
use sampling::{Ending, Processes, Sampler, UnitLog, signed};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Instant;
use summary::Pricing;

pub(super) fn run(args: &ProfileArgs, io: &mut Io<'_>) -> Outcome {
    let settings = estate::settings(&args.out, io)?;
    check_files(args)?;
    if let Some(program) = args.command.first() {
        check_program(program, io)?;
    }
    if args.format == SummaryFormat::Doc(DocFormat::Xlsx) {
        if args.is_beside_command() {
            let error = "a workbook is binary and cannot be written beside the output of a command";
            return Err(refusal!("{error}"; "write it to a file with `--output run.xlsx`"));
        }
        output::refuse_binary(&args.out, io)?;
    }
    if args.guard.spot_guard && cfg!(not(unix)) {
        return Err(refusal!("`--spot-guard` cannot send signals on this system";
            "run the command on Linux, or omit `--spot-guard`"));
    }
    match &args.read {
        Some(path) => summary::summarize(path, args, &settings, io),
        None => sample(args, &settings, io),
    }
}

fn sample(args: &ProfileArgs, settings: &SettingsFile, io: &mut Io<'_>) -> Outcome {
    if args.live && !io.stderr_is_terminal {
        return Err(refusal!("`--live` needs a terminal";
            "omit it, or write `--samples FILE` to view later"));
    }
    let units = UnitLog::of(args)?;
    let mut pricing = Pricing::of(args, settings, io)?;
    let mut gpus = open(args)?;
    let endpoint = Endpoint::of(args.listen, &args.out, io)?;
    let command_log = CommandLog::of(args, io)?;
    let mut host = HostSource::new(Path::new("/proc"));
    let mut gaps = Vec::new();
    let place = summary::find_place(args, io, &mut gaps);
    let clock = Instant::now();
    let facts = facts(args, io, &place, &gpus, &host);
    pricing.settle(&place, &facts.gpus, &mut gaps);
    let writer = args.samples.as_ref();
    let writer = writer
        .map(|path| SampleWriter::create(path, &facts).map_err(|error| not_ours(path, error)))
        .transpose()?;
    let (sender, events) = channel();
    let listening =
        signals::listen(sender.clone(), !args.command.is_empty()).map_err(Failure::unexpected)?;
    let guard = Guard::of(&args.guard, &sender);
    let service = summary::notice_service(io);
    let mut display = Display::of(args, &facts, pricing.hourly(), endpoint, io)?;
    let command = args.command.first().map(|program| {
        let started = command::start(&args.command, command_log.as_ref(), sender);
        started.map_err(|error| cannot_run(program, error))
    });
    let command = command.transpose()?;
    let log_name = command_log.as_ref().map(CommandLog::name);
    if let Some(log) = command_log {
        display.beside(&args.command, log);
    }
    let unwatched =
        guard.as_ref().and_then(|guard| guard.watch((command, clock), place.is_spot, service));
    if let Some(note) = unwatched {
        display.say(&note);
    }
    let mut profiler = Profiler::new(facts, &settings.policy);
    let mut sampler = Sampler {
        gpus: &mut gpus,
        host: &mut host,
        profiler: &mut profiler,
        pacer: Pacer::new(signed(args.interval())),
        writer,
        write_error: None,
        processes: Processes::of(command),
        guard,
        units,
        units_error: None,
    };
    let (ending, end) = sampler.run(clock, &events, args.duration, &mut display);
    sampler.show_notes(&mut display);
    let pace = sampler.pacer.pace();
    gaps.extend(sampler.guard.iter().flat_map(|guard| guard.seen().gaps()));
    let write_error = sampler.write_error.map(|error| error.to_string());
    let units_error = sampler.units_error.map(|error| error.to_string());
    let record_error = gpus.record_failure().map(str::to_owned);
    display.close();
    if let Some(name) = log_name {
        output::say(&format!("the output of the command is in {name}"), &args.out, io);
    }
    // A command that runs on still gets its signals.
    let listening = (ending == Ending::Deadline).then_some(listening);
    gaps.extend(gpus.gaps());
    let report = pricing.report(profiler.finish(end, pace), gaps);
    let code = summary::print(&report, args, io)
        .map_or_else(|failure| failure.report(io), |()| ExitCode::Done);
    let code = unwritten(args, [write_error, record_error, units_error], io).unwrap_or(code);
    let ended = match (ending, command) {
        (Ending::Command(code), _) => code,
        (Ending::Deadline, Some(pid)) => command::wait_for_end(pid, &events),
        (Ending::Deadline, None) | (Ending::Enough, _) => return Ok(code),
    };
    drop(listening);
    // Whatever became of what was to be written, the command ended so.
    Ok(ExitCode::Command(u8::try_from(ended).unwrap_or(1)))
}

/// Says which of the files of samples and of the record are not whole, and that the units of a log
/// were not counted; absent where the files are whole.
fn unwritten(args: &ProfileArgs, errors: [Option<String>; 3], io: &mut Io<'_>) -> Option<ExitCode> {
    const PART: &str =
        "the summary still covers every sample; the file holds those before the error";
    const UNCOUNTED: &str =
        "the samples hold no units; `gpucost kpi` takes `--log` and `--log-unit` as well";
    let files = [
        (&args.samples, "cannot write", PART, Some(ExitCode::Unexpected)),
        (&args.record, "cannot write", PART, Some(ExitCode::Unexpected)),
        (&args.log, "cannot read the log", UNCOUNTED, None),
    ];
    let mut worst = None;
    for ((path, what, hint, code), error) in files.into_iter().zip(errors) {
        if let Some((path, error)) = path.as_ref().zip(error) {
            let error = format!("{what} {}: {error}", shown(path));
            output::complain(&error, hint, ExitCode::Unexpected, io);
            worst = worst.or(code);
        }
    }
    worst
}

/// A file of samples cannot be opened.
fn not_ours(path: &Path, error: std::io::Error) -> Failure {
    let others = [std::io::ErrorKind::ResourceBusy, std::io::ErrorKind::AlreadyExists];
    if !others.contains(&error.kind()) {
        return unwritable(path, error);
    }
    let what = format!("cannot write {}", shown(path));
    Failure::new(ExitCode::Input, anyhow::Error::new(error).context(what))
        .with_hint("use a different file for each run")
}

/// Fails before anything is sampled when a file could not be written.
fn check_files(args: &ProfileArgs) -> Outcome<()> {
    let named = output::check_distinct([
        ("--read", args.read.as_ref()),
        ("--log", args.log.as_ref()),
        ("--samples", args.samples.as_ref()),
        ("--record", args.record.as_ref()),
        ("--output", args.out.output.as_ref()),
    ])?;
    if args.live && !args.command.is_empty() {
        // The output of the command may be the log in which its units are counted, and no other.
        let others = named.iter().filter(|(flag, _)| *flag != "--log");
        let others = others.map(|(flag, path)| (*flag, Some(*path)));
        let own = ("--command-log", Some(command::log_path(args)));
        output::check_distinct(others.chain([own]))?;
    }
    if let Some(path) = &args.samples
        && SampleFormat::of(path).is_none()
    {
        return Err(refusal!("`--samples {}` has no supported file extension", shown(path);
            "use a file name ending in .jsonl or .csv"));
    }
    let is_read = |flag: &str| ["--read", "--log"].contains(&flag);
    for (_, path) in named.iter().filter(|(flag, _)| !is_read(flag)) {
        try_writing(path).map_err(|error| unwritable(path, error))?;
    }
    Ok(())
}

/// The system's own error for a file that is not there: the same number on Unix and on
/// Windows, each with its words.
const NO_SUCH_FILE: i32 = 2;

/// Fails before a file is emptied when there is no such command. One that is there may
/// still refuse to start.
fn check_program(program: &OsStr, io: &Io<'_>) -> Outcome<()> {
    let named = Path::new(program);
    let is_there = if named.components().count() > 1 {
        named.exists()
    } else {
        io.variable("PATH").is_none_or(|folders| {
            std::env::split_paths(folders).any(|folder| folder.join(named).exists())
        })
    };
    if is_there {
        return Ok(());
    }
    Err(cannot_run(program, std::io::Error::from_raw_os_error(NO_SUCH_FILE)))
}

fn cannot_run(program: &OsStr, error: std::io::Error) -> Failure {
    let what = format!("cannot run {}", shown(program.as_ref()));
    Failure::new(ExitCode::Input, anyhow::Error::new(error).context(what))
        .with_hint("check its name and that it is executable")
}

fn open(args: &ProfileArgs) -> Outcome<NvmlSource> {
    let record = args.record.as_ref().map(|path| {
        let file = create_private(path).map_err(|error| unwritable(path, error))?;
        Ok::<_, Failure>(Box::new(file) as Record)
    });
    NvmlSource::open(args.nvml_lib.as_deref(), record.transpose()?).map_err(|error: NvmlError| {
        let hint = match &args.nvml_lib {
            Some(_) => "check the file passed to `--nvml-lib`",
            None => error.hint(),
        };
        Failure::unexpected(error).with_hint(hint)
    })
}

fn facts(
    args: &ProfileArgs,
    io: &Io<'_>,
    place: &InstancePlace,
    gpus: &NvmlSource,
    host: &HostSource,
) -> RunFacts {
    RunFacts {
        started: io.now,
        interval_seconds: Some(args.interval().as_secs_f64()),
        hostname: host.hostname(),
        instance_id: place.instance_id.clone(),
        instance_type: place.instance_type.clone(),
        region: place.region.clone(),
        driver_version: gpus.driver_version().map(str::to_owned),
        is_command: !args.command.is_empty(),
        gpus: gpus.identities().to_vec(),
    }
}
