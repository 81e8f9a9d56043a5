//! What could share cards in an estate: the GPUs of workloads that hold one model each, and
//! pods that hold one GPU, each with the hours in which it peaks.

use super::plan::EstateCommitments;
use crate::catalog::Prices;
use crate::domain::{
    Claim, ClaimState, DeviceUnit, GpuModel, GpuUsage, InstanceUsage, KindBasis, OWNER_TAGS,
    Policy, ResourceId, Signal, Workload, WorkloadKind, tag_value,
};
use crate::planners::share::{Isolation, MOST_TENANTS, ShareTenant};
use crate::savings::{holds_tenants, tenant_of};
use crate::usage::{Estate, Timeline, Usages};
use std::collections::{BTreeMap, BTreeSet};

/// What cannot share a card, or is not known to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoTenant {
    pub name: String,
    pub reason: String,
}

/// A tenant with the card that it was measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTenant {
    pub tenant: ShareTenant,
    pub instance: ResourceId,
    pub instance_type: String,
    pub region: String,
    /// Model and memory per device.
    pub card: (GpuModel, Option<u64>),
}

/// Who could share cards.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundTenants {
    /// In order of name.
    pub tenants: Vec<FoundTenant>,
    /// In order of name.
    pub skipped: Vec<NoTenant>,
    /// Instances with a GPU that is left out, and not because it is idle.
    pub with_others: BTreeSet<ResourceId>,
}

/// Everything in an estate that could share a card. A tenant that nothing says otherwise of
/// has the class `otherwise`.
pub fn share_tenants(estate: &Estate, policy: &Policy, otherwise: Isolation) -> FoundTenants {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let usage = estate.measured();
    let (groups, _, _) = EstateCommitments::groups(estate, &prices, policy);
    let search = Search {
        estate,
        usage: &usage,
        policy,
        otherwise,
        pods: pods(&estate.clusters.claims, estate),
    };
    let mut tenants = FoundTenants::default();
    for group in groups.iter().filter(|group| group.workload.key.running) {
        let whole = &group.workload;
        match group.working() {
            _ if whole.ignored.is_some() => tenants.leave_out(whole, "a tag ignores it"),
            Some(part) => search.workload(&part.workload, &mut tenants),
            None => tenants.leave_out(whole, "it is idle: it can be stopped"),
        }
    }
    tenants.tenants.sort_by(|left, right| left.tenant.name.cmp(&right.tenant.name));
    tenants.skipped.sort();
    tenants.skipped.dedup();
    tenants
}

impl FoundTenants {
    fn leave_out(&mut self, workload: &Workload, reason: impl Into<String>) {
        self.skipped.push(NoTenant { name: workload.name.clone(), reason: reason.into() });
    }
}

/// A pod by its namespace and name.
type Pod<'a> = (&'a str, &'a str);

