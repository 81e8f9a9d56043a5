//! What an audit adds up to: in total, by part of the fleet, by group, by charge.

mod breakdown;
mod charges;
mod groups;
mod split;
mod totals;

pub use self::breakdown::{CostPart, Dimension, cost_by, prevailing_tags};
pub use self::charges::{Charge, ChargeKind, charges};
pub use self::groups::{GroupKey, GroupRow, GroupSums, Groups};
pub use self::split::CostSplit;
pub use self::totals::{ClassTotals, Funnel, PriceUse, Totals};
