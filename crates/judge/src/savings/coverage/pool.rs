//! What each commitment has to give, and to whom.

use super::hours::UsedInstance;
use crate::catalog::{self, family};
use crate::domain::{
    CommitmentTerm, Commitments, Currency, OperatingSystem, Ownership, PriceKey, PriceOption,
    ReservedInstances, ResourceId, SavingsPlan, SavingsPlanKind, Tenancy, family_of, named_enum,
};
use jiff::Timestamp;
use rust_decimal::Decimal;

named_enum! {
    /// A kind of commitment, in the order of application.
    CommitmentKind {
        ZonalReserved = "zonal-reserved-instances",
        RegionalReserved = "regional-reserved-instances",
        /// A savings plan for one family in one region.
        Ec2InstanceSavingsPlan = "ec2-instance-savings-plan",
        /// A savings plan for any compute.
        ComputeSavingsPlan = "compute-savings-plan",
    }
}

impl CommitmentKind {
    pub fn is_reserved(self) -> bool {
        matches!(self, Self::ZonalReserved | Self::RegionalReserved)
    }
}

/// An instance that a commitment can cover.
#[derive(Debug)]
pub(super) struct Member {
    /// Position among the instances.
    pub instance: usize,
    /// Units that an hour of it takes.
    pub units_per_hour: Decimal,
    /// Whether it belongs to another account than the commitment.
    pub is_of_other: bool,
}

/// One commitment: so many units an hour for its members in their order. The
/// units of reserved instances are instances, or normalised units where sizes
/// are flexible; those of a plan are its currency.
#[derive(Debug)]
pub(super) struct Pool {
    pub id: String,
    pub kind: CommitmentKind,
    pub name: String,
    pub units: Decimal,
    /// What one unit costs, used or not.
    pub unit_cost: Decimal,
    pub currency: Currency,
    pub members: Vec<Member>,
    pub unrated: Vec<ResourceId>,
    pub start: Timestamp,
    pub end: Timestamp,
}

/// Whether regional reserved instances for this key cover other sizes of the
/// family: Linux on shared hardware, and a family that the catalog knows as
/// flexible. One that it does not know counts as not flexible, and so does any
/// reserved instance that holds for one zone.
pub fn covers_other_sizes(key: &PriceKey) -> bool {
    key.zone.is_none()
        && key.operating_system == OperatingSystem::Linux
        && key.tenancy == Tenancy::Shared
        && family(key.family()).and_then(|facts| facts.size_flexible) == Some(true)
}

/// Every commitment that covers instances at an instant, in the order of application, which no
/// id decides where it changes a sum.
pub(super) fn pools(
    commitments: &Commitments,
    instances: &[UsedInstance],
    counts: impl Fn(Timestamp, Timestamp) -> bool,
) -> Vec<Pool> {
    let reservations = commitments.reserved_instances.iter();
    let reservations =
        reservations.filter(|reservation| counts(reservation.start, reservation.end));
    let reservations = reservations.map(|reservation| {
        let owner = commitments.ownership(reservation.account.as_deref());
        (None, reserved(reservation, owner, instances))
    });
    let plans = commitments.savings_plans.iter();
    let plans = plans.filter(|savings_plan| counts(savings_plan.start, savings_plan.end));
    let plans = plans.filter_map(|savings_plan| {
        let owner = commitments.ownership(savings_plan.account.as_deref());
        Some((Some(savings_plan.term), plan(savings_plan, owner, instances)?))
    });
    let mut pools: Vec<(Option<CommitmentTerm>, Pool)> = reservations.chain(plans).collect();
    // Plans of a longer term or more upfront have the lower rates. Of equal commitments the
    // cheaper unit goes first: which of two fees is rounded as used must not follow their ids.
    pools.sort_by(|(left_term, left), (right_term, right)| {
        let term = |term: &Option<CommitmentTerm>| term.map(|term| (term.years, term.payment));
        let key = |pool: &Pool| (pool.unit_cost, pool.units, pool.end, pool.id.clone());
        (left.kind, term(right_term), key(left)).cmp(&(right.kind, term(left_term), key(right)))
    });
    pools.into_iter().map(|(_, pool)| pool).collect()
}

