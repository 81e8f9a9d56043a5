//! What a bill amounts to: sums of its lines, how commitments are used, what pods have of
//! instances, and the prices that it shows. Pure arithmetic on exact decimals.

mod accelerators;
mod amounts;
mod bill;
mod key;
mod ledger;
mod rates;
#[cfg(test)]
mod tests;

pub use amounts::{CostSums, Tally};
pub use bill::{
    Bill, CommitmentUse, CurrencyBill, Divided, GroupCost, InstanceCost, KindCost, Part, Parts,
    PodCost, RoundedCosts, Savings, TypeCost,
};
pub use key::BillKey;
pub use ledger::{Ledger, TooLarge};
pub use rates::{DerivedRate, RateRefusal};
