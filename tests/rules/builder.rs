//! Small estates made in code: one machine a call, levels by period. Everything
//! is in account 111122223333, us-east-1, over the 14 days before November 2026.

use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{
    ActionKind, ApiUsage, Commitments, EstateSource, Finding, Instance, InstanceState, JoinedBy,
    Lifecycle, Metric, OperatingSystem, Policy, PriceBook, ResourceId, Risk, SeriesSource,
    Statistic, Tenancy, Window,
};
use gpucost::usage::{Estate, Points, Series};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Days that every estate looks back.
pub const DAYS: u32 = 14;
/// Five-minute periods in the window.
pub const PERIODS: u32 = DAYS * 288;
/// Five minutes, the period of EC2's detailed monitoring.
pub const PERIOD_SECONDS: u32 = 300;

/// The instant that every estate describes.
pub fn as_of() -> Timestamp {
    "2026-11-01T00:00:00Z".parse().expect("a time stamp")
}

/// The fortnight before it.
pub fn window() -> Window {
    Window { start: as_of() - SignedDuration::from_hours(i64::from(DAYS) * 24), end: as_of() }
}

/// The same value in every period.
pub fn flat(value: f64) -> impl Fn(u32) -> Option<f64> + Copy {
    move |_| Some(value)
}

/// A value in the last periods, and no point before.
pub fn last(periods: u32, value: f64) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| (period >= PERIODS - periods).then_some(value)
}

/// A value in the first periods, and no point afterwards.
pub fn first(periods: u32, value: f64) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| (period < periods).then_some(value)
}

/// One value in the first periods and another in the rest.
pub fn split(periods: u32, early: f64, late: f64) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| Some(if period < periods { early } else { late })
}

/// An instance with its series.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The instance.
    pub instance: Instance,
    /// Its series, in the order in which they were added.
    pub series: Vec<Series>,
    period_seconds: u32,
    counts_network: bool,
}

impl Machine {
    /// A running on-demand machine, launched two months ago, that reports
    /// nothing yet.
    pub fn new(id: &str, instance_type: &str) -> Self {
        Self {
            instance: Instance {
                id: ResourceId::named(id),
                account: "111122223333".to_owned(),
                region: "us-east-1".to_owned(),
                zone: Some("us-east-1a".to_owned()),
                instance_type: instance_type.to_owned(),
                state: InstanceState::Running,
                lifecycle: Lifecycle::OnDemand,
                capacity_reservation_id: None,
                capacity_block_id: None,
                operating_system: OperatingSystem::Linux,
                tenancy: Tenancy::Shared,
                launch_time: as_of() - SignedDuration::from_hours(61 * 24),
                attached_time: None,
                state_transition_reason: None,
                tags: BTreeMap::new(),
                auto_scaling_group: None,
                private_dns_name: None,
                volumes: Vec::new(),
                addresses: Vec::new(),
            },
            series: Vec::new(),
            period_seconds: PERIOD_SECONDS,
            counts_network: true,
        }
    }

    /// The same machine with another metric period; call it before adding
    /// series.
    pub fn with_period(mut self, period_seconds: u32) -> Self {
        self.period_seconds = period_seconds;
        self
    }

    /// Last started so many hours ago, and never seen before.
    pub fn launched_hours_ago(mut self, hours: i64) -> Self {
        self.instance.launch_time = as_of() - SignedDuration::from_hours(hours);
        self
    }

    /// First seen two months ago, whenever it was last started.
    pub fn seen_before(mut self) -> Self {
        self.instance.attached_time = Some(as_of() - SignedDuration::from_hours(61 * 24));
        self
    }

