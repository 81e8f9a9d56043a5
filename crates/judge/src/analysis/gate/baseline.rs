//! What an earlier audit knew, so that only what is new or worse fails.

use super::report::MissingData;
use super::{BaselineState, Scope};
use crate::analysis::diff::differences_of_scope;
use crate::analysis::{Audit, CommonScope};
use crate::domain::{
    Classification, Currency, GapSubject, Money, PastAudit, PastGap, PastUnused, PastWorkload,
    Signal,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// An earlier audit, as far as a gate compares with it: what of it is in the scope
/// of the audit that is judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    /// The file, as the user named it.
    pub file: String,
    /// What makes it hard to compare with, in words.
    pub cautions: Vec<String>,
    /// What acting on each finding would have saved per month, by the finding's
    /// id; absent where that was not known.
    pub findings: BTreeMap<String, Option<Money>>,
    /// Its workloads, by id.
    pub workloads: BTreeMap<String, PastWorkload>,
    /// What it paid for that nothing used.
    pub unused: Vec<PastUnused>,
    /// What it could not see, and where.
    pub gaps: BTreeMap<(GapSubject, String), Vec<PastGap>>,
    /// Workloads and reservations of which there is more now, or that are of another type.
    pub growth: BTreeSet<String>,
    /// Savings per month that were certain; absent when nothing was priced, and
    /// when that of this scope is not known.
    pub monthly_waste: Option<Money>,
    /// What everything cost per month; absent when nothing was priced.
    pub monthly_cost: Option<Money>,
    /// Whether its sums are of the same accounts and regions, everything priced
    /// then and now.
    pub has_same_sums: bool,
}

impl Baseline {
    /// What an audit is compared with, of an earlier one that `file` holds. What of
    /// that is outside the accounts and regions of now is left out, so that it
    /// excuses nothing.
    ///
    /// # Errors
    /// In words, when the two have no account, no region or no currency in common, or
    /// selected their instances by different tags.
    pub fn of(file: String, past: &PastAudit, audit: &Audit) -> Result<Self, String> {
        let now = audit.past();
        let common = CommonScope::of(past, &now)?;
        let (then, today) = (common.part_of(past), &now.totals);
        if then.totals.currency != today.currency
            && then.totals.monthly_cost.is_some()
            && today.monthly_cost.is_some()
        {
            return Err(format!(
                "its sums are in {} and the sums of this audit in {}",
                then.totals.currency, today.currency
            ));
        }
        let workloads = then.workloads.iter();
        let mut gaps: BTreeMap<_, Vec<PastGap>> = BTreeMap::new();
        for gap in &past.gaps {
            gaps.entry((gap.what.clone(), gap.place.clone())).or_default().push(gap.clone());
        }
        let findings = then.findings.iter();
        let findings = findings.map(|finding| (finding.id.clone(), finding.monthly_savings));
        Ok(Self {
            cautions: differences_of_scope(&then, &common.part_of(&now)),
            findings: findings.collect(),
            workloads: workloads.map(|workload| (workload.id.clone(), workload.clone())).collect(),
            unused: then.unused.clone(),
            gaps,
            growth: growth(&then, &now),
            monthly_waste: then.totals.monthly_waste,
            monthly_cost: then.totals.monthly_cost,
            has_same_sums: common.is_same()
                && [&past.totals, today].iter().all(|sums| sums.unpriced_instances == 0),
            file,
        })
    }

    /// Whether the earlier audit could not see it either, and no less of it: what has no price
    /// is the same, and what was not seen is no larger.
    pub(super) fn lacked(&self, missing: &MissingData) -> bool {
        let is_same = |gap: &PastGap| match (&gap.what, gap.cause) {
            (&GapSubject::Price | &GapSubject::StoragePrice, _) => {
                gap.reason.is_empty() || words_of(&gap.reason) == words_of(&missing.reason)
            }
            (_, Some(cause)) => {
                let unseen = |reason| cause.unseen_in(words_of(reason));
                unseen(&missing.reason) <= unseen(&gap.reason)
            }
            _ => true,
        };
        let gaps = self.gaps.get(&(missing.what.clone(), missing.place.clone()));
        !self.growth.contains(&missing.place) && gaps.is_some_and(|gaps| gaps.iter().any(is_same))
    }
}

