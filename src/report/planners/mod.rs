//! Words of planners: each fills an answer.

mod autoscale;
mod batching;
mod capacity;
mod figures;
mod fit;
mod growth;
mod kpi;
mod rent_or_buy;
mod schedule;
mod select;
mod share;

pub use autoscale::autoscale_answer;
pub use batching::batching_answer;
pub use capacity::capacity_answer;
pub use fit::fit_answer;
pub use growth::growth_answer;
pub use kpi::{kpi_answer, kpi_run_answer};
pub use rent_or_buy::rent_or_buy_answer;
pub use schedule::schedule_answer;
pub use select::select_answer;
pub use share::share_answer;
