//! A bill beside an audit: differences by name, instances, and how what is billed was used.

use crate::billing::{
    Bill, ComparedInstance, Comparison, CurrencyBill, DifferenceName, DifferenceReason, Tally,
    UsedCost,
};
use crate::domain::{Currency, LineKind, Money};
use crate::report::doc::{Step, Table, Value, columns, rows, tables};
use crate::report::reserved::CURRENCIES;
use crate::report::shared::text::{joined, money};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Amounts of a bill in one currency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts(pub(super) Currency);

impl Amounts {
    pub(super) fn text(self, amount: Decimal) -> String {
        money(Money::new(amount, self.0))
    }

    /// A sum in a sentence, which says where lines without an amount are missing in it.
    pub(super) fn words(self, tally: &Tally) -> String {
        match (tally.sum(), tally.absent()) {
            (Some(sum), 0) => self.text(sum),
            (Some(sum), _) => format!("at least {}", self.text(sum)),
            (None, 0) => self.text(Decimal::ZERO),
            (None, _) => "an unknown amount".to_owned(),
        }
    }
}

columns! {
    fn differences(row: (DifferenceReason, Decimal, Money)) {
        text "difference", "difference", Narrow(0), row.0.name().name().to_owned(), "";
        text "reason", "reason", Narrow(0), in_words(row.0).to_owned(), "";
        opt number[2] "hours", "hours", Narrow(0), Some(row.1).filter(|hours| !hours.is_zero()), "null where it is not about hours.";
        money "cost", "cost", Narrow(0), row.2, "Bill less audit.";
        word[CURRENCIES] "currency", "currency", Wide, row.2.currency().code(), "";
    }

    fn compared<'a>(row: (&'a ComparedInstance, [Money; 6])) {
        text "instance", "instance", Narrow(0), row.0.id.clone(), "";
        text "account", "account", Wide, row.0.account.clone(), "";
        text "region", "region", Wide, row.0.region.clone(), "";
        text "instance_type", "type", Narrow(0), row.0.instance_type.clone(), "";
        number[2] "billed_hours", "billed h", Narrow(0), row.0.billed_hours, "In the hours of the audit.";
        number[2] "seen_hours", "seen h", Narrow(0), row.0.seen_hours, "";
        money "bill_cost", "bill", Narrow(0), like(row.0.bill, row.1[0]), "Effective cost.";
        opt money "audit_cost", "audit", Narrow(0), row.0.audit.map(|audit| like(audit, row.1[0])), "null where the audit has no price in this currency.";
        money "hours_cost", "hours", Wide, row.1[0], "With the five parts after it, the difference.";
        money "price_cost", "price", Wide, row.1[1], "";
        money "commitment_cost", "commitment", Wide, row.1[2], "";
        money "scope_cost", "scope", Wide, row.1[3], "";
        money "late_cost", "late", Wide, row.1[4], "";
        money "unstated_cost", "unstated", Wide, row.1[5], "";
        money "difference_cost", "difference", Narrow(0), like(difference(row.0), row.1[0]), "Bill less audit.";
        money "idle_cost", "idle", Narrow(0), like(row.0.used.idle, row.1[0]), "Of periods in which no GPU did anything.";
        word[CURRENCIES] "currency", "currency", Wide, row.1[0].currency().code(), "";
    }

    fn used<'a>(row: (Option<&'a str>, &'a UsedCost, [Money; 4])) {
        opt text "group", "group", Narrow(0), row.0.map(str::to_owned), "null of what has no value of the key.";
        money "effective_cost", "effective", Narrow(0), like(row.1.cost, row.2[0]), "The four parts after it add up to it.";
        money "useful_cost", "useful", Narrow(0), row.2[0], "In proportion to mean utilization.";
        money "spare_cost", "spare", Narrow(0), row.2[1], "The rest of periods in which a GPU worked.";
        money "idle_cost", "idle", Narrow(0), row.2[2], "";
        money "unmeasured_cost", "unmeasured", Narrow(0), row.2[3], "";
        opt percent "idle_percent", "idle share", Narrow(0), row.1.idle_percent(), "Of what was measured.";
        word[CURRENCIES] "currency", "currency", Wide, row.2[0].currency().code(), "";
    }
}

