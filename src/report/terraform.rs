//! `gpucost check --terraform-plan` as a document: what a plan does to the cost of GPU
//! instances, then what the policy says of the result.

use crate::analysis::gate::GateReport;
use crate::analysis::{PlannedChange, PlannedRow, PlannedSide, PlannedTotals};
use crate::domain::{Currency, Missing, Money, Planned, PriceKey, PriceQuote};
use crate::report::doc::{Doc, Kind, Record, Table, Value, columns, doc_schema, rows, tables};
use crate::report::gate::brief::{GateBrief, again, cost_words, delta_words};
use crate::report::gate::doc::{Caveats, report_doc, report_form};
use crate::report::reserved::{CURRENCIES, ORIGINS};
use crate::report::shared::markdown::{SENTENCE_WIDTH, bounded};
use crate::report::shared::next::Invocation;
use crate::report::shared::text::{count, counted, joined};
use jiff::Timestamp;
use rust_decimal::Decimal;

const ACTIONS: &[&str] = &["no-op", "forget", "create", "update", "replace", "delete"];

/// A plan with what the user calls it.
type Plan<'a> = (&'a PlannedChange, &'a GateBrief, &'a str);

columns! {
    fn document<'a>(plan: Plan<'a>) {
        time "as_of", "", Data, plan.1.as_of, "";
        word[&["terraform-plan"]] "source", "", Data, "terraform-plan", "";
        text "plan.file", "", Data, plan.2.to_owned(), "";
        opt text "plan.terraform_version", "", Data, plan.0.terraform_version.clone(), "";
        count "plan.resources", "", Data, plan.0.resources, "Of all sorts.";
        map[Kind::Count] "plan.other_providers", "", Data, plan.0.other_providers.iter().map(|(name, number)| (name.clone(), Value::Count(*number))), "Resources that are not of AWS, by provider.";
        opt text "plan.nothing", "", Data, plan.0.nothing(), "Why there is nothing to price.";
        number "plan.hours_per_month", "", Data, plan.0.hours_per_month, "";
        count "plan.instances_before", "", Data, plan.0.instances_before, "Instances of the changes today, as far as they are counted; those of a CPU type that becomes one with a GPU too.";
        count "plan.instances_after", "", Data, plan.0.instances_after, "The same when the plan has been applied.";
        count "plan.unpriced", "", Data, plan.0.unpriced, "Changes that are not wholly priced.";
        texts "unjudged", "", Data, plan.1.unjudged.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>(), "Rules of the policy that need measurements, which a plan has none of.";
    }

    fn changes<'a>(row: &'a PlannedRow) {
        word[ACTIONS] "action", "action", Narrow(0), row.action.name(), "";
        opt money "monthly_before", "before", Narrow(0), row.currency().and_then(|currency| row.monthly_before(currency)), "Zero where it runs none; null where the cost or its currency is unknown.";
        opt money "monthly_after", "after", Narrow(0), row.currency().and_then(|currency| row.monthly_after(currency)), "The same when the plan has been applied.";
        opt cell "monthly_delta", "delta", Narrow(0), Value::make_money(row.monthly_delta()).signed(), "null unless both ends are known.";
        text "runs", "runs", Screen, runs(row.before.as_ref(), row.after.as_ref()), "";
        text "address", "address", Narrow(0), row.address.clone(), "";
        text "resource_type", "", Data, row.resource_type.clone(), "";
        opt word[CURRENCIES] "currency", "", Data, row.currency().map(Currency::code), "";
        opt record[side] "before", "", Data, row.before.as_ref(), "Today; null where it runs none.";
        opt record[side] "after", "", Data, row.after.as_ref(), "When the plan has been applied; null where it runs none.";
    }

    fn side<'a>(side: &'a PlannedSide) {
        opt texts "instance_types", "", Data, Some(side.instances.types.clone()).filter(|types| !types.is_empty()), "Those that the plan names: several where the provider chooses among them; null where it names none.";
        flag "more_types", "", Data, side.instances.more_types.is_some(), "Whether it may run other types as well.";
        opt count "count", "", Data, side.count, "";
        opt count "on_demand", "", Data, side.instances.payment.as_ref().ok().map(|payment| payment.on_demand), "Of `count`; null, as the two below, where the plan does not say how they are paid for.";
        opt count "spot", "", Data, side.instances.payment.as_ref().ok().map(|payment| payment.spot), "";
        opt count "capacity_block", "", Data, side.instances.payment.as_ref().ok().map(|payment| payment.capacity_block), "";
        opt count "most", "", Data, side.instances.most, "How many a group may grow to.";
        opt number "gpus", "", Data, side.gpus, "";
        opt text "region", "", Data, side.instances.region.clone().ok(), "";
        opt text "zone", "", Data, side.instances.zone.clone(), "";
        opt text "account", "", Data, side.instances.account.clone(), "";
        opt text "operating_system", "", Data, side.instances.operating_system.as_ref().ok().map(|system| system.name().to_owned()), "";
        opt text "tenancy", "", Data, side.instances.tenancy.as_ref().ok().map(|tenancy| tenancy.name().to_owned()), "";
        map[Kind::Text] "tags", "", Data, side.instances.tags.iter().map(|(name, value)| (name.clone(), Value::make_text(value.clone()))), "What the instances carry; null for a value known only after apply.";
        flag "more_tags", "", Data, side.instances.more_tags, "Whether there may be others, known only after apply.";
        texts "unknown", "", Data, unknown(side), "What is known only after apply.";
        opt price "hourly", "", Data, hourly(side), "";
        opt money "monthly_cost", "", Data, side.monthly.as_ref().ok().copied(), "";
        rows[prices] "prices", "", Data, &side.quotes, "";
    }

    fn prices<'a>(row: &'a (PriceKey, u64, PriceQuote)) {
        text "option", "", Data, row.0.option.to_string(), "";
        count "instances", "", Data, row.1, "";
        price "hourly", "", Data, Money::new(row.2.rate.amount(), row.2.rate.currency()), "Of one instance.";
        word[ORIGINS] "origin", "", Data, row.2.origin.name(), "";
        date "seen_on", "", Data, row.2.seen_on, "";
        text "source", "", Data, row.2.source.clone(), "";
    }

    fn totals<'a>(row: (&'a Currency, &'a PlannedTotals)) {
        word[CURRENCIES] "currency", "currency", Narrow(0), row.0.code(), "";
        money "monthly_before", "before", Narrow(0), row.1.before, "";
        money "monthly_after", "after", Narrow(0), row.1.after, "";
        cell "monthly_delta", "delta", Narrow(0), Value::Money(row.1.delta).signed(), "";
    }
}

