//! What an audit adds up to: in total, by part of the fleet, by group, by pod, by charge, from
//! list prices down.

mod charges;
mod daily_charges;
mod groups;
mod ledger;
mod node_shares;
mod reconciliation;
mod showback;
mod split;
mod totals;

pub use self::charges::{Charge, ChargeKind, ChargePart, UnusedCharge, charges, unused_charges};
pub use self::daily_charges::{RunDays, daily_charges, daily_unused_charges};
pub use self::groups::{GroupKey, GroupSums, Grouping, GroupingKeys, Groups};
pub use self::ledger::{Entry, EntrySubject, entries_of, ledger};
pub use self::reconciliation::{CostSteps, ReconciledRow, Reconciliation};
pub use self::showback::{ClaimKey, GroupRow, GroupTable, Showback, ShowbackPart, ShowbackSums};
pub use self::split::CostSplit;
pub use self::totals::{ClassTotals, Funnel, PriceUse, Totals};