/// What an instance can differ in, in the order of the columns.
const NAMES: [DifferenceName; 6] = [
    DifferenceName::Hours,
    DifferenceName::Price,
    DifferenceName::Commitment,
    DifferenceName::Scope,
    DifferenceName::Late,
    DifferenceName::Unstated,
];

/// An amount in the currency of another.
fn like(amount: Decimal, other: Money) -> Money {
    Money::new(amount, other.currency())
}

/// Parts in cents that add up to a total.
fn shown<const N: usize>(exact: [Decimal; N], total: Decimal, currency: Currency) -> [Money; N] {
    let mut parts = in_cents(&exact, total).into_iter();
    exact.map(|_| Money::new(parts.next().unwrap_or_default(), currency))
}

/// The tables of a comparison; none without an audit.
pub(super) fn tables(bill: &Bill) -> Vec<Table> {
    let parts = bill.currencies.iter();
    let parts = parts.filter_map(|part| Some((part.comparison.as_ref()?, part.currency)));
    let parts: Vec<(&Comparison, Currency)> = parts.collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let key = bill.grouped_by.as_ref().map_or_else(|| "type".to_owned(), ToString::to_string);
    let reasons = parts.iter().flat_map(|(comparison, currency)| {
        let reasons = in_parts(comparison).into_iter();
        reasons.map(|(reason, hours, cost)| (reason, hours, Money::new(cost, *currency)))
    });
    let instances = parts.iter().flat_map(|(comparison, currency)| {
        comparison.instances.iter().map(|instance| {
            let part = |name| instance.differences.get(&name).copied();
            let exact = NAMES.map(|name| part(name).unwrap_or_default());
            (instance, shown(exact, difference(instance), *currency))
        })
    });
    let groups = parts.iter().flat_map(|(comparison, currency)| {
        let mut groups: Vec<_> = comparison.used.iter().collect();
        groups.sort_by_key(|(_, used)| Reverse(used.idle));
        groups.into_iter().map(|(group, used)| {
            let exact = [used.useful, used.spare, used.idle, used.unmeasured];
            (group.as_deref(), used, shown(exact, cents(used.cost), *currency))
        })
    });
    let tables = tables! {
        "differences", "BILL AND AUDIT  what differs", ("difference", "differences"), differences(), reasons;
        "compared", "INSTANCES OF THE AUDIT  effective cost", ("instance", "instances"), compared(), instances;
        "used", format!("USE OF GPU INSTANCES  effective cost by {key}"), ("group", "groups"), used(), groups;
    };
    tables.into()
}

/// What an instance is billed more than the audit expects, in cents.
fn difference(instance: &ComparedInstance) -> Decimal {
    shown_difference(instance.bill, instance.audit.unwrap_or_default())
}

/// The difference of both sums, as they are shown.
fn shown_difference(bill: Decimal, audit: Decimal) -> Decimal {
    cents(bill) - cents(audit)
}

/// Each part of the difference in whole cents, which add up to what is shown.
fn in_parts(comparison: &Comparison) -> Vec<(DifferenceReason, Decimal, Decimal)> {
    let differences = &comparison.differences;
    let exact: Vec<Decimal> = differences.values().map(|part| part.cost).collect();
    let shown = in_cents(&exact, shown_difference(comparison.bill, comparison.audit));
    let differences = differences.iter().zip(shown);
    differences.map(|((reason, part), cost)| (*reason, part.hours, cost)).collect()
}

fn in_words(reason: DifferenceReason) -> &'static str {
    match reason {
        DifferenceReason::Line(LineKind::Instance) => "instance without GPUs",
        DifferenceReason::Line(kind) => kind.name(),
        reason => reason.words(),
    }
}

