//! `gpucost history import`.

use crate::cli::args::{OutputArgs, place};
use crate::cli::aws_args::BucketArgs;
use crate::cli::usage_history::{bucket_access, unopened};
use crate::cli::{ExitCode, Failure, Io, Outcome, estate, flags, live, output, refusal};
use crate::domain::counted;
use crate::sources::aws::Notice;
use crate::sources::files::{HistoryError, Imported, import_rollups};
use crate::sources::store::Place;
use clap::ValueHint;
use std::io::ErrorKind;

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

pub(super) fn run(args: &ImportArgs, io: &mut Io<'_>) -> Outcome {
    let aws = args.bucket.options(&estate::settings(&args.out, io)?, io);
    let (access, now) = (bucket_access(&aws, io), io.now);
    if let Place::Folder(folder) = &args.input
        && !folder.is_dir()
    {
        return Err(refusal!("{} is not a directory", args.input;
            "pass the directory or URL that the tables were written to"));
    }
    let imported = live::run(&args.out, &Notice::default(), io, async |progress| {
        progress("tables");
        import_rollups((&args.input, &args.history), &access, now).await
    })?;
    output::document(&said(&imported.map_err(failed)?, &args.history), &args.out, io)?;
    Ok(ExitCode::Done)
}

fn failed(error: HistoryError) -> Failure {
    if error.why.kind() == ErrorKind::InvalidData {
        let hint = "write all tables of that day again into an empty directory; docs/scale.md \
                    says what the files must be";
        return Failure::hinted(hint)(error);
    }
    unopened(error)
}

fn said(imported: &Imported, history: &Place) -> String {
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
