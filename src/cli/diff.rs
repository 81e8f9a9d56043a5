//! `gpucost diff`.

use super::Io;
use super::args::{OutputArgs, RiskChoice};
use super::audit;
use super::exit::{ExitCode, Failure};
use super::{estate, output};
use crate::analysis::{AuditDiff, CommonScope};
use crate::config::SettingsFile;
use crate::domain::{PastAudit, shown};
use crate::report::{diff_json, diff_markdown, diff_table};
use crate::sources::files::{Keep, ReportError, read_estate, read_report};
use clap::{Args, ValueEnum};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// `gpucost diff`.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// Earlier audit: a report of `audit --format json`, or a recorded estate
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// Later audit, in the same formats
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Maximum risk level of the plans for recorded estates [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DiffFormat>,
    #[command(flatten)]
    pub out: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    /// Table for a terminal with 100 columns
    Table,
    /// Table for a wide terminal, with every row
    Wide,
    /// JSON, for scripts
    Json,
    /// Markdown, for a pull request comment
    Markdown,
}

pub(super) fn run(args: &DiffArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let named = [("OLD", &args.old), ("NEW", &args.new)];
    if let Some(output) = &args.out.output {
        for one in named {
            let (flag, path): (&str, &PathBuf) = one;
            output::check_distinct(&[(flag, path.as_path()), ("--output", output.as_path())])?;
        }
    }
    let old = past(&args.old, args, &settings, io)?;
    let new = past(&args.new, args, &settings, io)?;
    let common = CommonScope::of(&old, &new).map_err(|reason| {
        let [old, new] = [&args.old, &args.new].map(|path| shown(path));
        Failure::input(format!("{old} and {new} cannot be compared: {reason}"))
            .with_hint("compare audits of the same accounts, regions and tags")
    })?;
    let (old, new) = (common.part_of(&old), common.part_of(&new));
    let diff = AuditDiff::of(&old, &new);
    let text = match format {
        DiffFormat::Table | DiffFormat::Wide => {
            let style = output::style(format == DiffFormat::Wide, &args.out, io);
            diff_table(&diff, style)
        }
        DiffFormat::Json => diff_json(&diff).map_err(Failure::unexpected)?,
        DiffFormat::Markdown => diff_markdown(&diff),
    };
    output::document(&text, &args.out, io)?;
    Ok(ExitCode::Done)
}

/// An audit that was written, or that of an estate.
fn past(
    path: &Path,
    args: &DiffArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<PastAudit, Failure> {
    match read_report(path) {
        Ok(past) => Ok(past),
        Err(ReportError::Estate { .. }) => {
            let accepted = audit::risk(args.risk, settings, io)?;
            let mut found = read_estate(path, Keep::Usage).map_err(|error| {
                Failure::new(ExitCode::Input, error)
                    .with_hint("see docs/estate.md for the contents of an estate")
            })?;
            estate::add_own_prices(&mut found.prices, settings, false)?;
            let audited = crate::analysis::audit(&found, &settings.policy, accepted);
            Ok(PastAudit::of(&audited))
        }
        Err(error) => Err(unreadable(error)),
    }
}

/// Why an earlier audit could not be read, and what to do.
pub(super) fn unreadable(error: ReportError) -> Failure {
    let hint = match &error {
        // It is there, and more than is read.
        ReportError::Io { source, .. } if source.kind() == ErrorKind::InvalidData => {
            "a report this large was not written by gpucost"
        }
        ReportError::Io { .. } => "check the file path",
        ReportError::Malformed { .. } | ReportError::Wrong { .. } | ReportError::Estate { .. } => {
            "create a report with `gpucost audit --format json --output FILE`"
        }
        ReportError::Newer { .. } => "update gpucost, or recreate the report with this version",
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
