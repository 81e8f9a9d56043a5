//! What an audit adds up to: in total, by part of the fleet, by group, by pod, by charge.

mod breakdown;
mod charges;
mod grouping;
mod groups;
mod node_shares;
mod showback;
mod split;
mod totals;

pub use self::breakdown::{CostPart, Dimension, cost_by, prevailing_tags};
pub use self::charges::{Charge, ChargeKind, UnusedCharge, charges, unused_charges};
pub use self::grouping::{Grouping, GroupingKeys};
pub use self::groups::{GroupKey, GroupRow, GroupSums, Groups};
pub use self::showback::{ClaimKey, Showback, ShowbackPart, ShowbackRow, ShowbackSums};
pub use self::split::CostSplit;
pub use self::totals::{ClassTotals, Funnel, PriceUse, Totals};
