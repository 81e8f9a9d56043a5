//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod commitment;
mod off_hours;
mod packing;
mod portfolio;
mod rightsize;
mod schedule;
mod sharing;
mod spot;

pub use commitment::{Commitment, one_year_no_upfront};
pub use off_hours::{Scheduling, TIME_ZONE_TAG, off_in_unused_hours};
pub use packing::{SHARED_TARGET_PERCENT, SharedCard, Slice, Tenant, pack_mig, pack_mps};
pub use portfolio::{Offers, best_single_action};
pub use rightsize::{Rightsizing, smaller_with_same_gpu};
pub use schedule::{NoSchedule, OffWindow, Schedule, WEEK_HOURS, WeekCounterEvidence, schedule};
pub use sharing::{NoSharing, Sharing, SharingMode, holds_tenants, share};
pub use spot::time_weighted_mean;
