//! `gpucost check --terraform-plan`: what a plan does to the cost, for the formats of the gate.

mod doc;

pub use doc::{terraform_brief, terraform_doc, terraform_schema};
