//! Words of planners: each fills an answer.

use super::doc::{Doc, doc_schema};

pub mod autoscale;
pub mod batching;
pub mod capacity;
mod figures;
pub mod growth;
pub mod kpi;
mod model;
pub mod place;
pub mod rent_or_buy;
pub mod select;
pub mod share;

schema! {
    /// The JSON schema of answers.
    answer_schema: "answer", [Doc::default()],
    "The form of the answers of planners, bills, key figures and histories. Every other key is a list of rows, whose keys the page of the command names. Amounts have cents, prices of small units up to six decimals; percentages are 0-100. Keys may be added within a schema version."
}
