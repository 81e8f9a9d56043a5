//! How pods used the GPUs that they held, where metrics name them.
//!
//! Each figure is one value over the window, so that a server answers with as much for a
//! pod of a minute as for one of a week.

use super::answer::{Labels, Row};
use super::ask::{Ask, Failure, Sizes, add, at_instant, ends_all, in_pieces, warned};
use super::devices::Machine;
use super::labels::PodLabels;
use super::plan::{Chunk, DeviceKey, Division, Request};
use super::queries::{Form, Span, pod_query, query};
use super::readings::{Part, part_of, rounded};
use crate::Readings;
use crate::domain::{
    Cause, CauseKind, DAY_SECONDS, DeviceUse, Gap, GapSubject, Gathered, HOUR_SECONDS, JoinedBy,
    Metric, Window,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// Hours with fewer samples than this share of the most are not whole.
const WHOLE_HOUR: f64 = 0.9;

/// What is asked of each pod: samples, their mean, and the largest. Rows of one time are of the
/// same GPU and never added up: the second form is that of hosts where a GPU has several.
const FIGURES: [[Form; 2]; 3] = [
    [Form::Count, Form::LargestCount],
    [Form::Mean, Form::LargestMean],
    [Form::Maximum, Form::Maximum],
];
const SAMPLES: usize = 0;

/// What a server answered of a pod on a part of a GPU, in the order of [`FIGURES`].
type Figures = [Option<f64>; 3];

/// A pod by its namespace and its name.
type Pod = (String, String);
/// By the place of the request too: the same series under the labels of another version.
type OfParts = BTreeMap<(Part, usize), Figures>;

/// Hosts that one query is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Together<'r> {
    pods: &'r PodLabels,
    /// Whether rows of one time repeat a GPU, or have the parts of the pods that share it.
    has_parts: bool,
    /// Before the end of the window.
    seconds: i64,
}

/// What reading a chunk has led to so far.
#[derive(Default)]
struct Reading<'a> {
    held: BTreeMap<(DeviceKey<'a>, Pod), OfParts>,
    /// Samples of each part of a GPU in an hour.
    hourly: BTreeMap<DeviceKey<'a>, Vec<f64>>,
    failed: Vec<Failure>,
    sizes: Sizes,
}

/// Whether series of a chunk name pods.
pub(super) fn are_named(chunk: &Chunk<'_>) -> bool {
    let mut hosts = of_utilization(chunk).flat_map(|(_, request)| request.hosts.values());
    hosts.any(|host| host.pods.labels.is_some())
}

/// Reads what each pod did with the GPUs of a chunk. What the GPUs themselves did does
/// not depend on it.
pub(super) async fn uses<A: Ask>(
    asker: &A,
    server: &str,
    chunk: &Chunk<'_>,
    window: Window,
) -> Gathered<Readings> {
    let mut reading = Reading::default();
    for (place, request) in of_utilization(chunk) {
        for (together, hosts) in groups(request, chunk, window) {
            reading.ask(asker, (place, request), (together, hosts.as_slice()), window).await;
        }
    }
    let (uses, invalid) = reading.uses(chunk, window);
    let gap = |cause| Gap::of(GapSubject::Metrics, server, cause);
    let failed = reading.failed.iter().map(|Failure { error, hosts }| {
        gap(error.cause_of(CauseKind::UsesNotRead, &hosts.len().to_string()))
    });
    let mut gaps: Vec<Gap> = failed.collect();
    gaps.extend(warned(asker, server));
    if invalid > 0 {
        gaps.push(gap(Cause::of(CauseKind::UsesNotValid, [&invalid.to_string()])));
    }
    Gathered { value: Readings::Uses(uses), gaps }
}

/// The requests for utilization, each with its place.
fn of_utilization<'c, 'a>(chunk: &'c Chunk<'a>) -> impl Iterator<Item = (usize, &'c Request<'a>)> {
    let requests = chunk.requests.iter().enumerate();
    requests.filter(|(_, request)| request.metric == Metric::GpuUtilization)
}

