//! Reserved instances of a zone that cover more for their whole region.

use super::allocate;
use super::coverage::{Class, Fleet, Layer, ZonalReservation};
use super::plan::{CommitPart, Draft, ScopeChange};
use super::pool::cents;
use crate::domain::{Money, Risk};
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Draft<'_> {
    /// Reserved instances of a zone that cover more as those of their region, which costs no
    /// fee: before anything is bought.
    pub(super) fn rescope(&mut self, parts: &mut [Vec<CommitPart>]) -> Vec<ScopeChange> {
        let risk = Risk::Medium;
        let mut changes = Vec::new();
        if !self.terms.allows(risk) {
            return changes;
        }
        let mut existing = Cow::Borrowed(self.terms.existing);
        for reservation in self.terms.existing.zonal() {
            let changed = existing.for_region(&reservation.id);
            let mut fleet = Fleet::of(&changed, self.classes.clone(), self.terms.window_hours);
            for path in &self.paths {
                fleet.add(&path.stages.last);
            }
            let credit = |fleet: &Fleet| -> Decimal {
                fleet
                    .components()
                    .map(|component| fleet.credit(component))
                    .sum()
            };
            let gained = cents(credit(&fleet) - credit(&self.fleet));
            if gained <= Decimal::ZERO {
                continue;
            }
            let shares = |fleet: &Fleet| -> BTreeMap<Class, Decimal> {
                let components = fleet.components();
                components
                    .flat_map(|component| fleet.open_shares(component, Layer::Paid))
                    .collect()
            };
            let (before, after) = (shares(&self.fleet), shares(&fleet));
            let weights: Vec<Decimal> = self
                .paths
                .iter()
                .map(|path| {
                    let slots = path.stages.last.iter();
                    let covered = slots.map(|slot| {
                        let share = |by_class: &BTreeMap<Class, Decimal>| {
                            by_class.get(&slot.class).copied().unwrap_or_default()
                        };
                        (share(&before) - share(&after)).max(Decimal::ZERO) * slot.monthly
                    });
                    covered.sum()
                })
                .collect();
            let gained = gained.min(cents(weights.iter().sum()));
            let weighted = weights.iter().position(|weight| !weight.is_zero());
            let Some(currency) = weighted.map(|place| self.workloads[place].cost.currency()) else {
                continue;
            };
            let saved = allocate(Money::new(gained, currency), &weights);
            let mut shares = Vec::new();
            for ((parts, path), saving) in parts.iter_mut().zip(&self.paths).zip(saved) {
                if saving.amount().is_zero() {
                    continue;
                }
                shares.push((path.id.clone(), saving));
                parts.push(rescoped(&reservation, saving, risk));
            }
            changes.push(ScopeChange {
                id: reservation.id,
                zone: reservation.zone,
                region: reservation.region,
                count: reservation.count,
                monthly_savings: Money::new(gained, currency),
                shares,
            });
            self.fleet = fleet;
            existing = Cow::Owned(changed);
        }
        changes
    }
}

fn rescoped(reservation: &ZonalReservation, saving: Money, risk: Risk) -> CommitPart {
    let ZonalReservation {
        id, zone, region, ..
    } = reservation;
    CommitPart {
        saving,
        detail: format!(
            "change the scope of the reserved instances {id} from {zone} to {region}, which costs \
             no fee: they then cover hours that are billed on demand"
        ),
        risk,
        caveat: Some(format!(
            "nothing is bought: {id} changes its scope from {zone} to {region}, and then holds no \
             capacity there"
        )),
    }
}
