//! What to ask of a server: which metric stands for which GPU, and which machines are
//! asked for together.
//!
//! Everything of a machine is in one chunk, because a series must come from one answer:
//! of two with the same name the second one is not added to the first.

use super::answer::Labels;
use super::devices::{
    DeviceId, Discovery, HostSeries, Machine, NamedPods, Numbers, Scope, Seen, Slice, Unusable,
    compute_slices, numbers,
};
use super::metric_map::{Exporter, MappedMetric, MetricMap, Quantity};
use crate::catalog::{known_shape, mig_profiles};
use crate::domain::{Gap, GpuOffer, Instance, InstanceShape, Metric, ResourceId, Window};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of an answer: GPUs, or the slices and cores that they are made of.
const ROWS_PER_QUERY: usize = 500;
/// Points of an answer, which is held in memory as a whole.
const POINTS_PER_QUERY: usize = 1_000_000;
/// Compute slices of a card whose name and type are not in the catalog: those that have
/// fewer are in it.
const USUAL_SLICES: u8 = 7;

/// A GPU by its machine and its number there.
pub(super) type DeviceKey<'a> = (&'a ResourceId, u16);

/// How the parts of a GPU make up its figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Division {
    /// Compute slices of each MIG slice, as far as they are known.
    pub(super) slices: BTreeMap<Slice, Option<u8>>,
    /// Compute slices of the whole card.
    pub(super) card_slices: u8,
    /// Where a cluster tells of more MIG instances than have any series, and the card has room
    /// for another: how many the machine lacks, and how many it offers. Of several cards the
    /// first counts them.
    pub(super) unseen: Option<(usize, usize)>,
}

/// What the rows of an answer with some labels are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) device: DeviceKey<'a>,
    /// The core of the device that they are of.
    pub(super) core: Option<u16>,
    /// Whether rows without a slice are asked for.
    pub(super) whole: bool,
    /// Whether rows with a slice are asked for.
    pub(super) slices: bool,
}

/// What is asked of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HostTargets<'a> {
    /// Whether rows of a GPU have the parts of the pods that share it, beside its own.
    pub(super) has_parts: bool,
    /// By the values of the labels of the scope.
    pub(super) devices: BTreeMap<Vec<String>, Target<'a>>,
    pub(super) pods: NamedPods,
}

/// One metric of some hosts, as far as one query can ask for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request<'a> {
    pub(super) metric: Metric,
    pub(super) mapped: MappedMetric,
    /// What is added to it: the rest of the memory, where nothing states all of it.
    pub(super) rest: Vec<String>,
    pub(super) scope: Scope,
    pub(super) slice_labels: Vec<String>,
    pub(super) hosts: BTreeMap<String, HostTargets<'a>>,
}

/// Machines that are asked for together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Chunk<'a> {
    pub(super) machines: BTreeMap<&'a ResourceId, Machine<'a>>,
    pub(super) divisions: BTreeMap<DeviceKey<'a>, Division>,
    pub(super) requests: Vec<Request<'a>>,
}

/// What to ask.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// Series that answers are expected to make up.
    pub(super) series: usize,
    pub(super) chunks: Vec<Chunk<'a>>,
    /// What is there and cannot be used.
    pub(super) gaps: Vec<Gap>,
}

/// What is known of a GPU; rows are places in the map.
#[derive(Debug, Default)]
struct Device {
    whole: BTreeSet<usize>,
    sliced: BTreeSet<usize>,
    by_core: BTreeSet<usize>,
    cores: BTreeSet<u16>,
    division: Division,
}

/// Which rows stand for a metric of a GPU: one of the whole, and those of its slices or cores.
type Choice = (Metric, Option<usize>, Vec<usize>);

/// What states the memory of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Total {
    Unknown,
    Stated(usize),
    /// The memory in use, by this row, with what is free and what is reserved.
    Sum(usize),
}

#[derive(Debug)]
struct Choices {
    /// Of the metrics that any row stands for, without the total of the memory.
    by_metric: Vec<Choice>,
    total: Total,
}

