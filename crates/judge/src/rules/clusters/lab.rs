//! Clusters made by hand. A node costs 8,000 a month unless it says so, so one of its eight
//! GPUs costs 1,000.

use super::{ClusterFacts, MachineFacts, cluster_findings, cluster_silences};
use crate::domain::{
    Claim, ClaimState, Clusters, Currency, DeviceUnit, DeviceUse, Devices, Finding, GpuUsage,
    Holder, InstanceUsage, Lifecycle, Maxima, Money, Node, NodeAmount, NodeDevices, Owner,
    Placement, Policy, Rejected, ResourceId, RunningTime, Samples, Scheduler, VramSummary, Window,
};
use crate::savings::Ending;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const GPU: &str = "nvidia.com/gpu";

pub(super) fn as_of() -> Timestamp {
    "2026-11-01T00:00:00Z".parse().expect("a time")
}

pub(super) fn hours_ago(hours: i64) -> Timestamp {
    as_of() - SignedDuration::from_hours(hours)
}

pub(super) fn slice(slices: u8) -> DeviceUnit {
    DeviceUnit::Slice { profile: format!("{slices}g"), slices, of: 7, replicas: 1 }
}

/// A node with so many GPUs of its own, all of which it offers whole.
pub(super) fn node(name: &str, gpus: u32) -> Node {
    let amount = NodeAmount { capacity: 100, allocatable: 100, requested: Some(10) };
    Node {
        name: name.to_owned(),
        scheduler: Scheduler::Kubernetes,
        provider_id: None,
        cluster: Some("lab".to_owned()),
        machine: ResourceId::named(format!("i-{name}")),
        physical: Some(Decimal::from(gpus)),
        devices: BTreeMap::from([(GPU.to_owned(), offered(DeviceUnit::Whole, gpus))]),
        price_class: None,
        pool: Some("train".to_owned()),
        pool_maker: None,
        cpu_millicores: amount,
        memory_mib: amount,
        pods: Some(1),
        cpu_only_pods: Some(0),
        is_ready: Some(true),
        is_cordoned: false,
    }
}

pub(super) fn offered(unit: DeviceUnit, count: u32) -> NodeDevices {
    NodeDevices { unit, capacity: count, allocatable: count }
}

/// A claim of a pod of a Deployment that has run for ten days.
pub(super) fn claim(pod: &str, unit: &DeviceUnit, count: u32, on: &str) -> Claim {
    Claim {
        holder: Holder {
            namespace: "search".to_owned(),
            pod: Some(pod.to_owned()),
            owner: Some(Owner { kind: "Deployment".to_owned(), name: "ranker".to_owned() }),
            labels: BTreeMap::new(),
            placement: Some(Placement { cpu_millicores: 1, memory_mib: 1, ..Placement::default() }),
        },
        devices: Devices { resource: GPU.to_owned(), unit: unit.clone(), count },
        state: ClaimState::Running,
        since: Some(hours_ago(240)),
        machine: Some(ResourceId::named(format!("i-{on}"))),
    }
}

pub(super) fn whole(pod: &str, count: u32, on: &str) -> Claim {
    claim(pod, &DeviceUnit::Whole, count, on)
}

pub(super) fn pending(pod: &str, count: u32, minutes: i64) -> Claim {
    Claim {
        state: ClaimState::Pending,
        since: Some(as_of() - SignedDuration::from_mins(minutes)),
        machine: None,
        ..whole(pod, count, "none")
    }
}

pub(super) fn of(kind: &str, mut claim: Claim) -> Claim {
    claim.holder.owner = Some(Owner { kind: kind.to_owned(), name: "one".to_owned() });
    claim
}

/// How a pod used a device, by samples of a minute over so many hours.
pub(super) fn used(pod: &str, gpu: u32, on: &str, hours: u64, max_percent: f64) -> DeviceUse {
    DeviceUse {
        machine: ResourceId::named(format!("i-{on}")),
        gpu,
        namespace: "search".to_owned(),
        pod: pod.to_owned(),
        n_samples: hours * 60,
        sample_seconds: 60,
        mean_percent: 0.0,
        max_percent,
    }
}

