//! The answer of `gpucost bill`.

use super::comparison;
use super::figures::{Amounts, percentage};
use super::notes;
use super::origin::BillOrigin;
use super::own_prices::negotiated_rates;
use super::sheets;
use crate::billing::{Bill, CurrencyBill, Tally, percent_of};
use crate::report::doc::{Doc, Given, Step, Value};
use crate::report::shared::text::{counted, minute, shell_word};
use std::collections::BTreeSet;

/// What a bill amounts to.
pub fn bill_answer(bill: &Bill, origin: &BillOrigin) -> Doc {
    let steps = bill.currencies.iter();
    let steps = steps.flat_map(|one| steps_of(one, bill.currencies.len() > 1));
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
    let of = |one: &CurrencyBill| {
        let amounts = Amounts(one.currency);
        let instances = one.of_instances();
        if one.instances.is_empty() {
            return format!(
                "No line is for a GPU instance that gpucost knows, of {} in all",
                amounts.words(&one.total().effective)
            );
        }
        let paid = format!(
            "{} cost {} with commitments spread, {} as billed, of {} in all",
            counted(one.instances.len() as u64, "GPU instance", "GPU instances"),
            amounts.words(&instances.effective),
            amounts.words(&instances.billed),
            amounts.words(&one.total().effective),
        );
        match comparison::idle_words(one) {
            Some(idle) => format!("{paid}: {idle}"),
            None => paid,
        }
    };
    let parts: Vec<String> = bill.currencies.iter().map(of).collect();
    if parts.is_empty() {
        return "The bill has no lines".to_owned();
    }
    parts.join("; ")
}

fn given(bill: &Bill, origin: &BillOrigin) -> Vec<Given> {
    let one = |key, name, value, source: String| Given {
        key,
        name,
        value,
        source,
    };
    let forms: BTreeSet<&str> = origin.files.iter().map(|file| file.form).collect();
    let forms: Vec<&str> = forms.into_iter().collect();
    let codes: Vec<&str> = bill
        .currencies
        .iter()
        .map(|one| one.currency.code())
        .collect();
    let period = bill.period.map(|period| {
        let (start, end) = (minute(period.start), minute(period.end));
        Value::text(format!("{start} to {end}"))
    });
    let of_currency = if origin.stated_currency.is_some() {
        "the bill, and --currency where it has none"
    } else {
        "the bill"
    };
    let mut given = vec![
        one(
            "files",
            "files",
            Value::Count(origin.files.len() as u64),
            forms.join(", "),
        ),
        one(
            "lines",
            "lines",
            Value::Count(bill.lines),
            "the bill".to_owned(),
        ),
        one(
            "period",
            "period",
            period.unwrap_or(Value::Absent),
            "the first and the last usage".to_owned(),
        ),
        one(
            "currencies",
            "currency",
            Value::text(codes.join(", ")),
            of_currency.to_owned(),
        ),
    ];
    if let Some(audit) = &origin.audit {
        let (start, end) = (minute(audit.hours.start), minute(audit.hours.end));
        given.push(one(
            "audit_hours",
            "hours of the audit",
            Value::text(format!("{start} to {end}")),
            match audit.flags.trim() {
                "" => "the account".to_owned(),
                flags => flags.to_owned(),
            },
        ));
    }
    if let Some(key) = &bill.grouped_by {
        given.push(one(
            "group_by",
            "grouped by",
            Value::text(key.to_string()),
            "--group-by".to_owned(),
        ));
    }
    given
}

/// Shares of a bill, each with what it is a share of. One that cannot be computed is left
/// out.
fn steps_of(bill: &CurrencyBill, is_one_of_many: bool) -> Vec<Step> {
    let amounts = Amounts(bill.currency);
    let of_currency = if is_one_of_many {
        format!(", {}", bill.currency)
    } else {
        String::new()
    };
    let step = |name: &str, arithmetic: String, result: Option<Value>| {
        Some(Step {
            name: format!("{name}{of_currency}"),
            arithmetic,
            result: result?,
        })
    };
    let part_of = |name: &str, part: &Tally, whole: &Tally| {
        let words = format!("{} / {}", amounts.words(part), amounts.words(whole));
        let (part, whole) = (part.sum().unwrap_or_default(), whole.sum()?);
        step(name, words, percentage(percent_of(part, whole)?))
    };
    let savings = &bill.savings;
    let parts = bill.parts();
    let (used, unused) = bill.used_and_unused();
    let rate = step(
        "effective savings rate",
        format!(
            "1 − ({} + {} of commitments that nothing used) / {} list price",
            amounts.text(savings.effective),
            amounts.text(savings.unused),
            amounts.text(savings.list)
        ),
        // Rounding does not save anything.
        savings
            .rate_percent()
            .filter(|_| bill.rounded.is_empty())
            .and_then(percentage),
    );
    let coverage = parts.eligible().and_then(|(covered, eligible)| {
        step(
            "coverage of GPU instances",
            format!(
                "{} of commitments / {} without spot, at list price",
                amounts.text(covered),
                amounts.text(eligible)
            ),
            parts.coverage_percent().and_then(percentage),
        )
    });
    let [used, unused] = [used, unused].map(|one| one.sum().unwrap_or_default());
    let utilization = step(
        "utilization of commitments",
        format!(
            "{} used / ({} + {} unused)",
            amounts.text(used),
            amounts.text(used),
            amounts.text(unused)
        ),
        bill.utilization_percent().and_then(percentage),
    );
    let mut steps = vec![rate, coverage, utilization];
    if !bill.groups.is_empty() {
        let (instances, all) = bill.unallocated();
        let of_instances = bill.of_instances().effective;
        steps.push(part_of("unallocated GPU cost", &instances, &of_instances));
        steps.push(part_of("unallocated cost", &all, &bill.total().effective));
    }
    let divided = &bill.divided;
    if divided.cost.sum().is_some() {
        steps.push(part_of(
            "divided among pods",
            &divided.allocated,
            &divided.cost,
        ));
    }
    let steps = steps.into_iter().flatten();
    steps.chain(comparison::steps(bill, &of_currency)).collect()
}

fn next(bill: &Bill, origin: &BillOrigin) -> Vec<String> {
    const LONGEST: usize = 400;
    // What begins with a dash would pass for a flag.
    let word = |path: &String| {
        if path.starts_with('-') {
            shell_word(&format!("./{path}"))
        } else {
            shell_word(path)
        }
    };
    let words: Vec<String> = origin.paths.iter().map(word).collect();
    let mut files = words.join(" ");
    if files.len() > LONGEST {
        files = "FILE".to_owned();
    }
    if let Some(currency) = origin.stated_currency {
        files.push_str(&format!(" --currency {}", currency.code()));
    }
    if let Some(audit) = &origin.audit {
        files.push_str(&audit.flags);
    }
    let mut next = Vec::new();
    if bill.grouped_by.is_none() {
        next.push(format!("gpucost bill {files} --group-by tag:team"));
    }
    if negotiated_rates(bill).next().is_some() {
        next.push(format!(
            "gpucost bill {files} --write-prices negotiated.csv"
        ));
    }
    next.push(format!("gpucost bill {files} --format json"));
    next
}
