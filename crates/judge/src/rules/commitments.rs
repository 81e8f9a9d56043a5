//! Findings about what an account has bought, which belong to the estate and to
//! no workload: capacity that is held and not used, commitments that are not
//! used up, and those that end soon. Each is about the id of a commitment.

use crate::domain::{
    Comparator, Confidence, Evidence, Finding, FindingKind, Money, Recommendation, Severity,
    floored,
};
use crate::savings::{
    CAPACITY_RESERVATION, CommitmentUse, Coverage, Room, ScopeChange, UnusedCommitment,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Ids of the rules, ascending.
pub const COMMITMENT_RULES: [&str; 4] =
    [EXPIRING_COMMITMENT, IDLE_CAPACITY_BLOCK, IDLE_CAPACITY_RESERVATION, UNDERUSED_COMMITMENT];

const EXPIRING_COMMITMENT: &str = "expiring-commitment";
const IDLE_CAPACITY_BLOCK: &str = "idle-capacity-block";
const IDLE_CAPACITY_RESERVATION: &str = "idle-capacity-reservation";
const UNDERUSED_COMMITMENT: &str = "underused-commitment";

/// An end within so many days is worth a decision now.
const EXPIRES_WITHIN_DAYS: i64 = 60;
/// Below this share a commitment is underused, percent.
const LEAST_UTILIZATION_PERCENT: Decimal = Decimal::from_parts(80, 0, 0, false, 0);

/// Every finding about unused capacity and the commitments of an estate, in their
/// order: reservations first.
pub fn commitment_findings(
    unused: &[UnusedCommitment],
    coverage: &Coverage,
    changes: &[ScopeChange],
    as_of: Timestamp,
) -> Vec<Finding> {
    let idle = unused.iter().filter_map(idle_capacity);
    let commitments = coverage
        .commitments
        .iter()
        .filter(|commitment| commitment.end > as_of)
        .flat_map(|commitment| {
            let change = changes.iter().find(|change| change.id == commitment.id);
            [underused(commitment, change), expiring(commitment)]
        })
        .flatten();
    idle.chain(coverage.rooms.iter().filter_map(idle_block)).chain(commitments).collect()
}

/// Room that nothing runs in costs as much as the instance that would fill it. What
/// cannot be lowered is paid whatever is done, and what a commitment pays for is worth
/// nothing until that ends: of both nothing is said.
fn idle_capacity(commitment: &UnusedCommitment) -> Option<Finding> {
    let mean = commitment.mean_room?.to_f64()?;
    let is_paid = commitment.monthly_cost.is_some_and(|cost| cost.amount().is_zero());
    let is_billed = commitment.kind == CAPACITY_RESERVATION;
    if commitment.committed_until.is_some() || is_paid || !is_billed {
        return None;
    }
    let savings = commitment.actions.first().map(|action| action.monthly_savings());
    let caveats = commitment.actions.first().map_or(&[][..], |action| action.caveats());
    let decisive = Evidence::fact(
        "average unused instances in the reservation",
        "ec2:DescribeCapacityReservations, AWS/EC2 CPUUtilization",
        mean,
        (Comparator::GreaterThan, 0.0),
        "instances",
    );
    Some(Finding {
        severity: Severity::Critical,
        confidence: if commitment.is_shared { Confidence::Derived } else { Confidence::Measured },
        kind: if commitment.is_shared { FindingKind::Optimization } else { FindingKind::Waste },
        title: format!("capacity for {} is reserved but not used", commitment.name),
        monthly_savings: savings.filter(|saving: &Money| !saving.amount().is_zero()),
        recommendation: Recommendation {
            action: "lower or cancel the reservation".to_owned(),
            to: String::new(),
            steps: vec![
                commitment.detail.clone(),
                "ask the owner: capacity of this type may not be available again".to_owned(),
            ],
            caveats: caveats.to_vec(),
        },
        ..Finding::of(IDLE_CAPACITY_RESERVATION, &commitment.id, decisive, [])
    })
}

/// Room in a Capacity Block is paid for whatever is done, and lost at its end: it is worth a
/// finding as long as something can still run in it.
fn idle_block(room: &Room) -> Option<Finding> {
    let reservation = &room.reservation;
    let mean = room.mean();
    if !reservation.capacity_block || reservation.available == 0 || mean.is_zero() {
        return None;
    }
    let free = mean.round_dp(2).normalize();
    let until = reservation.end.or(reservation.committed_until).map_or_else(
        || "its end".to_owned(),
        |end| end.to_zoned(jiff::tz::TimeZone::UTC).date().to_string(),
    );
    let decisive = Evidence::fact(
        "average unused instances in the Capacity Block",
        "ec2:DescribeCapacityReservations, AWS/EC2 CPUUtilization",
        mean.to_f64()?,
        (Comparator::GreaterThan, 0.0),
        "instances",
    );
    Some(Finding {
        confidence: if room.is_shared { Confidence::Derived } else { Confidence::Measured },
        title: format!(
            "{free} of {} × {} in {} are unused in a Capacity Block that is paid until {until}",
            reservation.total, reservation.instance_type, reservation.zone
        ),
        recommendation: Recommendation {
            action: "run more in it".to_owned(),
            steps: vec![
                format!(
                    "{} can be launched in it now: move jobs of other instances of the type to it",
                    reservation.available
                ),
                "buy the next block for fewer instances or days: a block cannot be lowered or \
                 canceled"
                    .to_owned(),
            ],
            ..Recommendation::default()
        },
        ..Finding::of(IDLE_CAPACITY_BLOCK, &reservation.id, decisive, [])
    })
}

/// Silent about a Compute Savings Plan: what else it pays for is not seen.
fn underused(commitment: &CommitmentUse, change: Option<&ScopeChange>) -> Option<Finding> {
    let unused = commitment.unused_monthly?;
    let percent = commitment.utilization? * Decimal::ONE_HUNDRED;
    if percent >= LEAST_UTILIZATION_PERCENT {
        return None;
    }
    let percent = percent.to_f64()?;
    let used = floored(percent, 0);
    let decisive = Evidence::fact(
        "utilization of the commitment",
        "AWS/EC2 CPUUtilization data, otherwise launch time",
        percent,
        (Comparator::LessThan, LEAST_UTILIZATION_PERCENT.to_f64()?),
        "%",
    );
    Some(Finding {
        // Hours are known by CPU points, and other accounts may use it.
        confidence: Confidence::Derived,
        title: format!(
            "{} of {} is {used}% utilized: {} {:.2} per month is unused",
            words(commitment),
            commitment.name,
            unused.currency(),
            unused.amount()
        ),
        // It is paid until its end, and what another scope covers is no longer bought by the hour.
        monthly_savings: change.map(|change| change.monthly_savings),
        recommendation: Recommendation {
            action: match change {
                Some(_) => "change the scope, which costs no fee".to_owned(),
                None => "move workloads to it".to_owned(),
            },
            to: change.map_or_else(
                || commitment.name.clone(),
                |change| format!("{} instead of {}", change.region, change.zone),
            ),
            steps: vec![
                format!("it is committed until {}: stopping saves nothing", day(commitment)),
                "run on-demand workloads on its types, in its region and zone".to_owned(),
                "check whether other accounts of the organization use it".to_owned(),
            ],
            caveats: Vec::new(),
        },
        ..Finding::of(UNDERUSED_COMMITMENT, &commitment.id, decisive, [])
    })
}

fn expiring(commitment: &CommitmentUse) -> Option<Finding> {
    if commitment.days_to_expiry > EXPIRES_WITHIN_DAYS {
        return None;
    }
    let decisive = Evidence::fact(
        "days until the commitment ends",
        if commitment.kind.is_reserved() {
            "ec2:DescribeReservedInstances"
        } else {
            "savingsplans:DescribeSavingsPlans"
        },
        commitment.days_to_expiry as f64,
        (Comparator::AtMost, EXPIRES_WITHIN_DAYS as f64),
        "days",
    );
    Some(Finding {
        severity: Severity::Info,
        confidence: Confidence::Measured,
        kind: FindingKind::Risk,
        title: format!(
            "{} of {} ends on {}: its hours are then billed at the on-demand price",
            words(commitment),
            commitment.name,
            day(commitment)
        ),
        monthly_savings: None,
        recommendation: Recommendation {
            action: "decide whether to renew".to_owned(),
            steps: vec![
                format!(
                    "it costs {} {:.2} per month, used or not",
                    commitment.monthly_cost.currency(),
                    commitment.monthly_cost.amount()
                ),
                "right-size first, then commit to the remaining usage".to_owned(),
            ],
            ..Recommendation::default()
        },
        ..Finding::of(EXPIRING_COMMITMENT, &commitment.id, decisive, [])
    })
}

fn words(commitment: &CommitmentUse) -> &'static str {
    if commitment.kind.is_reserved() { "the reservation" } else { "the savings plan" }
}

fn day(commitment: &CommitmentUse) -> String {
    commitment.end.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}
