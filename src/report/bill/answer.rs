//! The answer of `gpucost bill`.

use super::comparison;
use super::figures::Amounts;
use super::notes;
use super::origin::BillOrigin;
use super::own_prices::negotiated_rates;
use super::sheets;
use crate::billing::{Bill, CurrencyBill, Tally, percent_of};
use crate::domain::Window;
use crate::report::doc::{Doc, Given, Step, Value, rows};
use crate::report::shared::text::{counted, minute, shell_word};
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
        caveats: notes::caveats(bill, origin),
        missing: notes::missing(bill, origin),
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
            counted(part.instances.len() as u64, "GPU instance", "GPU instances"),
            amounts.words(&instances.effective),
            amounts.words(&instances.billed),
            amounts.words(&part.total().effective),
        );
        match comparison::idle_words(part) {
            Some(idle) => format!("{paid}: {idle}"),
            None => paid,
        }
    };
    let parts: Vec<String> = bill.currencies.iter().map(of).collect();
    if parts.is_empty() { "The bill has no lines".to_owned() } else { parts.join("; ") }
}

fn given(bill: &Bill, origin: &BillOrigin) -> Vec<Given> {
    let forms: BTreeSet<&str> = origin.read.files.iter().map(|file| file.form.name()).collect();
    let forms: Vec<&str> = forms.into_iter().collect();
    let codes = bill.currencies.iter().map(|part| part.currency.code());
    let codes = codes.collect::<Vec<_>>().join(", ");
    let hours = |window: Window| {
        let (start, end) = (minute(window.start), minute(window.end));
        Value::Text(format!("{start} to {end}"))
    };
    let period = bill.period.map_or(Value::Absent, hours);
    let stated = match origin.stated_currency {
        Some(_) => "the bill, and --currency where it has none",
        None => "the bill",
    };
    let files = Value::Count(origin.read.files.len() as u64);
    let source = |flags: &str| match flags.trim() {
        "" => "the account".to_owned(),
        flags => flags.to_owned(),
    };
    rows! {
        Given::new("files", "files", files, forms.join(", "));
        Given::new("lines", "lines", Value::Count(bill.lines), "the bill");
        Given::new("period", "period", period, "the first and the last usage");
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
    let mut files = words.collect::<Vec<_>>().join(" ");
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
