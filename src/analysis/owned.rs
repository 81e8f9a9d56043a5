//! What an account has bought already: whose hours are paid for ahead, and what
//! is to be said about the commitments themselves.

use super::PriceUse;
use crate::catalog::Prices;
use crate::domain::{
    CapacityReservation, Currency, Estate, Finding, Gap, InstanceId, Money, Policy, PriceKey,
    PriceOption, PurchaseOption, Workload,
};
use crate::rules::commitment_findings;
use crate::savings::{Alternatives, Coverage, InstanceCoverage, existing_coverage};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// The commitments of an estate and what they cover.
pub(super) struct Owned<'a> {
    estate: &'a Estate,
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    coverage: Coverage,
}

impl<'a> Owned<'a> {
    pub(super) fn of(estate: &'a Estate, prices: &'a Prices<'a>, policy: &'a Policy) -> Self {
        Self {
            coverage: existing_coverage(estate, prices, policy),
            estate,
            prices,
            policy,
        }
    }

    /// What is covered, by instance.
    pub(super) fn by_instance(&self) -> BTreeMap<&InstanceId, &InstanceCoverage> {
        let covered = self.coverage.instances.iter();
        covered.map(|one| (&one.id, one)).collect()
    }

    /// Every finding about what was bought, with the prices behind its figures.
    pub(super) fn findings(&self, prices_used: &mut PriceUse) -> Vec<Finding> {
        let reservations = &self.estate.commitments.capacity_reservations;
        let findings = commitment_findings(
            reservations,
            &self.coverage,
            self.prices,
            self.policy,
            self.estate.as_of,
        );
        for finding in findings.iter().filter(|one| one.monthly_savings.is_some()) {
            let about = reservations.iter().find(|one| one.id == finding.workload());
            let found = about.and_then(|one| self.prices.find(&on_demand_key(one)).ok());
            if let Some(found) = found {
                prices_used.insert(found);
            }
        }
        findings
    }
}

fn on_demand_key(one: &CapacityReservation) -> PriceKey {
    PriceKey {
        region: one.region.clone(),
        instance_type: one.instance_type.clone(),
        operating_system: one.operating_system,
        tenancy: one.tenancy,
        option: PriceOption::OnDemand,
        zone: None,
    }
}

/// Why a running workload gets no advice: a commitment pays for hours of it,
/// used or not, so that what stopping or moving it seems to save is sunk until
/// that ends.
pub(super) fn paid_ahead(
    workload: &Workload,
    covered: &BTreeMap<&InstanceId, &InstanceCoverage>,
) -> Option<Gap> {
    if !workload.key.running || workload.ignored.is_some() {
        return None;
    }
    let ends: BTreeMap<&str, Timestamp> = workload
        .instances
        .iter()
        .filter_map(|id| covered.get(id))
        .filter(|one| one.purchase_option() != PurchaseOption::OnDemand)
        .flat_map(|one| &one.parts)
        .map(|part| (part.commitment.as_str(), part.end))
        .collect();
    if ends.is_empty() {
        return None;
    }
    let day = |end: Timestamp| end.to_zoned(TimeZone::UTC).date();
    let names: Vec<String> = ends
        .into_iter()
        .map(|(id, end)| format!("{id} until {}", day(end)))
        .collect();
    Some(Gap::new(
        "commitments",
        workload.id(),
        format!(
            "hours are paid for ahead by {}: what stopping or moving it would save is not known",
            names.join(", ")
        ),
        "`gpucost reserved` shows how well they are used; decide when they end",
    ))
}

/// Nothing to choose from: the workload stays as it is, at today's cost.
pub(super) fn no_alternatives(workload: &Workload) -> Alternatives {
    let cost = workload.monthly_cost();
    Alternatives {
        cost: cost.unwrap_or(Money::zero(Currency::Usd)),
        today: None,
        end: None,
        schedule: None,
        resizes: Vec::new(),
        spot: BTreeMap::new(),
        committable: None,
    }
}
