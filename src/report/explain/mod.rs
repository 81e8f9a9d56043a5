//! `gpucost explain`: the derivation of a verdict, a cost, a finding, a plan or a commitment, so
//! that each figure can be worked out again.

mod cost;
mod find;
mod line;
mod moves;
mod plan;

pub use find::{Explained, NotFound, explainable_ids, find_explained};
pub use line::Derivation;

use self::cost::{commitment, cost, unused};
use self::line::{LeverRow, Line, gpus, lever, levers, lines, measurements, opinion, verdict};
use self::plan::{Planned, actions, alternatives, balance, planned};
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, Evidence, Finding, GpuUsage, Money, Observation, Risk, Workload};
use crate::report::audit::findings::evidence;
use crate::report::doc::{CsvRows, Doc, Record, columns, doc_schema, rows, tables};
use crate::report::shared::text::money;
use crate::savings::LEVERS;
use std::collections::BTreeSet;

/// What an ID stands for, with its derivation.
#[derive(Default)]
struct Subject<'a> {
    kind: &'static str,
    id: String,
    title: Option<&'a str>,
    monthly_cost: Option<Money>,
    list_monthly_cost: Option<Money>,
    /// Accepted, and of the plan that is used; absent where the ID has no plan.
    risk: Option<(Risk, Risk)>,
    sections: Vec<(&'static str, Vec<Line>)>,
    gpus: Vec<&'a GpuUsage>,
    levers: Vec<LeverRow>,
    plan: Vec<Planned<'a>>,
    alternatives: Vec<Planned<'a>>,
}

columns! {
    fn sections(section: (&'static str, Vec<Line>)) {
        text "section", "", Narrow(0), section.0.to_owned(), "";
        rows[lines] "lines", "", Narrow(0), section.1.clone(), "";
    }

    fn subject<'a>(of: Subject<'a>) {
        text "subject", "", Data, of.kind.to_owned(), "What the ID stands for.";
        text "id", "", Data, of.id.clone(), "";
        opt text "risk", "", Data, of.risk.map(|(accepted, _)| accepted.to_string()), "What the plan accepts; null where the ID has no plan.";
        opt text "plan_risk", "", Data, of.risk.map(|(_, used)| used.to_string()), "Of the plan that is used: one of less risk may cost less.";
        opt money "monthly_cost", "", Data, of.monthly_cost, "null where the price is not available.";
        opt money "list_monthly_cost", "", Data, of.list_monthly_cost, "Without commitments, where they pay for a part.";
        opt money "planned_monthly_cost", "", Data, of.planned_monthly_cost(), "After the plan.";
    }
}

/// The derivation of what an ID stands for.
pub fn explain_doc(explained: Explained<'_>, by: &Derivation<'_>) -> Doc {
    let mut subject = Subject::default();
    match explained {
        Explained::Finding(finding, audited) => {
            subject.sections.push(("finding", of_finding(finding, audited)));
            if let Some(audited) = audited {
                subject.workload(audited, by);
            }
            (subject.kind, subject.id) = ("finding", finding.id());
            subject.title = Some(&finding.title);
        }
        Explained::Workload(audited) => subject.workload(audited, by),
        Explained::Plan(audited) => {
            let workload = &audited.workload;
            subject.sections = vec![("workload", identity(workload)), ("cost", cost(workload))];
            subject.plan("plan", audited, by);
        }
        Explained::Unused(commitment) => {
            (subject.kind, subject.id) = (commitment.kind, commitment.id.clone());
            subject.sections.push(("unused", unused(commitment)));
            subject.monthly_cost = commitment.monthly_cost;
            subject.plan = balance(&commitment.actions, commitment.monthly_cost);
        }
        Explained::Commitment(used) => {
            (subject.kind, subject.id) = ("commitment", used.id.clone());
            subject.sections.push(("commitment", commitment(used, by)));
            subject.monthly_cost = Some(used.monthly_cost);
        }
    }
    subject.doc()
}

schema! {
    /// The JSON schema of `gpucost explain`.
    explain_schema: "explain", [Subject::default().doc()],
    "How a finding, a verdict, a cost, a plan or a commitment follows; docs/explain.md says how to read it. Amounts are per month and have cents, the figures of a derivation as many decimals as they need. Keys may be added within a schema version."
}

impl<'a> Subject<'a> {
    fn workload(&mut self, audited: &'a AuditedWorkload, by: &Derivation<'_>) {
        let workload = &audited.workload;
        self.sections.extend([
            ("workload", identity(workload)),
            ("measurements", measurements(workload)),
            ("verdict", verdict(audited, by.policy)),
            ("cost", cost(workload)),
            ("AWS", opinion(audited)),
        ]);
        self.gpus = workload.gpus().collect();
        self.levers = LEVERS.iter().map(|known| lever(known.kind, audited, by)).collect();
        self.plan("workload", audited, by);
    }

