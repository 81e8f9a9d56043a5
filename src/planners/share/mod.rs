//! Several tenants on one card: which sharing each of them may have, how many cards and
//! instances that takes, and how far the packing may be from the best one.

mod lots;
mod plan;
mod question;

pub use lots::{CardMode, Fragments, Lot, PackedCard};
pub use plan::{Method, MethodOutcome, Packing, SharePlan, SmallerFleet, plan_sharing};
pub use question::{
    Isolation, MOST_TENANTS, Origin, ShareQuestion, ShareTenant, SharedOn, SmallerType, Today,
};

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;
