//! A bill by resource and hour, as it is kept: months and payers apart, because each is exported,
//! and changes, by itself.

use crate::domain::{BillLine, HOUR_SECONDS, HourSums, MonthlyBill, ResourceHour};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Rows that are held in memory: more than two gigabytes of them.
const MOST_ROWS: usize = 4_000_000;

/// Why a bill is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotStored {
    #[error("the bill has more than {MOST_ROWS} hours of resources")]
    TooLarge,
    #[error("the bill has lines that state neither a billing period nor a time: {0}")]
    Undated(u64),
}

/// Takes in the lines of a bill.
#[derive(Debug, Default)]
pub struct ResourceHours {
    bills: BTreeMap<(Date, String), BTreeMap<ResourceHour, HourSums>>,
    rows: usize,
    undated: u64,
}

impl ResourceHours {
    /// Takes in a line. Copies do not count. Breaks when there are more rows than are held in
    /// memory.
    pub fn add(&mut self, line: &BillLine) -> ControlFlow<()> {
        if !line.kind.counts() {
            return ControlFlow::Continue(());
        }
        let of_time =
            line.period.map(|period| period.start.to_zoned(TimeZone::UTC).date().first_of_month());
        let Some(month) = line.billing_month.or(of_time) else {
            self.undated += 1;
            return ControlFlow::Continue(());
        };
        let rows = self.bills.entry((month, line.payer.clone().unwrap_or_default())).or_default();
        let before = rows.len();
        let sums = rows.entry(key_of(line)).or_default();
        sums.lines += 1;
        sums.quantity.add(line.hours);
        let mut costs = line.costs;
        // As everywhere: list prices of fees and taxes compare with nothing.
        if !line.kind.is_usage() {
            (costs.list, costs.contracted) = (None, None);
        }
        sums.list.add(costs.list);
        sums.contracted.add(costs.contracted);
        sums.effective.add(costs.effective);
        sums.billed.add(costs.billed);
        self.rows += rows.len() - before;
        if self.rows > MOST_ROWS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The bill of each month and payer, in this order.
    ///
    /// # Errors
    /// When there are more rows than are held in memory, and when it is not known in which
    /// month a line is billed.
    pub fn finish(self) -> Result<Vec<MonthlyBill>, NotStored> {
        if self.rows > MOST_ROWS {
            return Err(NotStored::TooLarge);
        }
        if self.undated > 0 {
            return Err(NotStored::Undated(self.undated));
        }
        let bills = self.bills.into_iter();
        Ok(bills.map(|((month, payer), rows)| MonthlyBill { month, payer, rows }).collect())
    }
}

fn key_of(line: &BillLine) -> ResourceHour {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let start = line.period.map(|period| period.start.as_second());
    ResourceHour {
        account: text(&line.account),
        region: text(&line.region),
        resource: text(&line.resource),
        hour: start.map(|second| second - second.rem_euclid(HOUR_SECONDS)),
        kind: line.kind,
        purchase_option: line.purchase_option,
        instance_type: text(&line.instance_type),
        seconds: line.period.map(|period| period.seconds()),
        is_in_hours: line.hours.is_some(),
        currency: line.costs.currency,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{covered, on_demand, other, part_of};
    use super::*;
    use crate::domain::{LineKind, SharedPart};
    use rust_decimal::Decimal;

    fn decimal(text: &str) -> Option<Decimal> {
        Some(text.parse().expect("a decimal"))
    }

    fn kept(lines: impl IntoIterator<Item = BillLine>) -> Result<Vec<MonthlyBill>, NotStored> {
        let mut hours = ResourceHours::default();
        for line in lines {
            assert!(hours.add(&line).is_continue());
        }
        hours.finish()
    }

    #[test]
    fn lines_of_a_resource_and_an_hour_are_one_row() {
        let mut half = on_demand();
        half.hours = decimal("0.5");
        half.costs.effective = None;
        let copy = part_of("ranker-0", SharedPart::Accelerator, "3", "1");
        let tax = other(LineKind::Tax, "1.5", "1.5");
        let bills = kept([on_demand(), half, covered(), copy, tax]).expect("small");
        let [bill] = bills.as_slice() else {
            panic!("one month of one payer");
        };
        assert_eq!(bill.month, Date::constant(2026, 10, 1));
        assert_eq!(bill.payer, "111122223333");
        // Without the copy: the tax without a resource, and two instances.
        let counts: Vec<(&str, u64)> =
            bill.rows.iter().map(|(row, sums)| (row.resource.as_str(), sums.lines)).collect();
        assert_eq!(counts, [("", 1), ("i-0a", 2), ("i-0b", 1)]);
        let (row, sums) = bill.rows.iter().nth(1).expect("three rows");
        assert_eq!((row.seconds, row.is_in_hours), (Some(3_600), true));
        // 1 + 0.5 hours at 28.8 each line, of which one states no effective cost.
        assert_eq!(sums.quantity.sum, decimal("1.5"));
        assert_eq!(sums.billed.sum, decimal("57.6"));
        let effective = sums.effective;
        assert_eq!((effective.sum, effective.lines), (decimal("28.8"), 1));
    }

    #[test]
    fn payers_and_months_are_apart_and_a_month_is_known() {
        let (mut payer, mut month, mut timed) = (on_demand(), on_demand(), on_demand());
        payer.payer = Some("222233334444".to_owned());
        month.billing_month = Some(Date::constant(2026, 11, 1));
        timed.billing_month = None;
        let bills = kept([on_demand(), payer, month, timed.clone()]).expect("small");
        let figures: Vec<(i8, &str, usize)> = bills
            .iter()
            .map(|bill| (bill.month.month(), bill.payer.as_str(), bill.rows.len()))
            .collect();
        let first = "111122223333";
        assert_eq!(figures, [(10, first, 1), (10, "222233334444", 1), (11, first, 1)]);
        timed.period = None;
        assert_eq!(kept([timed]), Err(NotStored::Undated(1)));
    }
}