/// Units of a size, by which flexible reserved instances of one family cover
/// another size of it: 8 for an xlarge, 16 for a 2xlarge, 192 for a 24xlarge;
/// `metal` is as large as the largest size of its family that the catalog knows.
/// `None` for a size without a factor.
pub fn normalization_factor(instance_type: &str) -> Option<Decimal> {
    let (family, size) = instance_type.split_once('.')?;
    let xlarges = |count: u32| Decimal::from(8 * count);
    match size {
        "nano" => return Some(Decimal::new(25, 2)),
        "micro" => return Some(Decimal::new(5, 1)),
        "small" => return Some(Decimal::ONE),
        "medium" => return Some(Decimal::TWO),
        "large" => return Some(Decimal::from(4)),
        "xlarge" => return Some(xlarges(1)),
        "metal" => {
            return catalog::shapes()
                .filter(|shape| shape.family() == family && !shape.instance_type.contains("metal"))
                .filter_map(|shape| normalization_factor(&shape.instance_type))
                .max();
        }
        _ => {}
    }
    let count =
        size.strip_suffix("xlarge").or_else(|| size.strip_prefix("metal-")?.strip_suffix("xl"))?;
    let count: u32 = count.parse().ok()?;
    (1..=1_000).contains(&count).then(|| xlarges(count))
}

/// The factor where one size covers another: regional, Linux, shared hardware,
/// and a family of which the catalog knows it.
fn flexible_factor(reservation: &ReservedInstances) -> Option<Decimal> {
    let key = PriceKey {
        operating_system: reservation.operating_system,
        tenancy: reservation.tenancy,
        zone: reservation.zone.clone(),
        ..PriceKey::linux_on_demand(&reservation.region, &reservation.instance_type)
    };
    covers_other_sizes(&key).then(|| normalization_factor(&key.instance_type))?
}

fn reserved(
    reservation: &ReservedInstances,
    owner: Ownership<'_>,
    instances: &[UsedInstance],
) -> Pool {
    let factor = flexible_factor(reservation);
    // Accounts name their zones each in its own way, so that a zone is known in its own
    // account only.
    let is_in_reach = |instance: &UsedInstance| {
        owner.may_cover(&instance.account)
            && !(reservation.zone.is_some() && owner.is_of_other(&instance.account))
    };
    let matches = |instance: &UsedInstance| {
        is_in_reach(instance)
            && instance.key.region == reservation.region
            && instance.key.operating_system == reservation.operating_system
            && instance.key.tenancy == reservation.tenancy
            && reservation.zone.as_ref().is_none_or(|zone| instance.zone.as_ref() == Some(zone))
    };
    let units_of = |instance: &UsedInstance| match factor {
        Some(_)
            if family_of(&instance.key.instance_type) == family_of(&reservation.instance_type) =>
        {
            normalization_factor(&instance.key.instance_type)
        }
        None if instance.key.instance_type == reservation.instance_type => Some(Decimal::ONE),
        _ => None,
    };
    let mut members: Vec<Member> = instances
        .iter()
        .enumerate()
        .filter(|(_, instance)| {
            matches(instance) && !(instance.is_room && reservation.zone.is_some())
        })
        .filter_map(|(position, instance)| {
            Some(Member {
                instance: position,
                units_per_hour: units_of(instance)?,
                is_of_other: owner.is_of_other(&instance.account),
            })
        })
        .collect();
    // Running instances first, then room that nothing runs in.
    members.sort_by_cached_key(|member| {
        let instance = &instances[member.instance];
        (
            instance.is_room,
            member.units_per_hour,
            &instance.key.instance_type,
            instance.shown_covered(),
        )
    });
    let per_instance = factor.unwrap_or(Decimal::ONE);
    Pool {
        id: reservation.id.clone(),
        kind: match reservation.zone {
            Some(_) => CommitmentKind::ZonalReserved,
            None => CommitmentKind::RegionalReserved,
        },
        name: format!(
            "{} × {} in {}",
            reservation.count,
            reservation.instance_type,
            reservation.zone.as_ref().unwrap_or(&reservation.region)
        ),
        units: Decimal::from(reservation.count) * per_instance,
        unit_cost: reservation.effective_hourly() / per_instance,
        currency: reservation.currency,
        members,
        unrated: Vec::new(),
        start: reservation.start,
        end: reservation.end,
    }
}

