//! What a Terraform plan does to the cost, and what its instances cost.

mod change;
mod planned_prices;

pub use self::change::{PlannedChange, PlannedRow, PlannedTotals, price_plan};
pub use self::planned_prices::PlannedSide;
