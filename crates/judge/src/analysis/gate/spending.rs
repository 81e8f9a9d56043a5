//! Budgets and limits of waste.

use super::evaluation::{
    Gate, RuleEvaluation, Words, concerns_region, is_about_idleness, open_silences, unseen,
};
use super::{BaselineState, Budget, BudgetBasis, GatePolicy, Scope, policy_rule};
use crate::analysis::{Audit, AuditedWorkload, Entry, EntrySubject, ledger};
use crate::domain::{
    Cause, CauseKind, Confidence, Currency, Gap, GapSubject, Hidden, Money, Severity, UsageState,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};

const BUDGET_STEPS: [&str; 2] = [
    "`gpucost audit{estate}` lists the costs and possible savings",
    "raise the limit in the policy if the spending is intended",
];
const WASTE_STEPS: [&str; 2] = [
    "`gpucost audit{estate}` lists the waste and how to end it",
    "stop or release it, or add a suppression with owner and expiry date",
];

/// Budgets of a month of what runs now.
pub(super) fn run_rate_budgets(policy: &GatePolicy) -> impl Iterator<Item = &Budget> {
    policy.budgets.iter().filter(|budget| budget.basis == BudgetBasis::RunRate)
}

/// One of them.
pub fn budget(Gate { audit, policy, baseline }: Gate<'_>, budget: &Budget) -> RuleEvaluation {
    let limit = budget.monthly_limit;
    let (rule, scope) = (policy_rule::BUDGET, budget.scope.to_string());
    let words = format!("{limit} per month");
    let mut judge = RuleEvaluation::new(policy, rule, scope, words, budget.line);
    let inside: Vec<Entry<'_>> = within(audit, &budget.scope).collect();
    let costs = inside.iter().filter_map(|entry| entry.monthly);
    let costs = costs.filter(|cost| cost.currency() == limit.currency());
    let spent = Money::new(costs.map(Money::amount).sum(), limit.currency());
    judge.observed(format!("{spent} per month"));
    if spent.amount() > limit.amount() {
        let over = Money::new(spent.amount() - limit.amount(), limit.currency());
        let then = baseline.and_then(|baseline| baseline.cost_of(&budget.scope, limit.currency()));
        let before = then.map(Money::amount);
        let past = BaselineState::over(limit.amount(), before, spent.amount());
        let words = Words {
            title: format!(
                "{} costs {spent} per month, {over} over its budget of {limit}",
                budget.called()
            ),
            monthly: Some(over),
            steps: BUDGET_STEPS.map(str::to_owned).to_vec(),
            aspect: Some(limit.currency().code().to_owned()),
            before: then.map(|then| format!("{then} per month")),
            ..Words::default()
        };
        judge.violated(Severity::Critical, words, Some(past));
        judge.lacks_if_accepted();
    }
    let mut open: Vec<Gap> = inside.iter().flat_map(unpriced_entry).collect();
    open.dedup();
    open.iter().for_each(|gap| judge.lacks(gap));
    judge_currencies(&inside, policy, budget, &mut judge);
    let concerned = |gap: &&Gap| match &budget.scope {
        Scope::Region(region) => concerns_region(gap, region),
        _ => true,
    };
    let mut rests_on = vec![Hidden::Storage, Hidden::Commitments];
    if matches!(budget.scope, Scope::Tag { .. }) {
        rests_on.push(Hidden::Tags);
    }
    unseen(audit, &rests_on).filter(concerned).for_each(|gap| judge.lacks(gap));
    judge
}

