//! What is paid for and does not run: room in capacity reservations, and the parts of
//! reserved instances and savings plans that are not used.

use super::{CommitmentUse, Coverage, Room};
use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, HOUR_SECONDS, Money, Policy, PriceKey, PriceQuote, Risk, counted,
};
use crate::usage::Estate;
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The kind of unused room that is billed by the hour.
pub const CAPACITY_RESERVATION: &str = "capacity-reservation";

/// What is unused of one commitment: a row of its own beside the workloads.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusedCommitment {
    pub id: String,
    /// What it is: `capacity-reservation`, `capacity-block`, or the name of its kind.
    pub kind: &'static str,
    /// The account that it belongs to; absent where that is not known.
    pub account: Option<String>,
    /// In words, such as `1.5 of 4 × p5.48xlarge in us-east-1a`.
    pub name: String,
    /// The region; absent for what holds everywhere.
    pub region: Option<String>,
    /// The type that it is for; absent for what holds for several.
    pub instance_type: Option<String>,
    /// The tags of a capacity reservation; commitments are nobody's by tag.
    pub tags: BTreeMap<String, String>,
    /// Per month, in cents; absent when it is unpriced.
    pub monthly_cost: Option<Money>,
    /// Lowering a reservation, where that is allowed and saves anything.
    pub actions: Vec<Action>,
    /// Until when it is paid; absent for a reservation that can be lowered.
    pub committed_until: Option<Timestamp>,
    /// Its arithmetic.
    pub detail: String,
    /// Instances that there was room for, on average; absent for what is not room.
    pub mean_room: Option<Decimal>,
    /// Hours of the window that it is paid for: of room those since it began.
    pub hours: Decimal,
    /// Whether others use the reservation too, so that only its room of now is known.
    pub is_shared: bool,
}

impl UnusedCommitment {
    /// Per month after the plan; absent when it is unpriced.
    pub fn planned_monthly_cost(&self) -> Option<Money> {
        let cost = self.monthly_cost?;
        self.actions
            .iter()
            .try_fold(cost, |rest, action| rest.checked_sub(action.monthly_savings()).ok())
    }
}

/// What the unused parts of commitments are computed by.
pub struct Unused<'a> {
    pub coverage: &'a Coverage,
    /// Whose they are.
    pub estate: &'a Estate,
    /// Prices of what would fill unused room.
    pub prices: &'a Prices<'a>,
    /// Hours in a month.
    pub policy: &'a Policy,
}

