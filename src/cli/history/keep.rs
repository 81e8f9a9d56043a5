//! Keeping an audit.

use super::places::Opening;
use crate::analysis::{Audit, DayFacts, StoredAudit};
use crate::cli::args::OutputArgs;
use crate::cli::estate::{EstateRequest, aws_options};
use crate::cli::{Io, Outcome, refusal};
use crate::domain::{Policy, latest_believed};
use crate::report::kept_run_text;
use crate::sources::files::{HistoryError, Records};
use crate::sources::store::Place;
use crate::usage::Estate;

/// Where an audit will be kept, with what its estate tells of single days.
pub(in crate::cli) struct Keeping {
    history: Opening,
    facts: DayFacts,
}

/// What an estate says of single days. What was recorded is taken to have been read when its
/// window ended.
pub(in crate::cli) fn day_facts(
    estate: &Estate,
    asked: EstateRequest<'_>,
    io: &Io<'_>,
) -> DayFacts {
    let (args, settings) = asked;
    let is_recorded = args.from.is_some() || args.demo.is_some();
    let read_at = if is_recorded { estate.as_of } else { io.now };
    DayFacts::of(estate, &settings.policy, read_at)
}

impl Keeping {
    /// Of an estate that is about to be audited.
    ///
    /// # Errors
    /// When it is of a time ahead of now, whose days would take the place of true ones.
    pub(in crate::cli) fn of(
        named: Option<&Place>,
        estate: &Estate,
        (args, settings): EstateRequest<'_>,
        io: &Io<'_>,
    ) -> Outcome<Self> {
        if estate.as_of > latest_believed(io.now) {
            return Err(refusal!(
                "the estate is of {}, which is ahead of now: it is not recorded", estate.as_of;
                "correct the clock of the machine that read it, or `--as-of`, and read it again"));
        }
        let aws = aws_options(&args.aws, settings, io);
        Ok(Self {
            history: Opening::of(named.or(args.history.as_ref()), &aws, io),
            facts: day_facts(estate, (args, settings), io),
        })
    }

    /// Keeps the audit, and says so in a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in crate::cli) fn keep(
        &self,
        audit: &Audit,
        policy: &Policy,
        out: &OutputArgs,
        io: &Io<'_>,
    ) -> Outcome<String> {
        let mut kept = StoredAudit::of(audit, &self.facts, policy.hours_per_month);
        let now = io.now;
        let is_new = self
            .history
            .run(out, io, async |records: Records| record(&records.at(now), &mut kept).await)?;
        let (run, place) = (&kept.run, self.history.place.to_string());
        Ok(kept_run_text((&run.run_id, &run.days), kept.actions.len(), &place, is_new))
    }
}

/// Keeps what is new of an audit; whether it was not kept before.
async fn record(records: &Records, kept: &mut StoredAudit) -> Result<bool, HistoryError> {
    let known = records.kept().await?;
    if known.has(&kept.run.run_id) {
        return Ok(false);
    }
    kept.leave_out(&known.days(&kept.run.scope));
    let StoredAudit { run, rows, actions, hours } = kept;
    records.record(run, rows, actions, hours).await
}
