//! Reserved instances of a zone that cover more for their whole region.

use super::allocate;
use super::coverage::{Class, Existing, Fleet, Layer, Slot, ZonalReservation};
use super::drops::within;
use super::offers::{Alternatives, Terms};
use super::path::{LAST, Path};
use super::plan::{CommitPart, Draft, ScopeChange};
use super::pool::cents;
use crate::domain::{ActionKind, Money};
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A change of scope, with what all together save more per month by it, in cents, which part of
/// that is of each workload, and the fleet after it.
struct Change {
    reservation: ZonalReservation,
    gained: Decimal,
    weights: Vec<Decimal>,
    fleet: Fleet,
}

impl Draft<'_> {
    /// Notes what is worth doing only once reservations are for their regions: a stop that saves
    /// nothing as long as its zone holds what pays for it. What need not be done then is not: a
    /// change of scope has no fee.
    pub(super) fn improve_for_regions(&mut self, workloads: &[Alternatives]) {
        let zonal = self.terms.existing.zonal();
        if zonal.is_empty() || !self.terms.allows(ScopeChange::RISK) {
            return;
        }
        let mut regional = self.terms.existing.clone();
        for reservation in &zonal {
            regional = regional.for_region(&reservation.id);
        }
        let terms = Terms { existing: &regional, ..*self.terms };
        let mut other = Draft::of(workloads, &terms);
        other.improve();
        let (mut dependents, mut stays) = (Vec::new(), Vec::new());
        for (place, path) in other.paths.into_iter().enumerate() {
            match (self.paths[place].actions.is_empty(), path.actions.is_empty()) {
                (true, false) => dependents.push((place, path)),
                (false, true) => stays.push((place, path)),
                _ => {}
            }
        }
        let without = self.rescoped_costs(&self.paths);
        let trials = [(true, true), (true, false), (false, true)].into_iter();
        let cheaper = trials.filter_map(|(depend, stay)| {
            let mut paths = self.paths.clone();
            let own = dependents.iter().filter(|_| depend).chain(stays.iter().filter(|_| stay));
            let mut changed = 0;
            for (place, path) in own {
                paths[*place] = path.clone();
                changed += 1;
            }
            // Rows are rounded to cents, and what commitments pay is not.
            let least = Decimal::new(changed, 2);
            let with = self.rescoped_costs(&paths);
            let saves = with.iter().zip(without).all(|(with, without)| with + least <= without);
            (changed > 0 && saves).then_some((with, depend, stay))
        });
        let Some((_, depend, stay)) = cheaper.min_by_key(|(with, ..)| *with) else { return };
        for (place, path) in stays.into_iter().filter(|_| stay) {
            self.take(place, path);
        }
        if depend {
            self.dependents = dependents;
        }
    }

    /// What the fleet costs that paths and the changes of scope for it leave, in cents: with the
    /// best purchases, and without any.
    fn rescoped_costs(&self, paths: &[Path]) -> [Decimal; 2] {
        let fleet = self.scope_changes(paths).pop().map(|change| change.fleet);
        let fleet = fleet.unwrap_or_else(|| self.fleet_of(self.terms.existing, paths));
        let paid: Decimal = fleet.components().map(|component| self.paid(&fleet, component)).sum();
        [cents(list(paths) - paid), cents(list(paths) - credit(&fleet))]
    }

    fn fleet_of(&self, existing: &Existing, paths: &[Path]) -> Fleet {
        let mut fleet = Fleet::of(existing, self.classes.clone(), self.terms.window_hours);
        for path in paths {
            fleet.add(&path.stages[LAST]);
        }
        fleet
    }

    /// The changes that each save more on what paths and those before leave, without those that
    /// later ones make needless.
    fn scope_changes(&self, paths: &[Path]) -> Vec<Change> {
        let mut zonal = self.terms.existing.zonal();
        if zonal.is_empty() || !self.terms.allows(ScopeChange::RISK) {
            return Vec::new();
        }
        loop {
            let changes = self.changes_of(&zonal, paths);
            let Some(last) = changes.last() else { return changes };
            let most = cents(credit(&last.fleet));
            let is_needless = |change: &&Change| {
                let others = changes.iter().map(|other| &other.reservation.id);
                let others = others.filter(|id| **id != change.reservation.id);
                let existing = others
                    .fold(self.terms.existing.clone(), |existing, id| existing.for_region(id));
                cents(credit(&self.fleet_of(&existing, paths))) == most
            };
            let needless = changes.iter().find(is_needless).map(|change| &change.reservation.id);
            let Some(needless) = needless.filter(|_| changes.len() > 1) else { return changes };
            zonal.retain(|reservation| reservation.id != *needless);
        }
    }

    fn changes_of(&self, zonal: &[ZonalReservation], paths: &[Path]) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        let mut existing = Cow::Borrowed(self.terms.existing);
        let today = self.fleet_of(&existing, paths);
        for reservation in zonal {
            let changed = existing.for_region(&reservation.id);
            let fleet = self.fleet_of(&changed, paths);
            let before = changes.last().map_or(&today, |change| &change.fleet);
            let weights = self.newly_covered(paths, before, &fleet);
            let gained = cents(credit(&fleet) - credit(before)).min(cents(weights.iter().sum()));
            if gained > Decimal::ZERO {
                existing = Cow::Owned(changed);
                changes.push(Change { reservation: reservation.clone(), gained, weights, fleet });
            }
        }
        changes
    }

    /// What of the list price of each path commitments pay in one fleet that they do not in
    /// another: nothing of those for which no commitment is wanted.
    fn newly_covered(&self, paths: &[Path], before: &Fleet, after: &Fleet) -> Vec<Decimal> {
        let shares = |fleet: &Fleet| -> BTreeMap<Class, Decimal> {
            let components = fleet.components();
            components.flat_map(|component| fleet.open_shares(component, Layer::Paid)).collect()
        };
        let (before, after) = (shares(before), shares(after));
        let newly = |slot: &Slot| {
            let open = |shares: &BTreeMap<Class, Decimal>| {
                shares.get(&slot.class).copied().unwrap_or_default()
            };
            (open(&before) - open(&after)).max(Decimal::ZERO) * slot.monthly
        };
        let is_wanted = |path: &&Path| {
            let rejected = self.terms.rejected.get(&path.id);
            rejected.is_none_or(|kinds| !kinds.contains(&ActionKind::Commit))
        };
        let sum = |path: &Path| path.stages[LAST].iter().map(newly).sum();
        paths.iter().map(|path| Some(path).filter(is_wanted).map_or(Decimal::ZERO, sum)).collect()
    }

    /// Reserved instances of a zone that cover more as those of their region, which costs no
    /// fee: before anything is bought. A stop that saves nothing without them has a part of what
    /// they save.
    pub(super) fn rescope(&mut self, parts: &mut [Vec<CommitPart>]) -> Vec<ScopeChange> {
        let mut dependents = Vec::new();
        let before = list(&self.paths) - credit(&self.fleet);
        for (place, path) in std::mem::take(&mut self.dependents) {
            let listed: Vec<Decimal> = path.savings().collect();
            self.take(place, path);
            self.paths[place].save(Money::zero(self.workloads[place].cost.currency()), &listed);
            dependents.push((place, listed));
        }
        // As long as nothing is changed, what waits for it leaves cover that nobody else can use.
        let mut lost = cents(list(&self.paths) - credit(&self.fleet) - before).max(Decimal::ZERO);
        let mut changes = Vec::new();
        for Change { reservation, gained, weights, fleet } in self.scope_changes(&self.paths) {
            let (gained, still_lost) = (gained - gained.min(lost), lost - gained.min(lost));
            lost = still_lost;
            let weighted = weights.iter().position(|weight| !weight.is_zero());
            let Some(currency) = weighted.map(|place| self.workloads[place].cost.currency()) else {
                continue;
            };
            self.fleet = fleet;
            let gained = Money::new(gained, currency);
            let own = self.share_with_dependents(gained, &mut dependents, &reservation);
            let saved = allocate(own, &weights);
            let mut change = ScopeChange {
                id: reservation.id,
                zone: reservation.zone,
                region: reservation.region,
                count: reservation.count,
                monthly_savings: own,
                shares: Vec::new(),
            };
            for ((parts, path), saving) in parts.iter_mut().zip(&self.paths).zip(saved) {
                if saving.amount().is_zero() {
                    continue;
                }
                change.shares.push((path.id.clone(), saving));
                parts.push(CommitPart {
                    saving,
                    detail: change.detail(),
                    risk: ScopeChange::RISK,
                    caveat: Some(change.caveat()),
                });
            }
            changes.push(change);
        }
        for (place, _) in dependents {
            self.fleet.remove(&self.paths[place].stages[LAST]);
            self.paths[place].undo();
            self.fleet.add(&self.paths[place].stages[LAST]);
        }
        changes
    }

    /// What a change of scope saves itself, beside what waits for it: each by what the plan would
    /// cost more without it, and at most what its row costs. What gets nothing waits on.
    fn share_with_dependents(
        &mut self,
        gained: Money,
        dependents: &mut Vec<(usize, Vec<Decimal>)>,
        reservation: &ZonalReservation,
    ) -> Money {
        let mut weights = vec![gained.amount()];
        for (place, listed) in &*dependents {
            let gain = self.fleet.gain(&self.paths[*place], listed.iter().sum());
            weights.push(gain.min(self.workloads[*place].cost.amount()));
        }
        let mut shares = within(gained, &weights).into_iter();
        let own = shares.next().unwrap_or(gained);
        let shared = std::mem::take(dependents).into_iter().zip(shares);
        for ((place, listed), saving) in shared {
            if saving.amount().is_zero() {
                dependents.push((place, listed));
                continue;
            }
            let path = &mut self.paths[place];
            path.save(saving, &listed);
            path.wait_for(ScopeChange::RISK, &rescope_first(reservation));
        }
        own
    }
}

/// What paths leave at list price.
fn list(paths: &[Path]) -> Decimal {
    paths.iter().map(|path| path.left.amount()).sum()
}

fn credit(fleet: &Fleet) -> Decimal {
    fleet.credits(fleet.components())
}

fn rescope_first(reservation: &ZonalReservation) -> String {
    let ZonalReservation { id, region, .. } = reservation;
    format!("saves only once the reserved instances {id} have changed their scope to {region}")
}
