//! Which series there are: from their labels to machines, GPUs and their numbers.
//!
//! Pods come and go, so that one GPU is many series. What tells GPUs apart are a few
//! labels, by which queries group; the rest of the labels is forgotten here.

use super::answer::Labels;
use super::labels::{
    Hosts, Label, PodLabels, PodOf, cluster_of, find, find_all, host_name, is_of_kubernetes, pod_of,
};
use super::metric_map::{Exporter, MappedMetric};
use crate::catalog::mig_compute_slices;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, GpuModel, GpuOffer, Instance, JoinedBy, MOST_GPUS, Metric,
    ResourceId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Hosts that a gap names.
const HOSTS_NAMED: usize = 5;

/// By which labels the series of a metric are selected and grouped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scope {
    /// The label of the cluster, with its value.
    pub(super) cluster: Option<(String, String)>,
    /// The label that names the host.
    pub(super) host: String,
    /// The labels that tell the GPUs of a host apart.
    pub(super) device: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Index {
    Known(u16),
    /// Not below [`MOST_GPUS`].
    TooLarge,
    #[default]
    Absent,
}

/// What the labels of a series say of its GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DeviceId {
    pub(super) index: Index,
    pub(super) uuid: Option<String>,
    /// A core of a device; cores are numbered over all devices of the host.
    pub(super) core: Option<u16>,
}

/// A MIG slice of a GPU. A number is given again when a card is divided in another way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slice {
    pub(super) number: String,
    /// Such as `3g.20gb`; empty where another series tells it.
    pub(super) profile: String,
}

/// The series of one metric of one GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: DeviceId,
    pub(super) slices: BTreeSet<Slice>,
    /// Whether a series is of the GPU and not of a slice.
    pub(super) has_whole: bool,
    /// With every other label that they differ in, such as the pod.
    pub(super) series: u32,
    /// Whether rows repeat the value of a GPU for each pod that shares it.
    pub(super) is_virtual: bool,
    /// Compute slices of the card, as far as its name tells them.
    pub(super) card_slices: Option<u8>,
}

/// The series of one metric of one host, by the values of the labels of the scope.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HostSeries<'a> {
    pub(super) machine: &'a ResourceId,
    pub(super) devices: BTreeMap<Vec<String>, Seen>,
    pub(super) pods: NamedPods,
}

/// What the series of a host say of pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NamedPods {
    /// The labels that name the pods that hold its GPUs, where any do.
    pub(super) labels: Option<PodLabels>,
    /// Names of the exporter's own pods, which are in these labels too.
    pub(super) exporters: BTreeSet<String>,
}

/// The series of one metric that one query can ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Group<'a> {
    /// Labels that tell MIG slices apart.
    pub(super) slice_labels: BTreeSet<String>,
    pub(super) hosts: BTreeMap<String, HostSeries<'a>>,
}

/// A machine that series are of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Machine<'a> {
    pub(super) instance: &'a Instance,
    /// The weakest way in which any of them was matched.
    pub(super) joined_by: JoinedBy,
}

/// Series that cannot be used, with the hosts that they name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unusable {
    pub(super) series: u64,
    pub(super) hosts: BTreeSet<String>,
    /// How many of them are of Kubernetes.
    of_kubernetes: u64,
}

