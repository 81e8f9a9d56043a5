//! Which number a GPU has on its host.

use super::devices::{DeviceId, Discovery, Index};
use crate::domain::{GpuModel, GpuOffer, Instance, MOST_GPUS, ResourceId};
use std::collections::{BTreeMap, BTreeSet};

/// How the GPUs of a machine are numbered.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// GPUs that the guest sees, where the type is known.
    visible: Option<u16>,
    cores_per_device: Option<u16>,
    by_uuid: BTreeMap<String, u16>,
}

/// The numbers of each machine. `offer_of` tells what its type offers.
pub(super) fn numbers<'a, 'o>(
    found: &Discovery<'a>,
    offer_of: impl Fn(&Instance) -> Option<&'o GpuOffer>,
) -> BTreeMap<&'a ResourceId, Numbers> {
    let mut unnumbered: BTreeMap<&ResourceId, BTreeSet<&str>> = BTreeMap::new();
    let mut numbered: BTreeSet<&ResourceId> = BTreeSet::new();
    for host in found.groups.values().flat_map(|group| group.hosts.values()) {
        for DeviceId { index, uuid, .. } in host.devices.values().map(|seen| &seen.id) {
            let known = |uuid: &String| found.indices.contains_key(&(host.machine, uuid.clone()));
            match (index, uuid) {
                (Index::Known(_), _) => {
                    numbered.insert(host.machine);
                }
                (Index::Absent, Some(uuid)) if known(uuid) => {
                    numbered.insert(host.machine);
                }
                (Index::Absent, Some(uuid)) => {
                    unnumbered.entry(host.machine).or_default().insert(uuid);
                }
                _ => {}
            }
        }
    }
    let of_machine = found.machines.iter().map(|(id, machine)| {
        let offer = offer_of(machine.instance);
        let visible = offer.map(|offer| offer.share.visible_devices());
        let known = found.indices.range((*id, String::new())..);
        let known = known.take_while(|((machine, _), _)| machine == id);
        let mut by_uuid: BTreeMap<String, u16> =
            known.map(|((_, uuid), index)| (uuid.clone(), *index)).collect();
        let own = unnumbered.get(id).into_iter().flatten();
        let fits = |count: usize| visible.is_none_or(|visible| count <= usize::from(visible));
        // Beside GPUs that have an index, or with more than there are because a machine
        // that was stopped came back with others, their order tells nothing.
        if !numbered.contains(id) && fits(own.clone().count()) {
            by_uuid.extend(own.map(|uuid| (*uuid).to_owned()).zip(0..MOST_GPUS));
        }
        let numbers = Numbers {
            visible,
            cores_per_device: offer.and_then(|offer| cores_per_device(&offer.model)),
            by_uuid,
        };
        (*id, numbers)
    });
    of_machine.collect()
}

/// NeuronCores of a chip, by AWS's pages of its architecture. Those of Trainium2 are
/// seen one by one or in pairs, as its user configures.
fn cores_per_device(model: &GpuModel) -> Option<u16> {
    match model {
        GpuModel::Inferentia1 => Some(4),
        GpuModel::Inferentia2 | GpuModel::Trainium1 => Some(2),
        _ => None,
    }
}

impl Numbers {
    /// The number of a GPU; `None` where nothing tells it.
    pub(super) fn of(&self, id: &DeviceId) -> Option<u16> {
        let only = (self.visible == Some(1)).then_some(0);
        match (id.index, id.core, &id.uuid) {
            (Index::Known(index), ..) => Some(index),
            (Index::TooLarge, ..) => None,
            (Index::Absent, Some(core), _) => {
                // Without a type there is nothing that devices are compared with.
                let own = self.visible.is_none().then_some(core);
                let number = self.cores_per_device.map(|cores| core / cores).or(only).or(own)?;
                (number < MOST_GPUS).then_some(number)
            }
            (Index::Absent, None, Some(uuid)) => self.by_uuid.get(uuid).copied().or(only),
            (Index::Absent, None, None) => only,
        }
    }
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
mod tests;
