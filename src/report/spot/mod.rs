//! `gpucost spot`: of one type and of a fleet.

mod csv;
mod fleet_table;
mod json;
mod type_table;

pub use self::csv::{spot_fleet_csv, spot_type_csv};
pub use self::fleet_table::spot_fleet_table;
pub use self::json::{spot_fleet_json, spot_type_json};
pub use self::type_table::spot_type_table;
