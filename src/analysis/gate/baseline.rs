//! What an earlier audit knew, so that only what is new or worse fails.

use super::Scope;
use crate::analysis::{PastAudit, PastFinding};
use crate::domain::{Classification, Currency, Money, Signal};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// An earlier audit, as far as a gate compares with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    /// The file, as the user named it.
    pub file: String,
    /// The currency of its sums; absent when that is not one that is known.
    pub currency: Option<Currency>,
    /// What acting on each finding would have saved per month, by the finding's
    /// id; absent where that was not known.
    pub findings: BTreeMap<String, Option<Decimal>>,
    /// Its workloads, by id.
    pub workloads: BTreeMap<String, PastWorkload>,
    /// Savings per month that were certain; absent when nothing was priced.
    pub monthly_waste: Option<Decimal>,
    /// What everything cost per month; absent when nothing was priced.
    pub monthly_cost: Option<Decimal>,
}

/// A workload of an earlier audit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastWorkload {
    /// The account.
    pub account: String,
    /// The region.
    pub region: String,
    /// Whether it ran.
    pub running: bool,
    /// How many instances it had.
    pub instances: u64,
    /// Tags that all of them shared.
    pub tags: BTreeMap<String, String>,
    /// Per month; absent when it was unpriced.
    pub monthly_cost: Option<Decimal>,
    /// Mean GPU utilization, percent; absent when it was not measured.
    pub mean_percent: Option<f64>,
    /// Whether too little was measured for a verdict.
    pub insufficient_data: bool,
}

impl Baseline {
    /// What a gate compares with, of an audit that `file` holds.
    pub fn of(file: String, past: &PastAudit) -> Self {
        let amount = |money: Option<Money>| money.map(Money::amount);
        let finding = |one: &PastFinding| (one.id.clone(), amount(one.monthly_savings));
        Self {
            file,
            currency: Some(past.totals.currency),
            findings: past.findings.iter().map(finding).collect(),
            workloads: past
                .workloads
                .iter()
                .map(|one| (one.id.clone(), PastWorkload::of(one)))
                .collect(),
            monthly_waste: amount(past.totals.monthly_waste),
            monthly_cost: amount(past.totals.monthly_cost),
        }
    }
}

impl PastWorkload {
    fn of(past: &crate::analysis::PastWorkload) -> Self {
        let by_gpu = past.signal.as_deref() == Some(Signal::GpuUtilization.name());
        Self {
            account: past.account.clone(),
            region: past.region.clone(),
            running: past.running,
            instances: past.instances.len() as u64,
            tags: past.tags.clone(),
            monthly_cost: past.monthly_cost.map(Money::amount),
            mean_percent: past.mean_percent.filter(|_| by_gpu),
            insufficient_data: past.classification == Classification::InsufficientData.name(),
        }
    }
}

/// How a violation stands to an earlier audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// It was not there, or there is no earlier audit.
    New,
    /// It was there and is no worse now.
    Known,
    /// It was there and is worse now.
    Worse,
}

/// Figures of two windows of the same estate differ by so much without anything
/// having happened, as a share of the earlier one.
const NOISE: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// The same for percentages, in points.
const NOISE_POINTS: f64 = 1.0;

impl Past {
    /// An amount that was over a limit then and is now: worse when it grew by
    /// more than noise. Absent figures of then do not excuse a figure of now.
    pub(super) fn of_amounts(then: Option<Decimal>, now: Option<Decimal>) -> Self {
        match (then, now) {
            (_, None) => Self::Known,
            (None, Some(_)) => Self::Worse,
            (Some(then), Some(now)) if now - then > then * NOISE => Self::Worse,
            _ => Self::Known,
        }
    }

    /// A percentage that was under a floor then and is now.
    pub(super) fn of_falling_percent(then: f64, now: f64) -> Self {
        if now < then - NOISE_POINTS {
            Self::Worse
        } else {
            Self::Known
        }
    }

    /// A percentage that was over a limit then and is now.
    pub(super) fn of_rising_percent(then: f64, now: f64) -> Self {
        Self::of_falling_percent(-then, -now)
    }
}

impl Baseline {
    /// What a scope cost per month in a currency, unpriced workloads left out.
    pub(super) fn cost_of(&self, scope: &Scope, currency: Currency) -> Decimal {
        self.workloads
            .values()
            .filter(|past| scope.holds(&past.account, &past.region, &past.tags))
            .filter(|past| Currency::of_region(&past.region) == currency)
            .filter_map(|past| past.monthly_cost)
            .sum()
    }

    /// The share of running instances that had enough metrics, percent; absent
    /// when none ran.
    pub(super) fn coverage_percent(&self) -> Option<f64> {
        let running = || self.workloads.values().filter(|past| past.running);
        let total: u64 = running().map(|past| past.instances).sum();
        let judged: u64 = running()
            .filter(|past| !past.insufficient_data)
            .map(|past| past.instances)
            .sum();
        (total > 0).then(|| judged as f64 / total as f64 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Option<Decimal> {
        Some(text.parse().expect("a decimal"))
    }

    #[test]
    fn worse_is_more_than_a_hundredth_more() {
        assert_eq!(Past::of_amounts(amount("100"), amount("101")), Past::Known);
        assert_eq!(
            Past::of_amounts(amount("100"), amount("101.01")),
            Past::Worse
        );
        assert_eq!(Past::of_amounts(amount("100"), amount("40")), Past::Known);
        assert_eq!(Past::of_amounts(amount("0"), amount("0.01")), Past::Worse);
        assert_eq!(Past::of_amounts(None, amount("1")), Past::Worse);
        assert_eq!(Past::of_amounts(None, None), Past::Known);
        assert_eq!(Past::of_amounts(amount("5"), None), Past::Known);
    }

    #[test]
    fn percentages_move_by_a_point_before_they_count() {
        assert_eq!(Past::of_falling_percent(20.0, 19.0), Past::Known);
        assert_eq!(Past::of_falling_percent(20.0, 18.9), Past::Worse);
        assert_eq!(Past::of_falling_percent(20.0, 30.0), Past::Known);
        assert_eq!(Past::of_rising_percent(10.0, 11.1), Past::Worse);
        assert_eq!(Past::of_rising_percent(10.0, 9.0), Past::Known);
    }
}