/// Currencies of a scope that no budget of it is in.
fn judge_currencies(
    inside: &[Entry<'_>],
    policy: &GatePolicy,
    budget: &Budget,
    judge: &mut RuleEvaluation,
) {
    let is_covered = |currency: Currency| {
        run_rate_budgets(policy)
            .any(|other| other.scope == budget.scope && other.monthly_limit.currency() == currency)
    };
    let mut open: BTreeMap<&str, (Currency, BTreeSet<String>)> = BTreeMap::new();
    for entry in inside {
        let currency = entry.monthly.map(Money::currency);
        if let Some(currency) = currency.filter(|currency| !is_covered(*currency)) {
            open.entry(currency.code()).or_insert((currency, BTreeSet::new())).1.insert(entry.id());
        }
    }
    for (currency, ids) in open.into_values() {
        let workloads = ids.len();
        let cause = Cause::of(
            CauseKind::CostsNotInBudget,
            [&workloads.to_string(), currency.code(), budget.monthly_limit.currency().code()],
        );
        judge.lacks(&Gap::of(GapSubject::Budget, budget.scope.to_string(), cause));
    }
}

/// The money of a scope.
fn within<'a>(audit: &'a Audit, scope: &'a Scope) -> impl Iterator<Item = Entry<'a>> {
    ledger(audit).filter(move |entry| {
        scope.holds_tagged(entry.account(), entry.region(), |key| entry.tag(key))
    })
}

/// What of an entry's cost is not known.
fn unpriced_entry(entry: &Entry<'_>) -> Vec<Gap> {
    match entry.subject {
        EntrySubject::Member(audited, _) => unpriced(audited),
        EntrySubject::Unused(row) if row.monthly_cost.is_none() => {
            let cause = Cause::of(CauseKind::UnusedUnpriced, [&row.name, &row.detail]);
            vec![Gap::of(GapSubject::Price, &row.id, cause)]
        }
        EntrySubject::Unused(_) => Vec::new(),
    }
}

/// What of a workload's cost is not known.
fn unpriced(audited: &AuditedWorkload) -> Vec<Gap> {
    let workload = &audited.workload;
    if let Some(unpriced) = &workload.unpriced {
        return vec![unpriced.gap(&workload.id())];
    }
    let missing = |what: &String| {
        let cause = Cause::of(CauseKind::NoStoragePrice, [what, &workload.key.region]);
        Gap::of(GapSubject::StoragePrice, workload.id(), cause)
    };
    workload.idle_storage.unpriced.iter().map(missing).collect()
}

/// The limits of waste.
pub(super) fn waste(gate: Gate<'_>) -> Vec<RuleEvaluation> {
    let Some(limits) = &gate.policy.waste else { return Vec::new() };
    let amount = limits.monthly.map(|(limit, line)| waste_amount(gate, limit, line));
    let percent = limits.percent.map(|(limit, line)| waste_percent(gate, limit, line));
    amount.into_iter().chain(percent).collect()
}

fn waste_amount(gate: Gate<'_>, limit: Money, line: usize) -> RuleEvaluation {
    let Gate { audit, policy, baseline } = gate;
    let words = format!("{limit} per month");
    let mut judge = RuleEvaluation::new(policy, policy_rule::WASTE, EVERYTHING, words, line);
    match audit.totals.monthly_waste {
        Some(waste) if waste.currency() != limit.currency() => {
            let cause = Cause::of(CauseKind::WasteNotInLimit, [waste.currency().code()]);
            judge.lacks(&Gap::of(GapSubject::Waste, EVERYTHING, cause));
        }
        Some(waste) => {
            judge.observed(format!("{waste} per month"));
            if waste.amount() > limit.amount() {
                let then = baseline.and_then(|baseline| baseline.monthly_waste);
                let past =
                    BaselineState::over(limit.amount(), then.map(Money::amount), waste.amount());
                let words = Words {
                    title: format!("{waste} per month is wasted, more than {limit}"),
                    monthly: Some(waste),
                    steps: WASTE_STEPS.map(str::to_owned).to_vec(),
                    aspect: Some("monthly".to_owned()),
                    before: then.map(|then| format!("{then} per month")),
                    ..Words::default()
                };
                judge.violated(Severity::Critical, words, Some(past));
            }
        }
        None => {}
    }
    let waste = audit.totals.monthly_waste;
    let waste = waste.filter(|waste| waste.currency() == limit.currency());
    let holds = |more: Decimal| waste.is_some_and(|waste| waste.amount() + more <= limit.amount());
    lacking_waste(audit, &mut judge, holds);
    judge
}

fn waste_percent(gate: Gate<'_>, limit: Decimal, line: usize) -> RuleEvaluation {
    let Gate { audit, policy, baseline } = gate;
    let limit = limit.normalize();
    let words = format!("{limit}% of the cost");
    let mut judge = RuleEvaluation::new(policy, policy_rule::WASTE, EVERYTHING, words, line);
    let totals = &audit.totals;
    let amount = |money: Option<Money>| money.map(Money::amount);
    let share = share_of(amount(totals.monthly_waste), amount(totals.monthly_cost));
    if let (Some(share), Some(waste)) = (share, totals.monthly_waste) {
        let shown = format!("{}%", shown_over(share, limit));
        judge.observed(format!("{shown} of the cost"));
        if share > limit {
            let then = baseline.and_then(|baseline| {
                share_of(amount(baseline.monthly_waste), amount(baseline.monthly_cost))
            });
            let over = then.filter(|then| *then > limit);
            let past = match (over.and_then(|then| then.to_f64()), share.to_f64()) {
                (Some(then), Some(now)) => BaselineState::of_rising_percent(then, now),
                _ => BaselineState::New,
            };
            let words = Words {
                title: format!(
                    "{shown} of the cost is wasted, {waste} per month, more than {limit}%"
                ),
                monthly: Some(waste),
                steps: WASTE_STEPS.map(str::to_owned).to_vec(),
                aspect: Some("percent".to_owned()),
                before: then.map(|then| format!("{}% of the cost", shown_over(then, limit))),
                ..Words::default()
            };
            judge.violated(Severity::Critical, words, Some(past));
        }
    }
    let holds = |more: Decimal| {
        let waste = totals.monthly_waste.map(|waste| waste.amount() + more);
        let most = share_of(waste, totals.monthly_cost.map(Money::amount));
        most.is_some_and(|most| most <= limit)
    };
    lacking_waste(audit, &mut judge, holds);
    judge
}

/// A share in percent; nothing of nothing is zero, and absent is absent.
fn share_of(part: Option<Decimal>, whole: Option<Decimal>) -> Option<Decimal> {
    let (part, whole) = (part?, whole?);
    if part.is_zero() {
        return Some(Decimal::ZERO);
    }
    (part * Decimal::ONE_HUNDRED).checked_div(whole)
}

/// A percentage with as few decimals as leave it on its side of a limit.
fn shown_over(share: Decimal, limit: Decimal) -> Decimal {
    let mut rounded = (1..=6).map(|decimals| share.round_dp(decimals));
    rounded.find(|shown| shown.cmp(&limit) == share.cmp(&limit)).unwrap_or(share)
}

/// Without every price and every measurement there may be more waste. `holds` tells whether
/// the limit holds with that much more of it.
fn lacking_waste(audit: &Audit, judge: &mut RuleEvaluation, holds: impl Fn(Decimal) -> bool) {
    judge.lacks_if_accepted();
    let is_judged = |audited: &&AuditedWorkload| audited.workload.ignored.is_none();
    let workloads = || audit.workloads.iter().filter(is_judged);
    let currency = audit.totals.currency;
    // What was not measured wastes at most what it costs.
    let most: Option<Decimal> = workloads()
        .map(|audited| match idle_silences(audit, audited).next() {
            Some(_) => money_in(audited.workload.monthly_cost(), currency),
            None => uncertain_stops(audited).map(|cost| money_in(Some(cost), currency)).sum(),
        })
        .sum();
    let is_open = !most.is_some_and(holds);
    for audited in workloads() {
        if is_open && uncertain_stops(audited).next().is_some() {
            let cause = Cause::of(CauseKind::StopNotCertain, []);
            judge.lacks(&Gap::of(GapSubject::Waste, audited.workload.id(), cause));
        }
        let of_price = unpriced(audited);
        let of_rules = idle_silences(audit, audited)
            .filter(|_| is_open)
            .filter(|gap| of_price.iter().all(|known| known.what != gap.what));
        of_price.iter().chain(of_rules).for_each(|gap| judge.lacks(gap));
    }
    let rests_on = [Hidden::Storage, Hidden::Commitments, Hidden::Sums];
    unseen(audit, &rests_on).for_each(|gap| judge.lacks(gap));
    unpriced_room(audit).for_each(|gap| judge.lacks(gap));
}

/// Unused room without a price, which may be waste.
fn unpriced_room(audit: &Audit) -> impl Iterator<Item = &Gap> {
    audit.gaps.iter().filter(|gap| {
        let cause = gap.cause.as_deref().map(Cause::kind);
        cause == Some(CauseKind::UnusedUnpriced)
    })
}

/// What rules about idleness lacked of a workload.
fn idle_silences<'a>(
    audit: &'a Audit,
    audited: &'a AuditedWorkload,
) -> impl Iterator<Item = &'a Gap> {
    open_silences(audit, audited).filter(|(rule, _)| is_about_idleness(rule)).map(|(_, gap)| gap)
}

