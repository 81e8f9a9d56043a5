//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod calculator;
mod commitment;
mod plan_pool;
mod pool;
mod portfolio;
mod rightsize;
mod size_flexibility;
mod spot;

pub use calculator::{
    CommitmentFigures, PricedCommitment, ReservedComparison, ReservedReport, SteadyUse,
    instalments, months,
};
pub use commitment::{Commitment, one_year_no_upfront};
pub use plan_pool::{PlanPool, TypeUsage};
pub use pool::{ConcurrentUsage, PoolRates, allocate};
pub use portfolio::{Offers, best_single_action};
pub use rightsize::{Rightsizing, smaller_with_same_gpu};
pub use size_flexibility::{covers_other_sizes, normalized_units};
pub use spot::time_weighted_mean;
