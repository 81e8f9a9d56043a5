//! `gpucost inventory`.

use super::args::InventoryArgs;
use super::planning::Planning;
use super::view_args::{ViewFlags, check_known};
use super::{Io, Outcome, estate, output};
use crate::analysis::list_instances;
use crate::report::{inventory_doc, inventory_rows};

pub(super) fn run(args: &InventoryArgs, io: &mut Io<'_>) -> Outcome {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    let settings = &planning.settings;
    let flags =
        ViewFlags { rows: &args.rows, verdicts: None, types: &args.of.types, sort: args.sort };
    planning.check_rows(|format| flags.refuse(format))?;
    let view = flags.view();
    let estate = estate::estate_without_metrics((&args.estate, settings), io)?;
    let listing = list_instances(&estate, &settings.policy);
    let rows = inventory_rows(&listing);
    check_known(&view, &rows)?;
    let (shown, _) = view.order(&rows);
    let doc = inventory_doc(&listing, &shown);
    planning.print(&doc, view.limit, (listing.oldest_seen_on(), estate.as_of), io)?;
    Ok(output::close("listed", (listing.instances.len(), 0), &listing.gaps, &args.estate, io))
}
