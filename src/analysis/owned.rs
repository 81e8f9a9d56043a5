//! What an account has bought already: whose hours are paid for ahead, and what
//! is to be said about the commitments themselves.

use super::PriceUse;
use super::workloads::PaidHours;
use crate::catalog::Prices;
use crate::domain::{
    CapacityReservation, Currency, Estate, Finding, Gap, Money, Policy, PriceKey, PriceOption,
    PurchaseOption, Workload,
};
use crate::rules::commitment_findings;
use crate::savings::{Alternatives, Coverage, Offers, existing_coverage};
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

    /// What is paid for from now on, by instance.
    pub(super) fn paid_hours(&self) -> PaidHours {
        let covered = self.coverage.instances.iter();
        covered
            .filter_map(|one| Some((one.id.clone(), one.paid_ahead(self.estate.as_of)?)))
            .collect()
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

/// Why the hours of a workload that no commitment covers get no advice: what
/// moving it would save on them depends on who takes over the others.
pub(super) fn unweighed(workload: &Workload, offers: &Offers) -> Option<Gap> {
    let sunk = workload.sunk()?;
    let is_mixed = workload.key.purchase_option == PurchaseOption::Mixed;
    if !is_mixed || workload.ignored.is_some() || offers.stop.is_some() {
        return None;
    }
    Some(Gap::new(
        "commitments",
        workload.id(),
        format!(
            "some of its hours are paid for ahead by {}: what moving the others would save is not \
             known",
            sunk.in_words()
        ),
        "`gpucost reserved` shows how well they are used; decide when they end",
    ))
}

/// What is left to choose from where commitments pay for hours: nothing but to
/// end the others.
pub(super) fn alternatives_of_paid(workload: &Workload, offers: &Offers) -> Alternatives {
    let cost = workload.monthly_cost();
    let may_end = cost.is_some() && workload.ignored.is_none();
    Alternatives {
        cost: cost.unwrap_or(Money::zero(Currency::Usd)),
        today: None,
        end: offers.stop.clone().filter(|_| may_end),
        schedule: None,
        resizes: Vec::new(),
        spot: BTreeMap::new(),
        committable: None,
    }
}