/// Plans what to ask for the machines of which series were found.
pub(super) fn plan<'a>(
    map: &MetricMap,
    mut found: Discovery<'a>,
    shapes: &BTreeMap<String, InstanceShape>,
    (window, period_seconds): (Window, u32),
    server: &str,
) -> Plan<'a> {
    let offer_of = |instance: &Instance| -> Option<&GpuOffer> {
        known_shape(shapes, &instance.instance_type)?.gpu.as_ref()
    };
    let numbers = numbers(&found, offer_of);
    let (mut devices, unassigned) = devices(&found, &numbers);
    found.unassigned.add_all(unassigned);
    for ((machine, _), device) in &mut devices {
        let offer = found.machines.get(machine).and_then(|machine| offer_of(machine.instance));
        device.division.complete(offer);
    }
    note_unseen(found.mig_instances, &mut devices);
    let choices: BTreeMap<DeviceKey<'a>, Choices> =
        devices.iter().map(|(key, device)| (*key, choices(map, device))).collect();
    let periods = window.seconds().max(0) as usize / period_seconds.max(1) as usize;
    let rows = ROWS_PER_QUERY.min(POINTS_PER_QUERY / periods.max(1)).max(1);
    let (mut chunks, place) = chunks(&found, devices, rows);
    for (chunk, request) in requests(map, &found, (&numbers, &choices), &place) {
        chunks[chunk].requests.push(request);
    }
    Plan { series: choices.values().map(Choices::series).sum(), chunks, gaps: found.gaps(server) }
}

/// Marks the cards that may have MIG instances without any series.
fn note_unseen<'a>(
    offered: Option<&BTreeMap<ResourceId, u32>>,
    devices: &mut BTreeMap<DeviceKey<'a>, Device>,
) {
    let mut seen: BTreeMap<&'a ResourceId, usize> = BTreeMap::new();
    for ((machine, _), device) in devices.iter() {
        *seen.entry(*machine).or_default() += device.division.slices.len();
    }
    let mut counted: BTreeSet<&ResourceId> = BTreeSet::new();
    for ((machine, _), device) in devices.iter_mut() {
        let division = &mut device.division;
        let compute: u32 = division.slices.values().flatten().copied().map(u32::from).sum();
        let has_room = compute < u32::from(division.card_slices);
        let count = offered.and_then(|offered| offered.get(*machine)).copied();
        let (count, seen) = (count.unwrap_or(0) as usize, seen.get(*machine).copied().unwrap_or(0));
        if has_room && !division.slices.is_empty() && count > seen {
            let is_first = counted.insert(*machine);
            division.unseen = Some(if is_first { (count - seen, count) } else { (0, 0) });
        }
    }
}

/// What to ask, each with its chunk.
fn requests<'a>(
    map: &MetricMap,
    discovery: &Discovery<'a>,
    (numbers, choices): (&BTreeMap<&'a ResourceId, Numbers>, &BTreeMap<DeviceKey<'a>, Choices>),
    place: &Places<'a>,
) -> Vec<(usize, Request<'a>)> {
    let mut requests = Vec::new();
    for ((row, scope), group) in &discovery.groups {
        // By chunk, and by whether it is for a sum.
        let mut of_group: BTreeMap<(usize, bool), Request<'a>> = BTreeMap::new();
        for (host, series) in &group.hosts {
            let (Some(chunk), Some(numbers)) =
                (place.get(series.machine), numbers.get(series.machine))
            else {
                continue;
            };
            for (values, seen) in &series.devices {
                let key = numbers.of(&seen.id).map(|number| (series.machine, number));
                let chosen = key.and_then(|key| Some((key, choices.get(&key)?)));
                let Some((key, chosen)) = chosen else { continue };
                for (is_sum, target) in chosen.targets(*row, map, key, seen) {
                    let request = of_group.entry((*chunk, is_sum)).or_insert_with(|| {
                        let labels = group.slice_labels.iter().cloned().collect();
                        request(map, *row, is_sum, scope, labels)
                    });
                    request.add(host, values, target, (series, seen));
                }
            }
        }
        requests.extend(of_group.into_iter().map(|((chunk, _), request)| (chunk, request)));
    }
    requests
}

/// The GPUs that series were found of, with what could not be assigned to any.
fn devices<'a>(
    discovery: &Discovery<'a>,
    numbers: &BTreeMap<&'a ResourceId, Numbers>,
) -> (BTreeMap<DeviceKey<'a>, Device>, Unusable) {
    let mut devices: BTreeMap<DeviceKey<'a>, Device> = BTreeMap::new();
    let mut unassigned = Unusable::default();
    for ((row, _), group) in &discovery.groups {
        for (host, series) in &group.hosts {
            for seen in series.devices.values() {
                let numbers = numbers.get(series.machine);
                let Some(number) = numbers.and_then(|numbers| numbers.of(&seen.id)) else {
                    unassigned.add(u64::from(seen.series), host);
                    continue;
                };
                let device = devices.entry((series.machine, number)).or_default();
                device.add(*row, seen, |slice| discovery.compute_of(series.machine, seen, slice));
            }
        }
    }
    (devices, unassigned)
}

