//! Why the spend of two spans differs: usage, mix, prices of the cloud, discounts, what is
//! paid for and does not run, and what was in scope. The parts add up to the cent.

use super::cents::{add_up, cents, share};
use super::dates::Span;
use super::ledger::Ledger;
use super::missing::DayRead;
use crate::domain::{CostKind, Money, Provider, WorkloadDay, named_enum};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

named_enum! {
    /// Why a mean day costs more or less than one before.
    ChangePart {
        /// More or fewer GPU hours, at the mean cost of one before.
        Usage = "usage",
        /// The same number of GPU hours on other types, or in other regions.
        Mix = "mix",
        /// The cloud changed its public prices.
        Price = "price",
        /// Commitments, spot and negotiated discounts took more or less off those prices.
        Rate = "rate",
        /// What is paid for and does not run, and hours of unknown GPUs.
        Other = "other",
        /// Accounts, regions and tags that only one of the spans reads.
        Scope = "scope",
    }
}

/// The spend of a mean day of two spans, and why it differs. All of it is in cents, and
/// `before` and the parts sum to `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub before: Money,
    pub after: Money,
    /// In the order of [`ChangePart::ALL`].
    pub parts: [Money; 6],
}

impl Change {
    /// Compares the mean whole days of two spans; `None` where one of them has none, and
    /// where the figures are beyond exact decimals.
    pub fn between(ledger: &Ledger, before: Span, after: Span) -> Option<Self> {
        let left = mean_day(ledger, before, after)?;
        let right = mean_day(ledger, after, before)?;
        let mut parts = compute_parts(&left, &right)?;
        parts[ChangePart::Other as usize] = right.other - left.other;
        parts[ChangePart::Scope as usize] = right.scope - left.scope;
        let (from, to) = (cents(left.total), cents(right.total));
        add_up(&mut parts, to - from);
        Some(Self {
            before: ledger.money(from),
            after: ledger.money(to),
            parts: parts.map(|part| ledger.money(part)),
        })
    }

    /// Every part with what it is.
    pub fn named(&self) -> impl Iterator<Item = (ChangePart, Money)> + use<> {
        ChangePart::ALL.iter().copied().zip(self.parts)
    }

    /// What the later day costs more than the earlier one.
    pub fn total(&self) -> Money {
        Money::new(self.after.amount() - self.before.amount(), self.after.currency())
    }
}

/// Hours of one type in one place.
type CellKey<'a> = (Provider, &'a str, &'a str);

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    gpu_hours: Decimal,
    effective: Decimal,
    list: Decimal,
    /// Whether an hour of it has no public price.
    is_unlisted: bool,
}

/// A mean day of a span.
#[derive(Debug, Default)]
struct MeanDay<'a> {
    total: Decimal,
    cells: BTreeMap<CellKey<'a>, Cell>,
    other: Decimal,
    /// What the other span does not read.
    scope: Decimal,
}

/// The mean day of the whole days of a span, apart from what another span does not read.
fn mean_day(ledger: &Ledger, span: Span, other: Span) -> Option<MeanDay<'_>> {
    let reads: Vec<&DayRead> = ledger.whole_days(other).map(|(_, read)| read).collect();
    let days: Vec<_> = ledger.whole_days(span).map(|(day, _)| day).collect();
    let mut mean = MeanDay::default();
    for row in days.iter().flat_map(|day| ledger.rows_on(*day)) {
        let Some(effective) = ledger.amount(row.effective) else { continue };
        mean.total += effective;
        if reads.iter().any(|read| ledger.reads(read, row)) {
            mean.add(ledger, row, effective);
        } else {
            mean.scope += effective;
        }
    }
    mean.over(Decimal::from(days.len()))
}

impl<'a> MeanDay<'a> {
    fn add(&mut self, ledger: &Ledger, row: &'a WorkloadDay, effective: Decimal) {
        let hours = row.gpu_hours.filter(|hours| *hours > Decimal::ZERO);
        let (CostKind::Compute, Some(hours)) = (row.kind, hours) else {
            self.other += effective;
            return;
        };
        let key = (row.provider, row.region.as_str(), row.instance_type.as_str());
        let cell = self.cells.entry(key).or_default();
        cell.gpu_hours += hours;
        cell.effective += effective;
        match ledger.amount(row.list).filter(|list| *list > Decimal::ZERO) {
            Some(list) => cell.list += list,
            None => cell.is_unlisted = true,
        }
    }

    /// Of sums over so many days their mean.
    fn over(mut self, days: Decimal) -> Option<Self> {
        let mean = |sum: Decimal| sum.checked_div(days);
        for cell in self.cells.values_mut() {
            cell.gpu_hours = mean(cell.gpu_hours)?;
            cell.effective = mean(cell.effective)?;
            cell.list = mean(cell.list)?;
        }
        self.total = mean(self.total)?;
        self.other = mean(self.other)?;
        self.scope = mean(self.scope)?;
        Some(self)
    }

    fn sums(&self) -> (Decimal, Decimal) {
        self.cells.values().fold((Decimal::ZERO, Decimal::ZERO), |(hours, spend), cell| {
            (hours + cell.gpu_hours, spend + cell.effective)
        })
    }
}

/// Usage, mix, price and rate of compute; the rest is left at zero.
fn compute_parts(left: &MeanDay<'_>, right: &MeanDay<'_>) -> Option<[Decimal; 6]> {
    use ChangePart::{Mix, Price, Rate, Usage};
    let ((hours_before, spend_before), (hours_after, spend_after)) = (left.sums(), right.sums());
    let mut parts = [Decimal::ZERO; 6];
    if hours_before.is_zero() {
        parts[Usage as usize] = spend_after;
        return Some(parts);
    }
    // What the earlier mix would cost with the later hours.
    let scaled = |amount: Decimal| share(amount, hours_after, hours_before);
    parts[Usage as usize] = scaled(spend_before)? - spend_before;
    let keys: BTreeSet<&CellKey<'_>> = left.cells.keys().chain(right.cells.keys()).collect();
    for key in keys {
        match (left.cells.get(key), right.cells.get(key)) {
            (Some(old), None) => parts[Mix as usize] -= scaled(old.effective)?,
            (None, Some(new)) => parts[Mix as usize] += new.effective,
            (Some(old), Some(new)) => {
                let at_old_cost = share(old.effective, new.gpu_hours, old.gpu_hours)?;
                parts[Mix as usize] += at_old_cost - scaled(old.effective)?;
                if old.is_unlisted || new.is_unlisted {
                    parts[Rate as usize] += new.effective - at_old_cost;
                    continue;
                }
                let discounted = share(new.list, old.effective, old.list)?;
                parts[Price as usize] += discounted - at_old_cost;
                parts[Rate as usize] += new.effective - discounted;
            }
            (None, None) => {}
        }
    }
    Some(parts)
}
