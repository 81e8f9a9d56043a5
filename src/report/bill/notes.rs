//! What to be careful with in a bill, and what it does not say.

use super::figures::Amounts;
use super::origin::BillOrigin;
use crate::billing::{Bill, Comparison, CurrencyBill, DifferenceReason, RoundedCosts};
use crate::domain::{LineKind, Provider, PurchaseOption};
use crate::report::doc::Missing;
use crate::report::shared::markup::NAME;
use crate::report::shared::text::{counted, fit};
use rust_decimal::Decimal;

/// From so many times the cost of an instance on, pods have too much of it.
const MOST_DIVIDED: Decimal = Decimal::from_parts(101, 0, 0, false, 2);

/// The gravest first.
pub(super) fn caveats(bill: &Bill, origin: &BillOrigin) -> Vec<String> {
    let mut caveats = Vec::new();
    for payer in &origin.in_two_forms {
        caveats.push(format!(
            "Files of several formats have lines of the payer {}: what is in more than one of \
             them is counted again. Pass the files of one export.",
            fit(payer, NAME)
        ));
    }
    if origin.estimates > 0 {
        caveats.push(format!(
            "{} of gpucost, from an export of an audit: no cloud has billed these amounts.",
            counted(
                origin.estimates,
                "line is an estimate",
                "lines are estimates"
            )
        ));
    }
    for one in &bill.currencies {
        caveats.extend(one.rounded.iter().map(|costs| rounded(costs, one)));
    }
    caveats.extend(bill.currencies.iter().filter_map(taken_back));
    if origin.untimed > 0 {
        caveats.push(format!(
            "{} a time that is none: the amounts count, and the period is without them.",
            counted(origin.untimed, "row has", "rows have")
        ));
    }
    let mut compared = bill
        .currencies
        .iter()
        .filter_map(|one| one.comparison.as_ref());
    if origin.audit.is_some() && compared.all(is_apart) {
        caveats.push(
            "The bill has no hour of any instance of the audit: compare the accounts, the \
             regions and the times of both."
                .to_owned(),
        );
    }
    caveats.extend(bill.currencies.iter().filter_map(divided));
    caveats.extend(bill.currencies.iter().filter_map(prepaid));
    let uninvoiced: u64 = bill.currencies.iter().map(|one| one.uninvoiced).sum();
    if uninvoiced > 0 {
        caveats.push(format!(
            "{} without an invoice: until the invoice is final, the bill may change.",
            counted(uninvoiced, "line is", "lines are")
        ));
    }
    if origin.superseded > 0 {
        caveats.push(format!(
            "Left out {} of earlier readings of a billing period.",
            counted(origin.superseded, "file", "files")
        ));
    }
    if bill.currencies.iter().any(has_volumes) {
        let of_instances = if origin.audit.is_some() {
            "Volumes and addresses belong to the instances that have them at the time of the \
             audit. Others are in the sheet of kinds alone."
        } else {
            "A bill does not say to which instance a volume or an address belongs: they are in \
             the sheet of kinds."
        };
        caveats.push(of_instances.to_owned());
    }
    caveats
}

/// What savings plans take back in lines of their own, so that instances that they cover seem to be
/// billed more than was billed.
fn taken_back(bill: &CurrencyBill) -> Option<String> {
    let mut kinds = bill.kinds.iter();
    let negation = kinds.find(|one| one.kind == LineKind::Negation)?;
    let taken = negation.costs.billed.sum().filter(|sum| !sum.is_zero())?;
    bill.parts().hours_of(PurchaseOption::SavingsPlan)?;
    Some(format!(
        "What instances and types are billed has the on-demand price of hours that savings plans \
         cover. Lines of the kind negation take {} back, for all that is covered.",
        Amounts(bill.currency).text(-taken)
    ))
}

/// Hours whose price is in another line, which no line of theirs names.
fn prepaid(bill: &CurrencyBill) -> Option<String> {
    let hours = bill.parts().hours_of(PurchaseOption::CapacityBlock)?;
    Some(format!(
        "{} hours of GPU instances have a list price, cost nothing and name no commitment: they are \
         taken as hours of Capacity Blocks. Their fees are in the sheet of kinds, under other, and \
         not in what the GPU instances cost; rates and coverage leave the hours out.",
        hours.round_dp(2).normalize()
    ))
}

