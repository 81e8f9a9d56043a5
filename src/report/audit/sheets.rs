//! The lists of an audit as sheets: for `--csv-table`, and for the workbook.

use crate::analysis::{Audit, AuditedWorkload, ReconciledRow, Reconciliation};
use crate::domain::{
    Action, CommittedCost, Currency, Evidence, Finding, Gap, Money, Observation, StorageResource,
};
use crate::report::doc::{Table, Value, column, table_csv};
use crate::report::shared::text::tags_cell;
use crate::savings::{Promise, Purchase, UnusedCommitment};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// A list of an audit that CSV can have in place of its workloads.
#[derive(Debug, Clone, Copy)]
pub enum AuditTable<'a> {
    Actions,
    Purchases,
    Findings,
    Gaps,
    Prices,
    Reconciliation(&'a Reconciliation),
}

/// A list of an audit as CSV: a header line, then its rows in their order.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn audit_table_csv(audit: &Audit, table: AuditTable<'_>) -> Result<String, csv::Error> {
    table_csv(&match table {
        AuditTable::Actions => actions(audit),
        AuditTable::Purchases => purchases(audit),
        AuditTable::Findings => findings(audit),
        AuditTable::Gaps => gaps(audit),
        AuditTable::Prices => prices(audit),
        AuditTable::Reconciliation(found) => reconciliation(found),
    })
}

