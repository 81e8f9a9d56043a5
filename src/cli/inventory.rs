//! `gpucost inventory`.

use super::Io;
use super::args::{Format, InventoryArgs};
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::{audit, estate, output};
use crate::analysis::list_instances;
use crate::report::{inventory_csv, inventory_json, inventory_table};

pub(super) fn run(args: &InventoryArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let estate = estate::estate_without_metrics(&args.estate, &settings, io)?;
    let listing = list_instances(&estate, &settings.policy);
    let warning = age.check(listing.oldest_seen_on(), estate.as_of)?;
    let text = match format {
        Format::Table | Format::Wide => {
            let style = output::style(format == Format::Wide, &args.estate.out, io);
            inventory_table(&listing, style)
        }
        Format::Json => inventory_json(&listing).map_err(Failure::unexpected)?,
        Format::Csv => inventory_csv(&listing).map_err(Failure::unexpected)?,
    };
    output::document(&text, &args.estate.out, io)?;
    output::warn(warning, &args.estate.out, io);
    Ok(output::close(
        "listed",
        listing.instances.len(),
        0,
        &listing.gaps,
        &args.estate,
        io,
    ))
}
