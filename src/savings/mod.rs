//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod commitment;
mod portfolio;
mod rightsize;
mod schedule;
mod spot;

pub use commitment::{Commitment, one_year_no_upfront};
pub use portfolio::{Offers, best_single_action};
pub use rightsize::{Rightsizing, smaller_with_same_gpu};
pub use schedule::{NoSchedule, OffWindow, Schedule, WEEK_HOURS, WeekCounterEvidence, schedule};
pub use spot::time_weighted_mean;