/// The difference of a bill and an audit, and the idle share of what was measured.
pub(super) fn steps(bill: &CurrencyBill, of_currency: &str) -> Vec<Step> {
    let Some(comparison) = &bill.comparison else { return Vec::new() };
    let amounts = Amounts(bill.currency);
    let mut names: BTreeMap<DifferenceName, Decimal> = BTreeMap::new();
    for (reason, _, cost) in in_parts(comparison) {
        *names.entry(reason.name()).or_default() += cost;
    }
    let named = names.iter().map(|(name, cost)| format!("{name} {}", amounts.text(*cost)));
    let named = Some(joined(named, " + ")).filter(|named| !named.is_empty());
    let both = format!("{} − {}", amounts.text(comparison.bill), amounts.text(comparison.audit));
    let arithmetic = joined(std::iter::once(both).chain(named), " = ");
    let total = Money::new(shown_difference(comparison.bill, comparison.audit), bill.currency);
    let used = comparison.used();
    let [idle, cost, unmeasured] =
        [used.idle, used.cost, used.unmeasured].map(|amount| amounts.text(amount));
    let share = used.idle_percent().and_then(|share| share.to_f64());
    rows! {
        Step::new(format!("bill − audit{of_currency}"), arithmetic, Value::Money(total));
        for share in share => Step::new(format!("idle GPU cost{of_currency}"), format!("{idle} / ({cost} − {unmeasured} not measured)"), Value::Percent(share));
    }
}

/// What of a bill was idle, in a sentence.
pub(super) fn idle_words(bill: &CurrencyBill) -> Option<String> {
    let used = bill.comparison.as_ref()?.used();
    let amounts = Amounts(bill.currency);
    if used.cost.is_zero() {
        return None;
    }
    let cost = amounts.text(used.cost);
    // Where nothing was measured, an idle cost of zero would be a claim.
    if used.cost == used.unmeasured {
        return Some(format!("how much of the {cost} was idle is not known"));
    }
    Some(format!(
        "{} of the {cost} was idle, and the use of {} is not known",
        amounts.text(used.idle),
        amounts.text(used.unmeasured)
    ))
}

/// An amount in whole cents, half away from zero.
fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

/// Parts in whole cents that add up to whole cents: each is rounded down, and the cents that
/// are left go to the parts that lost most by that, earlier ones first. The exact parts add
/// up to the total but for a cent.
fn in_cents(parts: &[Decimal], total: Decimal) -> Vec<Decimal> {
    let cent = Decimal::new(1, 2);
    let down =
        |part: &Decimal| part.round_dp_with_strategy(2, RoundingStrategy::ToNegativeInfinity);
    let mut shown: Vec<Decimal> = parts.iter().map(down).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|place| Reverse(parts[*place] - shown[*place]));
    let mut left = total - shown.iter().sum::<Decimal>();
    // Where the total is a cent below the parts, the one that lost least gives it.
    if let Some(last) = order.last().filter(|_| left < Decimal::ZERO) {
        shown[*last] += left;
        left = Decimal::ZERO;
    }
    for place in order {
        if left >= cent {
            shown[place] += cent;
            left -= cent;
        }
    }
    if let Some(first) = shown.first_mut() {
        *first += left;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimals(texts: &[&str]) -> Vec<Decimal> {
        texts.iter().map(|text| text.parse().expect("a decimal")).collect()
    }

    #[test]
    fn cents_go_to_what_lost_most() {
        for (parts, total, expected) in [
            // Down these are -0.50, -8.79 and 0.33, which is 2 cents short.
            (["-0.4999", "-8.783", "0.336"], "-8.94", ["-0.50", "-8.78", "0.34"]),
            (["0.001", "0.001", "0.001"], "0.01", ["0.01", "0", "0"]),
            (["0.009", "0.001", "0"], "-0.01", ["0", "0", "-0.01"]),
            (["1", "2", "3"], "6", ["1", "2", "3"]),
        ] {
            let rounded = in_cents(&decimals(&parts), decimals(&[total])[0]);
            assert_eq!(rounded, decimals(&expected), "{parts:?}");
        }
        assert!(in_cents(&[], Decimal::ZERO).is_empty());
    }

    proptest! {
        #[test]
        fn parts_add_up(parts in prop::collection::vec(-1_000_000_i64..1_000_000, 1..9)) {
            let parts: Vec<Decimal> = parts.into_iter().map(|part| Decimal::new(part, 4)).collect();
            let total = cents(parts.iter().sum());
            let shown = in_cents(&parts, total);
            prop_assert_eq!(shown.iter().sum::<Decimal>(), total);
            for (exact, shown) in parts.iter().zip(&shown) {
                prop_assert!((exact - shown).abs() < Decimal::new(2, 2));
            }
        }
    }
}
