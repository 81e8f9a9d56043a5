//! `gpucost diff`.

use super::args::{DocFormat, OutputArgs, RISKS};
use super::choices::within;
use super::{Failure, Io, Outcome, audit, estate, flags, hinted, output, refusal};
use crate::analysis::{AuditDiff, CommonScope, RunDiff, USUAL_NOISE_PERCENT};
use crate::config::SettingsFile;
use crate::domain::{PastAudit, PastRun, Risk, shown};
use crate::report::{Doc, diff_doc, run_diff_doc};
use crate::sources::files::{Keep, ReportError, read_estate, read_report, read_run_report};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

flags! {
    /// `gpucost diff`.
    pub(super) struct DiffArgs {
        /// Earlier audit: a report of `audit --format json`, or a recorded estate; or a run: a
        /// summary of `profile --format json`
        old: PathBuf = arg(value_name = "OLD");
        /// Later audit or run, in the same formats
        new: PathBuf = arg(value_name = "NEW");
        /// Maximum risk level of the plans for recorded estates [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
        /// Largest change between two runs that counts as noise, percent [default: 8]
        noise: Option<f64> = arg(long, value_name = "PERCENT", value_parser = |text: &str| within(text.trim().trim_end_matches('%'), 0.0..=100.0).ok_or("expected a percentage from 0 to 100"), allow_negative_numbers = true);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

pub(super) fn run(args: &DiffArgs, io: &mut Io<'_>) -> Outcome {
    let (settings, format) = audit::settings(args.format, &args.out, io)?;
    for (flag, path) in [("OLD", &args.old), ("NEW", &args.new)] {
        output::check_output(&[(flag, Some(path))], &args.out)?;
    }
    let old = side(&args.old, args, &settings, io)?;
    let new = side(&args.new, args, &settings, io)?;
    let doc = match (old, new) {
        (Side::Audit(old), Side::Audit(new)) => of_audits(&old, &new, args)?,
        (Side::Run(old), Side::Run(new)) => {
            run_diff_doc(&RunDiff::of(&old, &new, args.noise.unwrap_or(USUAL_NOISE_PERCENT)))
        }
        _ => {
            let [old, new] = [&args.old, &args.new].map(|path| shown(path));
            return Err(refusal!(
                "{old} and {new} cannot be compared: one is an audit, the other a run";
                "compare two audits, or two runs"));
        }
    };
    output::print_rows(&doc, format, None, &args.out, io)
}

fn of_audits(old: &PastAudit, new: &PastAudit, args: &DiffArgs) -> Outcome<Doc> {
    if args.noise.is_some() {
        return Err(refusal!("`--noise` is about two runs"; "omit it"));
    }
    let common = CommonScope::of(old, new).map_err(|reason| {
        let [old, new] = [&args.old, &args.new].map(|path| shown(path));
        refusal!("{old} and {new} cannot be compared: {reason}";
            "compare audits of the same accounts, regions and tags")
    })?;
    let (old, new) = (common.part_of(old), common.part_of(new));
    Ok(diff_doc(&AuditDiff::of(&old, &new)))
}

/// What a file holds.
enum Side {
    Audit(Box<PastAudit>),
    Run(Box<PastRun>),
}

fn side(path: &Path, args: &DiffArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Side> {
    let error = match read_report(path) {
        Ok(past) => return Ok(Side::Audit(Box::new(past))),
        Err(ReportError::Estate { .. }) => {
            return audited(path, args, settings, io).map(|past| Side::Audit(Box::new(past)));
        }
        Err(error) => error,
    };
    // What comes from a pipe is read once.
    if !matches!(error, ReportError::Malformed { .. }) || !path.is_file() {
        return Err(unreadable(error));
    }
    match read_run_report(path).map_err(unreadable)? {
        Some(run) => Ok(Side::Run(Box::new(run))),
        None => Err(unreadable(error)),
    }
}

/// The audit of an estate.
fn audited(
    path: &Path,
    args: &DiffArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<PastAudit> {
    let accepted = audit::risk(args.risk, settings, io)?;
    let mut estate = read_estate(path, Keep::Usage)
        .map_err(Failure::hinted("see docs/estate.md for the contents of an estate"))?;
    estate::add_own_prices(&mut estate.prices, settings, false)?;
    Ok(crate::analysis::audit(&estate, &settings.policy, accepted).past())
}

/// Why an earlier audit could not be read, and what to do.
pub(super) fn unreadable(error: ReportError) -> Failure {
    hinted! { error;
        // It is there, and more than is read.
        ReportError::Io { source, .. } if source.kind() == ErrorKind::InvalidData => "a report this large was not written by gpucost";
        ReportError::Io { .. } => "check the file path";
        ReportError::Malformed { .. } | ReportError::Wrong { .. } | ReportError::Estate { .. } => "create a report with `gpucost audit --format json --output FILE`";
        ReportError::Samples { .. } => "summarize it first: `gpucost profile --read FILE --format json --output run.json`";
        ReportError::Newer { .. } => "update gpucost, or recreate the report with this version";
    }
}
