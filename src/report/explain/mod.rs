//! `gpucost explain`: the derivation of a verdict, a cost, a finding or a plan,
//! line by line, so that each figure can be worked out again by hand.

mod commit;
mod committed;
mod find;
mod levers;
mod opinion;
mod owned;
mod page;
mod plan;
mod rightsize;
mod sharing;
mod spot;
mod verdict;

pub use find::{Explained, NotFound, explainable_ids, find_explained};
pub use owned::commitment_explanation;

use self::page::{Page, Rates};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, Evidence, Finding, Observation, Policy, Risk, Workload};
use crate::report::audit::finding_rows::evidence;
use crate::report::shared::text::money;
use std::collections::BTreeSet;

/// What figures were worked out by.
#[derive(Debug, Clone, Copy)]
pub struct Derivation<'a> {
    /// Of all workloads.
    pub audit: &'a Audit,
    pub policy: &'a Policy,
    pub accepted: Risk,
    /// Columns of a line.
    pub width: usize,
}

/// The derivation in words and arithmetic.
pub fn explanation(explained: Explained<'_>, by: &Derivation<'_>) -> String {
    let mut page = Page::new(by.width);
    match explained {
        Explained::Finding(finding, audited) => {
            page.finding(finding, audited);
            if let Some(audited) = audited {
                page.workload(audited, by);
            }
        }
        Explained::Workload(audited) => page.workload(audited, by),
        Explained::Plan(audited) => {
            page.identity(audited);
            page.cost(&audited.workload);
            page.plan(audited, by);
        }
        Explained::Unused(unused) => page.unused(unused),
    }
    page.into_text()
}

impl Page {
    fn finding(&mut self, finding: &Finding, audited: Option<&AuditedWorkload>) {
        self.heading(&format!("finding {}", finding.id()));
        self.line(&finding.title);
        self.line(&format!(
            "{}, {}, {}",
            finding.severity, finding.kind, finding.confidence
        ));
        for one in finding.evidence() {
            self.line(&format!("because {}", evidence(one)));
            self.note(&origin(one));
        }
        match finding.monthly_savings {
            Some(saving) => {
                self.line(&format!("{} per month if applied alone", money(saving)));
                let mut alone = audited.into_iter().flat_map(|one| one.proposals.actions());
                if let Some(action) = alone.find(|action| action.monthly_savings() == saving) {
                    self.note(&format!("{}: {}", action.kind(), action.detail()));
                }
            }
            None => self.line("no estimate: savings unknown"),
        }
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
        // Those of the stop and of the plan follow with them.
        let stop = audited.and_then(|one| one.proposals.stop());
        let stop = stop.map_or(&[][..], |stop| stop.caveats.as_slice());
        let planned = audited.into_iter().flat_map(|one| &one.actions);
        let planned = planned.flat_map(Action::caveats);
        let follow: BTreeSet<&String> = stop.iter().chain(planned).collect();
        for caveat in &finding.recommendation.caveats {
            if !follow.contains(caveat) {
                self.note(&format!("caveat: {caveat}"));
            }
        }
    }

    fn workload(&mut self, audited: &AuditedWorkload, by: &Derivation<'_>) {
        self.identity(audited);
        let workload = &audited.workload;
        if let Some(summary) = &workload.utilization {
            self.measurements(workload, summary);
        }
        self.verdict(audited, by.policy);
        self.cost(workload);
        self.levers(audited, by);
        self.plan(audited, by);
        self.opinion(audited);
    }

    fn identity(&mut self, audited: &AuditedWorkload) {
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
            self.line(&format!("excluded from recommendations by tag: {reason}"));
        }
    }

    fn cost(&mut self, workload: &Workload) {
        self.heading("cost");
        if let Some(unpriced) = &workload.unpriced {
            self.line(&format!("{}; {}", unpriced.cause, unpriced.cause.hint()));
        }
        for priced in &workload.idle_storage.priced {
            self.line(priced);
        }
        for (resource, quote) in &workload.idle_storage.quotes {
            let dated = quote
                .effective_date
                .map_or(String::new(), |date| format!(" as of {date}"));
            self.note(&format!(
                "{resource}: {}, {}{dated}",
                quote.origin, quote.source
            ));
        }
        for unpriced in &workload.idle_storage.unpriced {
            self.line(&format!("{unpriced}: unpriced"));
        }
        let Some(cost) = &workload.cost else {
            return;
        };
        self.rates(&Rates::of_today(&cost.instances), Self::line);
        self.paid_hours(workload);
        let rounded = match cost.instances.len() {
            1 => "rounded",
            _ => "each instance rounded to cents",
        };
        self.line(&format!(
            "{} per month, {rounded}",
            money(cost.compute_monthly)
        ));
        self.committed_cost(workload);
    }
}

/// Where an observation was made.
fn origin(evidence: &Evidence) -> String {
    match &evidence.observation {
        Observation::Sampled {
            statistic,
            source,
            window,
            ..
        } => format!(
            "{statistic} per period, from {source}, {} to {}",
            window.start, window.end
        ),
        Observation::Fact { origin, .. } => format!("from {origin}"),
    }
}
