//! Workloads with the actions of their plan, and what is paid for and does not run.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, ActionKind, Classification, CommittedCost, Confidence, Finding, GpuUsage,
    InstanceUsage, KindBasis, Member, Money, PurchaseOption, Risk, Target, UsageState,
    UtilizationSummary, Workload, WorkloadKind, floored,
};
use crate::report::doc::{Kind, Table, Value, columns};
use crate::report::reserved::CURRENCIES;
use crate::report::shared::sparkline::peaks;
use crate::report::shared::text::{a_year, joined, json_account};
use crate::report::shared::view::{Picked, View, class_of};
use crate::savings::UnusedCommitment;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A workload with what commitments pay of it.
pub(super) struct Row<'a> {
    audited: &'a AuditedWorkload,
    workload: &'a Workload,
    summary: Option<&'a UtilizationSummary>,
    committed: Option<CommittedCost>,
    ascii: bool,
}

columns! {
    fn workloads<'a>(row: Row<'a>) {
        text "id", "", Data, row.workload.id(), "Stable across runs.";
        text "name", "workload", Narrow(0), row.workload.name.clone(), "";
        opt text "account", "", Data, json_account(&row.workload.key.account), "Null for a node of a cluster whose cloud was not read: its ID does not contain the account.";
        text "region", "region", Narrow(7), row.workload.key.region.clone(), "";
        word[WorkloadKind::NAMES] "kind", "kind", Narrow(5), row.workload.kind.name(), "";
        word[KindBasis::NAMES] "kind_basis", "", Data, row.workload.kind_basis.name(), "How the kind is known.";
        texts "instances", "", Json, row.workload.instances.iter().map(ToString::to_string).collect::<Vec<_>>(), "Their IDs.";
        text "instances", "", Flat, joined(row.workload.instances.iter().map(ToString::to_string), " "), "Their IDs.";
        text "types", "type", Spare(3), format!("{} × {}", row.workload.instances.len(), row.workload.key.instance_type), "";
        rows[members] "members", "", Json, row.members(), "The instances, each evaluated by itself.";
        text "instance_type", "", Data, row.workload.key.instance_type.clone(), "";
        opt text "gpu.model", "", Data, row.workload.shape.as_ref().and_then(|shape| Some(shape.gpu.as_ref()?.model.name().to_owned())), "";
        opt quantity "gpu.count", "", Data, row.workload.gpu_count(), "Of all its instances.";
        opt count "gpu.vram_mib", "", Data, row.workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref()?.vram_mib), "Of one GPU.";
        word[PurchaseOption::NAMES] "purchase_option", "option", Wide, row.workload.key.purchase_option.name(), "";
        flag "running", "", Json, row.workload.key.running, "";
        text "running", "", Flat, row.workload.key.running.to_string(), "";
        opt word[CURRENCIES] "currency", "", Data, row.workload.monthly_cost().map(|cost| cost.currency().code()), "Of all its amounts; null where it has none.";
        opt cost "monthly_cost", "cost/month", Narrow(0), row.workload.monthly_cost(), "Null for an unpriced workload.";
        opt price "hourly_cost", "", Data, row.workload.cost.as_ref().map(|cost| Money::new(cost.hourly.amount(), cost.hourly.currency())), "";
        opt share "running_share", "", Data, row.workload.running_share, "Of the window, on average over its instances.";
        opt price "cost_per_useful_gpu_hour", "", Data, row.workload.cost.as_ref().and_then(|cost| Some(Money::new(row.workload.cost_per_useful_gpu_hour()?, cost.hourly.currency()))), "";
        word[Classification::NAMES] "classification", "", Data, row.audited.verdict.classification.name(), "";
        text "class", "class", Spare(1), class_of(row.audited).to_owned(), "";
        opt word[UsageState::NAMES] "state", "state", Wide, row.audited.verdict.state.map(UsageState::name), "";
        opt word[Confidence::NAMES] "confidence", "", Data, row.audited.verdict.confidence.map(Confidence::name), "";
        text "reason", "", Data, row.audited.verdict.reason.clone(), "";
        opt text "ignored", "", Data, row.workload.ignored.clone(), "Why a tag takes it out of advice.";
        opt text "utilization.signal", "", Data, row.summary.map(|summary| summary.signal.name().to_owned()), "";
        opt percent "utilization.effective", "", Data, None::<f64>, "Takes SM or tensor activity, which no source of an audit has.";
        opt percent "utilization.mean", "mean", Narrow(6), row.summary.map(|summary| summary.distribution.mean), "";
        opt percent "utilization.p50", "", Data, row.summary.map(|summary| summary.distribution.p50), "";
        opt percent "utilization.p95", "p95", Wide, row.summary.map(|summary| summary.distribution.p95), "";
        opt percent "utilization.p99", "", Data, row.summary.map(|summary| summary.distribution.p99), "";
        opt percent "utilization.max", "", Data, row.summary.map(|summary| summary.max), "";
        opt number "utilization.idle_share", "", Data, row.summary.and_then(|summary| summary.idle_share), "Share of the samples in which no GPU reached 1%.";
        opt text "vram", "vram peak", Spare(8), row.workload.vram().map(|vram| format!("{:.1} GiB", vram.peak_mib / 1024.0)), "";
        opt text "covered", "coverage", Spare(12), row.summary.map(|summary| format!("{}%", floored(summary.coverage() * 100.0, 1))), "";
        opt number "utilization.vram_peak_mib", "", Json, row.summary.and(row.workload.vram()).map(|vram| vram.peak_mib), "";
        opt number "utilization.vram_p95_mib", "", Json, row.summary.and(row.workload.vram()).and_then(|vram| vram.p95_mib), "";
        opt number "utilization.vram_peak_mib", "", Flat, row.workload.vram().map(|vram| vram.peak_mib), "";
        opt number "utilization.vram_p95_mib", "", Flat, row.workload.vram().and_then(|vram| vram.p95_mib), "";
        opt count "utilization.n_samples", "", Data, row.summary.map(|summary| summary.n_samples), "";
        opt count "utilization.expected_samples", "", Data, row.summary.map(|summary| summary.expected_samples), "";
        opt number "utilization.coverage", "", Data, row.summary.map(|summary| summary.coverage()), "Samples of those that were due, 0-1.";
        opt count "utilization.resolution_seconds", "", Data, row.summary.map(|summary| summary.period_seconds), "";
        opt text "utilization.source", "", Data, row.summary.map(|summary| summary.source.name().to_owned()), "";
        opt count "utilization.joined_by_hostname", "", Data, row.summary.map(|_| row.workload.usage.iter().filter(|usage| usage.joined_by_hostname).count()), "Instances whose metrics were matched by host name or address.";
        rows[gpus] "gpus", "", Json, row.workload.gpus(), "";
        rows[actions] "plan.actions", "", Json, Step::of(row.audited), "";
        opt text "plan.action", "", Flat, of_plan(&row.audited.actions, |action| action.kind().to_string()), "";
        opt text "plan.to_instance_type", "", Flat, target(&row.audited.actions).map(|to| to.instance_type.clone()), "";
        opt count "plan.to_count", "", Flat, target(&row.audited.actions).map(|to| to.count), "";
        opt text "plan.detail", "", Flat, of_plan(&row.audited.actions, |action| action.detail().to_owned()), "";
        opt money "plan.monthly_savings", "", Flat, saved(&row.audited.actions), "";
        opt word[Risk::NAMES] "plan.risk", "", Flat, row.audited.actions.iter().map(Action::risk).max().map(Risk::name), "";
        opt cost "plan.planned_monthly_cost", "planned", Wide, row.audited.planned_monthly_cost(), "";
        opt money "saves_monthly", "saves/month", Screen, row.audited.planned_monthly_savings(), "";
        opt money "saves_yearly", "saves/year", Spare(4), row.audited.planned_monthly_savings().map(a_year), "";
        opt text "risk", "risk", Spare(2), row.audited.actions.iter().map(Action::risk).max().map(|risk| risk.to_string()), "";
        map[Kind::Text] "tags", "", Data, row.workload.tags.iter().map(|(key, value)| (key.clone(), Value::text(value))), "Tags that all its instances share.";
        map[Kind::Count] "tagged_instances", "", Data, row.workload.tagged_instances().into_iter().map(|(key, number)| (key, Value::Count(number))), "How many of its instances have a value of each tag that not all share.";
        opt cost "committed_monthly_cost", "committed", Wide, row.committed.as_ref().map(|cost| cost.monthly), "Paid whether it runs or not.";
        opt date "committed_until", "", Data, row.committed.as_ref().and_then(CommittedCost::until), "";
        texts "committed_by", "", Json, row.commitments(), "IDs of commitments.";
        text "committed_by", "", Flat, joined(row.commitments(), " "), "";
        opt text "commitment", "commitment", Spare(10), row.committed.as_ref().map(CommittedCost::in_words), "";
        opt text "aws_opinion", "", Data, row.workload.aws_opinion(), "What AWS advises.";
        opt text "aws", "AWS says", Spare(9), row.workload.aws_opinion(), "";
        opt money "aws_opinion_monthly_savings", "", Data, row.workload.aws_savings(), "";
        opt text "plan.caveats", "", Flat, caveats(&row.audited.actions), "";
        opt text "peaks", "hourly peaks", Spare(11), peaks(row.workload, row.ascii), "";
    }

    fn members<'a>(member: (&'a Member, &'a InstanceUsage, Option<Money>)) {
        text "id", "", Json, member.0.id.to_string(), "";
        opt text "zone", "", Json, member.0.zone.clone(), "";
        flag "running", "", Json, member.0.is_running, "";
        opt word[UsageState::NAMES] "state", "", Json, member.0.state.map(UsageState::name), "";
        opt word[Confidence::NAMES] "confidence", "", Json, member.0.confidence.map(Confidence::name), "";
        opt text "ignored", "", Json, member.0.ignored.clone(), "";
        map[Kind::Text] "tags", "", Json, member.0.own_tags.iter().map(|(key, value)| (key.clone(), Value::text(value))), "Its tags that not all instances of the workload share.";
        opt text "capacity_reservation", "", Json, member.0.capacity_reservation.clone(), "";
        opt share "running_share", "", Json, member.1.running.share(), "Of the window.";
        opt cost "monthly_cost", "", Json, member.2, "";
    }

    fn gpus<'a>(gpu: &'a GpuUsage) {
        text "instance", "", Json, gpu.instance.to_string(), "";
        count "index", "", Json, gpu.index, "On the host.";
        opt percent "mean", "", Json, gpu.utilization.map(|figures| figures.mean), "";
        opt percent "p95", "", Json, gpu.utilization.map(|figures| figures.p95), "";
        opt number "vram_peak_mib", "", Json, gpu.vram.map(|vram| vram.peak_mib), "";
    }

    fn unused<'a>(commitment: &'a UnusedCommitment) {
        text "id", "ID", Narrow(2), commitment.id.clone(), "";
        text "name", "what", Narrow(0), commitment.name.clone(), "";
        opt text "account", "account", Wide, commitment.account.clone(), "The account that it belongs to; null where that is not known.";
        opt text "region", "region", Wide, commitment.region.clone(), "";
        text "kind", "kind", Narrow(1), commitment.kind.to_owned(), "";
        map[Kind::Text] "tags", "", Json, commitment.tags.iter().map(|(key, value)| (key.clone(), Value::text(value))), "Tags of a capacity reservation.";
        opt word[CURRENCIES] "currency", "", Data, commitment.monthly_cost.map(|cost| cost.currency().code()), "Of all its amounts; null where it has none.";
        opt cost "monthly_cost", "cost/month", Narrow(0), commitment.monthly_cost, "";
        text "detail", "", Json, commitment.detail.clone(), "Its arithmetic.";
        rows[actions] "plan.actions", "", Json, Step::of_unused(commitment), "";
        opt text "plan.action", "", Flat, of_plan(&commitment.actions, |action| action.kind().to_string()), "";
        opt text "plan.detail", "", Flat, of_plan(&commitment.actions, |action| action.detail().to_owned()), "";
        opt money "plan.monthly_savings", "", Flat, saved(&commitment.actions), "";
        opt word[Risk::NAMES] "plan.risk", "", Flat, commitment.actions.iter().map(Action::risk).max().map(Risk::name), "";
        opt cost "plan.planned_monthly_cost", "planned", Narrow(0), commitment.planned_monthly_cost(), "";
        opt cost "committed_monthly_cost", "", Flat, commitment.monthly_cost.filter(|_| commitment.committed_until.is_some()), "";
        opt time "committed_until", "", Json, commitment.committed_until, "";
        opt date "committed_until", "", Flat, last_day(commitment), "";
        opt date "until", "until", Spare(3), last_day(commitment), "";
        opt text "committed_by", "", Flat, commitment.committed_until.map(|_| commitment.id.clone()), "";
        opt text "plan.caveats", "", Flat, caveats(&commitment.actions), "";
    }
}