impl Unused<'_> {
    /// Every row, reservations first, with the prices behind their figures.
    pub fn rows(&self) -> (Vec<UnusedCommitment>, Vec<(PriceKey, PriceQuote)>) {
        let mut quotes = Vec::new();
        let rooms = self.coverage.rooms.iter();
        let mut rows: Vec<UnusedCommitment> = rooms
            .filter_map(|room| {
                let (row, quote) = self.unused_room(room)?;
                quotes.extend(quote);
                Some(row)
            })
            .collect();
        let commitments = self.coverage.commitments.iter();
        rows.extend(commitments.filter_map(|commitment| self.unused_fee(commitment)));
        (rows, quotes)
    }

    /// Whose a commitment is: where only one account was read, it is that one's.
    fn account(&self, owner: Option<&str>) -> Option<String> {
        let sole = match self.estate.accounts.as_slice() {
            [account] => Some(account.as_str()),
            _ => None,
        };
        let owner = owner.or(sole)?;
        (!owner.is_empty()).then(|| owner.to_owned())
    }

    /// Room that nothing runs in costs the rate of what would fill it, less what
    /// commitments pay of it. A Capacity Block is paid for ahead: what it cost is not known.
    fn unused_room(
        &self,
        room: &Room,
    ) -> Option<(UnusedCommitment, Option<(PriceKey, PriceQuote)>)> {
        let reservation = &room.reservation;
        let mean = room.mean();
        if mean.is_zero() {
            return None;
        }
        let is_block = reservation.capacity_block;
        let uncovered = self.coverage.uncovered_room(room);
        let quote = self.prices.find(&room.price_key()).ok().filter(|_| !is_block);
        let month = self.policy.hours_per_month;
        let amount = |rate: Decimal| rate * month * mean * uncovered;
        let monthly_cost = quote.as_ref().map(|(_, quote)| {
            let rate = quote.rate;
            Money::new(amount(rate.amount()), rate.currency()).rounded()
        });
        let can_be_lowered = !is_block && reservation.can_be_cancelled(self.estate.as_of);
        let free = mean.round_dp(2).normalize();
        let name = format!(
            "{free} of {} × {} in {}",
            reservation.total, reservation.instance_type, reservation.zone
        );
        let rate = quote.as_ref().map_or_else(
            || format!("no price for {}: unpriced", room.price_key()),
            |(_, quote)| quote.rate.to_string(),
        );
        let idle = format!(
            "{} on average over {} h",
            counted(mean.round_dp(6).normalize(), "unused instance", "unused instances"),
            room.hours
        );
        let share = if uncovered == Decimal::ONE {
            String::new()
        } else {
            format!(" × {} not covered by commitments", uncovered.round_dp(6).normalize())
        };
        let detail = if is_block {
            format!("{idle}; what was paid for the Capacity Block is not known")
        } else {
            format!("{idle} × {rate} × {} h{share}", month.normalize())
        };
        let action = monthly_cost.filter(|_| can_be_lowered).and_then(|cost| {
            let action = Action::saving(
                ActionKind::Release,
                None,
                format!("lower or cancel the capacity reservation {}: {detail}", reservation.id),
                cost,
                cost,
                Risk::Low,
            )?;
            // Of one that others use too only the room of now is known.
            let certain = if room.is_shared { Money::zero(cost.currency()) } else { cost };
            let caveat = "capacity of this type may not be available again".to_owned();
            Some(action.of_which_certain(certain).with_caveats(vec![caveat]))
        });
        let row = UnusedCommitment {
            id: reservation.id.clone(),
            kind: if is_block { "capacity-block" } else { CAPACITY_RESERVATION },
            account: self.account(reservation.account.as_deref()),
            name,
            region: Some(reservation.region.clone()),
            instance_type: Some(reservation.instance_type.clone()),
            tags: reservation.tags.clone(),
            monthly_cost,
            actions: action.into_iter().collect(),
            committed_until: if is_block {
                reservation.end
            } else {
                reservation.committed_until.filter(|_| !can_be_lowered)
            },
            detail,
            mean_room: Some(mean),
            hours: Decimal::from(room.hours),
            is_shared: room.is_shared,
        };
        Some((row, quote))
    }

    /// The fee of what is not used, with what the commitment pays for unused room:
    /// neither waste nor saved before it ends.
    fn unused_fee(&self, commitment: &CommitmentUse) -> Option<UnusedCommitment> {
        let (window, commitments) = (self.estate.window, &self.estate.commitments);
        if commitment.end <= self.estate.as_of {
            return None;
        }
        let unused = commitment.unused_monthly?;
        let room = self.coverage.room_monthly(&commitment.id, window, self.policy);
        let room = Money::new(room, unused.currency()).rounded();
        let cost = unused.checked_add(room).ok()?;
        if cost.amount().is_zero() {
            return None;
        }
        let mut detail = format!(
            "{} of its {} per month is unused",
            unused.amount(),
            commitment.monthly_cost.amount()
        );
        if !room.amount().is_zero() {
            detail.push_str(&format!(", {} covers unused capacity reservations", room.amount()));
        }
        let reserved = commitments.reserved_instances.iter().find(|own| own.id == commitment.id);
        let plan = commitments.savings_plans.iter().find(|own| own.id == commitment.id);
        let owner = reserved.and_then(|own| own.account.as_deref());
        let owner = owner.or(plan.and_then(|own| own.account.as_deref()));
        if owner.is_some_and(|owner| commitments.skips(owner)) {
            return None;
        }
        Some(UnusedCommitment {
            id: commitment.id.clone(),
            kind: commitment.kind.name(),
            account: self.account(owner),
            name: commitment.name.clone(),
            region: reserved.map(|own| own.region.clone()).or_else(|| plan?.region.clone()),
            instance_type: reserved.map(|own| own.instance_type.clone()),
            tags: BTreeMap::new(),
            monthly_cost: Some(cost),
            actions: Vec::new(),
            committed_until: Some(commitment.end),
            detail,
            mean_room: None,
            hours: Decimal::from(window.seconds()) / Decimal::from(HOUR_SECONDS),
            is_shared: false,
        })
    }
}
