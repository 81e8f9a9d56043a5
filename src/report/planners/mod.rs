//! Words of planners: each fills an answer.

use super::doc::{Doc, doc_schema};

mod autoscale;
mod batching;
mod capacity;
mod figures;
mod growth;
mod kpi;
mod model;
mod place;
mod rent_or_buy;
mod select;
mod share;

pub use autoscale::autoscale_answer;
pub use batching::batching_answer;
pub use capacity::capacity_answer;
pub use growth::growth_answer;
pub use kpi::{kpi_answer, kpi_run_answer};
pub use place::place_answer;
pub use rent_or_buy::rent_or_buy_answer;
pub use select::select_answer;
pub use share::share_answer;

schema! {
    /// The JSON schema of answers.
    answer_schema: "answer", [Doc::default()],
    "The form of the answers of planners, bills, key figures and histories. Every other key is a list of rows, whose keys the page of the command names. Amounts have cents, prices of small units up to six decimals; percentages are 0-100. Keys may be added within a schema version."
}
