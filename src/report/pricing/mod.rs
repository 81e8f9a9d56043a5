//! `gpucost pricing`: offers side by side.

mod csv;
mod json;
mod table;

pub use self::csv::pricing_csv;
pub use self::json::pricing_json;
pub use self::table::{PricingStyle, pricing_table};
