//! `gpucost inventory`.

use super::Io;
use super::args::{DocFormat, InventoryArgs};
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::view_args::{ViewFlags, check_known};
use super::{audit, estate, output, planner};
use crate::analysis::list_instances;
use crate::report::{TableStyle, inventory_doc, inventory_rows};

pub(super) fn run(args: &InventoryArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let flags = ViewFlags {
        rows: &args.rows,
        verdicts: None,
        types: &args.of.types,
        sort: args.sort,
    };
    if !format.is_table() {
        flags.refuse(&format.name())?;
    }
    let view = flags.view();
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let estate = estate::estate_without_metrics(&args.estate, &settings, io)?;
    let listing = list_instances(&estate, &settings.policy);
    let warning = age.check(listing.oldest_seen_on(), estate.as_of)?;
    let rows = inventory_rows(&listing);
    check_known(&view, &rows)?;
    let (shown, _) = view.order(&rows);
    let style = TableStyle {
        limit: view.limit,
        ..output::style(format == DocFormat::Wide, &args.estate.out, io)
    };
    let doc = inventory_doc(&listing, &shown);
    planner::print_in(&doc, format, style, &args.estate.out, io)?;
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