impl<'a> Row<'a> {
    fn of(audited: &'a AuditedWorkload, ascii: bool) -> Self {
        let workload: &Workload = &audited.workload;
        let (summary, committed) = (workload.utilization.as_ref(), workload.committed_cost());
        Self { audited, workload, summary, committed, ascii }
    }

    fn members(&self) -> impl Iterator<Item = (&'a Member, &'a InstanceUsage, Option<Money>)> {
        let workload = self.workload;
        let costs = workload.cost.as_ref().map_or(&[][..], |cost| &cost.instances);
        workload.members.iter().zip(&workload.usage).enumerate().map(|(place, (member, usage))| {
            let cost = costs.get(place);
            (member, usage, cost.map(|cost| cost.monthly()))
        })
    }

    fn commitments(&self) -> Vec<String> {
        self.committed.iter().flat_map(|cost| cost.commitments.keys().cloned()).collect()
    }
}

/// What adds up to the totals of an audit.
const SUMMED: &[&str] = &[
    "monthly_cost", "committed_monthly_cost", "plan_monthly_savings", "plan_planned_monthly_cost",
];

/// Workloads as a table.
pub(super) fn workloads_table<'a>(
    workloads: impl IntoIterator<Item = &'a AuditedWorkload>,
    ascii: bool,
) -> Table {
    let rows = workloads.into_iter().map(|audited| Row::of(audited, ascii));
    let table =
        Table::of("workloads", "WORKLOADS", ("workload", "workloads"), self::workloads(), rows);
    Table { summed: SUMMED, ..table }
}

