//! The audit as a gate: what of it a policy does not allow, and what could not
//! be evaluated. Nothing passes for missing data.

mod baseline;
mod evaluation;
mod findings;
mod forecasts;
mod planned;
mod policy;
pub mod policy_rule;
mod report;
mod spelling;
mod spending;
mod suppress;
mod workload_rules;

pub use baseline::Baseline;
pub use forecasts::SpendHistory;
pub use planned::{gate_plan, unjudged_by_plan};
pub use policy::{
    Allowance, Budget, BudgetBasis, CoverageFloor, Forbidden, GatePolicy, Glob, PriceAgeLimit,
    Refusal, RequiredTag, Scope, Suppression, UtilizationFloor, WasteLimit,
};
pub use report::{
    BaselineState, BaselineUse, Check, CheckOutcome, GateOutcome, GateReport, MissingData, Place,
    SettingChange, SettingsUse, Suppressed, Violation,
};
pub use spelling::{Spelling, spelled_region, spelled_type};

use super::{Audit, AuditedWorkload, ledger};
use crate::domain::Severity;
use evaluation::{Gate, Words, called, place};
use jiff::Timestamp;

/// Judges an audit by a policy. What an earlier audit knew fails only where it
/// is worse now. `history` has the recorded days that forecasts rest on. The first time is
/// what the audit describes and decides how old a price is and which month it is; which
/// suppressions still hold is decided now.
pub fn gate(
    audit: &Audit,
    policy: &GatePolicy,
    baseline: Option<&Baseline>,
    history: Option<&SpendHistory>,
    (as_of, now): (Timestamp, Timestamp),
) -> GateReport {
    let gate = Gate { audit, policy, baseline };
    let mut evaluations: Vec<_> =
        spending::run_rate_budgets(policy).map(|budget| spending::budget(gate, budget)).collect();
    let audited = forecasts::Audited {
        accounts: &audit.accounts,
        regions: &audit.regions,
        tag_filters: &audit.tag_filters,
    };
    evaluations.extend(forecasts::budgets(policy, history, &audited, as_of));
    evaluations.extend(spending::waste(gate));
    let floors = policy.utilization.iter();
    evaluations
        .extend(floors.map(|(kind, floor)| workload_rules::utilization(gate, *kind, *floor)));
    evaluations.extend(workload_rules::coverage(gate));
    evaluations.extend(policy.required_tags.iter().map(|tag| workload_rules::tag(gate, tag)));
    evaluations.extend(workload_rules::places(gate));
    evaluations.extend(findings::price_age(audit, policy, as_of));
    evaluations.extend(policy.forbidden.iter().map(|ban| findings::forbidden(gate, ban)));
    evaluations.sort_by_key(|evaluation| line_of(&evaluation.check.place));

    let workloads = audit.workloads.iter().map(|audited| &audited.workload);
    let unused = audit.unused.iter().map(|row| (row.id.clone(), row.name.clone()));
    let names =
        workloads.map(|workload| (workload.id(), workload.name.clone())).chain(unused).collect();
    let mut settled = suppress::settle(evaluations, policy, baseline, now, names);
    if let (Some(used), Some(baseline)) = (&mut settled.baseline, baseline) {
        used.gone = findings::gone(audit, policy, baseline);
    }
    settled.notices.extend(empty_scopes(audit, policy));
    settled.notices.extend(ignored(audit, policy));
    let keys = || audit.workloads.iter().map(|audited| &audited.workload.key);
    settled.notices.extend(spelling::unlisted(
        policy,
        &keys().map(|key| key.instance_type.as_str()).collect(),
        &keys().map(|key| key.region.as_str()).collect(),
    ));
    settled.whole(ledger(audit).next().is_none())
}

fn line_of(place: &Place) -> usize {
    match place {
        Place::PolicyLine { line, .. } => *line,
        _ => 0,
    }
}

/// A budget of a scope that holds nothing is never exceeded, perhaps by an error.
fn empty_scopes(audit: &Audit, policy: &GatePolicy) -> Vec<Violation> {
    let notice = |budget: &Budget| {
        let scope = budget.scope.to_string();
        let words = Words {
            title: format!("no workload matches {scope}, which has a budget"),
            observed: "no workload".to_owned(),
            limit: format!("{} per month", budget.monthly_limit),
            steps: vec!["check the spelling and the scope of the audit".to_owned()],
            ..Words::default()
        };
        let place = place(policy, budget.line);
        words.violation(policy_rule::EMPTY_SCOPE, Severity::Info, &scope, place)
    };
    spending::empty_budgets(audit, policy).map(notice).collect()
}

/// Workloads that a tag takes out of advice get no findings and no verdict to
/// gate on: said, because anybody who may set tags can do it.
fn ignored(audit: &Audit, policy: &GatePolicy) -> Vec<Violation> {
    let depends =
        !policy.forbidden.is_empty() || policy.waste.is_some() || !policy.utilization.is_empty();
    let notice = |audited: &AuditedWorkload| {
        let workload = &audited.workload;
        let reason = workload.ignored.as_ref()?;
        let id = workload.id();
        let words = Words {
            title: format!(
                "{} is evaluated by budget, tags, types, regions and coverage only, because \
                 its gpucost:ignore tag says: {reason}",
                called(audited)
            ),
            observed: "ignored by tag".to_owned(),
            limit: "every rule".to_owned(),
            monthly: workload.monthly_cost(),
            steps: vec!["suppress specific rules instead, with owner and expiry date".to_owned()],
            ..Words::default()
        };
        let rule = policy_rule::IGNORED_WORKLOAD;
        let violation = words.violation(rule, Severity::Info, &id, Place::Nowhere);
        Some(Violation { workload: Some(id), ..violation })
    };
    audit.workloads.iter().filter(|_| depends).filter_map(notice).collect()
}
