//! Flags that choose a plan.

use super::choices::flags;
use super::exit::{Outcome, refusal};
use super::numbers::above_zero;
use crate::analysis::{Audit, audit_to_choose};
use crate::domain::{Policy, Risk};
use crate::usage::Estate;
use clap::ValueEnum;
use rust_decimal::Decimal;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RiskChoice {
    /// Stop, release, and right-size to the same GPU model
    Low,
    /// Low, plus other GPU models, MIG slices, spot and one-year commitments
    Medium,
    /// All actions
    High,
}

flags! {
    /// How much risk a plan takes, and how much it is to save.
    pub(super) struct PlanArgs {
        /// Maximum risk level of the plan [default: medium]
        risk: Option<RiskChoice> = arg(long, value_enum);
        /// Plan only the least risky actions that save this percentage of the cost, such as `40%`
        target: Option<Decimal> = arg(long, value_name = "PERCENT", value_parser = percent);
    }
}

impl PlanArgs {
    /// The audit whose plan saves the target, where one is given; the rest as it comes.
    pub(super) fn aimed(&self, estate: &Estate, by: (&Policy, Risk)) -> Outcome<Option<Audit>> {
        let Some(target) = self.target else { return Ok(None) };
        let (mut audit, choices) = audit_to_choose(estate, by.0, by.1);
        audit.aim(&choices, target);
        if audit.target.is_none() && !audit.workloads.is_empty() {
            return Err(refusal!(
                "no workload has a price, so `--target` has no cost to save a percentage of";
                "run without `--target`; its data gaps name the missing prices"));
        }
        Ok(Some(audit))
    }

    /// The target in words of a command line; none without it.
    pub(super) fn target_words(&self) -> Option<String> {
        self.target.map(|percent| format!("--target={percent}%"))
    }
}

fn percent(text: &str) -> Result<Decimal, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let expected = "expected a percentage above 0 and up to 100, such as 40%";
    above_zero(number, Decimal::ONE_HUNDRED, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_percentage_with_or_without_its_sign() {
        assert_eq!(percent("40%"), Ok(Decimal::from(40)));
        assert_eq!(percent("12.5"), Ok(Decimal::new(125, 1)));
        for bad in ["0", "-1%", "100.1%", "%", "40%%", "much"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
