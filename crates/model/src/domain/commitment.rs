//! What an account has already committed to: reserved instances, savings plans
//! and capacity reservations. An estate holds those that are active and those that are queued.

use super::named::named_enum;
use super::wire::{Amount, Maybe, Time};
use super::{
    CommitmentTerm, Currency, OperatingSystem, PaymentOption, PriceKey, PriceOption, Provider,
    Tenancy,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named_enum! {
    /// Whether a reserved instance can be exchanged for another.
    OfferingClass {
        /// It cannot.
        Standard = "standard",
        /// It can, for one of at least the same value.
        Convertible = "convertible",
    }
}

named_enum! {
    SavingsPlanKind {
        /// One family in one region.
        Ec2Instance = "ec2-instance",
        /// Any compute in any region, that of other services included.
        Compute = "compute",
        /// No EC2 instances: SageMaker's, or those of services that rent out no GPUs.
        Other = "other",
    }
}

/// Instances of one purchase: more is an error.
pub const MOST_COMMITTED: u32 = 1_000_000;

fn linux() -> OperatingSystem {
    OperatingSystem::Linux
}

fn shared() -> Tenancy {
    Tenancy::Shared
}

fn standard() -> OfferingClass {
    OfferingClass::Standard
}

fn usd() -> Currency {
    Currency::Usd
}

/// Reserved instances of one purchase: hours paid for, used or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "reserved instances as an object")]
pub struct ReservedInstances {
    /// Must be unique.
    pub id: String,
    /// The account that bought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub region: String,
    /// The zone that they apply to; absent if they apply to the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub instance_type: String,
    #[serde(default = "linux")]
    pub operating_system: OperatingSystem,
    #[serde(default = "shared")]
    pub tenancy: Tenancy,
    /// Number of instances.
    #[schemars(range(min = 1, max = MOST_COMMITTED))]
    pub count: u32,
    /// Whether it can be exchanged.
    #[serde(default = "standard")]
    pub class: OfferingClass,
    pub payment: PaymentOption,
    /// Start of the term.
    #[serde(with = "Time")]
    pub start: Timestamp,
    /// End of the term, exclusive.
    #[serde(with = "Time")]
    pub end: Timestamp,
    /// The currency of its amounts.
    #[serde(default = "usd")]
    pub currency: Currency,
    /// Paid at the start of the term, per instance.
    #[serde(default, with = "Amount")]
    pub upfront: Decimal,
    /// Paid every hour of the term, per instance.
    #[serde(default, with = "Amount")]
    pub recurring_hourly: Decimal,
}

impl ReservedInstances {
    /// Hours of the term to the whole hour: EC2 ends a year a second early.
    pub fn term_hours(&self) -> Decimal {
        let seconds = self.end.as_second() - self.start.as_second();
        (Decimal::from(seconds) / Decimal::from(3_600)).round().max(Decimal::ONE)
    }

    /// What an hour of one instance costs, used or not:
    /// `upfront / hours of the term + recurring_hourly`, unrounded.
    pub fn effective_hourly(&self) -> Decimal {
        self.upfront / self.term_hours() + self.recurring_hourly
    }
}

/// A savings plan: dollars an hour paid for, used or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "if" = {"properties": {"plan": {"const": "ec2-instance"}}},
    "then" = {
        "properties": {"region": {"type": "string"}, "family": {"type": "string"}},
        "allOf": [{"required": ["region", "family"]}],
    }
))]
#[serde(deny_unknown_fields, expecting = "a savings plan as an object")]
pub struct SavingsPlan {
    /// Must be unique.
    pub id: String,
    /// The account that bought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// `other` for plans that cover no instances.
    #[serde(rename = "plan")]
    pub kind: SavingsPlanKind,
    /// The region that it applies to, all of them if absent; required for an `ec2-instance` plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Such as p4d, all of them if absent; required for an `ec2-instance` plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// The currency of the commitment.
    #[serde(default = "usd")]
    pub currency: Currency,
    /// Committed per hour, at the plan's rates.
    #[serde(with = "Amount")]
    pub commitment_hourly: Decimal,
    pub term: CommitmentTerm,
    /// Start of the term.
    #[serde(with = "Time")]
    pub start: Timestamp,
    /// End of the term, exclusive.
    #[serde(with = "Time")]
    pub end: Timestamp,
}

