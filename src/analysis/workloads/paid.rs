//! What commitments pay of workloads.

use super::grouping::Grouped;
use super::prices::PaidHours;
use crate::domain::{
    Cause, CauseKind, CommittedHours, Part, PurchaseOption, ResourceId, Unpriced, Workload,
};
use std::sync::Arc;

impl Grouped {
    /// The same with what commitments pay of its members, which changes no verdict: how all of
    /// it is paid for, and what each member costs. `None` where they pay for nothing.
    pub fn paid(&self, paid: &PaidHours) -> Option<Self> {
        let workload = &self.workload;
        let is_paid = |id: &ResourceId| workload.key.running && paid.contains_key(id);
        if !workload.instances.iter().any(is_paid) {
            return None;
        }
        let ids = workload.instances.iter();
        let options: Vec<Option<PurchaseOption>> =
            ids.map(|id| paid.get(id).map(CommittedHours::purchase_option)).collect();
        let option = match options.first().copied().flatten() {
            Some(first) if options.iter().all(|option| *option == Some(first)) => first,
            _ => PurchaseOption::Mixed,
        };
        let with_paid = |workload: &Arc<Workload>| {
            let mut with_paid = (**workload).clone();
            with_paid.key.purchase_option = option;
            if let Some(cost) = &workload.cost {
                let own = with_paid.instances.iter().map(|id| paid.get(id).cloned());
                match cost.with_committed(own) {
                    Some(cost) => with_paid.cost = Some(cost),
                    None => {
                        let cause = Cause::of(CauseKind::PriceNotCombined, [""]);
                        (with_paid.cost, with_paid.unpriced) = (None, Some(Unpriced { cause }));
                    }
                }
            }
            Arc::new(with_paid)
        };
        let parts = self.parts.iter();
        let parts = parts.map(|part| Part { workload: with_paid(&part.workload), ..part.clone() });
        Some(Self {
            workload: with_paid(workload),
            verdict: self.verdict.clone(),
            parts: parts.collect(),
            has_working_peers: self.has_working_peers,
        })
    }
}
