//! `gpucost history record`.

use super::args::RecordArgs;
use super::keep::Keeping;
use crate::analysis::audit_once;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, audit, estate, output};

pub(super) fn run(args: &RecordArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let accepted = audit::risk(args.risk, &settings, io)?;
    let estate = estate::estate(&args.estate, &settings, io)?;
    let keeping = Keeping::of(args.place.as_ref(), &estate, (&args.estate, &settings), io)?;
    let audited = audit_once(estate, &settings.policy, accepted);
    let text = keeping.keep(&audited, &settings.policy, &args.estate.out, io)?;
    output::document(&format!("{text}\n"), &args.estate.out, io)?;
    let seen = audit::seen(&audited);
    let code = output::close("recorded", seen, &audited.gaps, &args.estate, io);
    Ok(code)
}
