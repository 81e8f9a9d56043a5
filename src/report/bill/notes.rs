//! What to be careful with in a bill, and what it does not say.

use super::figures::Amounts;
use super::origin::BillOrigin;
use crate::billing::{Bill, Comparison, CurrencyBill, DifferenceReason};
use crate::domain::{LineKind, Provider, PurchaseOption};
use crate::report::doc::{Missing, rows, sentences};
use crate::report::shared::markup::NAME;
use crate::report::shared::text::{counted, fit};
use rust_decimal::Decimal;

/// From so many times the cost of an instance on, pods have too much of it.
const MOST_DIVIDED: Decimal = Decimal::from_parts(101, 0, 0, false, 2);

/// The gravest first.
pub(super) fn caveats(bill: &Bill, origin: &BillOrigin) -> Vec<String> {
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
    let mut caveats = Vec::new();
    sentences! { caveats;
        for payer in &origin.read.in_two_forms => "Files of several formats have lines of the payer {}: what is in more than one of them is counted again. Pass the files of one export.", fit(payer, NAME);
        if origin.read.estimates > 0 => "{} of gpucost, from an export of an audit: no cloud has billed these amounts.", counted(origin.read.estimates, "line is an estimate", "lines are estimates");
        for (amounts, costs) in rounded => "Effective costs{} are rounded to whole units in each of {}: they add up to {}, and what was billed to {}. Trust the billed amounts.", of(costs.provider), counted(costs.lines, "line", "lines"), amounts.text(costs.effective), amounts.text(costs.billed);
        for taken in parts().filter_map(taken_back) => "What instances and types are billed has the on-demand price of hours that savings plans cover. Lines of the kind negation take {taken} back, for all that is covered.";
        if origin.read.untimed > 0 => "{} a time that is none: the amounts count, and the period is without them.", counted(origin.read.untimed, "row has", "rows have");
        if is_apart => "The bill has no hour of any instance of the audit: compare the accounts, the regions and the times of both.";
        for (allocated, cost) in parts().filter_map(divided) => "Pods have {allocated} of instances that cost {cost}: AWS divides an instance that ran for a part of an hour as though it ran for all of it.";
        for hours in prepaid => "{} hours of GPU instances have a list price, cost nothing and name no commitment: they are taken as hours of Capacity Blocks. Their fees are in the sheet of kinds, under other, and not in what the GPU instances cost; rates and coverage leave the hours out.", hours.round_dp(2).normalize();
        if uninvoiced > 0 => "{} without an invoice: until the invoice is final, the bill may change.", counted(uninvoiced, "line is", "lines are");
        if origin.read.superseded > 0 => "Skipped {} of earlier readings of a billing period.", counted(origin.read.superseded, "file", "files");
        if has_volumes && is_compared => "Volumes and addresses belong to the instances that have them at the time of the audit. Others are in the sheet of kinds alone.";
        if has_volumes && !is_compared => "A bill does not say to which instance a volume or an address belongs: they are in the sheet of kinds.";
    }
    caveats
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

pub(super) fn missing(bill: &Bill, origin: &BillOrigin) -> Vec<Missing> {
    let counting = bill.currencies.iter().flat_map(|part| &part.kinds);
    let counting = counting.filter(|lines| lines.kind.counts());
    let absent: u64 = counting.map(|lines| lines.costs.effective.absent()).sum();
    let audit = origin.audit.as_ref();
    let others = audit.map_or(0, |audit| audit.left_out);
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