/// A plan and the gate's report on it. `name` is what the user calls the plan.
pub fn terraform_doc(
    change: &PlannedChange,
    report: &GateReport,
    brief: &GateBrief,
    name: &str,
) -> Doc {
    let record = Record::of(document(), &(change, brief, name));
    let [mut changes, mut totals] = tables(Some(change));
    let version = change.terraform_version.as_deref();
    let version = version.map_or(String::new(), |version| format!(", Terraform {version}"));
    changes.title = format!(
        "CHANGE  {} → {}: {name}, {}{version}",
        count(change.instances_before),
        counted(change.instances_after, "instance", "instances"),
        counted(change.resources, "resource", "resources")
    );
    if !change.rows.is_empty() {
        totals.notes = notes(change);
    }
    report_doc(report, brief, &Caveats::new(), record, vec![changes, totals])
}

schema! {
    /// The JSON schema of `gpucost check --terraform-plan`.
    terraform_schema: "terraform-check", [report_form(Record::heads(document()), tables(None).into())],
    "What a Terraform plan costs, and the report of a gate on it. Keys may be added within a schema version."
}

fn tables(change: Option<&PlannedChange>) -> [Table; 2] {
    let plans = || change.into_iter();
    tables! {
        "plan.changes", "CHANGE  unknown costs first, then the largest rise", ("row", "rows"), changes(), plans().flat_map(|change| &change.rows);
        "plan.totals", "TOTAL  per month, of what is known at both ends", ("currency", "currencies"), totals(), plans().flat_map(|change| &change.totals);
    }
}

fn hourly(side: &PlannedSide) -> Option<Money> {
    let currency = side.monthly.as_ref().ok()?.currency();
    let rates = side.quotes.iter();
    let rates = rates.map(|(_, number, quote)| quote.rate.amount() * Decimal::from(*number));
    Some(Money::new(rates.sum(), currency))
}