/// What is paid for and does not run, as a table.
pub(super) fn unused_table(commitments: &[UnusedCommitment]) -> Table {
    let title = "UNUSED  included in the monthly cost, paid for but not running";
    let noun = ("commitment", "commitments");
    Table { summed: SUMMED, ..Table::of("unused_commitments", title, noun, unused(), commitments) }
}

fn last_day(commitment: &UnusedCommitment) -> Option<Date> {
    Some(commitment.committed_until?.to_zoned(TimeZone::UTC).date())
}

/// Where the plan leads in the end.
pub(super) fn target(actions: &[Action]) -> Option<&Target> {
    actions.iter().rev().find_map(Action::target)
}

pub(super) fn of_plan(actions: &[Action], part: impl Fn(&Action) -> String) -> Option<String> {
    (!actions.is_empty()).then(|| joined(actions.iter().map(part), "; "))
}

pub(super) fn caveats(actions: &[Action]) -> Option<String> {
    let caveats = joined(actions.iter().flat_map(Action::caveats).cloned(), "; ");
    (!caveats.is_empty()).then_some(caveats)
}

pub(super) fn saved(actions: &[Action]) -> Option<Money> {
    let savings = actions.iter().map(Action::monthly_savings);
    savings.reduce(|sum, part| Money::new(sum.amount() + part.amount(), sum.currency()))
}

