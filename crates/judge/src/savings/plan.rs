//! One plan: at most one action of each kind a workload, each on what the one
//! before left, and commitments on what remains of all, so that no dollar counts
//! twice.
//!
//! Order: stop, else schedule, then right-size or share, then spot; then
//! commitments by pool. Stopped workloads release what stands. The plan is not greedy: the best
//! targets of each workload are tried together with the commitments that follow, and the
//! cheapest whole is taken. The saving of an action is the drop of what the fleet costs.

use super::ConcurrentUsage;
use super::coverage::{Class, Fleet, Layer, OpenPool, Slot};
use super::offers::{Alternatives, SkipReason, Terms};
use super::path::{Choice, LAST, Path};
use super::pool::cents;
use super::purchase::{Bought, PoolRow, Purchase, best_purchase, purchase, saved};
use crate::domain::{Action, ActionKind, CommitmentPool, CommitmentTerm, Money, Risk};
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How often the variants of every workload are tried again while the whole gets cheaper.
const MOST_PASSES: usize = 3;

/// What to do, by workload and by pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The actions of each workload, in their order.
    pub actions: Vec<Vec<Action>>,
    /// What each workload is offered and the plan does without.
    pub skipped: Vec<BTreeMap<ActionKind, SkipReason>>,
    /// Commitments, by what they cover.
    pub purchases: Vec<Purchase>,
    pub scope_changes: Vec<ScopeChange>,
    /// What all other actions leave to commit to.
    pub pools: BTreeMap<CommitmentPool, PoolHours>,
    /// What each kind of action on a workload would save by itself of what the fleet costs
    /// today, unrounded; empty where no commitment is near and the list price is saved.
    pub alone: Vec<BTreeMap<ActionKind, Decimal>>,
}

/// A standard reservation of a zone that covers more for its whole region, which costs no fee.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeChange {
    /// The reservation's ID.
    pub id: String,
    pub zone: String,
    pub region: String,
    /// Instances that it is for.
    pub count: u32,
    /// Saved per month, in cents.
    pub monthly_savings: Money,
    /// The workloads whose hours it then covers, by ID, each with its part of the saving.
    pub shares: Vec<(String, Money)>,
}

impl ScopeChange {
    pub const RISK: Risk = Risk::Medium;

    /// What is done, in words.
    pub fn detail(&self) -> String {
        let Self { id, zone, region, .. } = self;
        format!(
            "change the scope of the reserved instances {id} from {zone} to {region}, which costs \
             no fee: they then cover hours that are billed on demand"
        )
    }

    /// What is given up.
    pub fn caveat(&self) -> String {
        format!("nothing is bought: {} then holds no capacity in {}", self.id, self.zone)
    }
}

/// How many instances of a pool work at once in each hour of the window, in billionths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolHours {
    /// Of those that run for a year.
    pub one_year: Vec<u64>,
    /// Of those that run for longer, and whose GPUs are used enough; absent where these are all.
    pub longer: Option<Vec<u64>>,
}

impl PoolHours {
    /// The hours that a term may be sized by.
    pub fn of(&self, term: CommitmentTerm) -> &[u64] {
        self.longer.as_ref().filter(|_| term.years > 1).unwrap_or(&self.one_year)
    }
}

pub fn plan(workloads: &[Alternatives], terms: &Terms<'_>) -> Plan {
    let mut draft = Draft::of(workloads, terms);
    draft.improve();
    draft.improve_for_regions(workloads);
    draft.finish()
}

/// A plan on its way.
pub(super) struct Draft<'a> {
    pub(super) terms: &'a Terms<'a>,
    /// Without what is rejected.
    pub(super) workloads: Vec<Cow<'a, Alternatives>>,
    rejected: Vec<BTreeSet<ActionKind>>,
    pub(super) paths: Vec<Path>,
    pub(super) classes: BTreeSet<Class>,
    /// The fleet that the paths leave.
    pub(super) fleet: Fleet,
    /// What is worth doing only after a change of scope, by the place of its workload.
    pub(super) dependents: Vec<(usize, Path)>,
}