/// GPUs of an instance by their largest maximum, measured over a fortnight.
pub(super) fn usage(name: &str, maxima: &[f64]) -> InstanceUsage {
    let seconds = 14 * 86_400;
    let samples = Samples::over(4_032, seconds, 300);
    let id = ResourceId::named(format!("i-{name}"));
    let gpu = |(index, largest): (usize, &f64)| GpuUsage {
        instance: id.clone(),
        index: u16::try_from(index).expect("few"),
        utilization: None,
        contradiction: None,
        samples,
        demand_peak: None,
        maxima: Some(Maxima {
            largest: *largest,
            active_seconds: 0,
            observed_seconds: seconds,
            samples,
        }),
        vram: Some(VramSummary {
            peak_mib: 20_480.0,
            p95_mib: None,
            samples,
            total_mib: Some(40_960.0),
            is_reserved: false,
        }),
        vram_nearly_full_seconds: None,
        vram_days: Vec::new(),
        power: None,
        temperature_max_c: None,
        encoder_sessions_max: None,
        encoder_samples: None,
        sm: None,
        days: Vec::new(),
    };
    InstanceUsage {
        instance: id.clone(),
        running: RunningTime { running_seconds: seconds, observed_seconds: seconds, proved: true },
        signal: None,
        summary: None,
        gpus: maxima.iter().enumerate().map(gpu).collect(),
        gpus_correlation: None,
        pairs_correlation: None,
        cpu_p95: None,
        cpu_samples: None,
        cpu_max: None,
        cpu_max_samples: None,
        memory_p95_mib: None,
        cpu_is_of_runs: false,
        network_bytes_per_day: None,
        network: None,
        joined_by_hostname: false,
        rejected: Rejected::default(),
    }
}

/// A cluster with what is measured of its machines.
#[derive(Default)]
pub(super) struct Lab {
    pub clusters: Clusters,
    pub usage: BTreeMap<String, InstanceUsage>,
    pub unpriced: BTreeSet<String>,
    /// Machines that run for half an hour.
    pub new: BTreeSet<String>,
    pub ignored: BTreeSet<String>,
    /// Nodes whose machines the inventory does not show.
    pub absent: BTreeSet<String>,
}

impl Lab {
    pub fn of(nodes: Vec<Node>, claims: Vec<Claim>) -> Self {
        Self { clusters: Clusters { nodes, claims, uses: Vec::new() }, ..Self::default() }
    }

    pub fn with<T>(&self, judge: impl Fn(&ClusterFacts<'_>) -> T) -> T {
        let policy = Policy::default();
        let known = self.clusters.nodes.iter();
        let known = known.filter(|node| !self.absent.contains(&node.name));
        let machines = known.map(|node| {
            let is_priced = !self.unpriced.contains(&node.name);
            let cost = Money::new(Decimal::from(8_000), Currency::Usd);
            let is_new = self.new.contains(&node.name);
            let facts = MachineFacts {
                instance_type: "p4d.24xlarge",
                price_class: node.price_class.unwrap_or(Lifecycle::OnDemand),
                is_running: true,
                is_ignored: self.ignored.contains(&node.name),
                first_seen: as_of() - SignedDuration::from_mins(if is_new { 30 } else { 90_000 }),
                monthly_cost: is_priced.then_some(cost),
                ending: Ending { monthly_savings: is_priced.then_some(cost), ..Ending::default() },
                usage: self.usage.get(&node.name),
            };
            (&node.machine, facts)
        });
        judge(&ClusterFacts {
            clusters: &self.clusters,
            machines: machines.collect(),
            policy: &policy,
            window: Window { start: hours_ago(14 * 24), end: as_of() },
            as_of: as_of(),
        })
    }

    pub fn findings(&self) -> Vec<Finding> {
        self.with(cluster_findings)
    }

    /// The first finding of a rule, which fires.
    pub fn finding(&self, rule: &str) -> Finding {
        let finding = self.findings().into_iter().find(|finding| finding.rule() == rule);
        finding.expect("it fires")
    }

    /// Subject, title and savings of the findings of a rule.
    pub fn rows(&self, rule: &str) -> Vec<(String, String, Option<i64>)> {
        let dollars = |money: Money| {
            let amount = money.amount().to_string();
            amount.parse::<f64>().expect("a number").round() as i64
        };
        let findings = self.findings().into_iter().filter(|finding| finding.rule() == rule);
        let rows = findings.map(|finding| {
            let savings = finding.monthly_savings.map(dollars);
            (finding.workload().to_owned(), finding.title, savings)
        });
        rows.collect()
    }

    pub fn rules(&self) -> Vec<&'static str> {
        self.findings().iter().map(Finding::rule).collect()
    }

    pub fn silences(&self) -> Vec<(String, Vec<&'static str>)> {
        let silent = self.with(cluster_silences);
        let rows = silent.into_iter();
        rows.map(|silence| (silence.missing_data.reason.clone(), silence.rules)).collect()
    }
}

pub(super) fn row(
    subject: &str,
    title: &str,
    savings: Option<i64>,
) -> (String, String, Option<i64>) {
    (subject.to_owned(), title.to_owned(), savings)
}
