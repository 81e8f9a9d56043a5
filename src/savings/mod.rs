//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod checkpoint;
mod commitment;
mod portfolio;
mod rightsize;
mod spot;
mod spot_offer;

pub use checkpoint::{Checkpointing, Interruptions};
pub use commitment::{Commitment, one_year_no_upfront};
pub use portfolio::{Offers, best_single_action};
pub use rightsize::{Rightsizing, smaller_with_same_gpu};
pub use spot::{SpotBasis, SpotPrice, spot_history, spot_price, time_weighted_mean};
pub use spot_offer::{
    Ineligible, SpotCase, SpotFigures, SpotOffer, nodes_of_job, spot_figures, spot_offer,
};
