//! Commitments as JSON: the estate's key `commitments`, and the same list in a
//! file of its own, of what a payer account bought.

use super::fields::{Of, Wire, decimal, named, time};
use super::forms::{Amount, CurrencyCode, Term, Time, described, generator};
use crate::domain::{
    CapacityReservation, CommitmentTerm, Commitments, Currency, MOST_PER_HOUR, OfferingClass,
    OperatingSystem, PaymentOption, ReservedInstances, SavingsPlan, SavingsPlanKind, Tenancy,
    shown,
};
use crate::sources::files::shared::bounded::{AtMost, JsonError};
use crate::sources::files::shared::invalid_json::{InvalidJson, InvalidValue, at};
use crate::sources::files::shared::plain_text::read_json_file;
use crate::sources::files::shared::typed_json::typed;
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, de};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Instances of one purchase: more is an error.
const MOST_INSTANCES: u32 = 1_000_000;
/// Money committed for one instance, likewise.
const MOST_UPFRONT: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

/// What is paid for whether it is used or not; amounts are decimals as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    expecting = "a commitment as an object with `kind`"
)]
pub(super) enum CommitmentWire {
    #[serde(deserialize_with = "typed")]
    ReservedInstances(ReservedWire),
    #[serde(deserialize_with = "typed")]
    SavingsPlan(PlanWire),
    #[serde(deserialize_with = "typed")]
    CapacityReservation(CapacityWire),
}

/// Reserved instances.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "reserved instances as an object")]
pub(super) struct ReservedWire {
    /// Must be unique.
    id: String,
    /// The account that bought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    region: String,
    /// The zone that they apply to; absent if they apply to the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    instance_type: String,
    #[serde(default = "linux")]
    #[schemars(with = "OperatingSystem")]
    operating_system: String,
    #[serde(default = "shared")]
    #[schemars(with = "Tenancy")]
    tenancy: String,
    /// Number of instances.
    #[schemars(range(min = 1, max = MOST_INSTANCES))]
    count: u32,
    #[serde(default = "standard")]
    #[schemars(with = "OfferingClass")]
    class: String,
    #[schemars(with = "PaymentOption")]
    payment: String,
    /// Start of the term.
    #[schemars(with = "Time")]
    start: String,
    /// End of the term, exclusive.
    #[schemars(with = "Time")]
    end: String,
    #[serde(default = "usd")]
    #[schemars(with = "CurrencyCode")]
    currency: String,
    /// Paid at the start of the term, per instance.
    #[serde(default = "nothing")]
    #[schemars(with = "Amount")]
    upfront: String,
    /// Paid every hour of the term, per instance.
    #[serde(default = "nothing")]
    #[schemars(with = "Amount")]
    recurring_hourly: String,
}

/// A savings plan.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "if" = {"properties": {"plan": {"const": "ec2-instance"}}},
    "then" = {
        "properties": {"region": {"type": "string"}, "family": {"type": "string"}},
        "allOf": [{"required": ["region", "family"]}],
    }
))]
#[serde(deny_unknown_fields, expecting = "a savings plan as an object")]
pub(super) struct PlanWire {
    /// Must be unique.
    id: String,
    /// The account that bought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// `other` for plans that cover no instances.
    #[schemars(with = "SavingsPlanKind")]
    plan: String,
    /// Required for an `ec2-instance` plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    /// Such as p4d; required for an `ec2-instance` plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    family: Option<String>,
    #[serde(default = "usd")]
    #[schemars(with = "CurrencyCode")]
    currency: String,
    /// Committed per hour, at the plan's rates.
    #[schemars(with = "Amount")]
    commitment_hourly: String,
    #[schemars(with = "Term")]
    term: String,
    /// Start of the term.
    #[schemars(with = "Time")]
    start: String,
    /// End of the term, exclusive.
    #[schemars(with = "Time")]
    end: String,
}

/// A capacity reservation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a capacity reservation as an object")]
pub(super) struct CapacityWire {
    /// Must be unique.
    id: String,
    /// The account that bought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    region: String,
    zone: String,
    instance_type: String,
    #[serde(default = "linux")]
    #[schemars(with = "OperatingSystem")]
    operating_system: String,
    #[serde(default = "shared")]
    #[schemars(with = "Tenancy")]
    tenancy: String,
    /// Number of instances that it has capacity for.
    #[schemars(range(max = MOST_INSTANCES))]
    total: u32,
    /// Of these, the capacity that no instance uses.
    #[schemars(range(max = MOST_INSTANCES))]
    available: u32,
    /// Whether it is a Capacity Block, which is paid for in advance.
    #[serde(default)]
    capacity_block: bool,
    /// First time at which it holds capacity; before the window unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    start: Option<String>,
    /// Time until which it cannot be reduced or canceled; absent if it always can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    committed_until: Option<String>,
    /// When it ends; absent if it must be canceled manually.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    end: Option<String>,
    /// Its tags: they decide whose its unused room is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
}