/// The hosts of a request whose series name pods, by what one query can ask for.
fn groups<'r>(
    request: &'r Request<'_>,
    chunk: &Chunk<'_>,
    window: Window,
) -> BTreeMap<Together<'r>, Vec<&'r str>> {
    let mut groups: BTreeMap<Together<'r>, Vec<&'r str>> = BTreeMap::new();
    for (host, targets) in &request.hosts {
        let device = targets.devices.values().next();
        let machine = device.and_then(|target| chunk.machines.get(target.device.0));
        let (Some(pods), Some(machine)) = (&targets.pods.labels, machine) else { continue };
        let Some(seconds) = seconds_of(machine, window) else { continue };
        let together = Together { pods, has_parts: targets.has_parts, seconds };
        groups.entry(together).or_default().push(host.as_str());
    }
    groups
}

/// How much of the window is asked of a machine; `None` where that is too little. Before
/// a machine came, another may have had its name or its address. Whole days or hours are
/// few different queries.
fn seconds_of(machine: &Machine<'_>, window: Window) -> Option<i64> {
    let seconds = window.seconds();
    let first_seen = machine.instance.first_seen();
    let is_certain = matches!(machine.joined_by, JoinedBy::InstanceId | JoinedBy::ProviderId);
    if is_certain || first_seen <= window.start {
        return (seconds > 0).then_some(seconds);
    }
    let own = window.end.as_second() - first_seen.as_second();
    let unit = if own < DAY_SECONDS { HOUR_SECONDS } else { DAY_SECONDS };
    let whole = own.div_euclid(unit) * unit;
    (whole > 0).then_some(whole)
}

