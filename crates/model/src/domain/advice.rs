//! What to do about a workload.

use super::Money;
use super::named::named_enum;
use std::fmt;

named_enum! {
    /// A kind of action, in the order in which a plan considers them.
    ActionKind {
        /// Stop or terminate: nothing uses it.
        Stop = "stop",
        /// Release storage and addresses that nothing runs on.
        Release = "release",
        /// Run only in the hours that are used.
        Schedule = "schedule",
        /// Move to another type or fewer instances.
        Rightsize = "rightsize",
        /// Put several workloads on one GPU.
        Share = "share",
        /// Buy on the spot market.
        Spot = "spot",
        /// Buy ahead: reserved instances or a savings plan.
        Commit = "commit",
    }
}

impl ActionKind {
    /// The stage in which a plan is carried out: what is certain first, promises last.
    pub fn stage(self) -> u8 {
        match self {
            Self::Stop | Self::Release => 0,
            Self::Schedule => 1,
            Self::Rightsize | Self::Share => 2,
            Self::Spot => 3,
            Self::Commit => 4,
        }
    }
}

named_enum! {
    /// How much risk an action carries, or a user accepts.
    Risk {
        /// Reversible and within the same GPU model.
        Low = "low",
        /// Needs a test or a purchase of one year.
        Medium = "medium",
        /// Needs a port or a purchase of three years.
        High = "high",
    }
}

/// Where an action leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub instance_type: String,
    pub count: u32,
}

impl fmt::Display for Target {
    /// Such as `2 × g6.xlarge`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.count, self.instance_type)
    }
}

/// One action on one workload. Its saving is between zero and the workload's
/// cost by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    kind: ActionKind,
    target: Option<Target>,
    detail: String,
    monthly_savings: Money,
    certain: Money,
    lost_work: Option<Money>,
    snapshots: Option<Money>,
    risk: Risk,
    caveats: Vec<String>,
}

impl Action {
    /// An action that saves money: `None` unless the saving, rounded to cents,
    /// is positive, in the currency of the cost and not above it.
    pub fn saving(
        kind: ActionKind,
        target: Option<Target>,
        detail: impl Into<String>,
        monthly_savings: Money,
        monthly_cost: Money,
        risk: Risk,
    ) -> Option<Self> {
        let monthly_savings = monthly_savings.rounded();
        let within_cost = monthly_savings.currency() == monthly_cost.currency()
            && monthly_savings.amount() > rust_decimal::Decimal::ZERO
            && monthly_savings.amount() <= monthly_cost.amount();
        within_cost.then(|| Self {
            kind,
            target,
            detail: detail.into(),
            monthly_savings,
            certain: Money::zero(monthly_savings.currency()),
            lost_work: None,
            snapshots: None,
            risk,
            caveats: Vec::new(),
        })
    }

    /// The same with more to do in the same step.
    #[must_use]
    pub fn and_also(mut self, words: &str) -> Self {
        self.detail.push_str("; ");
        self.detail.push_str(words);
        self
    }

    /// The same at another risk.
    #[must_use]
    pub fn at(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }

    /// The same with another saving of at most as much: what is certain of it shrinks alike.
    #[must_use]
    pub fn saving_instead(mut self, monthly_savings: Money) -> Self {
        let (before, saving) = (self.monthly_savings.amount(), monthly_savings.rounded());
        let certain = self.certain.amount() * saving.amount();
        let certain = certain.checked_div(before).unwrap_or_default();
        self.monthly_savings = saving;
        self.of_which_certain(Money::new(certain, saving.currency()))
    }

    /// The same with how much of its saving is certain to come: money that ends for
    /// nothing. At most the saving.
    #[must_use]
    pub fn of_which_certain(mut self, certain: Money) -> Self {
        if certain.currency() == self.monthly_savings.currency() {
            let most = self.monthly_savings.amount();
            let amount = certain.rounded().amount().min(most);
            self.certain = Money::new(amount, certain.currency());
        }
        self
    }

    /// The same with what would stop an engineer who knows the system, the gravest
    /// first.
    #[must_use]
    pub fn with_caveats(mut self, caveats: Vec<String>) -> Self {
        self.caveats = caveats;
        self
    }

    /// The same with the most that snapshots of released volumes cost per month.
    #[must_use]
    pub fn leaving_snapshots(mut self, most: Option<Money>) -> Self {
        self.snapshots = most.map(Money::rounded);
        self
    }

    /// Tells what it sets aside per month for work that is lost and done again.
    pub fn set_aside(&mut self, lost_work: Money) {
        self.lost_work = Some(lost_work.rounded());
    }

    pub fn kind(&self) -> ActionKind {
        self.kind
    }

    /// Where it leads, when it changes type or count.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// The action in words, with its arithmetic.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Saved per month, in whole cents.
    pub fn monthly_savings(&self) -> Money {
        self.monthly_savings
    }

    /// What of the saving is certain to come, in whole cents: waste. The rest is
    /// optimization.
    pub fn certain(&self) -> Money {
        self.certain
    }

    /// What would stop an engineer who knows the system, the gravest first.
    pub fn caveats(&self) -> &[String] {
        &self.caveats
    }

    /// What of the cost that it leaves per month is for work that interruptions
    /// lose, in whole cents: the saving is net of it, and no bill of the same hours
    /// shows it. Absent where nothing is interrupted.
    pub fn lost_work(&self) -> Option<Money> {
        self.lost_work
    }

    /// What of the cost that it leaves per month is for snapshots that keep all data of
    /// released volumes, in whole cents: the saving is net of it, and no inventory shows
    /// it. Absent where no volume is released, and where their price is not known.
    pub fn snapshots(&self) -> Option<Money> {
        self.snapshots
    }

    pub fn risk(&self) -> Risk {
        self.risk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;
    use rust_decimal::Decimal;

    fn action(savings: i64, cost: i64) -> Option<Action> {
        let usd = |amount| Money::new(Decimal::from(amount), Currency::Usd);
        Action::saving(ActionKind::Stop, None, "", usd(savings), usd(cost), Risk::Low)
    }

    #[test]
    fn a_saving_is_positive_and_at_most_the_cost() {
        assert!(action(10, 10).is_some());
        assert!(action(0, 10).is_none());
        assert!(action(-5, 10).is_none());
        assert!(action(11, 10).is_none());
    }
}