/// A variant of a workload, and what its components cost with it: with the best purchases, and
/// with the commitments that are there alone.
struct Tried {
    cost: Decimal,
    unbought: Decimal,
    path: Path,
}

impl Tried {
    /// Whether a move saves before anything is bought for it: a purchase does not justify leaving
    /// what commitments pay for.
    fn saves_without_purchases(&self, variants: &[Self]) -> bool {
        let own = self.path.choice;
        let stays = |choice: Choice| choice.resize.is_none() && !choice.spot;
        let is_beside = |variant: &&Self| {
            let other = variant.path.choice;
            stays(other) && (other.ends, other.schedules) == (own.ends, own.schedules)
        };
        stays(own)
            || variants.iter().filter(is_beside).all(|variant| self.unbought < variant.unbought)
    }
}

/// A part of what commitments save for one workload.
pub(super) struct CommitPart {
    pub saving: Money,
    pub detail: String,
    pub risk: Risk,
    pub caveat: Option<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn of(workloads: &'a [Alternatives], terms: &'a Terms<'a>) -> Self {
        let (workloads, rejected): (Vec<_>, Vec<_>) = workloads
            .iter()
            .map(|workload| match terms.rejected.get(&workload.id) {
                None => (Cow::Borrowed(workload), BTreeSet::new()),
                Some(kinds) => {
                    let (kept, rejected) = workload.without(kinds);
                    (Cow::Owned(kept), rejected)
                }
            })
            .unzip();
        let paths: Vec<Path> =
            workloads.iter().map(|workload| Path::of(workload, terms, None)).collect();
        let classes: BTreeSet<Class> =
            workloads.iter().flat_map(|workload| classes(workload)).collect();
        let mut fleet = Fleet::of(terms.existing, classes.clone(), terms.window_hours);
        for path in &paths {
            fleet.add(&path.stages[LAST]);
        }
        Self { terms, workloads, rejected, paths, classes, fleet, dependents: Vec::new() }
    }

    /// Takes the cheapest of three plans for each set of workloads that share commitments: from
    /// what is best for each workload alone, and from the fleet of today, by what each costs and by
    /// what each saves by itself. The first moves workloads away from commitments that the actions
    /// of others would free for them, and the second lets a small move go before a large one.
    pub(super) fn improve(&mut self) {
        let kinds = |path: &Path| path.actions.iter().map(Action::kind).collect();
        let offered: Vec<Vec<ActionKind>> = self.paths.iter().map(kinds).collect();
        let order = self.ordered((0..self.workloads.len()).collect());
        self.descend(&order);
        let reachable: Vec<BTreeSet<usize>> = self
            .workloads
            .iter()
            .map(|workload| components(&self.fleet, &classes(workload).collect()))
            .collect();
        let sets = self.sets(&reachable);
        let is_near = |place: &usize| {
            reachable[*place].iter().any(|component| self.fleet.is_touched(*component))
        };
        let near: Vec<usize> = (0..self.workloads.len()).filter(is_near).collect();
        let mut best = self.costs_and_paths(&sets);
        for gain_decides in [false, true] {
            for place in &near {
                let stays = Path::of(&self.workloads[*place], self.terms, Some(Choice::NOTHING));
                self.take(*place, stays);
            }
            let mut order = self.ordered(near.clone());
            if gain_decides {
                order.sort_by_cached_key(|place| Reverse(self.gain_of(*place)));
            }
            self.descend(&order);
            for (best, own) in best.iter_mut().zip(self.costs_and_paths(&sets)) {
                if own.0 < best.0 {
                    *best = own;
                }
            }
        }
        for ((_, members), (_, paths)) in sets.iter().zip(best) {
            for (place, path) in members.iter().zip(paths) {
                self.take(*place, path);
            }
        }
        for (path, offered) in self.paths.iter_mut().zip(offered) {
            for kind in offered {
                if path.actions.iter().all(|own| own.kind() != kind) {
                    let taken = path.actions.last().map(Action::kind);
                    let why = taken.filter(|own| *own > kind).map(SkipReason::Instead);
                    let why = why.unwrap_or(SkipReason::SavesNothing);
                    path.skipped.entry(kind).or_insert(why);
                }
            }
        }
    }