    fn plan(&mut self, kind: &'static str, audited: &'a AuditedWorkload, by: &Derivation<'_>) {
        let (cost, list) = (audited.workload.monthly_cost(), audited.alternatives.list);
        (self.kind, self.id) = (kind, audited.workload.id());
        self.risk = Some((by.accepted, by.audit.plan_risk));
        self.monthly_cost = cost;
        if let Some(cost) = cost {
            self.list_monthly_cost = Some(list).filter(|list| *list != cost);
            self.plan = planned(audited, by);
            self.alternatives = alternatives(audited, by);
        }
    }

    fn planned_monthly_cost(&self) -> Option<Money> {
        self.plan.last().map_or(self.monthly_cost, |last| last.planned_monthly_cost)
    }

    fn headline(&self) -> String {
        let (kind, id) = (self.kind, &self.id);
        match (self.title, self.monthly_cost, self.planned_monthly_cost()) {
            (Some(title), ..) => format!("{kind} {id}: {title}"),
            (_, Some(cost), Some(planned)) if cost != planned => {
                format!("{kind} {id} costs {cost} per month, {planned} after the plan")
            }
            (_, Some(cost), _) => format!("{kind} {id} costs {} per month", money(cost)),
            _ => format!("{kind} {id}"),
        }
    }

    fn doc(mut self) -> Doc {
        let (headline, record) = (self.headline(), Record::of(subject(), &self));
        let title = match self.risk {
            Some((accepted, used)) if accepted != used => {
                format!("PLAN  at --risk {accepted}, using the {used} plan: it costs less")
            }
            Some((accepted, _)) => format!("PLAN  at --risk {accepted}"),
            None => "PLAN".to_owned(),
        };
        let notes = rows! {
            if self.risk.is_some() && self.plan.is_empty() => "The plan has no actions.".to_owned();
            for list in self.list_monthly_cost => format!("The list price is {list} per month. Savings are what the cost of the fleet drops by when commitments cover what the plan leaves.");
        };
        self.sections.retain(|(_, lines)| !lines.is_empty());
        let tables = tables! {
            "sections", "DERIVATION", ("section", "sections"), sections(), self.sections;
            "gpus", "GPUS", ("GPU", "GPUs"), gpus(), self.gpus;
            "levers", "LEVERS", ("lever", "levers"), levers(), self.levers;
            "plan", title, ("action", "actions"), actions(), self.plan, notes: notes;
            "alternatives", "ALTERNATIVES  possible individually, not in the plan", ("action", "actions"), actions(), self.alternatives;
        };
        Doc {
            name: "explain",
            headline,
            record,
            csv: CsvRows::Tables(tables.len()),
            tables: tables.into(),
            ..Doc::default()
        }
    }
}

fn identity(workload: &Workload) -> Vec<Line> {
    let key = &workload.key;
    let instances: Vec<&str> = workload.instances.iter().map(|id| id.as_str()).collect();
    rows! {
        ("workload", format!("{}: {} × {}, {}, {} ({})", workload.name, instances.len(), key.instance_type, key.purchase_option, workload.kind, workload.kind_basis));
        ("instances", instances.join(" "));
        for reason in &workload.ignored => ("excluded", format!("from recommendations by tag: {reason}"));
    }
}

fn of_finding(finding: &Finding, audited: Option<&AuditedWorkload>) -> Vec<Line> {
    let advice = &finding.recommendation;
    let to = if advice.to.is_empty() { "" } else { ": " };
    let mut alone = audited.into_iter().flat_map(|workload| workload.proposals.actions());
    let action = alone.find(|action| Some(action.monthly_savings()) == finding.monthly_savings);
    // Those of the stop and of the plan follow with them.
    let stop = audited.and_then(|workload| workload.proposals.stop());
    let stop = stop.into_iter().flat_map(|stop| &stop.caveats);
    let planned = audited.into_iter().flat_map(|workload| &workload.actions);
    let follow: BTreeSet<&String> = stop.chain(planned.flat_map(Action::caveats)).collect();
    let caveats = advice.caveats.iter().filter(|caveat| !follow.contains(caveat));
    rows! {
        ("severity", format!("{}, {}, {}", finding.severity, finding.kind, finding.confidence));
        for fact in finding.evidence() => ("because", format!("{}; {}", evidence(fact), origin(fact)));
        for saving in finding.monthly_savings => ("savings", format!("{} per month if applied alone", money(saving)));
        if finding.monthly_savings.is_none() => ("savings", "unknown: the rule has no estimate".to_owned());
        for action in action => ("savings", format!("{}: {}", action.kind(), action.detail()));
        ("advice", format!("{}{to}{}", advice.action, advice.to));
        for step in &advice.steps => ("step", step.to_string());
        for caveat in caveats => ("caveat", caveat.to_string());
    }
}

/// Where an observation was made.
fn origin(evidence: &Evidence) -> String {
    match &evidence.observation {
        Observation::Sampled { statistic, source, window, .. } => {
            format!("{statistic} per period, from {source}, {} to {}", window.start, window.end)
        }
        Observation::Fact { origin, .. } => format!("from {origin}"),
    }
}
