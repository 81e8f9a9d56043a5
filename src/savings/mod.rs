//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod commitment;
mod portfolio;
mod rightsize;
mod spot;

pub use commitment::{Commitment, one_year_no_upfront};
pub use portfolio::{Offers, best_single_action};
pub use rightsize::{
    Bound, Considered, Demand, Lack, Projection, Ratio, RatioBasis, Rejection, Rightsizing, Today,
    best, candidates, rightsizing, steps,
};
pub use spot::time_weighted_mean;