/// What a server has, as far as it was asked.
#[derive(Debug)]
pub(super) struct Discovery<'a> {
    hosts: Hosts<'a>,
    pub(super) machines: BTreeMap<&'a ResourceId, Machine<'a>>,
    /// By the place of the metric in the map.
    pub(super) groups: BTreeMap<(usize, Scope), Group<'a>>,
    /// Indices of GPUs by their UUID, from any series that has both.
    pub(super) indices: BTreeMap<(&'a ResourceId, String), u16>,
    /// Compute slices of MIG slices by the UUID of their GPU and their number.
    pub(super) profiles: BTreeMap<(&'a ResourceId, String, String), BTreeSet<u8>>,
    /// Those that a cluster says machines offer.
    pub(super) mig_instances: Option<&'a BTreeMap<ResourceId, u32>>,
    unjoined: Unusable,
    pub(super) unassigned: Unusable,
    /// What the catalog says of the names of cards.
    cards: BTreeMap<String, Option<u8>>,
}

impl NamedPods {
    /// Takes the pod that a series names.
    fn note(&mut self, labels: &Labels) {
        match pod_of(labels) {
            Some(PodOf::Exporter(name)) => {
                self.exporters.insert(name);
            }
            Some(PodOf::Holder(of)) if self.labels.as_ref().is_none_or(|known| of < *known) => {
                self.labels = Some(of);
            }
            _ => {}
        }
    }
}

impl Unusable {
    pub(super) fn add(&mut self, series: u64, host: &str) {
        self.series += series;
        if !self.hosts.contains(host) {
            self.hosts.insert(host.to_owned());
        }
    }

    pub(super) fn add_all(&mut self, other: Self) {
        self.series += other.series;
        self.hosts.extend(other.hosts);
        self.of_kubernetes += other.of_kubernetes;
    }

    fn named(&self) -> String {
        self.hosts.iter().take(HOSTS_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl<'a> Discovery<'a> {
    pub(super) fn of(hosts: Hosts<'a>) -> Self {
        Self {
            hosts,
            machines: BTreeMap::new(),
            groups: BTreeMap::new(),
            indices: BTreeMap::new(),
            profiles: BTreeMap::new(),
            mig_instances: None,
            unjoined: Unusable::default(),
            unassigned: Unusable::default(),
            cards: BTreeMap::new(),
        }
    }

    /// Whether there was no series at all.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.unjoined.series == 0 && self.unassigned.series == 0
    }

    /// Takes a series of nvidia_gpu_exporter that tells the index of a GPU.
    pub(super) fn take_gpu_info(&mut self, labels: &Labels) {
        let (Some(home), Some((_, uuid)), Index::Known(index)) =
            (self.hosts.find(labels), find(labels, &["uuid"]), index_of(labels, &["index"]).0)
        else {
            return;
        };
        self.note_index(&home.instance.id, uuid, index);
    }

    /// The smallest index counts where a GPU got another one.
    fn note_index(&mut self, machine: &'a ResourceId, uuid: &str, index: u16) {
        let known = self.indices.entry((machine, uuid.to_owned())).or_insert(index);
        *known = index.min(*known);
    }

    /// Takes a series of nvidia_gpu_exporter that tells the profile of a MIG slice.
    pub(super) fn take_mig_info(&mut self, labels: &Labels) {
        let value = |name| find(labels, &[name]).map(|(_, value)| value);
        let (Some(home), Some(uuid), Some(slice), Some(compute)) = (
            self.hosts.find(labels),
            value("uuid"),
            value("gpu_instance_id"),
            value("profile").and_then(compute_slices),
        ) else {
            return;
        };
        let key = (&home.instance.id, uuid.to_owned(), slice.to_owned());
        self.profiles.entry(key).or_default().insert(compute);
    }

    /// Takes a series of a metric, by its place in the map.
    pub(super) fn take(&mut self, row: usize, metric: &MappedMetric, labels: &Labels) {
        let Some(home) = self.hosts.find(labels) else {
            self.unjoined.add(1, host_name(labels));
            self.unjoined.of_kubernetes += u64::from(is_of_kubernetes(labels));
            return;
        };
        if metric.exporter == Exporter::Amd && is_partition(labels) {
            self.unassigned.add(1, host_name(labels));
            return;
        }
        let machine = &home.instance.id;
        let known = self
            .machines
            .entry(machine)
            .or_insert(Machine { instance: home.instance, joined_by: home.joined_by });
        known.joined_by = known.joined_by.max(home.joined_by);
        let (id, device) = device_of(metric, labels);
        if let (Index::Known(index), Some(uuid)) = (id.index, &id.uuid) {
            self.note_index(machine, uuid, index);
        }
        let scope = Scope {
            cluster: cluster_of(labels).map(|(name, value)| (name.to_owned(), value.to_owned())),
            device: device.iter().map(|(name, _)| (*name).to_owned()).collect(),
            host: home.label,
        };
        let values: Vec<String> = device.iter().map(|(_, value)| (*value).to_owned()).collect();
        let host = labels.get(&scope.host).cloned().unwrap_or_default();
        let card_slices = self.card_slices(labels);
        let group = self.groups.entry((row, scope)).or_default();
        let slice = slice_of(metric, labels);
        for (label, _) in slice_labels(metric, labels) {
            if !group.slice_labels.contains(label) {
                group.slice_labels.insert(label.to_owned());
            }
        }
        let host = group.hosts.entry(host).or_insert_with(|| HostSeries {
            machine,
            devices: BTreeMap::new(),
            pods: NamedPods::default(),
        });
        if host.machine != machine {
            self.unjoined.add(1, host_name(labels));
            return;
        }
        if metric.quantity.metric() == Metric::GpuUtilization {
            host.pods.note(labels);
        }
        let unseen = || Seen { id, card_slices, ..Seen::default() };
        let seen = host.devices.entry(values).or_insert_with(unseen);
        seen.series += 1;
        seen.is_virtual |= find(labels, &["vgpu"]).is_some();
        match slice {
            Some(slice) => {
                seen.slices.insert(slice);
            }
            None => seen.has_whole = true,
        }
    }

    /// Compute slices of a whole card, by the name on dcgm-exporter's series.
    fn card_slices(&mut self, labels: &Labels) -> Option<u8> {
        let (_, name) = find(labels, &["modelname"])?;
        if let Some(known) = self.cards.get(name) {
            return *known;
        }
        let slices = mig_compute_slices(name);
        self.cards.insert(name.to_owned(), slices);
        slices
    }

    /// What could not be used, one gap for each reason.
    pub(super) fn gaps(&self, server: &str) -> Vec<Gap> {
        let mut gaps = Vec::new();
        if self.unjoined.series > 0 {
            let Unusable { series, hosts, of_kubernetes } = &self.unjoined;
            let kind = if of_kubernetes * 2 >= *series {
                CauseKind::NodesNotJoined
            } else {
                CauseKind::HostsNotJoined
            };
            let (series, count) = (series.to_string(), hosts.len().to_string());
            let cause = Cause::of(kind, [series.as_str(), &count, &self.unjoined.named()]);
            gaps.push(Gap::of(GapSubject::Metrics, server, cause));
        }
        if self.unassigned.series > 0 {
            let series = self.unassigned.series.to_string();
            let named = self.unassigned.named();
            let cause = Cause::of(CauseKind::SeriesNotAssigned, [series.as_str(), &named]);
            gaps.push(Gap::of(GapSubject::Metrics, server, cause));
        }
        gaps
    }
}

/// The GPU that labels name, with the labels by which they do, as (name, value).
fn device_of<'l>(metric: &MappedMetric, labels: &'l Labels) -> (DeviceId, Vec<Label<'l>>) {
    let names = metric.exporter.labels();
    let (index, by_index) = index_of(labels, &own_first(&metric.index_label, names.index));
    let uuid = find(labels, &own_first(&metric.uuid_label, names.uuid));
    let core = find(labels, names.core);
    let id = DeviceId {
        index,
        uuid: uuid.map(|(_, value)| value.to_owned()),
        core: core.and_then(|(_, value)| value.parse().ok()),
    };
    (id, [by_index, core, uuid].into_iter().flatten().collect())
}

/// The names of labels with the user's own before them.
fn own_first<'n>(own: &'n Option<String>, names: &[&'n str]) -> Vec<&'n str> {
    own.as_deref().into_iter().chain(names.iter().copied()).collect()
}

/// The index that the first label with a number gives, and that label. dcgm-exporter's
/// `device` is `nvidia0`.
fn index_of<'l>(labels: &'l Labels, names: &[&str]) -> (Index, Option<Label<'l>>) {
    for (name, value) in find_all(labels, names) {
        let Ok(index) = value.strip_prefix("nvidia").unwrap_or(value).parse::<u64>() else {
            continue;
        };
        let index = match u16::try_from(index) {
            Ok(index) if index < MOST_GPUS => Index::Known(index),
            _ => Index::TooLarge,
        };
        return (index, Some((name, value)));
    }
    (Index::Absent, None)
}

/// The labels that tell the MIG slice of a series. Metrics that slices have no value of
/// their own for are of the GPU.
fn slice_labels<'l>(metric: &MappedMetric, labels: &'l Labels) -> impl Iterator<Item = Label<'l>> {
    let names = metric.exporter.labels();
    let number = find(labels, names.slice).filter(|_| metric.quantity.is_of_slices());
    number.into_iter().chain(find(labels, names.profile).filter(|_| number.is_some()))
}