    /// What the workloads of each set cost together with their components, in cents, and how.
    fn costs_and_paths(&self, sets: &[(Vec<usize>, Vec<usize>)]) -> Vec<(Decimal, Vec<Path>)> {
        let of_set = |(components, members): &(Vec<usize>, Vec<usize>)| {
            let paths: Vec<Path> = members.iter().map(|place| self.paths[*place].clone()).collect();
            let left: Decimal = paths.iter().map(|path| path.left.amount()).sum();
            let paid = components.iter().map(|component| self.paid(&self.fleet, *component));
            (cents(left - paid.sum::<Decimal>()), paths)
        };
        sets.iter().map(of_set).collect()
    }

    pub(super) fn take(&mut self, place: usize, path: Path) {
        self.fleet.swap(&self.paths[place].stages[LAST], &path.stages[LAST]);
        self.paths[place] = path;
    }

    /// In an order that neither ids nor places decide: those that cost the most come first, and of
    /// these those that have the least to gain elsewhere.
    fn ordered(&self, mut order: Vec<usize>) -> Vec<usize> {
        order.sort_by_cached_key(|place| {
            let workload = &self.workloads[*place];
            let seen: Vec<_> = workload.billed.iter().map(|member| member.seen.clone()).collect();
            let today = workload.today.as_ref();
            let moves = workload.resizes.iter();
            let mut moves: Vec<_> = moves
                .map(|offer| (offer.to.monthly(), offer.step.target.clone(), offer.step.risk))
                .collect();
            moves.sort_unstable();
            let cheapest = moves.first().map_or(workload.list.amount(), |(monthly, ..)| *monthly);
            let markets = workload.spot.iter();
            let markets: Vec<_> = markets
                .map(|(to, market)| {
                    (to.clone(), market.effective_hourly.amount(), market.step.risk)
                })
                .collect();
            let end = workload.end.as_ref();
            let end = end.map(|end| (end.kind(), end.monthly_savings().amount(), end.risk()));
            let schedule = workload.schedule.as_ref();
            let schedule = schedule.map(|offer| (offer.hours.on_share, offer.step.risk));
            (
                // What commitments pay for first: it is what a stop may not end.
                workload.cost.amount() - workload.list.amount(),
                Reverse(workload.list.amount()),
                Reverse(cheapest),
                moves,
                markets,
                end,
                schedule,
                today.map(|stage| (stage.instance_type.clone(), stage.count)),
                seen,
                workload.id.clone(),
            )
        });
        order
    }

    /// Tries the variants of workloads with everything else as it is, until none makes the whole
    /// cheaper.
    fn descend(&mut self, order: &[usize]) {
        for _ in 0..MOST_PASSES {
            if order.iter().filter(|place| self.improve_one(**place)).count() == 0 {
                return;
            }
        }
    }

    /// Whether another variant of a workload makes the whole cheaper.
    fn improve_one(&mut self, place: usize) -> bool {
        let Some((path, _)) = self.best_variant(place) else { return false };
        let is_new = path.choice != self.paths[place].choice;
        if is_new {
            self.take(place, path);
        }
        is_new
    }

    /// How much cheaper another variant of a workload makes the whole, in cents.
    fn gain_of(&mut self, place: usize) -> Decimal {
        self.best_variant(place).map_or(Decimal::ZERO, |(_, gain)| gain)
    }

