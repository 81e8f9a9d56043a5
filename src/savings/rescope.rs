//! Reserved instances of a zone that cover more for their whole region.

use super::allocate;
use super::coverage::{Class, Existing, Fleet, Layer, ZonalReservation};
use super::offers::{Alternatives, Terms};
use super::path::Path;
use super::plan::{CommitPart, Draft, ScopeChange};
use super::pool::cents;
use crate::domain::{Money, Risk};
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A change of scope, with what all together save more per month by it, in cents, and the fleet
/// after it.
struct Change {
    reservation: ZonalReservation,
    gained: Decimal,
    fleet: Fleet,
}

impl Draft<'_> {
    const RESCOPE_RISK: Risk = Risk::Medium;

    /// Takes the plan of the fleet whose reservations are all for their regions, where the fleet
    /// then costs less: a stop that saves nothing as long as its zone holds what pays for it.
    pub(super) fn improve_for_regions(&mut self, workloads: &[Alternatives]) {
        let zonal = self.terms.existing.zonal();
        if zonal.is_empty() || !self.terms.allows(Self::RESCOPE_RISK) {
            return;
        }
        let mut regional = self.terms.existing.clone();
        for reservation in &zonal {
            regional = regional.for_region(&reservation.id);
        }
        let terms = Terms { existing: &regional, ..*self.terms };
        let mut other = Draft::of(workloads, &terms);
        other.improve();
        if self.rescoped_cost(&other.paths) < self.rescoped_cost(&self.paths) {
            for (place, path) in other.paths.into_iter().enumerate() {
                self.take(place, path);
            }
        }
    }

    /// What the fleet costs that paths and the changes of scope for it leave, in cents.
    fn rescoped_cost(&self, paths: &[Path]) -> Decimal {
        let fleet = self.rescoped_fleet(paths);
        let left: Decimal = paths.iter().map(|path| path.left.amount()).sum();
        let components = fleet.components();
        let paid: Decimal = components.map(|component| self.paid(&fleet, component)).sum();
        cents(left - paid)
    }

    /// The fleet that paths leave after the changes of scope that save.
    pub(super) fn rescoped_fleet(&self, paths: &[Path]) -> Fleet {
        match self.scope_changes(paths).pop() {
            Some(change) => change.fleet,
            None => self.fleet_of(self.terms.existing, paths),
        }
    }

    fn fleet_of(&self, existing: &Existing, paths: &[Path]) -> Fleet {
        let mut fleet = Fleet::of(existing, self.classes.clone(), self.terms.window_hours);
        for path in paths {
            fleet.add(&path.stages.last);
        }
        fleet
    }

    /// The changes that each save more on what paths and those before leave.
    fn scope_changes(&self, paths: &[Path]) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        if !self.terms.allows(Self::RESCOPE_RISK) {
            return changes;
        }
        let mut existing = Cow::Borrowed(self.terms.existing);
        let mut before = credit(&self.fleet_of(&existing, paths));
        for reservation in self.terms.existing.zonal() {
            let changed = existing.for_region(&reservation.id);
            let fleet = self.fleet_of(&changed, paths);
            let after = credit(&fleet);
            let gained = cents(after - before);
            if gained > Decimal::ZERO {
                existing = Cow::Owned(changed);
                before = after;
                changes.push(Change { reservation, gained, fleet });
            }
        }
        changes
    }

    /// Reserved instances of a zone that cover more as those of their region, which costs no
    /// fee: before anything is bought. A stop that saves nothing without them has a part of what
    /// they save.
    pub(super) fn rescope(&mut self, parts: &mut [Vec<CommitPart>]) -> Vec<ScopeChange> {
        let mut changes = Vec::new();
        for Change { reservation, gained, fleet } in self.scope_changes(&self.paths) {
            let shares = |fleet: &Fleet| -> BTreeMap<Class, Decimal> {
                let components = fleet.components();
                components.flat_map(|component| fleet.open_shares(component, Layer::Paid)).collect()
            };
            let (open_before, open_after) = (shares(&self.fleet), shares(&fleet));
            let weights: Vec<Decimal> = self
                .paths
                .iter()
                .map(|path| {
                    let slots = path.stages.last.iter();
                    let covered = slots.map(|slot| {
                        let share = |by_class: &BTreeMap<Class, Decimal>| {
                            by_class.get(&slot.class).copied().unwrap_or_default()
                        };
                        (share(&open_before) - share(&open_after)).max(Decimal::ZERO) * slot.monthly
                    });
                    covered.sum()
                })
                .collect();
            let gained = gained.min(cents(weights.iter().sum()));
            let weighted = weights.iter().position(|weight| !weight.is_zero());
            let Some(currency) = weighted.map(|place| self.workloads[place].cost.currency()) else {
                continue;
            };
            self.fleet = fleet;
            let gained = Money::new(gained, currency);
            let own = self.share_with_enabling(gained, &reservation);
            let saved = allocate(own, &weights);
            let mut shares = Vec::new();
            for ((parts, path), saving) in parts.iter_mut().zip(&self.paths).zip(saved) {
                if saving.amount().is_zero() {
                    continue;
                }
                shares.push((path.id.clone(), saving));
                parts.push(rescoped(&reservation, saving, Self::RESCOPE_RISK));
            }
            changes.push(ScopeChange {
                id: reservation.id,
                zone: reservation.zone,
                region: reservation.region,
                count: reservation.count,
                monthly_savings: own,
                shares,
            });
        }
        self.undo_what_saves_nothing();
        changes
    }

    /// What a change of scope saves itself, beside stops that it makes worth while: each by what
    /// the plan would cost more without it.
    fn share_with_enabling(&mut self, gained: Money, reservation: &ZonalReservation) -> Money {
        let idle: Vec<usize> = self.without_savings().collect();
        let mut gain = |place: &usize| {
            let (list, path) = (self.workloads[*place].list, &self.paths[*place]);
            self.fleet.gain(path, list.amount() - path.left.amount())
        };
        let lost: Vec<Decimal> = idle.iter().map(&mut gain).collect();
        let weights: Vec<Decimal> = std::iter::once(gained.amount()).chain(lost).collect();
        let mut shares = allocate(gained, &weights).into_iter();
        let own = shares.next().unwrap_or(gained);
        for (place, saving) in idle.into_iter().zip(shares) {
            if !saving.amount().is_zero() {
                let path = &mut self.paths[place];
                let listed = Path::of(&self.workloads[place], self.terms, Some(path.choice));
                path.save(saving, &listed.savings().collect::<Vec<_>>());
                path.wait_for(Self::RESCOPE_RISK, &rescope_first(reservation));
            }
        }
        own
    }

    /// The workloads whose actions save nothing as far as the plan has got.
    fn without_savings(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.paths.iter().enumerate();
        let acting = places.filter(|(_, path)| !path.actions.is_empty() && path.saved().is_zero());
        acting.map(|(place, _)| place)
    }

    fn undo_what_saves_nothing(&mut self) {
        for place in self.without_savings().collect::<Vec<_>>() {
            self.fleet.remove(&self.paths[place].stages.last);
            self.paths[place].undo();
            self.fleet.add(&self.paths[place].stages.last);
        }
    }
}

fn credit(fleet: &Fleet) -> Decimal {
    let components = fleet.components();
    components.map(|component| fleet.credit(component)).sum()
}

fn rescope_first(reservation: &ZonalReservation) -> String {
    let ZonalReservation { id, region, .. } = reservation;
    format!("saves only once the reserved instances {id} have changed their scope to {region}")
}

fn rescoped(reservation: &ZonalReservation, saving: Money, risk: Risk) -> CommitPart {
    let ZonalReservation { id, zone, region, .. } = reservation;
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
