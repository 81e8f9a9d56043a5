//! How answers of planners are printed.

use super::Io;
use super::args::{Format, OutputArgs};
use super::exit::{ExitCode, Failure};
use super::output;
use crate::report::{Answer, answer_csv, answer_json, answer_table};
use std::path::Path;

/// Fails where an answer would take the place of a file that it rests on.
pub(super) fn check_output(
    read: &[(&str, Option<&Path>)],
    out: &OutputArgs,
) -> Result<(), Failure> {
    let written = ("--output", out.output.as_deref());
    let named: Vec<(&str, &Path)> = read
        .iter()
        .copied()
        .chain([written])
        .filter_map(|(flag, path)| Some((flag, path?)))
        .collect();
    output::check_distinct(&named)
}

/// Prints an answer in the format that was asked for.
pub(super) fn print(
    answer: &Answer,
    format: Format,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let text = match format {
        Format::Table | Format::Wide => {
            answer_table(answer, output::style(format == Format::Wide, out, io))
        }
        Format::Json => answer_json(answer).map_err(Failure::unexpected)?,
        Format::Csv => answer_csv(answer).map_err(Failure::unexpected)?,
    };
    output::document(&text, out, io)?;
    Ok(ExitCode::Done)
}