/// An action with what it is about: a workload, or what is paid for and does not run.
#[derive(Clone)]
pub(super) struct Step<'a> {
    pub action: Cow<'a, Action>,
    id: String,
    name: &'a str,
    account: Option<String>,
    region: Option<&'a str>,
    instance_type: Option<&'a str>,
    /// What shows that it is right, in words.
    why: String,
}

columns! {
    pub(super) fn actions<'a>(step: Step<'a>) {
        money "saves", "saves/month", Screen, step.action.monthly_savings(), "";
        text "workload", "", Flat, step.id.clone(), "Its ID.";
        text "name", "workload", Spare(0), step.name.to_owned(), "";
        text "name", "", Flat, step.name.to_owned(), "";
        opt text "account", "", Flat, step.account.clone(), "";
        opt text "region", "", Flat, step.region.map(str::to_owned), "";
        opt text "instance_type", "", Flat, step.instance_type.map(str::to_owned), "";
        text "what", "action", Screen, step.what(), "";
        text "risk", "risk", Spare(1), step.action.risk().name().to_owned(), "";
        word[ActionKind::NAMES] "action", "", Data, step.action.kind().name(), "";
        opt text "to.instance_type", "", Data, step.action.target().map(|to| to.instance_type.clone()), "";
        opt count "to.count", "", Data, step.action.target().map(|to| to.count), "";
        text "detail", "", Data, step.action.detail().to_owned(), "In words, with its arithmetic.";
        word[Risk::NAMES] "risk", "", Data, step.action.risk().name(), "";
        word[CURRENCIES] "currency", "", Flat, step.action.monthly_savings().currency().code(), "";
        money "monthly_savings", "", Data, step.action.monthly_savings(), "After the actions before it.";
        money "waste_monthly_savings", "", Data, step.action.certain(), "What of the saving is certain.";
        opt cost "lost_work_monthly_cost", "", Data, step.action.lost_work(), "The saving is net of it.";
        opt cost "snapshots_monthly_cost", "", Json, step.action.snapshots(), "The saving is net of it.";
        texts "caveats", "", Data, step.action.caveats().to_vec(), "";
        text "why", "why", Below, step.why(), "";
    }
}

