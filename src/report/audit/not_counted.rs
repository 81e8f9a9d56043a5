//! What the sums of an audit leave out.

use crate::analysis::Audit;
use crate::report::shared::text::counted;

/// How many instances no sum counts, in words: those without a price, such as `1 unpriced`, and
/// those that cost another currency than the sums have.
pub(super) fn not_counted(audit: &Audit) -> Vec<String> {
    let currency = audit.totals.currency;
    let others = audit.workloads.iter().filter(|one| {
        let cost = one.workload.monthly_cost();
        cost.is_some_and(|cost| cost.currency() != currency)
    });
    let others: usize = others.map(|one| one.workload.instances.len()).sum();
    [
        (audit.totals.unpriced_instances, "unpriced", "unpriced"),
        (others as u64, "in another currency", "in other currencies"),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, singular, plural)| counted(number, singular, plural))
    .collect()
}
