//! Auto Scaling groups in an estate.

use super::fields::Wire;
use crate::domain::ScalingGroup;
use serde::de;

impl Wire for ScalingGroup {
    type Value = Self;

    fn value<E: de::Error>(mut self) -> Result<Self, E> {
        if self.min > self.max {
            return Err(E::custom(format!(
                "`min` of {} is {}, more than its `max` of {}",
                self.name, self.min, self.max
            )));
        }
        self.suspended.sort();
        self.protected.sort();
        self.in_service.iter_mut().for_each(|ids| ids.sort());
        let queues = self.batch.iter_mut().filter_map(|batch| batch.queues.as_mut());
        queues.for_each(|queues| queues.sort());
        Ok(self)
    }
}

/// The groups in order.
///
/// # Errors
/// When one is there twice.
pub(super) fn sorted<E: de::Error>(mut groups: Vec<ScalingGroup>) -> Result<Vec<ScalingGroup>, E> {
    groups.sort_by(|left, right| left.key().cmp(&right.key()));
    let mut pairs = groups.windows(2);
    match pairs.find(|pair| pair[0].key() == pair[1].key()) {
        Some(pair) => Err(E::custom(format!("duplicate Auto Scaling group {}", pair[0].name))),
        None => Ok(groups),
    }
}
