//! How fast a fleet grows, for commitments.

use super::dates::Span;
use super::ledger::Ledger;
use crate::domain::{CostKind, PurchaseOption};
use rust_decimal::Decimal;

/// The growth of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthlyGrowth {
    /// A share such as 0.03, to four decimals.
    pub share: Decimal,
    pub before: Span,
    pub after: Span,
}

/// Days of a month.
const MONTH_DAYS: u32 = 30;
/// Whole days that each of the two months must have.
const LEAST_DAYS: usize = 20;

/// GPU hours of a mean whole day of the last thirty days, over those of the thirty days before
/// them, less one: of the hours that a commitment may cover. `None` where one of the months
/// has fewer than twenty whole days, and where nothing ran in the first.
pub fn monthly_growth(ledger: &Ledger) -> Option<MonthlyGrowth> {
    let after = Span::ending(ledger.last_whole_day()?, MONTH_DAYS);
    let before = after.before();
    let share = mean_day(ledger, after)?.checked_div(mean_day(ledger, before)?)?;
    Some(MonthlyGrowth { share: (share - Decimal::ONE).round_dp(4), before, after })
}

fn mean_day(ledger: &Ledger, span: Span) -> Option<Decimal> {
    let days: Vec<_> = ledger.whole_days(span).map(|(day, _)| day).collect();
    if days.len() < LEAST_DAYS {
        return None;
    }
    let rows = days.iter().flat_map(|day| ledger.rows_on(*day));
    let eligible = rows.filter(|row| {
        row.kind == CostKind::Compute
            && matches!(
                row.option,
                PurchaseOption::OnDemand | PurchaseOption::Reserved | PurchaseOption::SavingsPlan
            )
    });
    let sum: Decimal = eligible.filter_map(|row| row.gpu_hours).sum();
    sum.checked_div(Decimal::from(days.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WorkloadDay;
    use crate::trend::lab::{day, decimal, ledger, paid, row};

    fn grown(nights: i64) -> Vec<WorkloadDay> {
        let hours = |number: i64| if number < nights - 30 { "40" } else { "42" };
        (0..nights).map(|number| row(number, "a", hours(number), "40")).collect()
    }

    #[test]
    fn two_more_hours_of_forty_are_five_percent() {
        let growth = monthly_growth(&ledger(60, grown(60))).expect("two months");
        assert_eq!(growth.share, decimal("0.05"));
        assert_eq!((growth.before.first, growth.after.last), (day(0), day(59)));
        // Spot is not committed to.
        let mut rows = grown(60);
        rows.extend((30..60).map(|number| paid(row(number, "s", "99", "9"), PurchaseOption::Spot)));
        let growth = monthly_growth(&ledger(60, rows)).expect("two months");
        assert_eq!(growth.share, decimal("0.05"));
    }

    #[test]
    fn a_short_history_has_no_growth() {
        assert!(monthly_growth(&ledger(49, grown(49))).is_none());
        assert!(monthly_growth(&ledger(50, grown(50))).is_some());
        assert!(monthly_growth(&ledger(60, Vec::new())).is_none());
    }
}