    /// The variant of a workload with which the whole costs least, and how much less that is than
    /// now, in cents; `None` where there is one only.
    fn best_variant(&mut self, place: usize) -> Option<(Path, Decimal)> {
        let workload = &self.workloads[place];
        let places = components(&self.fleet, &classes(workload).collect());
        let is_touched = places.iter().any(|place| self.fleet.is_touched(*place));
        let is_sized = workload.billed.iter().any(|member| member.is_sized);
        if !is_touched && !is_sized && workload.spot.is_empty() {
            return None;
        }
        let variants = Choice::variants(workload, self.terms, is_touched);
        if variants.len() < 2 {
            return None;
        }
        self.fleet.remove(&self.paths[place].stages[LAST]);
        let mut tried: Vec<Tried> = Vec::with_capacity(variants.len());
        for choice in variants {
            let path = Path::of(workload, self.terms, Some(choice));
            self.fleet.add(&path.stages[LAST]);
            let sum = |part: &dyn Fn(usize) -> Decimal| -> Decimal {
                places.iter().map(|place| part(*place)).sum()
            };
            let left = path.left.amount();
            tried.push(Tried {
                cost: cents(left - sum(&|place| self.paid(&self.fleet, place))),
                unbought: cents(left - sum(&|place| self.fleet.credit(place))),
                path,
            });
            if let Some(last) = tried.last() {
                self.fleet.remove(&last.path.stages[LAST]);
            }
        }
        self.fleet.add(&self.paths[place].stages[LAST]);
        let own = self.paths[place].choice;
        let now = tried.iter().find(|trial| trial.path.choice == own).map(|trial| trial.cost);
        let best = tried
            .iter()
            .enumerate()
            .filter(|(_, trial)| trial.saves_without_purchases(&tried))
            .min_by_key(|(variant, trial)| {
                // Of equals what saves nothing is not done, and what was chosen stays.
                let steps = if is_touched { trial.path.actions.len() } else { 0 };
                (trial.cost, steps, trial.path.choice != own, *variant)
            });
        let best = best.map(|(best, _)| best)?;
        let best = tried.swap_remove(best);
        let gain = now.unwrap_or(best.cost) - best.cost;
        Some((best.path, gain))
    }

    /// What commitments pay of a component, those that are there and those that would be bought.
    pub(super) fn paid(&self, fleet: &Fleet, component: usize) -> Decimal {
        let bought = self.best_of(fleet.open_pools(component)).into_iter();
        let bought = bought.map(|(_, (_, _, saving))| saving);
        fleet.credit(component) + bought.sum::<Decimal>()
    }

    /// What is bought for each pool where that pays. Where not all members run for every term, the
    /// hours of those that run for the longer one justify how many of it, and the shorter is for
    /// what these leave: what saves most together, and fewer of the longer of equals.
    fn best_of(&self, open: Vec<OpenPool>) -> Vec<(OpenPool, Bought<'a>)> {
        let mut pools: BTreeMap<CommitmentPool, Vec<OpenPool>> = BTreeMap::new();
        for open in open.into_iter().filter(|open| self.terms.sold(&open.pool).next().is_some()) {
            pools.entry(open.pool.clone()).or_default().push(open);
        }
        pools.into_values().flat_map(|terms| self.best_terms(terms)).collect()
    }

    /// The same of one pool, of its hours by term, ascending.
    fn best_terms(&self, terms: Vec<OpenPool>) -> Vec<(OpenPool, Bought<'a>)> {
        let mut longer = terms.into_iter();
        let Some(all) = longer.next() else { return Vec::new() };
        let usage = ConcurrentUsage::of(&all.hours);
        let whole = best_purchase(&all, self.terms);
        let mut most = whole.map_or(Decimal::ZERO, |(_, _, saving)| saving);
        let mut best = None;
        for open in longer {
            let Some((term, justified, _)) = best_purchase(&open, self.terms) else { continue };
            for count in 1..=justified {
                let month = self.terms.hours_per_month;
                let Some(saving) = saved(&all, &usage, (term, count), month) else { continue };
                let rest = all.beyond(count);
                let rest = best_purchase(&rest, self.terms).map(|bought| (rest, bought));
                let more = rest.as_ref().map_or(Decimal::ZERO, |(_, (_, _, more))| *more);
                if saving + more > most {
                    most = saving + more;
                    best = Some((open.years, (term, count, saving), rest));
                }
            }
        }
        match best {
            Some((years, bought, rest)) => {
                std::iter::once((OpenPool { years, ..all }, bought)).chain(rest).collect()
            }
            None => whole.map(|bought| (all, bought)).into_iter().collect(),
        }
    }

