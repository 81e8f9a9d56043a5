//! `gpucost explain`: the derivation of a verdict, a cost, a finding or a plan,
//! line by line, so that each figure can be worked out again by hand.

use super::audit_table::evidence;
use super::text::{count, fit, money, percent, safe, wrap};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, Classification, Finding, InstanceCost, Money, Policy, UtilizationSummary, Workload,
    floored,
};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const WIDTH: usize = 100;

/// What an id stands for.
#[derive(Debug, Clone, Copy)]
pub enum Explained<'a> {
    /// A finding, `RULE:WORKLOAD`, with its workload.
    Finding(&'a Finding, Option<&'a AuditedWorkload>),
    /// A workload: its verdict, its cost and its part of the plan.
    Workload(&'a AuditedWorkload),
}

/// Finds what an id names: a finding, a workload, one of its instances, or a
/// workload's name where only one has it.
pub fn find_explained<'a>(audit: &'a Audit, id: &str) -> Option<Explained<'a>> {
    let by_id = |id: &str| audit.workloads.iter().find(|one| one.workload.id() == id);
    if let Some(finding) = audit.findings.iter().find(|finding| finding.id() == id) {
        return Some(Explained::Finding(finding, by_id(finding.workload())));
    }
    let holds = |one: &&AuditedWorkload| {
        let mut instances = one.workload.instances.iter();
        instances.any(|instance| instance.as_str() == id)
    };
    if let Some(one) = by_id(id).or_else(|| audit.workloads.iter().find(holds)) {
        return Some(Explained::Workload(one));
    }
    let mut named = audit.workloads.iter().filter(|one| one.workload.name == id);
    match (named.next(), named.next()) {
        (Some(one), None) => Some(Explained::Workload(one)),
        _ => None,
    }
}

/// Every id that can be explained, in the order of the report.
pub fn explainable_ids(audit: &Audit) -> Vec<String> {
    let findings = audit.findings.iter().map(Finding::id);
    let workloads = audit.workloads.iter().map(|one| one.workload.id());
    findings.chain(workloads).collect()
}

