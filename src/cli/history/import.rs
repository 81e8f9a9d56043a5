//! `gpucost history import`.

use super::args::ImportArgs;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::usage_history::{bucket_access, unopened};
use crate::cli::{Io, estate, live, output};
use crate::report::text::counted;
use crate::sources::aws::Notice;
use crate::sources::files::{HistoryError, Imported, import_rollups};
use crate::sources::store::Place;
use std::io::ErrorKind;

pub(super) fn run(args: &ImportArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let aws = args.bucket.options(&settings, io);
    let (access, now) = (bucket_access(&aws, io), io.now);
    if let Place::Folder(folder) = &args.input
        && !folder.is_dir()
    {
        return Err(Failure::input(format!("{} is not a directory", args.input))
            .with_hint("pass the directory or URL that the tables were written to"));
    }
    let imported = live::run(&args.out, &Notice::default(), io, async |progress| {
        progress("tables");
        import_rollups((&args.input, &args.history), &access, now).await
    })?;
    let imported = imported.map_err(failed)?;
    output::document(&said(&imported, &args.history), &args.out, io)?;
    Ok(ExitCode::Done)
}

fn failed(error: HistoryError) -> Failure {
    if error.why.kind() == ErrorKind::InvalidData {
        return Failure::new(ExitCode::Input, error).with_hint(
            "write all tables of that day again into an empty directory; docs/scale.md says what \
             the files must be",
        );
    }
    unopened(error)
}

fn said(imported: &Imported, history: &Place) -> String {
    let days = counted(imported.days.len() as u64, "day", "days");
    let between = match (imported.days.first(), imported.days.last()) {
        (Some(first), Some(last)) if first != last => format!(" ({first} to {last})"),
        (Some(only), _) => format!(" ({only})"),
        _ => String::new(),
    };
    let machines = counted(imported.machines.len() as u64, "instance", "instances");
    let rows = counted(imported.rows, "row", "rows");
    format!("imported {days}{between} of {machines}, {rows}, into {history}\n")
}
