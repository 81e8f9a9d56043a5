//! Commitments as JSON: the estate's key `commitments`, and the same list in a
//! file of its own, of what a payer account bought.

use super::entries::{Of, Wire, described, generator};
use crate::domain::{
    CapacityReservation, Commitments, MOST_COMMITTED, MOST_PER_HOUR, ReservedInstances,
    SavingsPlan, SavingsPlanKind, shown,
};
use crate::files::shared::bounded::AtMost;
use crate::files::shared::json::{InvalidJson, InvalidValue, JsonError, at, read_json_file, typed};
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Money committed for one instance: more is an error.
const MOST_UPFRONT: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

/// What is paid for whether it is used or not; amounts are decimals as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    expecting = "a commitment as an object with `kind`"
)]
pub(super) enum Commitment {
    #[serde(deserialize_with = "typed")]
    ReservedInstances(ReservedInstances),
    #[serde(deserialize_with = "typed")]
    SavingsPlan(SavingsPlan),
    #[serde(deserialize_with = "typed")]
    CapacityReservation(CapacityReservation),
}

/// In the order of kinds and ids.
pub(super) fn to_wire(commitments: &Commitments) -> Vec<Commitment> {
    let Commitments {
        reserved_instances,
        savings_plans,
        capacity_reservations,
        is_unshared: _,
        skipped_accounts: _,
    } = commitments.clone();
    let reserved = reserved_instances.into_iter();
    let plans = savings_plans.into_iter();
    let capacity = capacity_reservations.into_iter();
    reserved
        .map(Commitment::ReservedInstances)
        .chain(plans.map(Commitment::SavingsPlan))
        .chain(capacity.map(Commitment::CapacityReservation))
        .collect()
}

impl Wire for Commitment {
    type Value = Self;

    fn value(self) -> Result<Self, String> {
        match &self {
            Self::ReservedInstances(reservation) => {
                ends_after(reservation.start, reservation.end, &reservation.id)?;
                counted("count", &reservation.id, reservation.count, 1)?;
                at_most("upfront", reservation.upfront, MOST_UPFRONT)?;
                at_most("recurring_hourly", reservation.recurring_hourly, MOST_PER_HOUR)?;
                if reservation.upfront.is_zero() && reservation.recurring_hourly.is_zero() {
                    return Err(format!(
                        "{} needs `upfront` or `recurring_hourly`",
                        reservation.id
                    ));
                }
            }
            Self::SavingsPlan(plan) => {
                ends_after(plan.start, plan.end, &plan.id)?;
                at_most("commitment_hourly", plan.commitment_hourly, MOST_PER_HOUR)?;
                let is_bound = plan.region.is_some() && plan.family.is_some();
                if plan.kind == SavingsPlanKind::Ec2Instance && !is_bound {
                    return Err(format!(
                        "savings plan {} of kind {} needs `region` and `family`",
                        plan.id, plan.kind
                    ));
                }
            }
            Self::CapacityReservation(reservation) => {
                counted("total", &reservation.id, reservation.total, 0)?;
                if reservation.available > reservation.total {
                    return Err(format!(
                        "`available` of {} is {}, more than its total of {}",
                        reservation.id, reservation.available, reservation.total
                    ));
                }
            }
        }
        Ok(self)
    }
}

fn ends_after(start: Timestamp, end: Timestamp, id: &str) -> Result<(), String> {
    if start >= end {
        return Err(format!("`end` of {id} is not after its `start`"));
    }
    Ok(())
}

fn counted(field: &str, id: &str, count: u32, least: u32) -> Result<(), String> {
    if !(least..=MOST_COMMITTED).contains(&count) {
        return Err(format!(
            "`{field}` of {id} is not between {least} and {MOST_COMMITTED}: {count}"
        ));
    }
    Ok(())
}

fn at_most(field: &str, amount: Decimal, most: Decimal) -> Result<(), String> {
    if amount > most {
        return Err(format!("`{field}` is not between 0 and {most}: {amount}"));
    }
    Ok(())
}

/// Why a file of commitments could not be used.
#[derive(Debug, thiserror::Error)]
pub enum CommitmentsError {
    /// It could not be read.
    #[error("cannot read the commitments file {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not JSON, or ends early.
    #[error("{} is not a complete list of commitments", shown(path))]
    Malformed {
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// Something in it is not as it must be.
    #[error("invalid commitments file {}{}", shown(path), at(place))]
    Wrong {
        path: PathBuf,
        /// The keys that lead there; empty when it is about the whole.
        place: String,
        /// What was found and what was expected.
        source: InvalidValue,
    },
}

/// An account has at most some thousands.
const MOST_COMMITMENTS: usize = 100_000;

type Listed = AtMost<Of<Commitment>, MOST_COMMITMENTS>;

/// The list as it stands in a file or an estate.
pub(super) type List = Of<Listed>;

/// The JSON schema of a commitments file.
pub fn commitments_schema() -> Json {
    described::<List>(&mut generator(), "")
}

impl Wire for Listed {
    type Value = Commitments;

    fn value(self) -> Result<Commitments, String> {
        let mut ids = BTreeSet::new();
        let mut read = Commitments::default();
        for Of(commitment) in self.0 {
            let id = match &commitment {
                Commitment::ReservedInstances(reservation) => &reservation.id,
                Commitment::SavingsPlan(plan) => &plan.id,
                Commitment::CapacityReservation(reservation) => &reservation.id,
            };
            if !ids.insert(id.clone()) {
                return Err(format!("duplicate commitment {id}"));
            }
            match commitment {
                Commitment::ReservedInstances(reservation) => {
                    read.reserved_instances.push(reservation)
                }
                Commitment::SavingsPlan(plan) => read.savings_plans.push(plan),
                Commitment::CapacityReservation(reservation) => {
                    read.capacity_reservations.push(reservation)
                }
            }
        }
        let mut sorted = Commitments::default();
        sorted.add(read);
        Ok(sorted)
    }
}

/// Reads a file that holds what an estate holds under `commitments`.
///
/// # Errors
/// When it cannot be read, is not such a list, or something in it is wrong.
pub fn read_commitments(path: &Path) -> Result<Commitments, CommitmentsError> {
    read_json_file(path, LONGEST_TEXT, PhantomData::<List>)
        .map_err(|source| CommitmentsError::Io { path: path.to_owned(), source })?
        .map(|Of(found)| found)
        .map_err(|error| explain(path, error))
}

/// Bytes of one text: an id has a hundred.
const LONGEST_TEXT: usize = 1 << 16;

fn explain(path: &Path, error: JsonError) -> CommitmentsError {
    let path = path.to_owned();
    match error.source {
        InvalidJson::Text(source) if source.is_io() => {
            CommitmentsError::Io { path, source: source.into() }
        }
        InvalidJson::Text(source) => CommitmentsError::Malformed { path, source },
        InvalidJson::Value(source) => CommitmentsError::Wrong { path, place: error.place, source },
    }
}
