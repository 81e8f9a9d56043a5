//! Which practices a fleet follows: a line of tables and pages, and a list in JSON.

use crate::analysis::{Audit, Practice, PracticeStanding, Standing, practice_standings};
use crate::domain::WorkloadKind;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{rounded, wrap};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::fmt::Write;

const PAGE: &str = "docs/practices.md";

/// How many of the practices are followed and which are not, with the commands that plan
/// these, and how many an audit cannot judge; absent where it can judge none.
pub(super) fn practices_summary(audit: &Audit) -> Option<String> {
    let all = practice_standings(audit);
    let of = |standing: Standing| -> Vec<Practice> {
        let found = all.iter().filter(|one| one.standing == standing);
        found.map(|one| one.practice).collect()
    };
    let (followed, not) = (of(Standing::Followed), of(Standing::NotFollowed));
    let judged = followed.len() + not.len();
    if judged == 0 {
        return None;
    }
    let mut said = format!(
        "{} of {judged} that were judged are followed",
        followed.len()
    );
    if !not.is_empty() {
        let names: Vec<&str> = not.iter().map(|one| one.name()).collect();
        let commands: Vec<&str> = not.iter().map(|one| command(*one, audit)).collect();
        let (names, commands) = (names.join(", "), commands.join(", "));
        said.push_str(&format!("; not: {names}; planned by gpucost {commands}"));
    }
    match of(Standing::Unknown).len() {
        0 => {}
        1 => said.push_str("; 1 is unknown"),
        unknown => said.push_str(&format!("; {unknown} are unknown")),
    }
    Some(format!("{said}: see {PAGE}"))
}

/// The same for a terminal.
pub(super) fn practices_line(
    audit: &Audit,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    const HEADING: &str = "PRACTICES";
    let Some(summary) = practices_summary(audit) else {
        return Ok(());
    };
    let indent = HEADING.len() + 2;
    for (index, line) in wrap(&summary, style.width.saturating_sub(indent))
        .iter()
        .enumerate()
    {
        if index == 0 {
            writeln!(out, "{}  {line}", style.heading(HEADING))?;
        } else {
            writeln!(out, "{:indent$}{line}", "")?;
        }
    }
    writeln!(out)
}

/// A practice in JSON.
#[derive(Serialize)]
pub(super) struct PracticeView {
    practice: &'static str,
    standing: &'static str,
    followed_percent: Option<f64>,
    unknown_percent: Option<f64>,
    evidence: String,
}

impl PracticeView {
    /// Every practice of an audit.
    pub(super) fn list(audit: &Audit) -> Vec<Self> {
        practice_standings(audit).iter().map(Self::of).collect()
    }

    fn of(one: &PracticeStanding) -> Self {
        let share = one.share;
        let followed = share.and_then(|share| share.share());
        let unknown =
            share.and_then(|share| share.unknown.checked_div(share.known + share.unknown));
        let evidence = match (followed, unknown) {
            (Some(followed), _) => {
                format!("{}% of {}", tenths(followed), about(one.practice))
            }
            (None, Some(_)) => format!("nothing is known of {}", whole(one.practice)),
            (None, None) if share.is_some() => format!("without {}", whole(one.practice)),
            (None, None) => about(one.practice).to_owned(),
        };
        let percent = |share: Decimal| (share * Decimal::ONE_HUNDRED).round_dp(2).to_f64();
        Self {
            practice: one.practice.name(),
            standing: one.standing.name(),
            followed_percent: followed.and_then(percent),
            unknown_percent: unknown.and_then(percent),
            evidence,
        }
    }
}

fn tenths(share: Decimal) -> String {
    rounded(share * Decimal::ONE_HUNDRED, 1)
}

/// What a practice is about.
fn whole(practice: Practice) -> &'static str {
    match practice {
        Practice::RightSizing => "measured workloads",
        Practice::Sharing => "workloads that share GPUs or could",
        Practice::Spot => "workloads that may be interrupted",
        Practice::Schedules => "workloads outside of production with hours without work",
        Practice::Commitments => "workloads that have a commitment or run steadily",
        Practice::Autoscaling => "serving workloads",
        Practice::Monitoring => "GPUs that run",
        Practice::Chargeback => "workloads with a cost",
        Practice::Batching => "batch sizes",
        Practice::Quantization => "data types of models",
        Practice::Queueing => "queues of jobs",
        Practice::RentOrBuy => "other places and own hardware",
    }
}

/// The command that plans for a practice, as it is typed for the same estate.
fn command(practice: Practice, audit: &Audit) -> &'static str {
    match practice {
        Practice::RightSizing => "rightsize",
        Practice::Sharing => "share",
        Practice::Spot => "spot",
        Practice::Schedules => "fix --action schedule",
        Practice::Commitments => "reserved",
        Practice::Autoscaling if has_one_service(audit) => "autoscale",
        Practice::Autoscaling => "autoscale --workload NAME",
        Practice::Monitoring => "metrics",
        Practice::Chargeback => "kpi",
        Practice::Batching => "batching",
        Practice::Quantization => "fit",
        Practice::Queueing => "schedule",
        Practice::RentOrBuy => "rent-or-buy",
    }
}

/// Whether a replay of autoscaling needs no name.
fn has_one_service(audit: &Audit) -> bool {
    let workloads = audit.workloads.iter().map(|one| &one.workload);
    let services = workloads.filter(|workload| {
        workload.key.running && workload.declared_kind() == WorkloadKind::Serving
    });
    services.count() == 1
}

/// What follows a practice, of what; or why no audit can judge it, and what does.
fn about(practice: Practice) -> &'static str {
    match practice {
        Practice::RightSizing => "the cost of measured workloads: no smaller type is offered",
        Practice::Sharing => "the cost of workloads that share GPUs or could: they share",
        Practice::Spot => "the cost of workloads that may be interrupted: on spot",
        Practice::Schedules => {
            "the cost of workloads outside of production with hours without work: they stop"
        }
        Practice::Commitments => {
            "the cost of workloads that have a commitment or run steadily: committed"
        }
        Practice::Autoscaling => {
            "the cost of serving workloads: in Auto Scaling groups that may grow and shrink"
        }
        Practice::Monitoring => "GPUs that run: their use is measured",
        Practice::Chargeback => "the cost of workloads: a tag names an owner",
        Practice::Batching => "an audit does not read batch sizes; gpucost batching compares them",
        Practice::Quantization => {
            "an audit does not read the data types of models; gpucost fit compares them"
        }
        Practice::Queueing => "an audit does not read queues of jobs; gpucost schedule places them",
        Practice::RentOrBuy => {
            "an audit does not compare other places and own hardware; gpucost rent-or-buy does"
        }
    }
}