fn linux() -> String {
    "linux".to_owned()
}

fn shared() -> String {
    "shared".to_owned()
}

fn standard() -> String {
    "standard".to_owned()
}

fn usd() -> String {
    "USD".to_owned()
}

fn nothing() -> String {
    "0".to_owned()
}

/// The wire form, in the order of kinds and ids.
pub(super) fn to_wire(commitments: &Commitments) -> Vec<CommitmentWire> {
    let reserved = commitments.reserved_instances.iter().map(|one| {
        CommitmentWire::ReservedInstances(ReservedWire {
            id: one.id.clone(),
            account: commitments.owner(&one.id).map(str::to_owned),
            region: one.region.clone(),
            zone: one.zone.clone(),
            instance_type: one.instance_type.clone(),
            operating_system: one.operating_system.name().to_owned(),
            tenancy: one.tenancy.name().to_owned(),
            count: one.count,
            class: one.class.name().to_owned(),
            payment: one.payment.name().to_owned(),
            start: one.start.to_string(),
            end: one.end.to_string(),
            currency: one.currency.code().to_owned(),
            upfront: one.upfront.to_string(),
            recurring_hourly: one.recurring_hourly.to_string(),
        })
    });
    let plans = commitments.savings_plans.iter().map(|one| {
        CommitmentWire::SavingsPlan(PlanWire {
            id: one.id.clone(),
            account: commitments.owner(&one.id).map(str::to_owned),
            plan: one.kind.name().to_owned(),
            region: one.region.clone(),
            family: one.family.clone(),
            currency: one.currency.code().to_owned(),
            commitment_hourly: one.commitment_hourly.to_string(),
            term: one.term.to_string(),
            start: one.start.to_string(),
            end: one.end.to_string(),
        })
    });
    let capacity = commitments.capacity_reservations.iter().map(|one| {
        CommitmentWire::CapacityReservation(CapacityWire {
            id: one.id.clone(),
            account: commitments.owner(&one.id).map(str::to_owned),
            region: one.region.clone(),
            zone: one.zone.clone(),
            instance_type: one.instance_type.clone(),
            operating_system: one.operating_system.name().to_owned(),
            tenancy: one.tenancy.name().to_owned(),
            total: one.total,
            available: one.available,
            capacity_block: one.capacity_block,
            start: one.start.map(|time| time.to_string()),
            committed_until: one.committed_until.map(|time| time.to_string()),
            end: one.end.map(|time| time.to_string()),
            tags: one.tags.clone(),
        })
    });
    reserved.chain(plans).chain(capacity).collect()
}

impl Wire for CommitmentWire {
    type Value = (String, Commitments);

    /// The commitment alone, with its id.
    fn value<E: de::Error>(self) -> Result<Self::Value, E> {
        let mut one = Commitments::default();
        let (id, account) = match self {
            Self::ReservedInstances(mut wire) => {
                let owner = (wire.id.clone(), wire.account.take());
                one.reserved_instances.push(reserved(wire)?);
                owner
            }
            Self::SavingsPlan(mut wire) => {
                let owner = (wire.id.clone(), wire.account.take());
                one.savings_plans.push(plan(wire)?);
                owner
            }
            Self::CapacityReservation(mut wire) => {
                let owner = (wire.id.clone(), wire.account.take());
                one.capacity_reservations.push(capacity(wire)?);
                owner
            }
        };
        if let Some(account) = account {
            one.set_owner(&account);
        }
        Ok((id, one))
    }
}

fn reserved<E: de::Error>(wire: ReservedWire) -> Result<ReservedInstances, E> {
    let (start, end) = term(&wire.id, &wire.start, &wire.end)?;
    Ok(ReservedInstances {
        operating_system: system(&wire.operating_system)?,
        tenancy: named("tenancy", &wire.tenancy, Tenancy::from_name)?,
        count: instances("count", &wire.id, wire.count, 1)?,
        class: named("offering class", &wire.class, OfferingClass::from_name)?,
        payment: named("payment", &wire.payment, PaymentOption::from_name)?,
        start,
        end,
        currency: named("currency", &wire.currency, Currency::from_code)?,
        upfront: amount("upfront", &wire.upfront, MOST_UPFRONT)?,
        recurring_hourly: amount("recurring_hourly", &wire.recurring_hourly, MOST_PER_HOUR)?,
        id: wire.id,
        region: wire.region,
        zone: wire.zone,
        instance_type: wire.instance_type,
    })
}