/// `None` for a plan that covers no instances.
fn plan(
    savings_plan: &SavingsPlan,
    owner: Ownership<'_>,
    instances: &[UsedInstance],
) -> Option<Pool> {
    let (kind, option) = match savings_plan.kind {
        SavingsPlanKind::Ec2Instance => (
            CommitmentKind::Ec2InstanceSavingsPlan,
            PriceOption::Ec2InstanceSavingsPlan(savings_plan.term),
        ),
        SavingsPlanKind::Compute => {
            (CommitmentKind::ComputeSavingsPlan, PriceOption::ComputeSavingsPlan(savings_plan.term))
        }
        SavingsPlanKind::Other => return None,
    };
    let matches = |instance: &UsedInstance| {
        let region = savings_plan.region.as_deref();
        let family = savings_plan.family.as_deref();
        owner.may_cover(&instance.account)
            && region.is_none_or(|region| region == instance.key.region)
            && family.is_none_or(|family| family == family_of(&instance.key.instance_type))
            && Currency::of_region(&instance.key.region) == savings_plan.currency
    };
    let mut members = Vec::new();
    let mut unrated = Vec::new();
    for (position, instance) in instances.iter().enumerate() {
        if !matches(instance) {
            continue;
        }
        match instance.plan_rates.get(&option) {
            Some(rate) if *rate > Decimal::ZERO => members.push(Member {
                instance: position,
                units_per_hour: *rate,
                is_of_other: owner.is_of_other(&instance.account),
            }),
            _ => unrated.push(instance.id.clone()),
        }
    }
    unrated.sort();
    members.sort_by_cached_key(|member| {
        let instance = &instances[member.instance];
        let rate_share = instance
            .on_demand_hourly
            .and_then(|on_demand| member.units_per_hour.checked_div(on_demand));
        (
            instance.is_room,
            rate_share.unwrap_or(Decimal::ONE),
            member.units_per_hour,
            &instance.key.instance_type,
            instance.key.operating_system,
            instance.key.tenancy,
            instance.shown_covered(),
        )
    });
    let pool = match (&savings_plan.region, &savings_plan.family) {
        (Some(region), Some(family)) => format!("{family} in {region}"),
        _ => "any compute".to_owned(),
    };
    Some(Pool {
        id: savings_plan.id.clone(),
        kind,
        name: format!(
            "{} {}/h for {pool}",
            savings_plan.currency,
            savings_plan.commitment_hourly.normalize()
        ),
        units: savings_plan.commitment_hourly,
        unit_cost: Decimal::ONE,
        currency: savings_plan.currency,
        members,
        unrated,
        start: savings_plan.start,
        end: savings_plan.end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(instance_type: &str) -> PriceKey {
        PriceKey::linux_on_demand("us-east-1", instance_type)
    }

    #[test]
    fn flexible_are_regional_linux_instances_of_some_families() {
        assert!(covers_other_sizes(&key("p4d.24xlarge")));
        assert!(covers_other_sizes(&key("vt1.6xlarge")));
        // The families that AWS excepts, and one that is not known.
        for family in [
            "g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "p5", "inf1", "inf2",
            "z9",
        ] {
            assert!(!covers_other_sizes(&key(&format!("{family}.4xlarge"))), "{family}");
        }
        let p4d = key("p4d.24xlarge");
        assert!(!covers_other_sizes(&p4d.in_zone(Some("us-east-1a"))));
        for operating_system in
            [OperatingSystem::Windows, OperatingSystem::Rhel, OperatingSystem::Sles]
        {
            assert!(!covers_other_sizes(&PriceKey { operating_system, ..p4d.clone() }));
        }
        assert!(!covers_other_sizes(&PriceKey { tenancy: Tenancy::Dedicated, ..p4d }));
    }
}
