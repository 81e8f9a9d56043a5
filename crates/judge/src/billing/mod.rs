//! What a bill amounts to: sums of its lines, how commitments are used, what pods have of
//! instances, the prices that it shows, and how it differs from an audit. Pure arithmetic on
//! exact decimals.

mod amounts;
mod bill;
mod comparer;
mod comparison;
#[cfg(test)]
mod comparison_tests;
mod ledger;
mod rates;
mod resource_hours;
#[cfg(test)]
mod tests;

pub use amounts::{CostSums, Tally, percent_of};
pub use bill::{
    Bill, BillKey, CommitmentUse, CurrencyBill, Divided, GroupCost, InstanceCost, KindCost, Part,
    Parts, PodCost, RoundedCosts, Savings, TypeCost,
};
pub use comparison::{
    ComparedInstance, Comparison, DifferenceName, DifferencePart, DifferenceReason, Expected,
    ExpectedInstance, RateSince, UsedCost,
};
pub use ledger::{Ledger, TooLarge};
pub use rates::{DerivedRate, RateRefusal};
pub use resource_hours::{NotStored, ResourceHours};
