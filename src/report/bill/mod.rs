//! `gpucost bill`: what was really paid, and prices of it as the file that `prices.file` names.

mod comparison;
mod sheets;

pub use sheets::{BillAudit, BillOrigin};

use crate::billing::{
    Bill, Comparison, CurrencyBill, DerivedRate, DifferenceReason, Tally, percent_of,
};
use crate::domain::{LineKind, Provider, PurchaseOption, Window};
use crate::report::doc::csv::{document, rate};
use crate::report::doc::{Doc, Given, Missing, Step, Value, rows};
use crate::report::shared::markup::NAME;
use crate::report::shared::text::{counted, fit, joined, minute, shell_word};
use comparison::Amounts;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeSet;

/// What a bill amounts to.
pub fn bill_answer(bill: &Bill, origin: &BillOrigin) -> Doc {
    let steps = bill.currencies.iter().flat_map(|part| steps_of(part, bill.currencies.len() > 1));
    Doc {
        name: "bill",
        headline: headline(bill),
        given: given(bill, origin),
        steps: steps.collect(),
        tables: sheets::all(bill, origin),
        caveats: caveats(bill, origin),
        missing: missing(bill, origin),
        next: next(bill, origin),
        ..Doc::default()
    }
}

fn headline(bill: &Bill) -> String {
    let of = |part: &CurrencyBill| {
        let amounts = Amounts(part.currency);
        let instances = part.of_instances();
        if part.instances.is_empty() {
            return format!(
                "No line is for a GPU instance that gpucost knows, of {} in all",
                amounts.words(&part.total().effective)
            );
        }
        let paid = format!(
            "{} cost {} with commitments spread, {} as billed, of {} in all",
            counted(part.instances.len(), "GPU instance", "GPU instances"),
            amounts.words(&instances.effective),
            amounts.words(&instances.billed),
            amounts.words(&part.total().effective),
        );
        joined(std::iter::once(paid).chain(comparison::idle_words(part)), ": ")
    };
    match bill.currencies.as_slice() {
        [] => "The bill has no lines".to_owned(),
        parts => joined(parts.iter().map(of), "; "),
    }
}

fn given(bill: &Bill, origin: &BillOrigin) -> Vec<Given> {
    let forms: BTreeSet<&str> = origin.read.files.iter().map(|file| file.form.name()).collect();
    let codes = joined(bill.currencies.iter().map(|part| part.currency.code()), ", ");
    let hours = |window: Window| {
        let (start, end) = (minute(window.start), minute(window.end));
        Value::Text(format!("{start} to {end}"))
    };
    let stated = match origin.stated_currency {
        Some(_) => "the bill, and --currency where it has none",
        None => "the bill",
    };
    let source = |flags: &str| match flags.trim() {
        "" => "the account".to_owned(),
        flags => flags.to_owned(),
    };
    rows! {
        Given::new("files", "files", Value::make_count(origin.read.files.len()), joined(forms, ", "));
        Given::new("lines", "lines", Value::Count(bill.lines), "the bill");
        Given::new("period", "period", bill.period.map_or(Value::Absent, hours), "the first and the last usage");
        Given::new("currencies", "currency", Value::Text(codes), stated);
        for audit in &origin.audit => Given::new("audit_hours", "hours of the audit", hours(audit.hours), source(&audit.flags));
        for key in &bill.grouped_by => Given::new("group_by", "grouped by", Value::Text(key.to_string()), "--group-by");
    }
}

/// Shares of a bill, each with what it is a share of. One that cannot be computed is absent.
fn steps_of(bill: &CurrencyBill, is_one_of_many: bool) -> Vec<Step> {
    let amounts = Amounts(bill.currency);
    let text = |amount: Decimal| amounts.text(amount);
    let of_currency = if is_one_of_many { format!(", {}", bill.currency) } else { String::new() };
    let step = |name: &str, arithmetic: String, result: Option<Decimal>| {
        let result = Value::Percent(result?.to_f64()?);
        Some(Step::new(format!("{name}{of_currency}"), arithmetic, result))
    };
    let part_of = |name: &str, part: &Tally, whole: &Tally| {
        let words = format!("{} / {}", amounts.words(part), amounts.words(whole));
        let part = part.sum().unwrap_or_default();
        step(name, words, whole.sum().and_then(|whole| percent_of(part, whole)))
    };
    let savings = &bill.savings;
    let parts = bill.parts();
    let (used, unused) = bill.used_and_unused();
    let [used, unused] = [used, unused].map(|part| text(part.sum().unwrap_or_default()));
    let (covered, eligible) = parts.eligible().unwrap_or_default();
    // Rounding does not save anything.
    let rate = savings.rate_percent().filter(|_| bill.rounded.is_empty());
    let (instances, unallocated) = bill.unallocated();
    let (is_grouped, divided) = (!bill.groups.is_empty(), &bill.divided);
    let steps: Vec<Option<Step>> = rows! {
        step("effective savings rate", format!("1 − ({} + {} of commitments that nothing used) / {} list price", text(savings.effective), text(savings.unused), text(savings.list)), rate);
        step("coverage of GPU instances", format!("{} of commitments / {} without spot, at list price", text(covered), text(eligible)), parts.coverage_percent());
        step("utilization of commitments", format!("{used} used / ({used} + {unused} unused)"), bill.utilization_percent());
        if is_grouped => part_of("unallocated GPU cost", &instances, &bill.of_instances().effective);
        if is_grouped => part_of("unallocated cost", &unallocated, &bill.total().effective);
        if divided.cost.sum().is_some() => part_of("divided among pods", &divided.allocated, &divided.cost);
    };
    let steps = steps.into_iter().flatten();
    steps.chain(comparison::steps(bill, &of_currency)).collect()
}

