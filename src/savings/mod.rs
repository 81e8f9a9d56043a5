//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod commitment;
mod coverage;
mod portfolio;
mod rightsize;
mod spot;

pub use commitment::{Commitment, one_year_no_upfront};
pub use coverage::{
    CommitmentKind, CommitmentUse, Coverage, CoveredPart, InstanceCoverage, UsedInstance, coverage,
    existing_coverage, normalization_factor, used_instances,
};
pub use portfolio::{Offers, best_single_action};
pub use rightsize::{Rightsizing, smaller_with_same_gpu};
pub use spot::time_weighted_mean;