    /// With a tag.
    pub fn tag(mut self, name: &str, value: &str) -> Self {
        self.instance.tags.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With one series of any metric.
    pub fn series(
        mut self,
        metric: Metric,
        statistic: Statistic,
        gpu: Option<u16>,
        level: impl Fn(u32) -> Option<f64>,
    ) -> Self {
        let window = window();
        let periods = DAYS * 86_400 / self.period_seconds;
        let raw = (0..periods).filter_map(|period| {
            let offset = i64::from(period) * i64::from(self.period_seconds);
            Some((window.start + SignedDuration::from_secs(offset), level(period)?))
        });
        let (points, rejected) =
            Points::clean(raw, (metric, statistic), window, self.period_seconds);
        self.series.push(Series {
            instance: self.instance.id.clone(),
            gpu,
            metric,
            statistic,
            source: SeriesSource::Generated,
            joined_by: JoinedBy::InstanceId,
            points,
            rejected,
        });
        self
    }

    /// CPU utilization, which proves when the machine ran; average and maximum agree.
    pub fn cpu(self, level: impl Fn(u32) -> Option<f64> + Copy) -> Self {
        let metric = Metric::CpuUtilization;
        let machine = self.series(metric, Statistic::Average, None, level);
        machine.series(metric, Statistic::Maximum, None, level)
    }

    /// Utilization of one GPU; every reading of a period is alike, so that
    /// average and maximum agree.
    pub fn gpu(self, index: u16, level: impl Fn(u32) -> Option<f64> + Copy) -> Self {
        let metric = Metric::GpuUtilization;
        self.series(metric, Statistic::Average, Some(index), level).series(
            metric,
            Statistic::Maximum,
            Some(index),
            level,
        )
    }

    /// Memory of one GPU, in use and in all.
    pub fn vram(self, index: u16, used_mib: f64, total_mib: f64) -> Self {
        let used = Metric::GpuMemoryUsed;
        self.series(used, Statistic::Average, Some(index), flat(used_mib))
            .series(used, Statistic::Maximum, Some(index), flat(used_mib))
            .series(Metric::GpuMemoryTotal, Statistic::Maximum, Some(index), flat(total_mib))
    }

    /// Agentless power of the whole machine in percent of the limit.
    pub fn power(self, level: impl Fn(u32) -> Option<f64>) -> Self {
        self.series(Metric::GpuPowerUtilization, Statistic::Average, None, level)
    }

    /// The same with nobody who counts its traffic.
    pub fn without_network(mut self) -> Self {
        self.counts_network = false;
        self
    }

    /// With the traffic of a health check in the periods of its CPU, if its GPUs do nothing and
    /// it has none of its own: 2 × 1,000 B × 288 = 0.576 MB a day.
    fn with_heartbeat(self) -> Self {
        const NETWORK: [Metric; 2] = [Metric::NetworkIn, Metric::NetworkOut];
        let own = |metric: Metric| self.series.iter().filter(move |series| series.metric == metric);
        let works = |series: &Series| {
            let active = series.points.iter().filter(|(_, percent)| *percent >= 1.0);
            active.count() > 4
        };
        let has_gpus = own(Metric::GpuUtilization).next().is_some();
        let is_idle = has_gpus && !own(Metric::GpuUtilization).any(works);
        let has_traffic = NETWORK.iter().any(|metric| own(*metric).next().is_some());
        let points = own(Metric::CpuUtilization).flat_map(|series| series.points.iter());
        let periods: BTreeSet<u32> = points.map(|(period, _)| period).collect();
        if !self.counts_network || !is_idle || has_traffic || periods.is_empty() {
            return self;
        }
        let level = |period: u32| periods.contains(&period).then_some(1_000.0);
        NETWORK
            .into_iter()
            .fold(self, |machine, metric| machine.series(metric, Statistic::Sum, None, level))
    }
}

/// A g5.xlarge, the smallest machine with a whole A10G, that ran throughout
/// with a CPU at 4%, which is idle where its GPU is.
pub fn g5(id: &str) -> Machine {
    Machine::new(id, "g5.xlarge").cpu(flat(4.0))
}

/// Memory of an A10G as its driver reports it.
pub const A10G_MIB: f64 = 23_028.0;

/// Machines as an estate. EC2 counts the traffic of all of them, of which that of idle ones
/// decides something.
pub fn estate(machines: Vec<Machine>) -> Estate {
    let period_seconds = machines.first().map_or(PERIOD_SECONDS, |machine| machine.period_seconds);
    let (instances, series): (Vec<_>, Vec<_>) = machines
        .into_iter()
        .map(Machine::with_heartbeat)
        .map(|machine| (machine.instance, machine.series))
        .unzip();
    Estate {
        as_of: as_of(),
        window: window(),
        source: EstateSource::Estate,
        accounts: vec!["111122223333".to_owned()],
        regions: vec!["us-east-1".to_owned()],
        period_seconds,
        instances,
        tag_filters: Vec::new(),
        out_of_scope: Vec::new(),
        scaling_groups: Vec::new(),
        opinions: Vec::new(),
        shapes: BTreeMap::new(),
        usage: gpucost::usage::Usages::default(),
        metrics: series.into_iter().flatten().collect(),
        profiles: Vec::new(),
        clusters: gpucost::domain::Clusters::default(),
        managed: gpucost::domain::Managed::default(),
        jobs: Vec::new(),
        prices: PriceBook::default(),
        commitments: Commitments::default(),
        gaps: Vec::new(),
        api: ApiUsage::default(),
    }
}

/// The audit of an estate with the default policy and risk.
pub fn audited(estate: &Estate) -> Audit {
    audit(estate, &Policy::default(), Risk::Medium)
}

/// A machine on its own, judged.
#[derive(Debug)]
pub struct Judged {
    audit: Audit,
}

/// Judges a machine on its own.
pub fn judge(machine: Machine) -> Judged {
    Judged { audit: audited(&estate(vec![machine])) }
}

impl Judged {
    /// The only workload.
    pub fn workload(&self) -> &AuditedWorkload {
        let [only] = self.audit.workloads.as_slice() else {
            panic!("one machine is one workload");
        };
        only
    }

    /// Classification and state by name, such as `overprovisioned/idle`; a
    /// state that cannot be said is `-`.
    pub fn verdict(&self) -> String {
        let verdict = &self.workload().verdict;
        format!("{}/{}", verdict.classification, verdict.state.map_or("-", |state| state.name()))
    }

    /// The kinds of the planned actions.
    pub fn actions(&self) -> Vec<ActionKind> {
        self.workload().actions.iter().map(|action| action.kind()).collect()
    }

    /// The finding of a rule, if it fired.
    pub fn finding(&self, rule: &str) -> Option<&Finding> {
        self.audit.findings.iter().find(|finding| finding.rule() == rule)
    }

    /// Whether any gap names what is missing.
    pub fn has_gap(&self, what: &str) -> bool {
        self.audit.gaps.iter().any(|gap| gap.what.name() == what)
    }
}
