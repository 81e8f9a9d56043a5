//! `gpucost check --terraform-plan`: what a plan does to the cost, for the formats of the gate.

mod brief;
mod doc;

pub use self::brief::terraform_brief;
pub use self::doc::{terraform_doc, terraform_schema};