/// A capacity reservation: capacity that is held, and billed, whether instances run in it or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a capacity reservation as an object")]
pub struct CapacityReservation {
    /// Must be unique.
    pub id: String,
    /// The account that bought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub region: String,
    pub zone: String,
    pub instance_type: String,
    #[serde(default = "linux")]
    pub operating_system: OperatingSystem,
    #[serde(default = "shared")]
    pub tenancy: Tenancy,
    /// Number of instances that it has capacity for.
    #[schemars(range(max = MOST_COMMITTED))]
    pub total: u32,
    /// Of these, the capacity that no instance uses.
    #[schemars(range(max = MOST_COMMITTED))]
    pub available: u32,
    /// Whether it is a Capacity Block, which is paid for in advance.
    #[serde(default)]
    pub capacity_block: bool,
    /// First time at which it holds capacity; before the window unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub start: Option<Timestamp>,
    /// Time until which it cannot be reduced or canceled; absent if it always can.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub committed_until: Option<Timestamp>,
    /// When it ends; absent if it must be canceled manually.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub end: Option<Timestamp>,
    /// Its tags: they decide whose its unused room is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// What one commitment is bought for: instances at one on-demand price, in all accounts
/// or in one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitmentPool {
    /// The on-demand price that it replaces.
    pub key: PriceKey,
    /// The account that has to buy it, whose hours alone it covers; absent where accounts
    /// share what they buy, and where the account is unknown.
    pub account: Option<String>,
}

impl CommitmentPool {
    /// The pool of accounts that share what they buy.
    pub fn shared(key: PriceKey) -> Self {
        Self { key, account: None }
    }

    /// The same for another type.
    pub fn with_type(&self, instance_type: &str) -> Self {
        Self { key: self.key.with_type(instance_type), account: self.account.clone() }
    }
}

/// Whose a commitment is, and whether it covers what is somebody else's.
#[derive(Debug, Clone, Copy)]
pub struct Ownership<'a> {
    account: Option<&'a str>,
    is_shared: bool,
}

impl Ownership<'_> {
    /// Whether it belongs to another account than this one. Where either is unknown, it
    /// does not.
    pub fn is_of_other(self, account: &str) -> bool {
        let owner = self.account;
        owner.is_some_and(|owner| !account.is_empty() && account != owner)
    }

    /// Whether it may cover what an account runs.
    pub fn may_cover(self, account: &str) -> bool {
        self.is_shared || !self.is_of_other(account)
    }
}

/// Everything that is committed to, each kind ascending by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commitments {
    pub reserved_instances: Vec<ReservedInstances>,
    pub savings_plans: Vec<SavingsPlan>,
    pub capacity_reservations: Vec<CapacityReservation>,
    /// Whether accounts share none of them. AWS shares reserved instances and savings plans
    /// over an organization unless somebody turns it off.
    pub is_unshared: bool,
    /// Accounts out of scope: their commitments cover instances in scope, and the unused part is
    /// not counted.
    pub skipped_accounts: Vec<String>,
}

impl CapacityReservation {
    /// Whether somebody may lower or cancel it at an instant.
    pub fn can_be_cancelled(&self, as_of: Timestamp) -> bool {
        !self.capacity_block && self.committed_until.is_none_or(|until| until <= as_of)
    }
}

impl SavingsPlanKind {
    /// What a rate under such a plan is the price of; absent for one that covers no
    /// instances.
    pub fn price_option(self, term: CommitmentTerm) -> Option<PriceOption> {
        match self {
            Self::Ec2Instance => Some(PriceOption::Ec2InstanceSavingsPlan(term)),
            Self::Compute => Some(PriceOption::ComputeSavingsPlan(term)),
            Self::Other => None,
        }
    }
}

impl SavingsPlan {
    /// Whether it may cover what a price is of, whatever its rates.
    pub fn may_cover(&self, key: &PriceKey) -> bool {
        let same =
            |own: &Option<String>, other: &str| own.as_deref().is_none_or(|own| own == other);
        let is_of_kind = match self.kind {
            SavingsPlanKind::Ec2Instance | SavingsPlanKind::Compute => {
                key.provider == Provider::Aws && same(&self.family, key.family())
            }
            SavingsPlanKind::Other => key.provider == Provider::SageMaker,
        };
        is_of_kind && same(&self.region, &key.region)
    }
}

impl Commitments {
    pub fn is_empty(&self) -> bool {
        self.ids().next().is_none()
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let reserved = self.reserved_instances.iter().map(|reservation| reservation.id.as_str());
        let plans = self.savings_plans.iter().map(|plan| plan.id.as_str());
        let capacity = self.capacity_reservations.iter().map(|reservation| reservation.id.as_str());
        reserved.chain(plans).chain(capacity)
    }

