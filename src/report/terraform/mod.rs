//! `gpucost check --terraform-plan`: what a plan does to the cost. The formats that
//! are missing here are those of the gate, which take the brief.

mod brief;
mod json;
mod table;

pub use self::brief::terraform_brief;
pub use self::json::terraform_json;
pub use self::table::terraform_table;