impl Discovery<'_> {
    /// Compute slices of a MIG slice, by its labels or by a series of its own.
    fn compute_of(&self, machine: &ResourceId, seen: &Seen, slice: &Slice) -> Option<u8> {
        compute_slices(&slice.profile).or_else(|| {
            let DeviceId { uuid, .. } = &seen.id;
            let known = self.profiles.get(&(machine, uuid.clone()?, slice.number.clone()))?;
            // A number that was given to slices of two sizes tells neither.
            known.first().copied().filter(|_| known.len() == 1)
        })
    }
}

impl Device {
    fn add(&mut self, row: usize, seen: &Seen, compute_of: impl Fn(&Slice) -> Option<u8>) {
        if let Some(core) = seen.id.core {
            self.by_core.insert(row);
            self.cores.insert(core);
        } else if seen.has_whole {
            self.whole.insert(row);
        }
        if !seen.slices.is_empty() {
            self.sliced.insert(row);
        }
        for slice in &seen.slices {
            let known = self.division.slices.entry(slice.clone()).or_default();
            *known = known.or_else(|| compute_of(slice));
        }
        let card = seen.card_slices.unwrap_or_default();
        self.division.card_slices = self.division.card_slices.max(card);
    }

    /// Rows that an answer has of it at most.
    fn rows(&self) -> usize {
        (self.division.slices.len() + usize::from(!self.whole.is_empty()))
            .max(self.cores.len())
            .max(1)
    }
}

impl Division {
    /// Fills in the slices of the card where its name did not tell them.
    fn complete(&mut self, offer: Option<&GpuOffer>) {
        if self.card_slices > 0 || self.slices.is_empty() {
            return;
        }
        let profiles = offer.map(mig_profiles).unwrap_or_default();
        let slices = profiles.iter().map(|profile| profile.compute_slices);
        self.card_slices = slices.max().unwrap_or(USUAL_SLICES);
    }
}

/// Which rows stand for what of a GPU. Rows of one metric are never added up with those
/// of another that says the same thing.
fn choices(map: &MetricMap, device: &Device) -> Choices {
    let rows_of = |quantity: Quantity, of: &BTreeSet<usize>| -> Vec<usize> {
        let is_of = |row: &usize| map.rows[*row].quantity == quantity;
        of.iter().copied().filter(is_of).collect()
    };
    let first = |quantity, of: &BTreeSet<usize>| rows_of(quantity, of).first().copied();
    let Device { whole, by_core, .. } = device;
    let slices = &device.division.slices;
    let is_divided = !slices.is_empty();
    let are_sized = slices.values().all(Option::is_some);
    let engine = first(Quantity::EngineActive, &device.sliced).filter(|_| are_sized);
    let parts = engine.or_else(|| first(Quantity::Utilization, by_core));
    // What is 0 under MIG must not stand for a GPU whose slices are not measured.
    let is_measurable = !is_divided || parts.is_some();
    let of_gpu = first(Quantity::Utilization, whole);
    let of_gpu = of_gpu.or_else(|| first(Quantity::EngineActive, whole));
    let used = first(Quantity::MemoryUsed, whole);
    let used_parts = first(Quantity::MemoryUsed, &device.sliced)
        .or_else(|| first(Quantity::MemoryUsed, by_core))
        .map_or_else(|| rows_of(Quantity::MemoryUsedPart, by_core), |row| vec![row]);
    // The memory of slices is not that of the card, which the catalog has.
    let total = if is_divided {
        Total::Unknown
    } else {
        let stated = first(Quantity::MemoryTotal, whole).map(Total::Stated);
        stated.or_else(|| sum_of_memory(map, whole, used?)).unwrap_or(Total::Unknown)
    };
    let mut by_metric = vec![
        (Metric::GpuUtilization, of_gpu.filter(|_| is_measurable), parts.into_iter().collect()),
        (Metric::GpuMemoryUsed, used, used_parts),
        (Metric::GpuPowerDraw, first(Quantity::Power, whole), Vec::new()),
        (Metric::GpuSmActivity, first(Quantity::SmActive, whole), Vec::new()),
        (Metric::GpuTemperature, first(Quantity::Temperature, whole), Vec::new()),
    ];
    by_metric.retain(|(_, whole, parts)| whole.is_some() || !parts.is_empty());
    Choices { by_metric, total }
}

/// The memory of a GPU as a sum, where the exporter of its memory in use has the rest.
fn sum_of_memory(map: &MetricMap, whole: &BTreeSet<usize>, used: usize) -> Option<Total> {
    let rest = rest_of_memory(map, map.rows[used].exporter)?;
    rest.iter().all(|row| whole.contains(row)).then_some(Total::Sum(used))
}

/// What an exporter says of the memory that is not in use: free, and reserved.
fn rest_of_memory(map: &MetricMap, exporter: Exporter) -> Option<[usize; 2]> {
    let row = |quantity| {
        let is_it = |row: &MappedMetric| row.quantity == quantity && row.exporter == exporter;
        map.rows.iter().position(is_it)
    };
    Some([row(Quantity::MemoryFree)?, row(Quantity::MemoryReserved)?])
}