    /// Whether an account is out of scope.
    pub fn skips(&self, account: &str) -> bool {
        self.skipped_accounts.iter().any(|skipped| skipped == account)
    }

    /// Says that all of them belong to an account.
    pub fn set_owner(&mut self, account: &str) {
        for (_, owner) in self.ids_and_owners_mut() {
            *owner = Some(account.to_owned());
        }
    }

    /// Whose hours a commitment of an account may cover.
    pub fn ownership<'a>(&self, account: Option<&'a str>) -> Ownership<'a> {
        Ownership {
            account: account.filter(|account| !account.is_empty()),
            is_shared: !self.is_unshared,
        }
    }

    /// The pool of what an account runs at an on-demand price.
    pub fn pool(&self, account: &str, key: PriceKey) -> CommitmentPool {
        let alone = self.is_unshared && !account.is_empty();
        CommitmentPool { key, account: alone.then(|| account.to_owned()) }
    }

    /// Every id and owner, to be changed.
    pub fn ids_and_owners_mut(
        &mut self,
    ) -> impl Iterator<Item = (&mut String, &mut Option<String>)> {
        let reserved =
            self.reserved_instances.iter_mut().map(|own| (&mut own.id, &mut own.account));
        let plans = self.savings_plans.iter_mut().map(|own| (&mut own.id, &mut own.account));
        let capacity =
            self.capacity_reservations.iter_mut().map(|own| (&mut own.id, &mut own.account));
        reserved.chain(plans).chain(capacity)
    }

    /// Adds others; one whose id is there already takes its place, with the owner that was
    /// known before where it names none.
    pub fn add(&mut self, others: Self) {
        self.is_unshared |= others.is_unshared;
        self.skipped_accounts.extend(others.skipped_accounts);
        replace(&mut self.reserved_instances, others.reserved_instances, |reservation| {
            (reservation.id.clone(), &mut reservation.account)
        });
        replace(&mut self.savings_plans, others.savings_plans, |plan| {
            (plan.id.clone(), &mut plan.account)
        });
        replace(&mut self.capacity_reservations, others.capacity_reservations, |reservation| {
            (reservation.id.clone(), &mut reservation.account)
        });
    }

    /// What goes on covering: without what ends before a queued one takes its place.
    pub fn lasting(&self, as_of: Option<Timestamp>) -> Self {
        Self {
            reserved_instances: not_renewed(&self.reserved_instances, as_of, |own| {
                let place = (&own.account, &own.region, &own.zone);
                let platform = (own.operating_system, own.tenancy);
                let scope = (place, &own.instance_type, platform);
                (scope, own.start, own.end, Decimal::from(own.count))
            }),
            savings_plans: not_renewed(&self.savings_plans, as_of, |own| {
                let scope = (&own.account, own.kind, &own.region, &own.family);
                (scope, own.start, own.end, own.commitment_hourly)
            }),
            ..self.clone()
        }
    }

    /// Keeps what is of the regions that pass; what holds everywhere stays.
    pub fn retain_regions(&mut self, keep: impl Fn(&str) -> bool) {
        self.reserved_instances.retain(|reservation| keep(&reservation.region));
        self.savings_plans.retain(|plan| plan.region.as_deref().is_none_or(&keep));
        self.capacity_reservations.retain(|reservation| keep(&reservation.region));
    }

    /// Keeps the capacity reservations of the accounts that pass, and those of unknown ones:
    /// only its own account pays for unused room. Accounts of other commitments are skipped.
    pub fn retain_accounts(&mut self, keep: impl Fn(&str) -> bool) {
        let reserved = self.reserved_instances.iter().map(|own| &own.account);
        let owners = reserved.chain(self.savings_plans.iter().map(|plan| &plan.account));
        let skipped = owners.flatten().filter(|account| !keep(account));
        self.skipped_accounts.extend(skipped.cloned());
        self.skipped_accounts.sort();
        self.skipped_accounts.dedup();
        self.capacity_reservations
            .retain(|reservation| reservation.account.as_deref().is_none_or(&keep));
    }
}