impl<'a> Step<'a> {
    /// The actions of a workload, in the order of its plan.
    pub fn of(audited: &'a AuditedWorkload) -> impl Iterator<Item = Self> {
        let workload = &audited.workload;
        audited.actions.iter().map(move |action| Step {
            action: Cow::Borrowed(action),
            id: workload.id(),
            name: &workload.name,
            account: json_account(&workload.key.account),
            region: Some(&workload.key.region),
            instance_type: Some(&workload.key.instance_type),
            why: String::new(),
        })
    }

    pub fn of_unused(unused: &'a UnusedCommitment) -> impl Iterator<Item = Self> {
        unused.actions.iter().map(move |action| Step {
            action: Cow::Borrowed(action),
            id: unused.id.clone(),
            name: &unused.name,
            account: unused.account.clone(),
            region: unused.region.as_deref(),
            instance_type: None,
            why: unused.detail.clone(),
        })
    }

    /// Every action of an audit, in its order and then of each plan.
    pub fn all(audit: &'a Audit) -> impl Iterator<Item = Self> {
        let of_workloads = audit.workloads.iter().flat_map(Self::of);
        of_workloads.chain(audit.unused.iter().flat_map(Self::of_unused))
    }

    /// Those that a view shows, in the order in which to carry them out; and those that its
    /// filters hide. What is paid for and does not run is outside of every filter, and what is
    /// bought is a promise instead.
    pub fn in_order(audit: &'a Audit, picked: &Picked<'a>, view: &View) -> (Vec<Self>, Vec<Self>) {
        let mut findings: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in &audit.findings {
            findings.entry(finding.workload()).or_default().push(finding);
        }
        let unused = || audit.unused.iter().flat_map(Self::of_unused);
        let is_filtered = view.is_filtered();
        let covered = audit.covered_by_existing(false);
        let sorted = |workloads: &[&'a AuditedWorkload], with_unused: bool| -> Vec<Self> {
            let steps = workloads.iter().flat_map(|audited| {
                let answers = findings.get(audited.workload.id().as_str());
                let covered = &covered;
                let steps = Self::of(audited).filter_map(move |step| match step.action.kind() {
                    ActionKind::Commit => {
                        Some(Self { action: Cow::Owned(covered.get(&step.id)?.clone()), ..step })
                    }
                    _ => Some(step),
                });
                steps.map(move |step| Self {
                    why: evidence(answers.map_or(&[][..], Vec::as_slice), audited, &step.action),
                    ..step
                })
            });
            let mut steps: Vec<Self> = steps.chain(unused().filter(|_| with_unused)).collect();
            steps.sort_by_cached_key(|step| {
                let saved = step.action.monthly_savings().amount();
                (step.action.kind().stage(), Reverse(saved), step.id.clone())
            });
            steps
        };
        (sorted(&picked.kept, !is_filtered), sorted(&picked.skipped, is_filtered))
    }

    /// Whether no running work is at risk: what ends does nothing, by every sign.
    pub fn is_harmless(&self) -> bool {
        let ends = matches!(self.action.kind(), ActionKind::Stop | ActionKind::Release);
        ends && self.action.risk() == Risk::Low
    }

    fn what(&self) -> String {
        let (kind, to) = (self.action.kind(), self.action.target());
        to.map_or_else(|| kind.to_string(), |to| format!("{kind} to {to}"))
    }

    /// The evidence, what would stop an engineer, and how much work it is.
    fn why(&self) -> String {
        let effort = match self.action.kind() {
            ActionKind::Stop | ActionKind::Release | ActionKind::Schedule => "low effort",
            ActionKind::Rightsize | ActionKind::Spot | ActionKind::Commit => "medium effort",
            ActionKind::Share => "high effort",
        };
        let mut caveats = self.action.caveats().iter().map(String::as_str);
        let evidence = Some(self.why.as_str()).filter(|why| !why.is_empty());
        let mut parts: Vec<&str> = evidence.into_iter().chain(caveats.next()).collect();
        parts.push(effort);
        parts.extend(caveats);
        parts.join("; ")
    }
}

/// What shows that an action is right: the finding that it answers has the same saving.
fn evidence(findings: &[&Finding], audited: &AuditedWorkload, action: &Action) -> String {
    let saving = Some(action.monthly_savings());
    match findings.iter().find(|finding| finding.monthly_savings == saving) {
        Some(finding) => finding.title.clone(),
        None if matches!(action.kind(), ActionKind::Spot | ActionKind::Commit) => {
            action.detail().to_owned()
        }
        None => audited.verdict.reason.clone(),
    }
}