fn next(bill: &Bill, origin: &BillOrigin) -> Vec<String> {
    const LONGEST: usize = 400;
    // What begins with a dash would pass for a flag.
    let is_flag = |path: &str| path.starts_with('-');
    let words = origin.paths.iter().map(|path| {
        let folder = if is_flag(path) { "./" } else { "" };
        shell_word(&format!("{folder}{path}"))
    });
    let mut files = joined(words, " ");
    if files.len() > LONGEST {
        "FILE".clone_into(&mut files);
    }
    files.extend(origin.stated_currency.map(|currency| format!(" --currency {}", currency.code())));
    files.extend(origin.audit.as_ref().map(|audit| audit.flags.as_str()));
    rows! {
        if bill.grouped_by.is_none() => format!("gpucost bill {files} --group-by tag:team");
        if negotiated_rates(bill).next().is_some() => format!("gpucost bill {files} --write-prices negotiated.csv");
        format!("gpucost bill {files} --format json");
    }
}

/// From so many times the cost of an instance on, pods have too much of it.
const MOST_DIVIDED: Decimal = Decimal::from_parts(101, 0, 0, false, 2);

/// What to be careful with, the gravest first.
fn caveats(bill: &Bill, origin: &BillOrigin) -> Vec<String> {
    let parts = || bill.currencies.iter();
    let rounded = parts().flat_map(|part| part.rounded.iter().map(|costs| (part.currency, costs)));
    let rounded = rounded.map(|(currency, costs)| (Amounts(currency), costs));
    let of = |provider| match provider {
        Some(Provider::Aws) => " of AWS",
        Some(Provider::Azure) => " of Azure",
        Some(Provider::Gcp) => " of Google Cloud",
        _ => "",
    };
    let mut compared = parts().filter_map(|part| part.comparison.as_ref());
    let is_apart = origin.audit.is_some() && compared.all(is_apart);
    // Hours whose price is in another line, which no line of theirs names.
    let prepaid = parts().filter_map(|part| part.parts().hours_of(PurchaseOption::CapacityBlock));
    let uninvoiced: u64 = parts().map(|part| part.uninvoiced).sum();
    let mut kinds = parts().flat_map(|part| &part.kinds);
    let has_volumes = kinds.any(|lines| matches!(lines.kind, LineKind::Volume | LineKind::Address));
    let is_compared = origin.audit.is_some();
    rows! {
        for payer in &origin.read.in_two_forms => format!("Files of several formats have lines of the payer {}: what is in more than one of them is counted again. Pass the files of one export.", fit(payer, NAME));
        if origin.read.estimates > 0 => format!("{} of gpucost, from an export of an audit: no cloud has billed these amounts.", counted(origin.read.estimates, "line is an estimate", "lines are estimates"));
        for (amounts, costs) in rounded => format!("Effective costs{} are rounded to whole units in each of {}: they add up to {}, and what was billed to {}. Trust the billed amounts.", of(costs.provider), counted(costs.lines, "line", "lines"), amounts.text(costs.effective), amounts.text(costs.billed));
        for taken in parts().filter_map(taken_back) => format!("What instances and types are billed has the on-demand price of hours that savings plans cover. Lines of the kind negation take {taken} back, for all that is covered.");
        if origin.read.untimed > 0 => format!("{} a time that is none: the amounts count, and the period is without them.", counted(origin.read.untimed, "row has", "rows have"));
        if is_apart => "The bill has no hour of any instance of the audit: compare the accounts, the regions and the times of both.".to_owned();
        for (allocated, cost) in parts().filter_map(divided) => format!("Pods have {allocated} of instances that cost {cost}: AWS divides an instance that ran for a part of an hour as though it ran for all of it.");
        for hours in prepaid => format!("{} hours of GPU instances have a list price, cost nothing and name no commitment: they are taken as hours of Capacity Blocks. Their fees are in the sheet of kinds, under other, and not in what the GPU instances cost; rates and coverage leave the hours out.", hours.round_dp(2).normalize());
        if uninvoiced > 0 => format!("{} without an invoice: until the invoice is final, the bill may change.", counted(uninvoiced, "line is", "lines are"));
        if origin.read.superseded > 0 => format!("Skipped {} of earlier readings of a billing period.", counted(origin.read.superseded, "file", "files"));
        if has_volumes && is_compared => "Volumes and addresses belong to the instances that have them at the time of the audit. Others are in the sheet of kinds alone.".to_owned();
        if has_volumes && !is_compared => "A bill does not say to which instance a volume or an address belongs: they are in the sheet of kinds.".to_owned();
    }
}

