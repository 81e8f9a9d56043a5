//! `gpucost inventory`.

use super::Io;
use super::args::{Format, InventoryArgs};
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::view_args::{ViewFlags, check_known};
use super::{audit, estate, output};
use crate::analysis::list_instances;
use crate::report::{TableStyle, inventory_csv, inventory_json, inventory_rows, inventory_table};

pub(super) fn run(args: &InventoryArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let flags = ViewFlags {
        rows: &args.rows,
        verdicts: None,
        types: &args.of.types,
        sort: args.sort,
    };
    match format {
        Format::Table | Format::Wide => {}
        Format::Json => flags.refuse("json")?,
        Format::Csv => flags.refuse("csv")?,
    }
    let view = flags.view();
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let estate = estate::estate_without_metrics(&args.estate, &settings, io)?;
    let listing = list_instances(&estate, &settings.policy);
    let warning = age.check(listing.oldest_seen_on(), estate.as_of)?;
    let text = match format {
        Format::Table | Format::Wide => {
            let rows = inventory_rows(&listing);
            check_known(&view, &rows)?;
            let (shown, _) = view.order(&rows);
            let style = TableStyle {
                limit: view.limit,
                ..output::style(format == Format::Wide, &args.estate.out, io)
            };
            inventory_table(&listing, &shown, style)
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
