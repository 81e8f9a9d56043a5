//! Words of planners: each fills an answer.

mod figures;
mod fit;

pub use fit::fit_answer;
