//! How one machine of a workload was used hour by hour.

use super::workloads::instance_shape;
use crate::domain::{ResourceId, Window};
use crate::usage::{Estate, MachineHours, whole_hours};

/// The hours of a machine of an estate, and the window that they fill; `None` of an unknown
/// machine.
pub fn machine_hours(estate: &Estate, machine: &ResourceId) -> Option<(MachineHours, Window)> {
    let mut instances = estate.instances.iter();
    let instance = instances.find(|instance| instance.id == *machine)?;
    let shape = instance_shape(estate, &instance.instance_type);
    let offer = shape.and_then(|shape| shape.gpu.as_ref());
    let grid = (estate.window, estate.period_seconds);
    let hours = estate.measured().of(machine).hour_means(instance, offer, grid);
    Some((hours, whole_hours(grid.0, grid.1)))
}
