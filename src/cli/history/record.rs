//! `gpucost history record`.

use super::keep::Keeping;
use crate::analysis::audit_once;
use crate::cli::args::{EstateArgs, RISKS, place};
use crate::cli::{Io, Outcome, audit, estate, flags, output};
use crate::domain::Risk;
use crate::sources::store::Place;
use clap::ValueHint;

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

pub(super) fn run(args: &RecordArgs, io: &mut Io<'_>) -> Outcome {
    let settings = estate::settings(&args.estate.out, io)?;
    let accepted = audit::risk(args.risk, &settings, io)?;
    let estate = estate::read(&args.estate, &settings, io)?;
    let keeping = Keeping::of(args.place.as_ref(), &estate, (&args.estate, &settings), io)?;
    let audited = audit_once(estate, &settings.policy, accepted);
    let text = keeping.keep(&audited, &settings.policy, &args.estate.out, io)?;
    output::document(&format!("{text}\n"), &args.estate.out, io)?;
    Ok(output::close("recorded", audit::seen(&audited), &audited.gaps, &args.estate, io))
}