impl<'a> Reading<'a> {
    /// Asks for everything of some hosts.
    async fn ask<A: Ask>(
        &mut self,
        asker: &A,
        (place, request): (usize, &Request<'a>),
        (together, hosts): (Together<'_>, &[&str]),
        window: Window,
    ) {
        let Together { pods, has_parts, seconds } = together;
        if let Some(ended) = self.failed.iter_mut().find(|known| ends_all(&known.error)) {
            ended.hosts.extend(hosts.iter().map(|host| (*host).to_owned()));
            return;
        }
        let range = u32::try_from(seconds).unwrap_or(u32::MAX);
        for (figure, forms) in FIGURES.into_iter().enumerate() {
            let form = forms[usize::from(has_parts)];
            let failures = at_instant(
                asker,
                (hosts, last_instant(window)),
                |hosts| pod_query(request, form, (hosts, pods), range),
                |rows| self.take(figure, (place, request), pods, rows),
            )
            .await;
            if self.has_failed(failures) {
                return;
            }
        }
        let hour = u32::try_from(HOUR_SECONDS.min(window.seconds().max(1))).unwrap_or(u32::MAX);
        let form = FIGURES[SAMPLES][usize::from(has_parts)];
        let mut sizes = self.sizes;
        let failures = in_pieces(
            asker,
            (hosts, Span::of(window, hour)),
            &mut sizes,
            |hosts| query(request, form, hosts, hour),
            |rows| self.take_hours(request, rows),
        )
        .await;
        self.sizes = sizes;
        self.has_failed(failures);
    }

    /// Takes rows with one of the [`FIGURES`] of each pod.
    fn take(
        &mut self,
        figure: usize,
        (place, request): (usize, &Request<'a>),
        pods: &PodLabels,
        rows: Vec<(Labels, f64)>,
    ) {
        for (labels, value) in rows {
            let Some((host, target)) = request.target_of(&labels) else { continue };
            let text = |label: &String| labels.get(label).filter(|text| !text.is_empty());
            let (Some(namespace), Some(pod), Some(part)) =
                (text(&pods.namespace), text(&pods.pod), part_of(request, target, &labels))
            else {
                continue;
            };
            if host.pods.exporters.contains(pod) {
                continue;
            }
            let key = (target.device, (namespace.clone(), pod.clone()));
            let figures = self.held.entry(key).or_default().entry((part, place)).or_default();
            let scale = if figure == SAMPLES { 1.0 } else { request.mapped.scale };
            figures[figure] = Some(value * scale);
        }
    }

    /// Takes rows with the number of samples in each hour.
    fn take_hours(&mut self, request: &Request<'a>, rows: Vec<Row>) {
        for row in rows {
            let Some((_, target)) = request.target_of(&row.labels) else { continue };
            if part_of(request, target, &row.labels).is_some() {
                let counts = row.points.iter().map(|(_, count)| *count);
                let hours = self.hourly.entry(target.device).or_default();
                hours.extend(counts.filter(|count| *count > 0.0));
            }
        }
    }

    /// Keeps failures. Whether there are any.
    fn has_failed(&mut self, failures: Vec<Failure>) -> bool {
        let any = !failures.is_empty();
        failures.into_iter().for_each(|failure| add(&mut self.failed, failure));
        any
    }

    /// What was read, in order of device and pod, and how much of it cannot be.
    fn uses(&self, chunk: &Chunk<'_>, window: Window) -> (Vec<DeviceUse>, usize) {
        let hour = HOUR_SECONDS.min(window.seconds().max(1));
        let mut uses = Vec::new();
        let mut invalid = 0;
        for ((device, (namespace, pod)), parts) in &self.held {
            let counts = self.hourly.get(device).map_or(&[][..], Vec::as_slice);
            let (Some(sample_seconds), Some(division)) =
                (spacing(counts, hour as f64), chunk.divisions.get(device))
            else {
                continue;
            };
            let Some((n_samples, mean, largest)) = combined(parts, division) else { continue };
            let (mean, largest) = (rounded(mean), rounded(largest));
            let is_percent = |value: f64| (0.0..=100.0).contains(&value);
            if !is_percent(mean) || !is_percent(largest) {
                invalid += 1;
                continue;
            }
            let (machine, gpu) = *device;
            uses.push(DeviceUse {
                machine: machine.clone(),
                gpu: u32::from(gpu),
                namespace: namespace.clone(),
                pod: pod.clone(),
                n_samples,
                sample_seconds,
                mean_percent: mean,
                max_percent: largest,
            });
        }
        (uses, invalid)
    }
}

/// The millisecond before the end: a range up to it has the samples of the window, on
/// servers that count those at its beginning and on others.
fn last_instant(window: Window) -> Timestamp {
    window.end.checked_sub(SignedDuration::from_millis(1)).unwrap_or(window.end)
}

/// Seconds between two samples, by their numbers in the hours that are whole.
fn spacing(counts: &[f64], hour_seconds: f64) -> Option<u32> {
    let most = counts.iter().copied().reduce(f64::max)?;
    let is_whole = |count: &f64| *count >= most * WHOLE_HOUR;
    let mut whole: Vec<f64> = counts.iter().copied().filter(is_whole).collect();
    whole.sort_by(f64::total_cmp);
    Some((hour_seconds / whole.get(whole.len() / 2)?).round().max(1.0) as u32)
}

/// Samples, mean and maximum over the parts of a GPU that a pod held. Parts that it held
/// at one time count once, and by their share in the mean; the maximum is the largest of
/// any part.
fn combined(parts: &OfParts, division: &Division) -> Option<(u64, f64, f64)> {
    let mut samples_of: BTreeMap<&Part, f64> = BTreeMap::new();
    let (mut sum, mut weight, mut largest) = (0.0, 0.0, f64::NEG_INFINITY);
    for ((part, _), figures) in parts {
        let [Some(samples), Some(mean), Some(most)] = *figures else { continue };
        *samples_of.entry(part).or_default() += samples;
        let weighs = samples * share(part, division);
        sum += mean * weighs;
        weight += weighs;
        largest = largest.max(most);
    }
    let samples = samples_of.into_values().reduce(f64::max)?;
    (weight > 0.0).then(|| (samples.round() as u64, sum / weight, largest))
}

/// Compute slices of a part. Cores are alike.
fn share(part: &Part, division: &Division) -> f64 {
    let slices = match part {
        Part::Slice(slice) => division.slices.get(slice).copied().flatten().unwrap_or(1),
        Part::Gpu => division.card_slices.max(1),
        Part::Core(..) => 1,
    };
    f64::from(slices)
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
