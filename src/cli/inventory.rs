//! `gpucost inventory`.

use super::Io;
use super::args::{Format, InventoryArgs};
use super::exit::{ExitCode, Failure};
use super::{audit, estate, output};
use crate::report::{inventory_csv, inventory_json, inventory_table};

pub(super) fn run(args: &InventoryArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let estate = estate::estate_without_metrics(&args.estate, &settings, io)?;
    let internal = |error: anyhow::Error| Failure::new(ExitCode::Unexpected, error);
    let text = match format {
        Format::Table => inventory_table(&estate, false),
        Format::Wide => inventory_table(&estate, true),
        Format::Json => inventory_json(&estate).map_err(|error| internal(error.into()))?,
        Format::Csv => inventory_csv(&estate).map_err(|error| internal(error.into()))?,
    };
    output::document(&text, &args.estate.out, io)?;
    Ok(output::close(
        "listed",
        estate.instances.len(),
        0,
        &estate.gaps,
        &args.estate,
        io,
    ))
}