fn plan<E: de::Error>(wire: PlanWire) -> Result<SavingsPlan, E> {
    let (start, end) = term(&wire.id, &wire.start, &wire.end)?;
    let kind = named("savings plan", &wire.plan, SavingsPlanKind::from_name)?;
    let is_bound = wire.region.is_some() && wire.family.is_some();
    if kind == SavingsPlanKind::Ec2Instance && !is_bound {
        return Err(E::custom(format!(
            "savings plan {} of kind {kind} needs `region` and `family`",
            wire.id
        )));
    }
    Ok(SavingsPlan {
        kind,
        currency: named("currency", &wire.currency, Currency::from_code)?,
        commitment_hourly: amount("commitment_hourly", &wire.commitment_hourly, MOST_PER_HOUR)?,
        term: named("term", &wire.term, CommitmentTerm::from_name)?,
        start,
        end,
        id: wire.id,
        region: wire.region,
        family: wire.family,
    })
}

fn capacity<E: de::Error>(wire: CapacityWire) -> Result<CapacityReservation, E> {
    let total = instances("total", &wire.id, wire.total, 0)?;
    Ok(CapacityReservation {
        operating_system: system(&wire.operating_system)?,
        tenancy: named("tenancy", &wire.tenancy, Tenancy::from_name)?,
        total,
        available: if wire.available <= total {
            wire.available
        } else {
            return Err(E::custom(format!(
                "`available` of {} is {}, more than its total of {total}",
                wire.id, wire.available
            )));
        },
        capacity_block: wire.capacity_block,
        start: wire.start.as_deref().map(time).transpose()?,
        committed_until: wire.committed_until.as_deref().map(time).transpose()?,
        end: wire.end.as_deref().map(time).transpose()?,
        tags: wire.tags,
        id: wire.id,
        region: wire.region,
        zone: wire.zone,
        instance_type: wire.instance_type,
    })
}

fn system<E: de::Error>(name: &str) -> Result<OperatingSystem, E> {
    named("operating system", name, OperatingSystem::from_name)
}

fn term<E: de::Error>(id: &str, start: &str, end: &str) -> Result<(Timestamp, Timestamp), E> {
    let (start, end) = (time(start)?, time(end)?);
    if start >= end {
        return Err(E::custom(format!("`end` of {id} is not after its `start`")));
    }
    Ok((start, end))
}

fn instances<E: de::Error>(field: &str, id: &str, count: u32, least: u32) -> Result<u32, E> {
    if !(least..=MOST_INSTANCES).contains(&count) {
        return Err(E::custom(format!(
            "`{field}` of {id} is not between {least} and {MOST_INSTANCES}: {count}"
        )));
    }
    Ok(count)
}

fn amount<E: de::Error>(field: &str, text: &str, most: Decimal) -> Result<Decimal, E> {
    let amount: Decimal = decimal(field, text)?;
    if amount.is_sign_negative() || amount > most {
        return Err(E::custom(format!(
            "`{field}` is not between 0 and {most}: {amount}"
        )));
    }
    Ok(amount)
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

/// The list as it stands in a file or an estate.
pub(super) struct List(pub Commitments);

/// An account has at most some thousands.
const MOST_COMMITMENTS: usize = 100_000;

type Listed = AtMost<Of<CommitmentWire>, MOST_COMMITMENTS>;

impl JsonSchema for List {
    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Listed::json_schema(generator)
    }
}

/// The JSON schema of a commitments file.
pub fn commitments_schema() -> Json {
    described::<List>(&mut generator(), "")
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Listed::deserialize(deserializer)?;
        let mut ids = BTreeSet::new();
        let mut read = Commitments::default();
        for Of((id, one)) in all.0 {
            if !ids.insert(id.clone()) {
                return Err(de::Error::custom(format!("duplicate commitment {id}")));
            }
            read.reserved_instances.extend(one.reserved_instances);
            read.savings_plans.extend(one.savings_plans);
            read.capacity_reservations.extend(one.capacity_reservations);
            read.owners.extend(one.owners);
        }
        let mut sorted = Commitments::default();
        sorted.add(read);
        Ok(Self(sorted))
    }
}

/// Reads a file that holds what an estate holds under `commitments`.
///
/// # Errors
/// When it cannot be read, is not such a list, or something in it is wrong.
pub fn read_commitments(path: &Path) -> Result<Commitments, CommitmentsError> {
    read_json_file(path, LONGEST_TEXT, PhantomData::<List>)
        .map_err(|source| CommitmentsError::Io {
            path: path.to_owned(),
            source,
        })?
        .map(|List(found)| found)
        .map_err(|error| explain(path, error))
}

/// Bytes of one text: an id has a hundred.
const LONGEST_TEXT: usize = 1 << 16;

fn explain(path: &Path, error: JsonError) -> CommitmentsError {
    let path = path.to_owned();
    match error.source {
        InvalidJson::Text(source) if source.is_io() => CommitmentsError::Io {
            path,
            source: source.into(),
        },
        InvalidJson::Text(source) => CommitmentsError::Malformed { path, source },
        InvalidJson::Value(source) => CommitmentsError::Wrong {
            path,
            place: error.place,
            source,
        },
    }
}