fn sheet(
    key: &'static str,
    noun: (&'static str, &'static str),
    columns: &[&'static str],
    rows: Vec<Vec<Value>>,
) -> Table {
    Table {
        key,
        title: key.to_uppercase(),
        noun,
        columns: columns.iter().map(|&key| column(key, key)).collect(),
        rows,
        ..Table::default()
    }
}

fn text(text: &str) -> Value {
    if text.is_empty() {
        Value::Absent
    } else {
        Value::text(text)
    }
}

fn money(amount: Option<Money>) -> Value {
    Value::of(amount, Value::Money)
}

fn code(currency: Currency) -> Value {
    Value::text(currency.code())
}

/// The currency of an amount; of a row without one that of the audit.
fn code_of(amount: Option<Money>, audit: &Audit) -> Value {
    code(amount.map_or(audit.totals.currency, Money::currency))
}

/// A number with so many decimals at most.
fn number(value: Option<Decimal>, decimals: u32) -> Value {
    let value = value.and_then(|value| value.round_dp(decimals).to_f64());
    Value::of(value, |value| Value::Number(value, decimals as usize))
}

const WORKLOADS: &[&str] = &[
    "id",
    "name",
    "account",
    "region",
    "kind",
    "instances",
    "instance_type",
    "gpu_model",
    "gpu_count",
    "gpu_vram_mib",
    "purchase_option",
    "running",
    "classification",
    "state",
    "utilization_mean",
    "utilization_p95",
    "utilization_coverage",
    "running_share",
    "currency",
    "hourly_cost",
    "monthly_cost",
    "committed_monthly_cost",
    "plan_action",
    "plan_monthly_savings",
    "plan_planned_monthly_cost",
    "committed_until",
    "ignored",
    "tags",
];

/// Workloads, then what is paid for and does not run; columns are named as in CSV.
pub(super) fn workloads(audit: &Audit) -> Table {
    let of_workloads = audit.workloads.iter().map(|one| workload(one, audit));
    let of_unused = audit.unused.iter().map(|one| unused(one, audit));
    sheet(
        "workloads",
        ("workload", "workloads"),
        WORKLOADS,
        of_workloads.chain(of_unused).collect(),
    )
}

fn workload(one: &AuditedWorkload, audit: &Audit) -> Vec<Value> {
    let workload = &one.workload;
    let key = &workload.key;
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let summary = workload.utilization.as_ref();
    let committed = workload.committed_cost();
    let percent = |value: Option<f64>| Value::of(value, Value::Percent);
    let instances: Vec<&str> = workload.instances.iter().map(|id| id.as_str()).collect();
    let hourly = workload.cost.as_ref().map(|cost| cost.hourly);
    vec![
        text(&workload.id()),
        text(&workload.name),
        text(&key.account),
        text(&key.region),
        text(workload.kind.name()),
        text(&instances.join(" ")),
        text(&key.instance_type),
        text(offer.map_or("", |offer| offer.model.name())),
        number(workload.gpu_count(), 3),
        Value::of(offer.and_then(|offer| offer.vram_mib), Value::Count),
        text(key.purchase_option.name()),
        Value::Flag(key.running),
        text(one.verdict.classification.name()),
        text(one.verdict.state.map_or("", |state| state.name())),
        percent(summary.map(|summary| summary.distribution.mean)),
        percent(summary.map(|summary| summary.distribution.p95)),
        Value::of(summary.map(|summary| summary.coverage()), |share| {
            Value::Number(share, 4)
        }),
        number(workload.running_share, 4),
        code_of(workload.monthly_cost(), audit),
        Value::of(hourly, |rate| {
            Value::Price(Money::new(rate.amount(), rate.currency()))
        }),
        money(workload.monthly_cost()),
        money(committed.as_ref().map(|cost| cost.monthly)),
        text(&kinds(&one.actions)),
        money(saved(&one.actions)),
        money(one.planned_monthly_cost()),
        Value::of(
            committed.as_ref().and_then(CommittedCost::until),
            Value::Date,
        ),
        text(workload.ignored.as_deref().unwrap_or("")),
        text(&tags_cell(&workload.tags)),
    ]
}

/// The columns of what is paid for and does not run; the others are empty.
fn unused(one: &UnusedCommitment, audit: &Audit) -> Vec<Value> {
    let until = one.committed_until;
    let cell = |column: &&str| match *column {
        "id" => text(&one.id),
        "name" => text(&one.name),
        "account" => text(one.account.as_deref().unwrap_or("")),
        "region" => text(one.region.as_deref().unwrap_or("")),
        "kind" => text(one.kind),
        "currency" => code_of(one.monthly_cost, audit),
        "monthly_cost" => money(one.monthly_cost),
        "committed_monthly_cost" => money(one.monthly_cost.filter(|_| until.is_some())),
        "plan_action" => text(&kinds(&one.actions)),
        "plan_monthly_savings" => money(saved(&one.actions)),
        "plan_planned_monthly_cost" => money(one.planned_monthly_cost()),
        "committed_until" => {
            Value::of(until, |end| Value::Date(end.to_zoned(TimeZone::UTC).date()))
        }
        _ => Value::Absent,
    };
    WORKLOADS.iter().map(cell).collect()
}

fn kinds(actions: &[Action]) -> String {
    let names: Vec<&str> = actions.iter().map(|action| action.kind().name()).collect();
    names.join("; ")
}

fn saved(actions: &[Action]) -> Option<Money> {
    let savings = actions.iter().map(Action::monthly_savings);
    savings.reduce(|sum, part| Money::new(sum.amount() + part.amount(), sum.currency()))
}

const ACTIONS: &[&str] = &[
    "workload",
    "name",
    "account",
    "region",
    "instance_type",
    "action",
    "to_instance_type",
    "to_count",
    "detail",
    "risk",
    "currency",
    "monthly_savings",
    "waste_monthly_savings",
    "lost_work_monthly_cost",
    "caveats",
];

/// The plan: a row for each action, in the order of the audit and then of the plan. Their
/// savings sum to those of the audit.
pub(super) fn actions(audit: &Audit) -> Table {
    let mut rows = Vec::new();
    for one in &audit.workloads {
        let workload = &one.workload;
        let key = &workload.key;
        let of = [
            text(&workload.id()),
            text(&workload.name),
            text(&key.account),
            text(&key.region),
            text(&key.instance_type),
        ];
        rows.extend(one.actions.iter().map(|one| action(&of, one)));
    }
    for one in &audit.unused {
        let of = [
            text(&one.id),
            text(&one.name),
            text(one.account.as_deref().unwrap_or("")),
            text(one.region.as_deref().unwrap_or("")),
            Value::Absent,
        ];
        rows.extend(one.actions.iter().map(|one| action(&of, one)));
    }
    sheet("actions", ("action", "actions"), ACTIONS, rows)
}

fn action(of: &[Value; 5], action: &Action) -> Vec<Value> {
    let target = action.target();
    let mut row = of.to_vec();
    row.extend([
        text(action.kind().name()),
        text(target.map_or("", |target| &target.instance_type)),
        Value::of(target, |target| Value::Count(u64::from(target.count))),
        text(action.detail()),
        text(action.risk().name()),
        code(action.monthly_savings().currency()),
        Value::Money(action.monthly_savings()),
        Value::Money(action.certain()),
        money(action.lost_work()),
        text(&action.caveats().join("; ")),
    ]);
    row
}

const PURCHASES: &[&str] = &[
    "kind",
    "option",
    "account",
    "region",
    "instance_type",
    "operating_system",
    "tenancy",
    "count",
    "term_years",
    "payment",
    "currency",
    "upfront",
    "monthly",
    "term_total",
    "break_even_utilization",
    "evidence_days",
    "monthly_savings",
    "risk",
    "caveats",
    "steps",
];

/// What the plan buys, a row for each purchase. Their savings are those of the actions that
/// commit.
pub(super) fn purchases(audit: &Audit) -> Table {
    let row = |one: &Purchase| {
        let promise = one.promise();
        let promise = promise.as_ref();
        let amount = |amount: fn(&Promise) -> Money| money(promise.map(amount));
        vec![
            text(promise.map_or("", |promise| promise.kind)),
            text(&one.term.option.to_string()),
            text(one.account.as_deref().unwrap_or("")),
            text(&one.key.region),
            text(&one.key.instance_type),
            text(one.key.operating_system.name()),
            text(one.key.tenancy.name()),
            Value::Count(u64::from(one.count)),
            Value::of(promise, |promise| {
                Value::Count(u64::from(promise.term.years))
            }),
            text(promise.map_or("", |promise| promise.term.payment.name())),
            code(one.monthly_savings.currency()),
            amount(|promise| promise.upfront),
            amount(|promise| promise.monthly),
            amount(|promise| promise.term_total),
            number(promise.map(|promise| promise.break_even_percent), 4),
            number(promise.map(|promise| promise.evidence_days), 1),
            Value::Money(one.monthly_savings),
            text(one.term.risk.name()),
            text(&one.caveats.join("; ")),
            text(&one.steps.join("; ")),
        ]
    };
    sheet(
        "purchases",
        ("purchase", "purchases"),
        PURCHASES,
        audit.purchases.iter().map(row).collect(),
    )
}

const FINDINGS: &[&str] = &[
    "id",
    "rule",
    "workload",
    "severity",
    "confidence",
    "kind",
    "title",
    "currency",
    "monthly_savings",
    "metric",
    "observed",
    "comparator",
    "threshold",
    "unit",
    "action",
    "to",
    "steps",
    "caveats",
];

/// The findings, each with its decisive evidence. They overlap, so their savings do not add
/// up.
pub(super) fn findings(audit: &Audit) -> Table {
    let row = |one: &Finding| {
        let advice = &one.recommendation;
        let mut row = vec![
            text(&one.id()),
            text(one.rule()),
            text(one.workload()),
            text(one.severity.name()),
            text(one.confidence.name()),
            text(one.kind.name()),
            text(&one.title),
            code_of(one.monthly_savings, audit),
            money(one.monthly_savings),
        ];
        row.extend(evidence(one.evidence().first()));
        row.extend([
            text(&advice.action),
            text(&advice.to),
            text(&advice.steps.join("; ")),
            text(&advice.caveats.join("; ")),
        ]);
        row
    };
    sheet(
        "findings",
        ("finding", "findings"),
        FINDINGS,
        audit.findings.iter().map(row).collect(),
    )
}

fn evidence(decisive: Option<&Evidence>) -> [Value; 5] {
    let Some(evidence) = decisive else {
        return [const { Value::Absent }; 5];
    };
    let name: &str = match &evidence.observation {
        Observation::Sampled { metric, .. } => metric.name(),
        Observation::Fact { name, .. } => name,
    };
    [
        text(name),
        Value::Number(evidence.observed, 4),
        text(evidence.comparator.name()),
        Value::Number(evidence.threshold, 4),
        text(evidence.unit),
    ]
}

/// What could not be read.
pub(super) fn gaps(audit: &Audit) -> Table {
    let row = |gap: &Gap| {
        let cause = gap.cause.as_ref().map_or("", |cause| cause.kind().name());
        vec![
            text(&gap.what.to_string()),
            text(&gap.place),
            text(&gap.reason),
            text(&gap.hint),
            text(cause),
        ]
    };
    sheet(
        "gaps",
        ("gap", "gaps"),
        &["what", "where", "reason", "hint", "cause"],
        audit.gaps.iter().map(row).collect(),
    )
}

const PRICES: &[&str] = &[
    "provider",
    "region",
    "zone",
    "resource",
    "operating_system",
    "tenancy",
    "option",
    "currency",
    "price",
    "per",
    "basis",
    "origin",
    "effective_date",
    "seen_on",
    "source",
];

/// Every price that a figure of the audit rests on, each once.
pub(super) fn prices(audit: &Audit) -> Table {
    let instances = audit.prices.quotes().map(|(key, quote)| {
        let rate = quote.rate;
        vec![
            text(key.provider.name()),
            text(&key.region),
            text(key.zone.as_deref().unwrap_or("")),
            text(&key.instance_type),
            text(key.operating_system.name()),
            text(key.tenancy.name()),
            text(&key.option.to_string()),
            code(rate.currency()),
            Value::Price(Money::new(rate.amount(), rate.currency())),
            text("hour"),
            text(quote.basis.name()),
            text(quote.origin.name()),
            Value::Date(quote.effective_date),
            Value::Date(quote.seen_on),
            text(&quote.source),
        ]
    });
    let storage = audit.prices.storage().map(|(region, resource, quote)| {
        let per = match resource {
            StorageResource::PublicIpv4 => "hour",
            _ => "GiB-month",
        };
        vec![
            Value::Absent,
            text(region),
            Value::Absent,
            text(resource.name()),
            Value::Absent,
            Value::Absent,
            Value::Absent,
            code(quote.unit_price.currency()),
            Value::Price(quote.unit_price),
            text(per),
            Value::Absent,
            text(quote.origin.name()),
            Value::of(quote.effective_date, Value::Date),
            Value::Absent,
            text(&quote.source),
        ]
    });
    sheet(
        "prices",
        ("price", "prices"),
        PRICES,
        instances.chain(storage).collect(),
    )
}

const RECONCILIATION: &[&str] = &[
    "id",
    "name",
    "account",
    "region",
    "instance_type",
    "currency",
    "list_monthly_cost",
    "unlisted_monthly_cost",
    "discount_monthly",
    "spot_monthly",
    "commitment_monthly",
    "idle_storage_monthly_cost",
    "unused_monthly_cost",
    "monthly_cost",
];

/// The amounts of a reconciliation, in the order of their arithmetic.
pub(super) const STEPS: [&str; 8] = [
    "list_monthly_cost",
    "unlisted_monthly_cost",
    "discount_monthly",
    "spot_monthly",
    "commitment_monthly",
    "idle_storage_monthly_cost",
    "unused_monthly_cost",
    "monthly_cost",
];

/// From list prices to the cost of each workload, and of what is paid for and does not run.
pub(super) fn reconciliation(found: &Reconciliation) -> Table {
    let row = |one: &ReconciledRow| {
        let of = |amount| Value::Money(Money::new(amount, one.currency));
        let steps = &one.steps;
        vec![
            text(&one.id),
            text(&one.name),
            text(one.account.as_deref().unwrap_or("")),
            text(one.region.as_deref().unwrap_or("")),
            text(one.instance_type.as_deref().unwrap_or("")),
            code(one.currency),
            of(steps.list),
            of(steps.unlisted),
            of(steps.discount),
            of(steps.spot),
            of(steps.commitments),
            of(steps.idle_storage),
            of(steps.unused),
            of(steps.cost),
        ]
    };
    sheet(
        "reconciliation",
        ("row", "rows"),
        RECONCILIATION,
        found.rows.iter().map(row).collect(),
    )
}