/// Whether a bill and an audit have nothing in common.
fn is_apart(comparison: &Comparison) -> bool {
    let mut instances = comparison.instances.iter();
    instances.all(|one| one.billed_hours.is_zero())
}

fn rounded(costs: &RoundedCosts, bill: &CurrencyBill) -> String {
    let amounts = Amounts(bill.currency);
    let of = match costs.provider {
        Some(Provider::Aws) => " of AWS",
        Some(Provider::Azure) => " of Azure",
        Some(Provider::Gcp) => " of Google Cloud",
        _ => "",
    };
    format!(
        "Effective costs{of} are rounded to whole units in each of {}: they add up to {}, and what \
         was billed to {}. Trust the billed amounts.",
        counted(costs.lines, "line", "lines"),
        amounts.text(costs.effective),
        amounts.text(costs.billed)
    )
}

fn divided(bill: &CurrencyBill) -> Option<String> {
    let divided = &bill.divided;
    let (cost, allocated) = (divided.cost.sum()?, divided.allocated.sum()?);
    let amounts = Amounts(bill.currency);
    (allocated > cost * MOST_DIVIDED).then(|| {
        format!(
            "Pods have {} of instances that cost {}: AWS divides an instance that ran for a part \
             of an hour as though it ran for all of it.",
            amounts.text(allocated),
            amounts.text(cost)
        )
    })
}

fn has_volumes(bill: &CurrencyBill) -> bool {
    let is_one = |kind| matches!(kind, LineKind::Volume | LineKind::Address);
    bill.kinds.iter().any(|one| is_one(one.kind))
}

pub(super) fn missing(bill: &Bill, origin: &BillOrigin) -> Vec<Missing> {
    let counting = bill.currencies.iter().flat_map(|one| &one.kinds);
    let counting = counting.filter(|one| one.kind.counts());
    let absent: u64 = counting.map(|one| one.costs.effective.absent()).sum();
    let mut missing = Vec::new();
    if absent > 0 {
        missing.push(Missing {
            what: format!("effective cost of {}", counted(absent, "line", "lines")),
            remedy: "they are in no sum of effective costs; export the columns of effective \
                     costs, fees and commitments that docs/bill.md lists"
                .to_owned(),
        });
    }
    for one in &bill.currencies {
        let unnamed = one.comparison.as_ref().and_then(unnamed);
        missing.extend(unnamed.map(|cost| {
            Missing {
                what: format!(
                    "instances of lines that cost {}",
                    Amounts(one.currency).text(cost)
                ),
                remedy:
                    "export the bill with resource ids; of SageMaker a bill names endpoints and \
                     jobs"
                        .to_owned(),
            }
        }));
    }
    let left_out = origin.audit.as_ref().map_or(0, |audit| audit.left_out);
    if left_out > 0 {
        missing.push(Missing {
            what: format!(
                "comparison of {}",
                counted(left_out, "instance", "instances")
            ),
            remedy: "only instances of EC2 are compared: bills name others differently".to_owned(),
        });
    }
    let days = origin.audit.as_ref().map_or(0, |audit| audit.days_missing);
    if days > 0 {
        missing.push(Missing {
            what: format!("hours of {}", counted(days, "day", "days")),
            remedy: "record every night with `gpucost history record`: what was billed on these \
                     days is outside the hours of the audit"
                .to_owned(),
        });
    }
    for (code, rows) in &origin.other_currencies {
        missing.push(Missing {
            what: format!("amounts in {}", fit(code, NAME)),
            remedy: format!(
                "{} left out: gpucost adds up USD, CNY and EUR",
                counted(*rows, "row is", "rows are")
            ),
        });
    }
    missing
}

/// What lines cost that name no instance, or no time.
fn unnamed(comparison: &Comparison) -> Option<Decimal> {
    let part = comparison.differences.get(&DifferenceReason::Unnamed)?;
    Some(part.cost)
}
