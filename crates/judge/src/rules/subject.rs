//! What rules are asked about, the parts that they share, and advice about machines that a managed
//! service runs: what it allows, in its own commands.

use super::classification::stalled_below_watts;
use crate::domain::{
    ACTIVE_PERCENT, Action, Cause, CauseKind, Comparator, Component, Confidence, Evidence, Finding,
    FindingKind, GapSubject, GpuUsage, Group, IDLE_CPU_PERCENT, Member, Metric, Money, Observation,
    Policy, Provider, Recommendation, Severity, Signal, Statistic, UtilizationSummary, Verdict,
    Workload, shell_word,
};
use crate::savings::{HeldMachines, Proposals, end_steps, named_members, reserved_vram};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// One workload with everything known and judged about it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The members that are asked about: all of a workload that behave alike.
    pub workload: &'a Workload,
    /// All of it, for what belongs to no member.
    pub group: &'a Workload,
    pub verdict: &'a Verdict,
    pub proposals: &'a Proposals,
    pub policy: &'a Policy,
    /// Who holds devices of machines.
    pub held: &'a HeldMachines<'a>,
    /// The instant that the audit describes.
    pub as_of: Timestamp,
}

/// Data without which a rule stays silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A GPU utilization or power series that allows a verdict.
    Utilization,
    PerGpuUtilization,
    /// Maxima of GPU utilization, where averages do not rule idleness out.
    Maxima,
    /// Maxima of GPU utilization of each GPU by the hour, whatever averages say.
    HourlyMaxima,
    /// VRAM in use.
    Vram,
    /// Averages of the VRAM in use of each GPU, and the size of its card.
    VramAverages,
    /// Power draw of each GPU, with its percentiles.
    Power,
    /// The same, or the SM activity of each GPU.
    PowerOrSm,
    /// Temperature of each GPU.
    Temperature,
    Price,
}

impl Need {
    /// What is missing, for the gap, and why, where nothing tells more.
    fn missing(self) -> (GapSubject, CauseKind) {
        let not_reported = |subject| (subject, CauseKind::NotReported);
        let without_maxima = |subject| (subject, CauseKind::MaximaNotReported);
        match self {
            Self::Utilization => not_reported(GapSubject::GpuUtilization),
            Self::PerGpuUtilization => not_reported(GapSubject::UtilizationPerGpu),
            Self::Maxima => without_maxima(GapSubject::GpuUtilizationMaxima),
            Self::HourlyMaxima => without_maxima(GapSubject::HourlyGpuUtilizationMaxima),
            Self::Vram | Self::VramAverages => not_reported(GapSubject::VramUse),
            Self::Power => not_reported(GapSubject::from(Metric::GpuPowerDraw)),
            // The gap of power stands beside it, where a rule needs power alone.
            Self::PowerOrSm => not_reported(GapSubject::from(Metric::GpuSmActivity)),
            Self::Temperature => not_reported(GapSubject::from(Metric::GpuTemperature)),
            Self::Price => (GapSubject::Price, CauseKind::PriceUnknown),
        }
    }

    /// What is missing, for the gap.
    pub fn subject(self) -> GapSubject {
        self.missing().0
    }