/// The monthly cost of each member with idle GPUs whose stop might be waste if more were
/// measured: no sign of use was seen beside them, and the idleness is not certain.
fn uncertain_stops(audited: &AuditedWorkload) -> impl Iterator<Item = Money> {
    let idle = audited.parts.iter();
    let members = idle.filter(|part| part.idle.is_some_and(UsageState::is_idle)).flat_map(|part| {
        let cost = part.workload.cost.iter().flat_map(|cost| &cost.instances);
        part.workload.members.iter().zip(&part.workload.usage).zip(cost)
    });
    let uncertain = members.filter(|((member, usage), _)| {
        member.confidence != Some(Confidence::Measured) && usage.measured_signs().next().is_none()
    });
    uncertain.map(|(_, cost)| cost.monthly())
}

/// An amount in a currency; absent where it is not known in that one.
fn money_in(money: Option<Money>, currency: Currency) -> Option<Decimal> {
    money.filter(|money| money.currency() == currency).map(Money::amount)
}

const EVERYTHING: &str = "everything";

/// Budgets whose scope holds nothing, with the line of each: perhaps an error.
pub(super) fn empty_budgets<'a>(
    audit: &'a Audit,
    policy: &'a GatePolicy,
) -> impl Iterator<Item = &'a Budget> {
    policy.budgets.iter().filter(move |budget| {
        budget.scope != Scope::Everything
            && ledger(audit).next().is_some()
            && within(audit, &budget.scope).next().is_none()
            && !is_audited(audit, &budget.scope)
    })
}

/// Whether a scope was evaluated, whatever was there.
fn is_audited(audit: &Audit, scope: &Scope) -> bool {
    match scope {
        Scope::Everything => true,
        Scope::Account(account) => audit.accounts.contains(account),
        Scope::Region(region) => audit.regions.contains(region),
        Scope::Tag { .. } => false,
    }
}