/// The MIG slice that a series, or a row of an answer, is of.
pub(super) fn slice_of(metric: &MappedMetric, labels: &Labels) -> Option<Slice> {
    let mut values = slice_labels(metric, labels).map(|(_, value)| value.to_owned());
    Some(Slice { number: values.next()?, profile: values.next().unwrap_or_default() })
}

/// Compute slices of a MIG profile: 3 of `3g.20gb` and of `1c.3g.20gb`, which is one of
/// the three that a compute instance took.
pub(super) fn compute_slices(profile: &str) -> Option<u8> {
    let mut parts = profile.split('.');
    let slices = parts.find_map(|part| part.strip_suffix('g'))?;
    slices.parse::<u8>().ok().filter(|slices| *slices > 0)
}

/// Whether an AMD GPU is divided, of which activity is not published: its page says that
/// it is of GPUs that are not partitioned.
fn is_partition(labels: &Labels) -> bool {
    let is = |name: &str, whole: &[&str]| {
        let label = find(labels, &[name]);
        label.is_none_or(|(_, value)| whole.iter().any(|word| value.eq_ignore_ascii_case(word)))
    };
    !is("gpu_partition_id", &["0", "na"]) || !is("gpu_compute_partition_type", &["spx", "na"])
}

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
#[path = "devices_tests.rs"]
mod tests;