/// What is known only after apply.
fn unknown(side: &PlannedSide) -> Vec<String> {
    fn is_open<T>(planned: &Planned<T>) -> bool {
        matches!(planned, Err(Missing::AfterApply))
    }
    let instances = &side.instances;
    rows! {
        if is_open(&instances.count) => "count".to_owned();
        if instances.more_types == Some(Missing::AfterApply) => "instance_types".to_owned();
        if instances.count.is_ok() && is_open(&instances.payment) => "market".to_owned();
        if is_open(&instances.operating_system) => "operating_system".to_owned();
        if is_open(&instances.region) => "region".to_owned();
        if instances.more_tags => "tags".to_owned();
        if is_open(&instances.tenancy) => "tenancy".to_owned();
    }
}

/// What a type is called that the plan does not name.
const UNKNOWN_TYPE: &str = "unknown type";

/// What a plan changes, for the formats of a gate. `name` is what the user calls
/// the plan; `unjudged` are rules that a plan cannot be held against.
pub fn terraform_brief(
    change: &PlannedChange,
    unjudged: &[&'static str],
    name: &str,
    as_of: Timestamp,
) -> GateBrief {
    let rows = &change.rows;
    let subject = counted(rows.len(), "resource with GPUs", "resources with GPUs");
    let unpriced = match change.unpriced {
        0 => String::new(),
        unpriced => format!(", {} not fully priced", count(unpriced)),
    };
    let shown = |sentence: String| bounded(&sentence, SENTENCE_WIDTH);
    let sums: Vec<PlannedTotals> = change.totals.values().copied().collect();
    let is_known = rows.iter().all(|row| row.monthly_delta().is_some());
    GateBrief {
        as_of,
        subject: subject + &unpriced,
        nothing: change.nothing().map(shown).unwrap_or_default(),
        // A sum that leaves something out is not what the plan costs.
        monthly_cost: match sums.as_slice() {
            [sums] if change.unpriced == 0 => Some(sums.after),
            _ => None,
        },
        cost: cost_words(&sums, None),
        delta: (!rows.is_empty()).then(|| delta_words(&sums, is_known)),
        unread: change.nothing().or_else(|| change.unread()).map(shown),
        unjudged: unjudged.to_vec(),
        gaps: change.gaps.clone(),
        promises: Vec::new(),
        again: again(&Invocation {
            scope: vec!["--terraform-plan".to_owned(), name.to_owned()],
            ..Invocation::default()
        }),
    }
}

/// What the figures of a plan rest on and leave out, in own words only.
fn notes(change: &PlannedChange) -> Vec<String> {
    let oldest =
        change.oldest_seen_on().map_or(String::new(), |day| format!(", oldest from {day},"));
    rows! {
        format!("{} hours per month at list prices{oldest} for Linux on shared hardware unless the plan specifies otherwise; volumes, addresses, reserved instances and savings plans are not included", change.hours_per_month.normalize());
        if change.unpriced > 0 => format!("{} not fully priced: unknown costs are not included in any total", counted(change.unpriced, "row is", "rows are"));
    }
}

/// How many of which type, such as `2 → 4 spot × p5.48xlarge (to 8)`: what stays
/// stands once, and a single instance is not counted.
fn runs(before: Option<&PlannedSide>, after: Option<&PlannedSide>) -> String {
    let parts = |side: &PlannedSide| [counts(side), types(side), most(side)];
    let [counts, types, most] = match (before.map(parts), after.map(parts)) {
        (Some(before), Some(after)) => [0, 1, 2].map(|at| {
            let (was, is) = (&before[at], &after[at]);
            if was == is || at == 2 { is.clone() } else { format!("{was} → {is}") }
        }),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return String::new(),
    };
    if counts == "1" { format!("{types}{most}") } else { format!("{counts} × {types}{most}") }
}

fn types(side: &PlannedSide) -> String {
    let instances = &side.instances;
    let others = instances.more_types.as_ref().map(|_| UNKNOWN_TYPE);
    joined(instances.types.iter().map(String::as_str).chain(others), " or ")
}

fn counts(side: &PlannedSide) -> String {
    let Ok(planned) = &side.instances.payment else {
        return side.count.map_or("?".to_owned(), |count| count.to_string());
    };
    let parts =
        [(planned.on_demand, ""), (planned.spot, " spot"), (planned.capacity_block, " block")];
    let counts = parts.iter().filter(|(number, _)| *number > 0);
    let counts = joined(counts.map(|(number, kind)| format!("{number}{kind}")), " + ");
    if counts.is_empty() { "0".to_owned() } else { counts }
}

/// How many a group may grow to.
fn most(side: &PlannedSide) -> String {
    match side.instances.most {
        Some(most) if side.count.is_none_or(|count| most > count) => format!(" (to {most})"),
        _ => String::new(),
    }
}
