//! What a Terraform plan does to the cost, and what its instances cost.

mod change;
mod planned_prices;

pub use self::change::{PlannedChange, PlannedRow, PlannedSide, PlannedTotals, price_plan};
