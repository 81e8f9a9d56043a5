//! `gpucost bill --record`: keeping a bill in a history.

use super::args::EstateArgs;
use super::exit::{ExitCode, Failure};
use super::{Io, estate, live, output, usage_history};
use crate::billing::NotStored;
use crate::config::SettingsFile;
use crate::domain::{BillKept, MonthlyBill};
use crate::report::text::fit;
use crate::report::{StoredBill, kept_bill_text};
use crate::sources::aws::Notice;
use crate::sources::files::{HistoryError, Records};
use crate::sources::store::Place;
use std::collections::BTreeSet;

/// Columns of the number of an account in a message.
const SHOWN_COLUMNS: usize = 60;

/// Refuses files of several formats with lines of one payer: a month that is in two of them would
/// be kept with twice its cost.
pub(super) fn check_once(in_two_forms: &BTreeSet<String>) -> Result<(), Failure> {
    let Some(payer) = in_two_forms.first() else {
        return Ok(());
    };
    let payer = fit(payer, SHOWN_COLUMNS);
    Err(Failure::input(format!(
        "files of several formats have lines of the payer {payer}, and a bill is recorded from \
         one: a month that is in both would count twice"
    ))
    .with_hint("record the files of one export at a time"))
}

/// Keeps each month of a bill, and says so in lines.
///
/// # Errors
/// When it cannot be written.
pub(super) fn keep(
    bills: Vec<MonthlyBill>,
    place: &Place,
    (args, settings): (&EstateArgs, &SettingsFile),
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let aws = estate::aws_options(&args.aws, settings, io);
    let access = usage_history::bucket_access(&aws, io);
    let now = io.now;
    let kept = live::run(&args.out, &Notice::default(), io, async |progress| {
        progress("history");
        let records = Records::open(place, &access).await?;
        let mut kept: Vec<(MonthlyBill, BillKept)> = Vec::new();
        for bill in bills {
            let as_kept = records.record_bill(&bill, now).await?;
            kept.push((bill, as_kept));
        }
        Ok::<_, HistoryError>(kept)
    });
    for (bill, kept) in kept?.map_err(usage_history::unopened)? {
        let line = kept_bill_text(&StoredBill {
            month: bill.month,
            payer: &bill.payer,
            rows: bill.rows.len(),
            place: &place.to_string(),
            kept,
        });
        output::say(&line, &args.out, io);
    }
    Ok(())
}

/// Why a bill is not kept.
pub(super) fn refused(error: NotStored) -> Failure {
    let hint = match error {
        NotStored::TooLarge => {
            "record fewer billing periods at a time, or use `gpucost history bill`, which writes \
             the same table of bills of any size"
        }
        NotStored::Undated(_) => "export the bill with its billing period",
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