    fn finish(mut self) -> Plan {
        let mut alone = self.alone();
        self.share_drops();
        let mut parts: Vec<Vec<CommitPart>> = Vec::new();
        parts.resize_with(self.paths.len(), Vec::new);
        let scope_changes = self.rescope(&mut parts);
        let (purchases, pools) = self.purchases(&mut parts);
        self.settle(&mut parts);
        let shares = purchases.iter().flat_map(|purchase| &purchase.shares);
        let buying: BTreeSet<usize> = shares.map(|share| share.workload).collect();
        for (_, members) in self.touched_sets() {
            for member in members.into_iter().filter(|member| !buying.contains(member)) {
                alone[member].insert(ActionKind::Commit, Decimal::ZERO);
            }
        }
        let left: Vec<Money> = (0..self.paths.len()).map(|place| self.left(place)).collect();
        let (actions, skipped) = self
            .paths
            .into_iter()
            .zip(self.rejected)
            .zip(left.into_iter().zip(parts))
            .map(|((mut path, rejected), (left, parts))| {
                let rejected = rejected.into_iter();
                path.skipped.extend(rejected.map(|kind| (kind, SkipReason::Rejected)));
                with_commitments(path, left, parts)
            })
            .unzip();
        Plan { actions, skipped, purchases, scope_changes, pools, alone }
    }

