//! `gpucost check --terraform-plan`: what a plan does to the cost. The formats that
//! are missing here are those of the gate, which take the brief.

mod brief;
mod doc;

pub use self::brief::terraform_brief;
pub use self::doc::{terraform_doc, terraform_schema};
