//! Which types of machines have accelerators.

use crate::catalog::{PricedUnit, family, other_clouds, shape};
use crate::domain::{AcceleratorKind, family_of};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Accelerators of machines by their type, of every provider.
#[derive(Debug)]
pub(super) struct Accelerators {
    /// GPUs of machines of other clouds, by their names in lower case.
    others: BTreeMap<String, Decimal>,
}

/// A machine with accelerators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accelerated {
    /// How many it has; absent of a type that is newer than the catalog.
    pub(super) count: Option<Decimal>,
}

impl Default for Accelerators {
    fn default() -> Self {
        let machines = other_clouds().filter(|offer| offer.unit == PricedUnit::Machine);
        Self {
            others: machines
                .map(|offer| (offer.instance_type.to_lowercase(), offer.gpu_count))
                .collect(),
        }
    }
}

impl Accelerators {
    /// What a machine of a type has; `None` for one without accelerators.
    pub(super) fn of(&self, instance_type: &str) -> Option<Accelerated> {
        // SageMaker puts its own name before those of EC2.
        let name = instance_type.strip_prefix("ml.").unwrap_or(instance_type);
        if let Some(known) = shape(name) {
            let count = known.gpu.as_ref().map(|offer| offer.share.count());
            let is_accelerated = known.accelerator != AcceleratorKind::Cpu;
            return is_accelerated.then_some(Accelerated { count });
        }
        if family(family_of(name)).is_some() {
            return Some(Accelerated { count: None });
        }
        // Google bills each GPU apart from its machine.
        if name.starts_with("Nvidia ") {
            return Some(Accelerated { count: Some(Decimal::ONE) });
        }
        let count = self.others.get(&name.to_lowercase()).copied();
        count.map(|count| Accelerated { count: Some(count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_every_provider_are_known() {
        let accelerators = Accelerators::default();
        let count = |name: &str| Some(accelerators.of(name)?.count.map(|count| count.to_string()));
        let some = |count: &str| Some(Some(count.to_owned()));
        assert_eq!(count("p5.48xlarge"), some("8"));
        assert_eq!(count("ml.g5.12xlarge"), some("4"));
        assert_eq!(count("g6f.large"), some("0.125"));
        assert_eq!(count("p5.999xlarge"), Some(None));
        assert_eq!(count("Standard_NC24ads_A100_v4"), some("1"));
        assert_eq!(count("Nvidia Tesla A100 GPU"), some("1"));
        for other in ["m6i.large", "t3.micro", "Standard_D2s_v3", "", "x"] {
            assert_eq!(count(other), None, "{other}");
        }
    }
}