/// The derivation in words and arithmetic.
pub fn explanation(explained: Explained<'_>, policy: &Policy) -> String {
    let mut page = Page::default();
    match explained {
        Explained::Finding(finding, audited) => {
            page.finding(finding);
            if let Some(audited) = audited {
                page.workload(audited, policy);
            }
        }
        Explained::Workload(audited) => page.workload(audited, policy),
    }
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn heading(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&fit(text, WIDTH));
        self.0.push('\n');
    }

    fn line(&mut self, text: &str) {
        for (index, line) in wrap(&safe(text), WIDTH - 4).iter().enumerate() {
            let indent = if index == 0 { "  " } else { "    " };
            self.0.push_str(&format!("{indent}{line}\n"));
        }
    }

    fn finding(&mut self, finding: &Finding) {
        self.heading(&format!("finding {}", finding.id()));
        self.line(&finding.title);
        self.line(&format!(
            "{}, {}, {}",
            finding.severity, finding.kind, finding.confidence
        ));
        for one in finding.evidence() {
            self.line(&format!("because {}", evidence(one)));
        }
        let saving = finding.monthly_savings.map_or_else(
            || "no figure: what it would save is not known".to_owned(),
            |saving| format!("{} a month, acted upon alone", money(saving)),
        );
        self.line(&saving);
        let to = &finding.recommendation.to;
        let to = if to.is_empty() {
            String::new()
        } else {
            format!(": {to}")
        };
        self.line(&format!("advice: {}{to}", finding.recommendation.action));
        for step in &finding.recommendation.steps {
            self.line(&format!("- {step}"));
        }
    }

    fn workload(&mut self, audited: &AuditedWorkload, policy: &Policy) {
        let workload = &audited.workload;
        self.heading(&format!("workload {}", workload.id()));
        self.line(&format!(
            "{}: {} × {}, {}, {} ({})",
            workload.name,
            workload.instances.len(),
            workload.key.instance_type,
            workload.key.purchase_option,
            workload.kind,
            workload.kind_basis
        ));
        let instances: Vec<&str> = workload.instances.iter().map(|id| id.as_str()).collect();
        self.line(&instances.join(" "));
        if let Some(reason) = &workload.ignored {
            self.line(&format!("taken out of advice by its tag: {reason}"));
        }
        if let Some(summary) = &workload.utilization {
            self.measurements(workload, summary);
        }
        self.verdict(audited, policy);
        self.cost(workload);
        self.plan(audited);
    }

    fn measurements(&mut self, workload: &Workload, summary: &UtilizationSummary) {
        self.heading("measured");
        let figures = &summary.distribution;
        self.line(&format!(
            "{} by {}, {} to {}, one value each {} s",
            summary.signal,
            summary.source,
            summary.window.start,
            summary.window.end,
            summary.period_seconds
        ));
        self.line(&format!(
            "{} of {} samples: coverage {} %",
            count(summary.n_samples),
            count(summary.expected_samples),
            floored(summary.coverage() * 100.0, 1)
        ));
        self.line(&format!(
            "mean {}, p50 {}, p95 {}, p99 {} of the mean over the GPUs; maximum {}",
            percent(figures.mean),
            percent(figures.p50),
            percent(figures.p95),
            percent(figures.p99),
            percent(summary.max)
        ));
        if let Some(share) = summary.idle_share {
            let idle = floored(share * 100.0, 1);
            self.line(&format!(
                "idle in {idle} % of the periods: no GPU reached 1 %"
            ));
        }
        for gpu in workload.gpus() {
            let used = gpu.utilization.map_or_else(
                || "no utilization".to_owned(),
                |used| format!("mean {}, p95 {}", percent(used.mean), percent(used.p95)),
            );
            let vram = gpu.vram.map_or_else(
                || "VRAM unknown".to_owned(),
                |vram| format!("VRAM peak {} MiB", count(vram.peak_mib.ceil() as u64)),
            );
            self.line(&format!(
                "{} GPU {}: {used}; {vram}",
                gpu.instance, gpu.index
            ));
        }
    }

    fn verdict(&mut self, audited: &AuditedWorkload, policy: &Policy) {
        let verdict = &audited.verdict;
        self.heading("verdict");
        self.line(&format!("{}: {}", verdict.classification, verdict.reason));
        let (low, high) = (
            policy.overprovisioned_below_percent,
            policy.underutilized_below_percent,
        );
        let bound = match verdict.classification {
            Classification::Overprovisioned => Some(format!("mean below {low} %")),
            Classification::Underutilized => Some(format!("mean from {low} to below {high} %")),
            Classification::WellUtilized => Some(format!("mean of {high} % and above")),
            Classification::InsufficientData => None,
        };
        if let Some(bound) = bound {
            self.line(&format!(
                "{} means {bound} (policy)",
                verdict.classification
            ));
        }
        if let Some(state) = verdict.state {
            self.line(&format!("state {state}"));
        }
        if let Some(confidence) = verdict.confidence {
            self.line(&format!("confidence {confidence}"));
        }
    }

    fn cost(&mut self, workload: &Workload) {
        self.heading("cost");
        if let Some(unpriced) = &workload.unpriced {
            self.line(&format!("{}; {}", unpriced.reason, unpriced.hint));
        }
        for priced in &workload.standing.priced {
            self.line(priced);
        }
        for unpriced in &workload.standing.unpriced {
            self.line(&format!("{unpriced}: unpriced"));
        }
        let Some(cost) = &workload.cost else {
            return;
        };
        for (one, instances) in alike(&cost.instances) {
            let quote = &one.quote;
            let rate = quote.rate.amount().normalize();
            let hours = one.monthly_hours.round_dp(4).normalize();
            let amount = quote.rate.amount() * one.monthly_hours * Decimal::from(instances);
            self.line(&format!(
                "{instances} × {rate}/h × {hours} h = {} a month",
                amount.round_dp(6).normalize()
            ));
            self.line(&format!(
                "{}: {}, {} of {}, {}",
                one.key, quote.origin, quote.source, quote.effective_date, quote.basis
            ));
        }
        self.line(&format!("{} a month, rounded", money(cost.compute_monthly)));
    }

    fn plan(&mut self, audited: &AuditedWorkload) {
        self.heading("plan");
        let Some(cost) = audited.workload.monthly_cost() else {
            self.line("none: there is no price");
            return;
        };
        if audited.actions.is_empty() {
            self.line(&format!("nothing to do; {} a month stay", money(cost)));
            return;
        }
        self.line(&format!("{} today", money(cost)));
        let mut left = cost;
        for action in &audited.actions {
            left = after(left, action);
            let to = action.target().map_or(String::new(), |target| {
                format!(" to {} × {}", target.count, target.instance_type)
            });
            self.line(&format!(
                "− {} {}{to}, risk {}: {}",
                money(action.monthly_savings()),
                action.kind(),
                action.risk(),
                action.detail()
            ));
            self.line(&format!("= {}", money(left)));
        }
    }
}

fn after(left: Money, action: &Action) -> Money {
    Money::new(
        left.amount() - action.monthly_savings().amount(),
        left.currency(),
    )
}

/// Instances of one price and running time, with how many they are.
fn alike(instances: &[InstanceCost]) -> Vec<(&InstanceCost, u32)> {
    let mut groups: BTreeMap<_, (&InstanceCost, u32)> = BTreeMap::new();
    for one in instances {
        let key = (&one.key, one.quote.rate.amount(), one.monthly_hours);
        groups.entry(key).or_insert((one, 0)).1 += 1;
    }
    groups.into_values().collect()
}
