//! One job on one day, beside how it ran when an action was advised.

use crate::domain::{
    ActionKind, CostKind, PurchaseOption, RecordedAction, WorkloadDay, named_enum,
};
use crate::trend::Ledger;
use crate::trend::sums::is_committed;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// What a job ran and cost on a day, its successors included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JobDay {
    pub(super) hours: Decimal,
    /// Absent as soon as one row has none.
    pub(super) gpu_hours: Option<Decimal>,
    /// Absent as soon as a row is unpriced.
    pub(super) effective: Option<Decimal>,
    pub(super) list: Option<Decimal>,
    /// Hours on the type that an action leads to.
    pub(super) target_hours: Decimal,
    /// Hours on types that the job did not run on before, and that no action leads to.
    pub(super) other_hours: Decimal,
    /// Public price of those hours; absent as soon as one has none.
    pub(super) other_list: Option<Decimal>,
    /// Public price of the hours on spot, and of those that a commitment paid.
    pub(super) spot_list: Decimal,
    pub(super) committed_list: Decimal,
    /// Cost of storage while it is stopped, and of reserved room that nothing used; absent as
    /// soon as it is unpriced.
    pub(super) standing: Option<Decimal>,
}

impl JobDay {
    /// Of the rows of the job of an action on a day; of none it did not run. `earlier_types` are
    /// those that it ran on before; where they are not known, no type is another one.
    pub(super) fn of<'a>(
        ledger: &Ledger,
        rows: impl Iterator<Item = &'a WorkloadDay>,
        action: &RecordedAction,
        earlier_types: &BTreeSet<&str>,
    ) -> Self {
        let target_type = action.target.as_ref().map(|target| target.instance_type.as_str());
        let is_earlier = |name: &str| {
            earlier_types.is_empty()
                || earlier_types.contains(name)
                || action.baseline.instance_type == name
        };
        let mut day = Self {
            other_list: Some(Decimal::ZERO),
            gpu_hours: Some(Decimal::ZERO),
            effective: Some(Decimal::ZERO),
            list: Some(Decimal::ZERO),
            standing: Some(Decimal::ZERO),
            ..Self::default()
        };
        let plus = |sum: Option<Decimal>, part: Option<Decimal>| Some(sum? + part?);
        for row in rows {
            let (effective, list) = (ledger.amount(row.effective), ledger.amount(row.list));
            match row.kind {
                CostKind::IdleStorage | CostKind::Unused => {
                    day.standing = plus(day.standing, effective);
                }
                CostKind::Compute => {
                    day.hours += row.hours;
                    day.gpu_hours = plus(day.gpu_hours, row.gpu_hours);
                    day.effective = plus(day.effective, effective);
                    day.list = plus(day.list, list);
                    if target_type == Some(row.instance_type.as_str()) {
                        day.target_hours += row.hours;
                    } else if !is_earlier(&row.instance_type) {
                        day.other_hours += row.hours;
                        day.other_list = plus(day.other_list, list);
                    }
                    if row.option == PurchaseOption::Spot {
                        day.spot_list += list.unwrap_or_default();
                    } else if is_committed(row.option) {
                        day.committed_list += list.unwrap_or_default();
                    }
                }
            }
        }
        day
    }

    pub(super) fn runs(&self) -> bool {
        self.hours > Decimal::ZERO
    }
}

named_enum! {
    /// Why a job costs less than it would have.
    SavedPart {
        /// It ran fewer GPU hours.
        Usage = "usage",
        /// It ran on a cheaper type.
        Mix = "mix",
        /// Commitments and spot took more off the price on demand.
        Rate = "rate",
        /// Its storage was released, or reserved room given back.
        Standing = "standing",
        /// The cloud lowered its public price, or one that was negotiated. No action claims it.
        Price = "price",
    }
}

impl SavedPart {
    /// Whether a kind of action can bring it about.
    pub(super) fn is_of(self, kind: ActionKind) -> bool {
        match kind {
            ActionKind::Stop | ActionKind::Schedule => self == Self::Usage,
            ActionKind::Rightsize | ActionKind::Share => matches!(self, Self::Usage | Self::Mix),
            ActionKind::Spot | ActionKind::Commit => self == Self::Rate,
            ActionKind::Release => self == Self::Standing,
        }
    }
}

/// What a job costs less than it would have by each [`SavedPart`], in their order, unrounded.
/// Together they are `baseline − effective`.
pub type SavedParts = [Decimal; 5];