/// Commitments that no queued one of the same scope and at least the same amount follows, by the
/// scope, start, end and amount of each.
fn not_renewed<'a, T: Clone, S: PartialEq>(
    commitments: &'a [T],
    as_of: Option<Timestamp>,
    facts: impl Fn(&'a T) -> (S, Timestamp, Timestamp, Decimal),
) -> Vec<T> {
    let facts: Vec<_> = commitments.iter().map(facts).collect();
    let queued = facts.iter().filter(|(_, start, ..)| as_of.is_some_and(|as_of| *start > as_of));
    let is_renewed = |(scope, _, end, amount): &(S, Timestamp, Timestamp, Decimal)| {
        queued.clone().any(|(next, start, _, more)| next == scope && start >= end && more >= amount)
    };
    let own = commitments.iter().zip(&facts).filter(|(_, facts)| !is_renewed(facts));
    own.map(|(own, _)| own.clone()).collect()
}

fn replace<T>(
    present: &mut Vec<T>,
    others: Vec<T>,
    owner: impl Fn(&mut T) -> (String, &mut Option<String>),
) {
    let mut by_id: BTreeMap<String, T> = BTreeMap::new();
    for mut commitment in std::mem::take(present).into_iter().chain(others) {
        let (id, account) = owner(&mut commitment);
        if let Some(before) = by_id.get_mut(&id) {
            let (_, known) = owner(before);
            *account = account.take().or_else(|| known.take());
        }
        by_id.insert(id, commitment);
    }
    *present = by_id.into_values().collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserved(id: &str, upfront: i64, start: &str, end: &str) -> ReservedInstances {
        ReservedInstances {
            id: id.to_owned(),
            account: None,
            region: "us-east-1".to_owned(),
            zone: None,
            instance_type: "p4d.24xlarge".to_owned(),
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            count: 1,
            class: OfferingClass::Standard,
            payment: PaymentOption::PartialUpfront,
            start: start.parse().expect("a time"),
            end: end.parse().expect("a time"),
            currency: Currency::Usd,
            upfront: Decimal::from(upfront),
            recurring_hourly: Decimal::new(5, 1),
        }
    }

    #[test]
    fn upfront_is_spread_over_the_hours_of_the_term() {
        // 8 760 / 8 760 + 0.5; EC2's year ends a second early.
        let year = reserved("a", 8_760, "2026-03-01T00:00:00Z", "2027-02-28T23:59:59Z");
        assert_eq!(year.term_hours(), Decimal::from(8_760));
        assert_eq!(year.effective_hourly(), Decimal::new(15, 1));
        // Bought from another customer with 30 days left: 720 hours.
        let rest = reserved("b", 720, "2026-03-01T00:00:00Z", "2026-03-31T00:00:00Z");
        assert_eq!(rest.effective_hourly(), Decimal::new(15, 1));
    }

    #[test]
    fn a_plan_of_another_service_may_cover_what_sagemaker_runs_and_no_instance_of_ec2() {
        let plan = |kind: SavingsPlanKind| SavingsPlan {
            id: "sp-1".to_owned(),
            account: None,
            kind,
            region: None,
            family: None,
            currency: Currency::Usd,
            commitment_hourly: Decimal::from(5),
            term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
            start: Timestamp::UNIX_EPOCH,
            end: Timestamp::MAX,
        };
        let of_ec2 = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        let of_sagemaker = PriceKey {
            provider: Provider::SageMaker,
            ..PriceKey::linux_on_demand("us-east-1", "ml.g5.xlarge-hosting")
        };
        for (kind, expected) in [
            (SavingsPlanKind::Ec2Instance, [true, false]),
            (SavingsPlanKind::Compute, [true, false]),
            (SavingsPlanKind::Other, [false, true]),
        ] {
            let covered = [&of_ec2, &of_sagemaker].map(|key| plan(kind).may_cover(key));
            assert_eq!(covered, expected, "{kind}");
        }
    }

    #[test]
    fn what_is_added_takes_the_place_of_the_same_id() {
        let times = ("2026-03-01T00:00:00Z", "2027-03-01T00:00:00Z");
        let bought = |id, upfront| reserved(id, upfront, times.0, times.1);
        let mut commitments = Commitments {
            reserved_instances: vec![bought("b", 1), bought("c", 2)],
            ..Commitments::default()
        };
        assert!(!commitments.is_empty() && Commitments::default().is_empty());
        commitments.add(Commitments {
            reserved_instances: vec![bought("c", 3), bought("a", 4)],
            ..Commitments::default()
        });
        let amounts: Vec<(&str, Decimal)> = commitments
            .reserved_instances
            .iter()
            .map(|reservation| (reservation.id.as_str(), reservation.upfront))
            .collect();
        let expected = [("a", 4), ("b", 1), ("c", 3)];
        assert_eq!(amounts, expected.map(|(id, paid)| (id, Decimal::from(paid))));
    }
}