    /// What is bought for what nothing covers, with the parts of the workloads.
    fn purchases(
        &self,
        parts: &mut [Vec<CommitPart>],
    ) -> (Vec<Purchase>, BTreeMap<CommitmentPool, PoolHours>) {
        let mut purchases = Vec::new();
        let mut left_open: BTreeMap<CommitmentPool, PoolHours> = BTreeMap::new();
        let mut members: BTreeMap<&CommitmentPool, Vec<(usize, &Slot)>> = BTreeMap::new();
        for (workload, path) in self.paths.iter().enumerate() {
            for slot in path.stages[LAST].iter().filter(|slot| slot.sized.is_some()) {
                members.entry(&slot.class.pool).or_default().push((workload, slot));
            }
        }
        let mut pools: Vec<(usize, (OpenPool, Bought<'_>))> = Vec::new();
        for component in self.fleet.components() {
            let open = self.fleet.open_pools(component);
            for open in &open {
                // Hours in which GPUs rest justify no purchase.
                let working = open.working.clone().unwrap_or(open.hours.clone());
                let pool = left_open.entry(open.pool.clone()).or_default();
                match open.years {
                    None => pool.one_year = working,
                    // Where nothing runs for longer, that is no pool of its own.
                    Some(1) => {
                        pool.longer = Some(vec![0; working.len()]);
                        pool.one_year = working;
                    }
                    Some(_) => pool.longer = Some(working),
                }
            }
            pools.extend(self.best_of(open).into_iter().map(|bought| (component, bought)));
        }
        pools.sort_by(|left, right| left.1.0.pool.cmp(&right.1.0.pool));
        // What the longer term replaces of the cost of each workload in a pool.
        let mut replaced: BTreeMap<(CommitmentPool, usize), Decimal> = BTreeMap::new();
        for (component, (open, bought)) in pools {
            let shares = self.fleet.open_shares(component, Layer::Term(0));
            let mut rows: BTreeMap<usize, PoolRow<'_>> = BTreeMap::new();
            for (workload, slot) in members.get(&open.pool).into_iter().flatten() {
                let row = rows.entry(*workload).or_insert_with(|| PoolRow {
                    workload: *workload,
                    id: &self.paths[*workload].id,
                    left: self.left(*workload).amount(),
                    slots: Vec::new(),
                    monthly: Decimal::ZERO,
                });
                let share = shares.get(&slot.class).copied().unwrap_or(Decimal::ONE);
                row.monthly += slot.monthly * share;
                row.slots.push(slot);
            }
            let mut rows: Vec<PoolRow<'_>> = rows.into_values().collect();
            self.weigh_by_cover(component, &mut rows);
            for row in &mut rows {
                let replaced = replaced.get(&(open.pool.clone(), row.workload)).copied();
                row.monthly = (row.monthly - replaced.unwrap_or_default()).max(Decimal::ZERO);
            }
            let Some(purchase) = purchase(&open, bought, &rows) else { continue };
            let fees = purchase.monthly_fee(self.terms.hours_per_month).amount();
            let saved = purchase.monthly_savings.amount();
            for share in &purchase.shares {
                let paid = fees * share.monthly_savings.amount() / saved;
                let place = (open.pool.clone(), share.workload);
                *replaced.entry(place).or_default() += share.monthly_savings.amount() + paid;
            }
            for share in &purchase.shares {
                parts[share.workload].push(CommitPart {
                    saving: share.monthly_savings,
                    detail: format!(
                        "{} × {}, {}, at {} instead of {} in every hour: {} of the {} saved",
                        purchase.count,
                        open.pool.key.instance_type,
                        purchase.what(),
                        purchase.term.effective_hourly,
                        purchase.on_demand_hourly,
                        share.monthly_savings,
                        purchase.monthly_savings,
                    ),
                    risk: purchase.term.risk,
                    caveat: None,
                });
            }
            purchases.push(purchase);
        }
        (purchases, left_open)
    }
}

impl Draft<'_> {
    /// Where commitments are there, a purchase saves for those that nothing is shown to cover.
    fn weigh_by_cover(&self, component: usize, rows: &mut [PoolRow<'_>]) {
        if !self.fleet.is_touched(component) {
            return;
        }
        let open = |row: &PoolRow<'_>| {
            row.slots.iter().map(|slot| slot.monthly * slot.open_share).sum::<Decimal>()
        };
        let own: Vec<Decimal> = rows.iter().map(|row| open(row).min(row.left)).collect();
        let shown: Decimal = rows.iter().map(|row| row.monthly).sum();
        if cents(own.iter().sum()) >= cents(shown) {
            for (row, open) in rows.iter_mut().zip(own) {
                row.monthly = open;
            }
        }
    }
}

/// What commitments may see of a workload, as it runs and as it could run.
pub(super) fn classes(workload: &Alternatives) -> impl Iterator<Item = Class> + '_ {
    workload.billed.iter().flat_map(|member| {
        let moves = workload.resizes.iter().filter(|_| member.place.is_some());
        let moved = moves.map(|offer| member.class.with_type(&offer.to.instance_type));
        moved.chain([member.class.clone()])
    })
}

pub(super) fn components(fleet: &Fleet, classes: &BTreeSet<Class>) -> BTreeSet<usize> {
    classes.iter().filter_map(|class| fleet.component(class)).collect()
}

pub(super) fn less(money: Money, amount: Decimal) -> Money {
    Money::new(money.amount() - amount, money.currency())
}

/// One action for the parts of a workload in all commitments, and what the plan does without.
fn with_commitments(
    mut path: Path,
    left: Money,
    parts: Vec<CommitPart>,
) -> (Vec<Action>, BTreeMap<ActionKind, SkipReason>) {
    let saved: Decimal = parts.iter().map(|part| part.saving.amount()).sum();
    let details: Vec<&str> = parts.iter().map(|part| part.detail.as_str()).collect();
    let risk = parts.iter().map(|part| part.risk).max();
    let caveats: Vec<String> = parts.iter().filter_map(|part| part.caveat.clone()).collect();
    let before = Money::new(left.amount().max(saved), left.currency());
    let action = risk.and_then(|risk| {
        Action::saving(
            ActionKind::Commit,
            None,
            details.join("; "),
            Money::new(saved, left.currency()),
            before,
            risk,
        )
    });
    if action.is_some() {
        path.skipped.remove(&ActionKind::Commit);
    }
    path.actions.extend(action.map(|action| action.with_caveats(caveats)));
    (path.actions, path.skipped)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