/// What savings plans take back in lines of their own, so that instances that they cover seem to be
/// billed more than was billed.
fn taken_back(bill: &CurrencyBill) -> Option<String> {
    let negation = bill.kinds.iter().find(|lines| lines.kind == LineKind::Negation)?;
    let taken = negation.costs.billed.sum().filter(|sum| !sum.is_zero())?;
    bill.parts().hours_of(PurchaseOption::SavingsPlan)?;
    Some(Amounts(bill.currency).text(-taken))
}

/// Whether a bill and an audit have nothing in common.
fn is_apart(comparison: &Comparison) -> bool {
    comparison.instances.iter().all(|instance| instance.billed_hours.is_zero())
}

/// What pods have of instances, and what these cost, where it is too much.
fn divided(bill: &CurrencyBill) -> Option<(String, String)> {
    let (cost, allocated) = (bill.divided.cost.sum()?, bill.divided.allocated.sum()?);
    let words = [allocated, cost].map(|amount| Amounts(bill.currency).text(amount));
    (allocated > cost * MOST_DIVIDED).then(|| words.into())
}

/// What the bill does not say.
fn missing(bill: &Bill, origin: &BillOrigin) -> Vec<Missing> {
    let counting = bill.currencies.iter().flat_map(|part| &part.kinds);
    let counting = counting.filter(|lines| lines.kind.counts());
    let absent: u64 = counting.map(|lines| lines.costs.effective.absent()).sum();
    let audit = origin.audit.as_ref();
    let others = audit.map_or(0, |audit| audit.skipped);
    let days = audit.map_or(0, |audit| audit.days_missing);
    // What lines cost that name no instance, or no time.
    let unnamed = bill.currencies.iter().filter_map(|part| {
        let cost = part.comparison.as_ref()?.differences.get(&DifferenceReason::Unnamed)?.cost;
        Some(Amounts(part.currency).text(cost))
    });
    rows! {
        if absent > 0 => Missing::new(format!("effective cost of {}", counted(absent, "line", "lines")), "they are in no sum of effective costs; export the columns of effective costs, fees and commitments that docs/bill.md lists");
        for cost in unnamed => Missing::new(format!("instances of lines that cost {cost}"), "export the bill with resource ids; of SageMaker a bill names endpoints and jobs");
        if others > 0 => Missing::new(format!("comparison of {}", counted(others, "instance", "instances")), "only instances of EC2 are compared: bills name others differently");
        if days > 0 => Missing::new(format!("hours of {}", counted(days, "day", "days")), "record every night with `gpucost history record`: what was billed on these days is outside the hours of the audit");
        for (code, rows) in &origin.read.other_currencies => Missing::new(format!("amounts in {}", fit(code, NAME)), format!("{} skipped: gpucost adds up USD, CNY and EUR", counted(*rows, "row is", "rows are")));
    }
}

/// The columns of a price file, which its reader knows.
const COLUMNS: [&str; 9] = [
    "provider", "region", "instance_type", "operating_system", "tenancy", "option", "hourly",
    "currency", "effective_date",
];

/// Prices of a bill that are negotiated and hold in every hour, with the currency of each.
pub fn negotiated_rates(bill: &Bill) -> impl Iterator<Item = (&CurrencyBill, &DerivedRate)> {
    let currencies = bill.currencies.iter();
    let rates =
        currencies.flat_map(|currency| currency.rates.iter().map(move |rate| (currency, rate)));
    rates.filter(|(_, rate)| rate.refusal.is_none())
}

/// The file of those prices.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn price_file(bill: &Bill) -> Result<String, csv::Error> {
    let rows = negotiated_rates(bill).map(|(of, derived)| {
        let key = &derived.key;
        let day = derived.last_day.map(|day| day.to_string());
        [
            key.provider.name().to_owned(),
            key.region.clone(),
            key.instance_type.clone(),
            key.operating_system.name().to_owned(),
            key.tenancy.name().to_owned(),
            key.option.to_string(),
            derived.hourly.map_or(String::new(), rate),
            of.currency.code().to_owned(),
            day.unwrap_or_default(),
        ]
    });
    document(COLUMNS, rows)
}