/// The pods that hold each GPU: only those that hold one whole GPU and nothing else are
/// listed, and only where metrics name the pod of a GPU.
fn pods<'a>(
    claims: &'a [Claim],
    estate: &'a Estate,
) -> BTreeMap<(&'a ResourceId, u32), BTreeSet<Pod<'a>>> {
    let mut held: BTreeMap<Pod<'a>, (u32, bool)> = BTreeMap::new();
    for claim in claims {
        let (Some(pod), ClaimState::Running) = (&claim.holder.pod, claim.state) else { continue };
        let pod = (claim.holder.namespace.as_str(), pod.as_str());
        let (count, are_whole) = held.entry(pod).or_insert((0, true));
        *count = count.saturating_add(claim.devices.count);
        *are_whole &= claim.devices.unit == DeviceUnit::Whole;
    }
    let mut by_gpu: BTreeMap<(&ResourceId, u32), BTreeSet<Pod<'_>>> = BTreeMap::new();
    for usage in &estate.clusters.uses {
        let pod = (usage.namespace.as_str(), usage.pod.as_str());
        if held.get(&pod) == Some(&(1, true)) {
            by_gpu.entry((&usage.machine, usage.gpu)).or_default().insert(pod);
        }
    }
    by_gpu
}

struct Search<'a> {
    estate: &'a Estate,
    usage: &'a Usages,
    policy: &'a Policy,
    otherwise: Isolation,
    pods: BTreeMap<(&'a ResourceId, u32), BTreeSet<Pod<'a>>>,
}

impl Search<'_> {
    fn workload(&self, workload: &Workload, tenants: &mut FoundTenants) {
        let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
        let Some(offer) = offer else {
            return tenants.leave_out(workload, "its type has no known GPU");
        };
        if workload.key.component().is_some() {
            return tenants.leave_out(workload, "SageMaker runs its host");
        }
        if workload.rests_on_runs().is_some() {
            return tenants.leave_out(workload, "only profiled runs were measured");
        }
        let holds = holds_tenants(workload);
        let mut is_refused = false;
        for usage in &workload.usage {
            let mut hours = None;
            for gpu in &usage.gpus {
                let pod = self.pod_of(gpu);
                // Nothing is on it, so that it keeps nobody from sharing the others.
                if gpu.is_allocated() == Some(false) {
                    tenants.skipped.extend(pod.map(|_| NoTenant {
                        name: self.name(workload, gpu, pod),
                        reason: "its GPU is idle: it can be released".to_owned(),
                    }));
                    continue;
                }
                if let (Err(error), None) = (&holds, pod) {
                    if !is_refused {
                        tenants.leave_out(workload, error.to_string());
                    }
                    is_refused = true;
                    tenants.with_others.insert(gpu.instance.clone());
                    continue;
                }
                let name = self.name(workload, gpu, pod);
                match tenant_of(gpu, workload, self.policy) {
                    Ok(figures) => {
                        let hours = hours.get_or_insert_with(|| self.hours(workload, usage));
                        let peak = figures.peak_percent;
                        tenants.tenants.push(FoundTenant {
                            tenant: ShareTenant {
                                name,
                                owner: owner(workload, pod),
                                isolation: self.isolation(workload),
                                vram_peak_mib: figures.vram_needed_mib / self.policy.vram_headroom,
                                peak_percent: Some(peak),
                                // More are refused, whatever their hours are.
                                hours: if tenants.tenants.len() < MOST_TENANTS {
                                    bounded(hours, peak)
                                } else {
                                    Vec::new()
                                },
                                source: source(gpu, hours.len()),
                            },
                            instance: gpu.instance.clone(),
                            instance_type: workload.key.instance_type.clone(),
                            region: workload.key.region.clone(),
                            card: (offer.model.clone(), offer.vram_mib),
                        });
                    }
                    Err(error) => {
                        tenants.with_others.insert(gpu.instance.clone());
                        tenants.skipped.push(NoTenant { name, reason: error.to_string() });
                    }
                }
            }
            if usage.gpus.is_empty() {
                tenants.leave_out(workload, "utilization of each GPU was not measured");
            }
        }
    }

    /// The one pod that held a GPU in the window.
    fn pod_of(&self, gpu: &GpuUsage) -> Option<Pod<'_>> {
        let pods = self.pods.get(&(&gpu.instance, u32::from(gpu.index)))?;
        let mut pods = pods.iter().copied();
        pods.next().filter(|_| pods.next().is_none())
    }

    fn name(&self, workload: &Workload, gpu: &GpuUsage, pod: Option<Pod<'_>>) -> String {
        if let Some((namespace, pod)) = pod {
            return format!("{namespace}/{pod}/gpu{}", gpu.index);
        }
        let instance = gpu.instance.native();
        if workload.name == instance {
            format!("{instance}/gpu{}", gpu.index)
        } else {
            format!("{}/{instance}/gpu{}", workload.name, gpu.index)
        }
    }

    fn isolation(&self, workload: &Workload) -> Isolation {
        let is_development = workload.kind == WorkloadKind::Development
            && workload.kind_basis == KindBasis::Declared;
        if workload.is_production() {
            Isolation::Production
        } else if is_development {
            Isolation::Development
        } else {
            self.otherwise
        }
    }

    /// Of each hour of the window what the busiest GPU of an instance did at most; empty
    /// where utilization was not measured. The mean over GPUs times their number is what one
    /// of them did at most.
    fn hours(&self, workload: &Workload, usage: &InstanceUsage) -> Vec<Option<f64>> {
        let instance = self.estate.instances.iter().find(|instance| instance.id == usage.instance);
        let is_utilization =
            usage.signal.is_some_and(|(signal, _)| signal == Signal::GpuUtilization);
        let Some(instance) = instance.filter(|_| is_utilization) else { return Vec::new() };
        let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
        let grid = (self.estate.window, self.estate.period_seconds);
        let measured = self.usage.of(&instance.id);
        let (timeline, _): (Timeline, _) = measured.timeline(instance, offer, grid);
        let visible = offer.map_or(1, |offer| offer.share.visible_devices());
        let peaks = timeline.hour_peaks().into_iter();
        peaks.map(|peak| peak.map(|mean| mean * f64::from(visible))).collect()
    }
}

/// Peaks by hour of one GPU, none above its own; an hour that is not known has that.
fn bounded(hours: &[Option<f64>], peak: f64) -> Vec<f64> {
    hours.iter().map(|hour| hour.unwrap_or(peak).min(peak)).collect()
}

fn owner(workload: &Workload, pod: Option<Pod<'_>>) -> Option<String> {
    if let Some((namespace, _)) = pod {
        return Some(namespace.to_owned());
    }
    tag_value(&workload.tags, &OWNER_TAGS).filter(|owner| !owner.is_empty()).map(str::to_owned)
}

fn source(gpu: &GpuUsage, hours: usize) -> String {
    let samples = gpu.samples.count;
    if hours > 0 {
        format!("{samples} samples, {hours} hours")
    } else {
        format!("{samples} samples")
    }
}