    /// Why it is missing, where nothing tells more.
    pub fn unreported(self) -> Cause {
        Cause::of(self.missing().1, [""])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleMeta {
    /// Kebab-case; its file and its docs page carry the same name.
    pub id: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// How much its findings matter unless they say otherwise.
    pub severity: Severity,
    /// The data without which it stays silent.
    pub needs: &'static [Need],
}

impl Subject<'_> {
    pub fn has(&self, need: Need) -> bool {
        match need {
            Need::Utilization => self.verdict.confidence.is_some(),
            Need::PerGpuUtilization => {
                let is_known = |gpu: &&GpuUsage| {
                    gpu.utilization.is_some() && self.workload.suffices(gpu.samples, self.policy)
                };
                let measured = self.workload.gpus().filter(is_known).count() as u64;
                measured > 0 && Some(measured) == self.workload.visible_gpus()
            }
            // A verdict without a state but for memory and power lacks maxima.
            Need::Maxima => {
                self.is_judged_by_power()
                    || self.verdict.state.is_some()
                    || self.utilization().is_some_and(|summary| summary.maximum_p99.is_some())
            }
            Need::HourlyMaxima => self.workload.activity.is_measured(),
            // Power alone never tells what memory holds; rules that read it
            // judge without.
            Need::Vram => {
                let vram = self.workload.vram();
                self.is_judged_by_power()
                    || vram.is_some_and(|vram| self.workload.suffices(vram.samples, self.policy))
            }
            Need::VramAverages => self.every_gpu(|gpu| gpu.vram_nearly_full_seconds.is_some()),
            Need::Power => self.every_gpu(|gpu| {
                let power = gpu.power.filter(|power| power.p95_w.is_some());
                power.is_some_and(|power| self.workload.suffices(power.samples, self.policy))
            }),
            Need::PowerOrSm => {
                let suffices = |gpu: &GpuUsage| {
                    let sm = gpu.sm.map(|sm| sm.samples);
                    sm.is_some_and(|samples| self.workload.suffices(samples, self.policy))
                };
                // Power tells nothing of a card whose idle draw is not known.
                let power_tells = stalled_below_watts(self.workload.shape.as_ref()).is_some();
                power_tells && self.has(Need::Power) || self.every_gpu(suffices)
            }
            Need::Temperature => self.every_gpu(|gpu| gpu.temperature_max_c.is_some()),
            Need::Price => self.workload.monthly_cost().is_some(),
        }
    }

    fn every_gpu(&self, holds: impl Fn(&GpuUsage) -> bool) -> bool {
        let mut gpus = self.workload.gpus().peekable();
        gpus.peek().is_some() && gpus.all(holds)
    }

    /// Whether anything was measured of its GPUs one by one.
    pub fn has_gpu_metrics(&self) -> bool {
        self.workload.gpus().any(|gpu| gpu.utilization.is_some() || gpu.vram.is_some())
    }

    /// Whether power was all there was to judge.
    pub fn is_judged_by_power(&self) -> bool {
        self.utilization().is_some_and(|summary| summary.signal == Signal::GpuPowerUtilization)
    }

    /// The summary that the verdict was judged on.
    pub fn utilization(&self) -> Option<&UtilizationSummary> {
        self.workload.utilization.as_ref()
    }

    /// Evidence from a figure of the utilization signal.
    pub fn sampled(
        &self,
        figure: &'static str,
        statistic: Statistic,
        observed: f64,
        comparator: Comparator,
        threshold: f64,
    ) -> Option<Evidence> {
        let summary = self.utilization()?;
        let metric = match summary.signal {
            Signal::GpuUtilization => Metric::GpuUtilization,
            Signal::GpuPowerUtilization => Metric::GpuPowerUtilization,
        };
        let samples = (summary.n_samples, summary.coverage());
        self.percent((metric, statistic), figure, observed, (comparator, threshold), samples)
    }

    /// Evidence in percent from so many samples, which are a share of those expected.
    pub fn percent(
        &self,
        (metric, statistic): (Metric, Statistic),
        figure: &'static str,
        observed: f64,
        (comparator, threshold): (Comparator, f64),
        (n_samples, coverage): (u64, f64),
    ) -> Option<Evidence> {
        let &UtilizationSummary { source, window, .. } = self.utilization()?;
        let observation =
            Observation::Sampled { metric, statistic, figure, source, window, n_samples, coverage };
        Some(Evidence { observation, observed, comparator, threshold, unit: "%" })
    }

    /// Evidence that no GPU was active in nearly all periods.
    pub fn idle_evidence(&self) -> Option<Evidence> {
        let p99 = self.utilization()?.maximum_p99?;
        self.sampled("p99", Statistic::Maximum, p99, Comparator::LessThan, ACTIVE_PERCENT)
    }

    /// Evidence that the mean utilization is on one side of a threshold.
    pub fn mean_evidence(&self, comparator: Comparator, threshold: f64) -> Option<Evidence> {
        let mean = self.utilization()?.distribution.mean;
        self.sampled("mean", Statistic::Average, mean, comparator, threshold)
    }

    /// Evidence from the VRAM peak of the fullest GPU, in percent of the card,
    /// with the samples of the GPU that has fewest.
    pub fn vram_evidence(&self, comparator: Comparator, threshold: f64) -> Option<Evidence> {
        let vram = self.workload.vram()?;
        let peaks = (Metric::GpuMemoryUsed, Statistic::Maximum);
        let samples = (vram.samples.count, vram.samples.coverage());
        self.percent(peaks, "peak", vram.peak_percent()?, (comparator, threshold), samples)
    }

    /// How sure a sampled verdict is.
    pub fn confidence(&self) -> Confidence {
        self.verdict.confidence.unwrap_or(Confidence::Heuristic)
    }

    /// A finding of a rule about the members, with what the findings of the rule share unless they
    /// say otherwise. The first evidence is the decisive one.
    pub fn finding(
        &self,
        meta: &RuleMeta,
        decisive: Evidence,
        further: impl IntoIterator<Item = Evidence>,
    ) -> Finding {
        Finding {
            severity: meta.severity,
            confidence: self.confidence(),
            ..Finding::of(meta.id, self.workload.id(), decisive, further)
        }
    }

    /// The type and number of GPUs for a title, such as `8 × p3.8xlarge`, with the
    /// runs that the verdict rests on.
    pub fn fleet(&self) -> String {
        let count = self.workload.instances.len();
        let instance_type = &self.workload.key.instance_type;
        let mut fleet =
            if count == 1 { instance_type.clone() } else { format!("{count} × {instance_type}") };
        if let Some(runs) = self.workload.rests_on_runs() {
            fleet.push_str(&format!(" in {runs}"));
        }
        fleet
    }

    /// The same as a part of its group, such as `150 of 200 × g5.xlarge`.
    pub fn members(&self) -> String {
        let (own, in_group) = (self.workload.instances.len(), self.group.instances.len());
        if own == in_group {
            return self.fleet();
        }
        format!("{own} of {in_group} × {}", self.workload.key.instance_type)
    }

    /// The members by name; empty where they are the whole group.
    pub fn idle_members(&self) -> String {
        if self.workload.instances.len() == self.group.instances.len() {
            return String::new();
        }
        let members: Vec<&Member> = self.workload.members.iter().collect();
        named_members(&members)
    }

    /// Those to stop, by name; empty where they are the whole group.
    pub fn members_to_stop(&self) -> String {
        let free = self.not_taken();
        if free.is_empty() || free.len() == self.workload.members.len() {
            return self.idle_members();
        }
        named_members(&free)
    }

    /// The members but those whose devices were taken so lately that the idle time says nothing
    /// about them.
    fn not_taken(&self) -> Vec<&Member> {
        let members = self.workload.members.iter();
        members.filter(|member| !self.held.is_taken_lately(&member.id)).collect()
    }

    /// What to do about them: no stop where all of them were taken lately.
    pub fn stop_or_confirm(&self, stop: &str) -> String {
        if self.not_taken().is_empty() { "confirm".to_owned() } else { stop.to_owned() }
    }

    pub fn stop_steps(&self) -> Vec<String> {
        if self.not_taken().is_empty() {
            let members: Vec<&Member> = self.workload.members.iter().collect();
            return vec![format!(
                "ask who runs {} whether the GPUs are needed, and run the audit again when they \
                 have been held for {} days",
                self.held.holders(&members),
                self.policy.idle_min_days
            )];
        }
        let ended = self.ended();
        let mut steps = self.held.drain_steps(&ended);
        steps.extend(self.end_steps(&ended));
        steps
    }

    fn end_steps(&self, ended: &[&Member]) -> Vec<String> {
        if self.workload.key.provider == Provider::OnPremises {
            return vec!["assign the hardware to other workloads".to_owned()];
        }
        if let Some(component) = self.workload.key.component() {
            return stop_steps(component, ended);
        }
        match &self.workload.key.group {
            Group::AutoScaling(name) => end_steps(name, self.group, ended),
            _ => vec!["stop the instances, and terminate them one week later".to_owned()],
        }
    }

    /// Those of the members whose stop saves; where none does, all that were not taken lately.
    fn ended(&self) -> Vec<&Member> {
        let stop = self.proposals.stop();
        let saving = stop.map(|stop| stop.members.as_slice()).filter(|members| !members.is_empty());
        let mut ended = self.not_taken();
        ended.retain(|member| saving.is_none_or(|ids| ids.binary_search(&member.id).is_ok()));
        ended
    }

    /// What idle GPUs cost for nothing: the stop, or beside a busy CPU the move to a type
    /// without them.
    pub fn idle_savings(&self) -> Option<Money> {
        match self.verdict.busy_cpu_percent {
            Some(_) => self.rightsizing_savings(),
            None => self.proposals.stopping().map(Action::monthly_savings),
        }
    }

    /// Whether ending them is certain to save.
    pub fn idle_kind(&self) -> FindingKind {
        let is_certain = self.confidence() == Confidence::Measured;
        if is_certain && self.proposals.stopping().is_some() {
            FindingKind::Waste
        } else {
            FindingKind::Optimization
        }
    }

    /// What a title about idle GPUs says of a busy CPU; empty beside a quiet one.
    pub fn busy_cpu_words(&self) -> String {
        let busy = self.verdict.busy_cpu_percent;
        busy.map_or_else(String::new, |p95| format!(", and CPU works at {p95:.1}% (p95)"))
    }

    /// What to do about idle GPUs beside a busy CPU; absent beside a quiet one.
    pub fn beside_busy_cpu(&self) -> Option<Recommendation> {
        self.verdict.busy_cpu_percent?;
        Some(self.shrinking_or(
            "move the work to a type without a GPU, do not stop it",
            &["ask the owner listed in the tags what runs on the CPU"],
        ))
    }

    /// The CPU that forbids a stop, or makes it less certain; absent where it is quiet.
    pub fn cpu_evidence(&self) -> Option<Evidence> {
        let largest = self.workload.usage.iter().filter_map(|usage| usage.cpu_max);
        let (name, observed, threshold) = match self.verdict.busy_cpu_percent {
            Some(p95) => ("p95 of CPU", p95, self.policy.works_cpu_percent),
            None => ("maximum CPU", largest.reduce(f64::max)?, IDLE_CPU_PERCENT),
        };
        let origin = "CPU utilization over the window";
        let evidence =
            Evidence::fact(name, origin, observed, (Comparator::AtLeast, threshold), "%");
        (observed >= threshold).then_some(evidence)
    }

    /// What would stop an engineer from stopping them.
    pub fn stop_caveats(&self) -> Vec<String> {
        let stop = self.proposals.stop();
        stop.map_or_else(|| self.held.caveats(&self.workload.members), |stop| stop.caveats.clone())
    }

    /// What stopping does not end, as a step of a recommendation.
    pub fn committed(&self) -> Option<String> {
        let committed_cost = self.workload.committed_cost()?;
        Some(format!(
            "{} {} per month remains, committed by {}: stopping frees those hours for other \
             instances",
            committed_cost.monthly.currency(),
            committed_cost.monthly.amount(),
            committed_cost.in_words()
        ))
    }

    /// What right-sizing saves per month, alone.
    pub fn rightsizing_savings(&self) -> Option<Money> {
        Some(self.proposals.rightsize()?.action.monthly_savings())
    }

    /// The right-sizing move as a recommendation, else advice in words: of what a managed
    /// service runs, what it allows.
    pub fn shrinking_or(&self, otherwise: &str, steps: &[&str]) -> Recommendation {
        match self.workload.key.component() {
            Some(component) => {
                let (action, steps) = shrinking(component);
                self.rightsizing_or(action, steps)
            }
            None => self.rightsizing_or(otherwise, steps),
        }
    }

    /// The right-sizing move as a recommendation, or advice in words when there
    /// is no type to move to.
    pub fn rightsizing_or(&self, otherwise: &str, steps: &[&str]) -> Recommendation {
        let rightsizing = self.proposals.rightsize();
        let reserved = self.reserved_vram().into_iter();
        match rightsizing.and_then(|proposal| Some((proposal, proposal.action.target()?))) {
            Some((proposal, target)) => Recommendation {
                action: proposal.advice.clone(),
                to: target.to_string(),
                steps: proposal.steps.clone(),
                caveats: proposal.action.caveats().to_vec(),
            },
            None => Recommendation {
                action: otherwise.to_owned(),
                steps: reserved.chain(steps.iter().map(|step| (*step).to_owned())).collect(),
                ..Recommendation::default()
            },
        }
    }

    /// What to do about memory that an engine took ahead.
    fn reserved_vram(&self) -> Option<String> {
        let vram = self.workload.vram()?;
        self.workload.vram_use_mib(&vram).is_none().then(|| reserved_vram(vram.peak_mib))
    }
}

/// Share of the periods in which the workload ran that a number of samples of
/// one series covers, 0–1.
pub(super) fn coverage(n_samples: u64, summary: &UtilizationSummary) -> f64 {
    if summary.expected_samples == 0 {
        return 0.0;
    }
    (n_samples as f64 / summary.expected_samples as f64).min(1.0)
}

/// Whether the members run, which is all that some rules need to apply.
pub(super) fn runs(subject: &Subject<'_>) -> bool {
    subject.workload.key.running
}

/// Nodes that a command names.
const MOST_NAMED: usize = 20;

/// What to do about machines that are used too little: an action, and its steps.
pub(super) type Advice = (&'static str, &'static [&'static str]);

const FEWER_INSTANCES: Advice = (
    "scale the variant to fewer or smaller instances",
    &[
        "lower its number of instances, or let it scale with its requests",
        "consider a smaller GPU with enough VRAM for the peak, in another endpoint configuration",
    ],
);
const FEWER_NODES: Advice = (
    "use fewer or smaller nodes",
    &[
        "delete nodes that the jobs do not need",
        "consider a smaller GPU with enough VRAM for the peak, in another instance group",
    ],
);
const SMALLER: Advice =
    ("use a smaller instance type", &["consider a smaller GPU with enough VRAM for the peak"]);

/// What to do about machines that are used too little. Neither a schedule for what can only
/// be deleted, nor sharing of a host that the service runs.
pub(super) fn shrinking(component: Component) -> Advice {
    match component {
        Component::Hosting => FEWER_INSTANCES,
        Component::Cluster => FEWER_NODES,
        Component::Notebook
        | Component::JupyterLab
        | Component::CodeEditor
        | Component::KernelGateway
        | Component::Training => SMALLER,
    }
}

/// How to end some machines.
pub(super) fn stop_steps(component: Component, ended: &[&Member]) -> Vec<String> {
    let steps: &[&str] = match component {
        Component::Hosting => &[
            "delete the endpoint with `aws sagemaker delete-endpoint`; if other variants of it \
             are in use, update it to an endpoint configuration without this variant instead",
            "keep the endpoint configuration: `aws sagemaker create-endpoint` creates the \
             endpoint again, which takes minutes",
        ],
        Component::Cluster => return delete_nodes(ended),
        _ => &["stop it in SageMaker; its volume remains and is still billed"],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}

/// How to end some nodes of clusters, and no others.
fn delete_nodes(ended: &[&Member]) -> Vec<String> {
    let mut clusters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for member in ended {
        let parts: Vec<&str> = member.id.native().splitn(3, '/').collect();
        // A redacted estate has other ids.
        if let ["cluster", name, node] = parts.as_slice() {
            clusters.entry(*name).or_default().push(*node);
        }
    }
    let mut steps = vec![
        "keep jobs off these nodes, and back up what is needed of their volumes, which are erased"
            .to_owned(),
    ];
    let commands = clusters.iter().map(|(name, nodes)| {
        let named = nodes.iter().take(MOST_NAMED).map(|node| shell_word(node));
        let named: Vec<String> = named.collect();
        let others = match nodes.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(", then the other {more} in the same way"),
        };
        format!(
            "delete them with `aws sagemaker batch-delete-cluster-nodes --cluster-name {} \
             --node-ids {}`{others}",
            shell_word(name),
            named.join(" ")
        )
    });
    steps.extend(commands);
    if clusters.is_empty() {
        steps.push(
            "delete them by their IDs with `aws sagemaker batch-delete-cluster-nodes`".to_owned(),
        );
    }
    steps.push(
        "do not lower the size of the instance group with `aws sagemaker update-cluster` \
         instead: it does not name the nodes that end"
            .to_owned(),
    );
    steps
}
