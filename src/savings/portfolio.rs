//! One plan: at most one action a workload, so that no dollar counts twice.

use super::{Commitment, Rightsizing, Scheduling, Sharing};
use crate::domain::{Action, Risk};

/// What could be done about one workload, each alternative on its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offers {
    /// Stop it.
    pub stop: Option<Action>,
    /// Release what stands while it is stopped.
    pub release: Option<Action>,
    /// Switch it off in the hours that it does not use.
    pub schedule: Option<Scheduling>,
    /// Move to a smaller type with the same GPU model.
    pub rightsize: Option<Rightsizing>,
    /// Put its tenants together on fewer cards.
    pub share: Option<Sharing>,
    /// Buy ahead.
    pub commit: Option<Commitment>,
}

impl Offers {
    fn actions(&self) -> impl Iterator<Item = &Action> {
        [
            self.stop.as_ref(),
            self.release.as_ref(),
            self.rightsize.as_ref().map(|found| &found.action),
            self.commit.as_ref().map(|found| &found.action),
        ]
        .into_iter()
        .flatten()
    }
}

/// The action that saves most within the accepted risk; among equals the one
/// that comes first in the order of [`crate::domain::ActionKind`].
pub fn best_single_action(offers: &Offers, accepted: Risk) -> Option<&Action> {
    offers
        .actions()
        .filter(|action| action.risk() <= accepted)
        .min_by(|left, right| {
            right
                .monthly_savings()
                .amount()
                .cmp(&left.monthly_savings().amount())
                .then(left.kind().cmp(&right.kind()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ActionKind, Currency, Money};
    use rust_decimal::Decimal;

    fn action(kind: ActionKind, savings: i64, risk: Risk) -> Action {
        let usd = |amount| Money::new(Decimal::from(amount), Currency::Usd);
        Action::saving(kind, None, "", usd(savings), usd(100), risk).expect("a saving")
    }

    #[test]
    fn the_largest_saving_within_the_risk_wins_alone() {
        let offers = Offers {
            release: Some(action(ActionKind::Release, 30, Risk::Low)),
            stop: Some(action(ActionKind::Stop, 50, Risk::Medium)),
            ..Offers::default()
        };
        let kind = |risk| best_single_action(&offers, risk).map(Action::kind);
        assert_eq!(kind(Risk::Low), Some(ActionKind::Release));
        assert_eq!(kind(Risk::Medium), Some(ActionKind::Stop));
    }

    #[test]
    fn among_equals_the_earlier_kind_wins() {
        let offers = Offers {
            release: Some(action(ActionKind::Release, 30, Risk::Low)),
            stop: Some(action(ActionKind::Stop, 30, Risk::Low)),
            ..Offers::default()
        };
        let kind = best_single_action(&offers, Risk::Low).map(Action::kind);
        assert_eq!(kind, Some(ActionKind::Stop));
    }

    #[test]
    fn nothing_offered_is_nothing_planned() {
        assert_eq!(best_single_action(&Offers::default(), Risk::High), None);
    }
}
