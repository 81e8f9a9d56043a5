//! What several parts of the answer say.

use crate::domain::Money;
use crate::planners::share::{Method, Packing, SharePlan};

/// A way to share, for people.
pub(super) fn method_words(method: Method) -> &'static str {
    match method {
        Method::Mig => "MIG",
        Method::ByClass => "the sharing of each class",
        Method::Mps => "MPS",
        Method::TimeSlicing => "time-slicing",
    }
}

/// What sharing saves against one GPU each; absent where it saves nothing or is unpriced.
pub(super) fn saved(plan: &SharePlan, packing: &Packing) -> Option<Money> {
    let alone = plan.alone_monthly?;
    let saved = alone.checked_sub(packing.monthly?).ok()?;
    (!saved.amount().is_sign_negative()).then_some(saved)
}