/// The reason of a gap without the rules that it silences.
fn words_of(reason: &str) -> &str {
    reason.split_once("; silent: ").map_or(reason, |(words, _)| words)
}

fn growth(then: &PastAudit, now: &PastAudit) -> BTreeSet<String> {
    let earlier: BTreeMap<_, _> =
        then.workloads.iter().map(|workload| (&workload.id, workload)).collect();
    let workloads = now.workloads.iter().filter(|workload| {
        earlier.get(&workload.id).is_some_and(|earlier| {
            workload.instances.len() > earlier.instances.len()
                || workload.instance_type != earlier.instance_type
        })
    });
    // A name has how many of a type there are: fewer are no growth, and a price tells by itself.
    let type_of = |row: &PastUnused| row.name.split_once(" × ").map(|(_, name)| name.to_owned());
    let earlier: BTreeMap<_, _> = then.unused.iter().map(|row| (&row.id, row)).collect();
    let unused = now.unused.iter().filter(|row| {
        earlier.get(&row.id).is_some_and(|earlier| {
            let is_unpriced = row.monthly_cost.or(earlier.monthly_cost).is_none();
            type_of(earlier) != type_of(row) || (is_unpriced && earlier.name != row.name)
        })
    });
    workloads.map(|workload| workload.id.clone()).chain(unused.map(|row| row.id.clone())).collect()
}

/// Mean GPU utilization, percent; absent when it was not measured.
pub(super) fn mean_percent(past: &PastWorkload) -> Option<f64> {
    let by_gpu = past.signal.as_deref() == Some(Signal::GpuUtilization.name());
    past.mean_percent.filter(|_| by_gpu)
}

impl BaselineState {
    /// An amount over a limit now. When it was over the limit then, it is worse when it grew; when
    /// it was not, or that is not known, it is new.
    pub(super) fn over(limit: Decimal, then: Option<Decimal>, now: Decimal) -> Self {
        match then.filter(|then| *then > limit) {
            Some(then) => Self::of_amounts(Some(then), Some(now)),
            None => Self::New,
        }
    }

    /// An amount that was there then and is now: worse when it grew by a cent, which is what a
    /// report states. Whoever moves the baseline on every night would accept a share of growth
    /// that is allowed once every night again, so that none is. Absent figures of then do not
    /// excuse a figure of now.
    pub(super) fn of_amounts(then: Option<Decimal>, now: Option<Decimal>) -> Self {
        let cents = |amount: Decimal| amount.round_dp(2);
        match (then, now) {
            (_, None) => Self::Known,
            (None, Some(_)) => Self::Worse,
            (Some(then), Some(now)) if cents(now) > cents(then) => Self::Worse,
            _ => Self::Known,
        }
    }

    /// A percentage that was under a floor then and is now. Two windows of the same estate
    /// differ by parts of a point, and whole points do not add up when the baseline moves on:
    /// what is accepted never has a smaller number of them.
    pub(super) fn of_falling_percent(then: f64, now: f64) -> Self {
        if as_in_reports(now) < as_in_reports(then).floor() { Self::Worse } else { Self::Known }
    }

    /// A percentage that was over a limit then and is now.
    pub(super) fn of_rising_percent(then: f64, now: f64) -> Self {
        Self::of_falling_percent(-then, -now)
    }
}

/// A percentage as a report states it, with four decimals.
fn as_in_reports(percent: f64) -> f64 {
    (percent * 10_000.0).round() / 10_000.0
}

impl Baseline {
    /// What a scope cost per month in a currency, unpriced workloads left out;
    /// absent when nothing of it was priced.
    pub(super) fn cost_of(&self, scope: &Scope, currency: Currency) -> Option<Money> {
        let workloads = self.workloads.values();
        let workloads = workloads.filter(|past| Currency::of_region(&past.region) == currency);
        let workloads = workloads.flat_map(|past| {
            let whole = scope.holds(&past.account, &past.region, &past.tags);
            let members = past.tagged_members.iter();
            let members = members
                .filter(move |own| !whole && scope.holds(&past.account, &past.region, &own.tags));
            let whole = past.monthly_cost.filter(|_| whole);
            whole.into_iter().chain(members.filter_map(|own| own.monthly_cost))
        });
        let unused = self.unused.iter().filter(|past| {
            let tag = |key: &str| past.tags.get(key).map(String::as_str);
            scope.holds_tagged(past.account.as_deref(), past.region.as_deref(), tag)
        });
        let unused =
            unused.filter_map(|past| past.monthly_cost).filter(|cost| cost.currency() == currency);
        let sum = workloads.chain(unused).map(Money::amount).reduce(|sum, cost| sum + cost);
        sum.map(|sum| Money::new(sum, currency))
    }