impl Choices {
    /// Averages and maxima of utilization and memory, and one series of each of the rest.
    fn series(&self) -> usize {
        let of_metric = |(metric, ..): &Choice| match metric {
            Metric::GpuUtilization | Metric::GpuMemoryUsed => 2,
            _ => 1,
        };
        let total = usize::from(self.total != Total::Unknown);
        self.by_metric.iter().map(of_metric).sum::<usize>() + total
    }

    /// What the rows of a metric are, if they are asked for: each with whether they are a
    /// part of a sum.
    fn targets<'a>(
        &self,
        row: usize,
        map: &MetricMap,
        device: DeviceKey<'a>,
        seen: &Seen,
    ) -> Vec<(bool, Target<'a>)> {
        let of = |whole: bool, parts: bool| Target {
            device,
            core: seen.id.core.filter(|_| parts),
            whole: whole && seen.id.core.is_none(),
            slices: parts && seen.id.core.is_none(),
        };
        let metric = map.rows[row].quantity.metric();
        let choice = self.by_metric.iter().find(|(chosen, ..)| *chosen == metric);
        let whole = self.total == Total::Stated(row)
            || choice.is_some_and(|(_, whole, _)| *whole == Some(row));
        let parts = choice.is_some_and(|(_, _, parts)| parts.contains(&row));
        let is_sum = self.total == Total::Sum(row);
        let own = (whole || parts).then(|| (false, of(whole, parts)));
        own.into_iter().chain(is_sum.then(|| (true, of(true, false)))).collect()
    }
}

/// An empty request for a metric, or for the sum that it is part of.
fn request<'a>(
    map: &MetricMap,
    row: usize,
    is_sum: bool,
    scope: &Scope,
    slice_labels: Vec<String>,
) -> Request<'a> {
    let mapped = &map.rows[row];
    let rest = rest_of_memory(map, mapped.exporter).filter(|_| is_sum).into_iter().flatten();
    Request {
        metric: if is_sum { Metric::GpuMemoryTotal } else { mapped.quantity.metric() },
        mapped: mapped.clone(),
        rest: rest.map(|row| map.rows[row].name.clone()).collect(),
        scope: scope.clone(),
        slice_labels,
        hosts: BTreeMap::new(),
    }
}

impl<'a> Request<'a> {
    fn add(
        &mut self,
        host: &str,
        values: &[String],
        target: Target<'a>,
        (series, seen): (&HostSeries<'a>, &Seen),
    ) {
        let of_pods = || HostTargets { pods: series.pods.clone(), ..HostTargets::default() };
        let targets = self.hosts.entry(host.to_owned()).or_insert_with(of_pods);
        targets.has_parts |= seen.is_virtual;
        targets.devices.insert(values.to_vec(), target);
    }

    /// What a row of an answer is of, with what is asked of its host.
    pub(super) fn target_of(&self, labels: &Labels) -> Option<(&HostTargets<'a>, &Target<'a>)> {
        let value = |label: &String| labels.get(label).cloned().unwrap_or_default();
        let values: Vec<String> = self.scope.device.iter().map(value).collect();
        let host = self.hosts.get(&value(&self.scope.host))?;
        Some((host, host.devices.get(&values)?))
    }
}

type Places<'a> = BTreeMap<&'a ResourceId, usize>;

/// Machines in chunks of at most so many rows, and in which chunk each is.
fn chunks<'a>(
    discovery: &Discovery<'a>,
    devices: BTreeMap<DeviceKey<'a>, Device>,
    rows: usize,
) -> (Vec<Chunk<'a>>, Places<'a>) {
    let mut chunks: Vec<Chunk<'a>> = Vec::new();
    let mut place = Places::new();
    let mut weights: BTreeMap<&ResourceId, usize> = BTreeMap::new();
    for ((machine, _), device) in &devices {
        *weights.entry(*machine).or_default() += device.rows();
    }
    let mut left = 0;
    for (id, weight) in weights {
        let Some(machine) = discovery.machines.get(id) else { continue };
        if chunks.is_empty() || weight > left {
            chunks.push(Chunk::default());
            left = rows;
        }
        left = left.saturating_sub(weight);
        place.insert(id, chunks.len() - 1);
        if let Some(chunk) = chunks.last_mut() {
            chunk.machines.insert(id, *machine);
        }
    }
    for ((id, number), device) in devices {
        if let Some(chunk) = place.get(id).and_then(|at| chunks.get_mut(*at)) {
            chunk.divisions.insert((id, number), device.division);
        }
    }
    (chunks, place)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