    /// The share of running instances that had enough metrics, percent; absent
    /// when none ran.
    pub(super) fn coverage_percent(&self) -> Option<f64> {
        let running = || self.workloads.values().filter(|past| past.running);
        let total: usize = running().map(|past| past.instances.len()).sum();
        let unjudged = Classification::InsufficientData.name();
        let judged = running().filter(|past| past.classification != unjudged);
        let judged: usize = judged.map(|past| past.instances.len()).sum();
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
    fn worse_is_more_than_what_rounding_hides() {
        let past = |then, now| BaselineState::of_amounts(amount(then), amount(now));
        assert_eq!(past("100", "100.004"), BaselineState::Known);
        assert_eq!(past("100", "100.01"), BaselineState::Worse);
        assert_eq!(past("100", "101"), BaselineState::Worse);
        assert_eq!(past("100", "40"), BaselineState::Known);
        assert_eq!(past("0", "0.01"), BaselineState::Worse);
        assert_eq!(BaselineState::of_amounts(None, amount("1")), BaselineState::Worse);
        assert_eq!(BaselineState::of_amounts(None, None), BaselineState::Known);
        assert_eq!(BaselineState::of_amounts(amount("5"), None), BaselineState::Known);
        let [limit, then, now] = ["10", "30", "30.01"].map(|text| amount(text).expect("some"));
        assert_eq!(BaselineState::over(limit, Some(then), then), BaselineState::Known);
        assert_eq!(BaselineState::over(limit, Some(then), now), BaselineState::Worse);
    }

    #[test]
    fn no_night_accepts_what_grows_by_less_than_a_hundredth() {
        // 14,744 × 1.0099 is 14,889.97, and with that every night 29,096 after 69 of them:
        // ln(29,096 ÷ 14,744) ÷ ln(1.0099) = 0.6798 ÷ 0.00985 = 69.
        let growth: Decimal = "1.0099".parse().expect("a decimal");
        let mut accepted: Decimal = "14744".parse().expect("a decimal");
        let first = accepted;
        let mut today = first;
        for _ in 0..70 {
            today = (today * growth).round_dp(2);
            if BaselineState::of_amounts(Some(accepted), Some(today)) == BaselineState::Known {
                accepted = today;
            }
        }
        assert_eq!(accepted, first);
        assert!(today > Decimal::from(29_000));
    }

    #[test]
    fn percentages_move_within_a_point_however_many_nights_there_are() {
        assert_eq!(BaselineState::of_falling_percent(20.9, 20.0), BaselineState::Known);
        assert_eq!(BaselineState::of_falling_percent(20.9, 19.9), BaselineState::Worse);
        assert_eq!(BaselineState::of_falling_percent(20.0, 30.0), BaselineState::Known);
        assert_eq!(BaselineState::of_rising_percent(10.1, 11.0), BaselineState::Known);
        assert_eq!(BaselineState::of_rising_percent(10.1, 11.1), BaselineState::Worse);
        assert_eq!(BaselineState::of_rising_percent(10.0, 9.0), BaselineState::Known);
        // The report of 19.99996 says 20.
        assert_eq!(BaselineState::of_falling_percent(20.0, 19.999_96), BaselineState::Known);
        // From 20.9 down by 0.4 every night: 20.5 and 20.1 are accepted, 19.7 never is.
        let mut accepted = 20.9;
        for night in 1..70 {
            let today = 20.9 - 0.4 * f64::from(night);
            if BaselineState::of_falling_percent(accepted, today) == BaselineState::Known {
                accepted = today;
            }
        }
        assert!((accepted - 20.1).abs() < 1e-9, "{accepted}");
    }
}
