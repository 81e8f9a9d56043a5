//! The saving of an action as the drop of what the fleet costs, in the plan and by itself.

use super::allocate;
use super::coverage::{Class, Fleet, Joined, Layer};
use super::offers::Terms;
use super::path::{Choice, ENDED, LAST, Path, RESIZED, SCHEDULED, TODAY};
use super::plan::{CommitPart, Draft, classes, components, less};
use super::pool::cents;
use crate::domain::{Action, ActionKind, Money, Risk};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

impl Draft<'_> {
    /// The saving of every action as the drop of what the fleet costs when it is carried out, in
    /// the order of the plan. Where no commitment is near, that is the list price.
    pub(super) fn share_drops(&mut self) {
        for (components, members) in self.touched_sets() {
            // Undone from the last step to the first, and carried out again step by step.
            let credit = |fleet: &Fleet| fleet.credits(components.iter().copied());
            for member in &members {
                let stages = &self.paths[*member].stages;
                self.fleet.swap(&stages[LAST], &stages[TODAY]);
            }
            let at_list: Vec<Vec<Decimal>> =
                members.iter().map(|member| self.paths[*member].savings().collect()).collect();
            let mut carried = Decimal::ZERO;
            let mut before = credit(&self.fleet);
            for step in 1..=LAST {
                let mut acting: Vec<(usize, usize)> = members
                    .iter()
                    .filter_map(|member| {
                        let mut actions = self.paths[*member].actions.iter();
                        let action = actions.position(|action| step_of(action.kind()) == step)?;
                        Some((*member, action))
                    })
                    .collect();
                // Which row takes the cent that remains, no id decides.
                acting.sort_by_cached_key(|(member, action)| {
                    let action = &self.paths[*member].actions[*action];
                    (action.certain().amount(), action.monthly_savings().amount())
                });
                for member in &members {
                    let stages = &self.paths[*member].stages;
                    self.fleet.swap(&stages[step - 1], &stages[step]);
                }
                let after = credit(&self.fleet);
                let list = |paths: &[Path], (member, action): &(usize, usize)| {
                    paths[*member].actions[*action].monthly_savings().amount()
                };
                let lists: Vec<Decimal> = acting.iter().map(|at| list(&self.paths, at)).collect();
                let drop = lists.iter().sum::<Decimal>() - (before - after) + carried;
                if before == after && carried.is_zero() {
                    continue;
                }
                before = after;
                let due = drop.max(Decimal::ZERO);
                carried = drop - due;
                let mut weights: Vec<Decimal> = Vec::with_capacity(acting.len());
                for ((member, _), list) in acting.iter().zip(&lists) {
                    let stages = &self.paths[*member].stages;
                    self.fleet.swap(&stages[step], &stages[step - 1]);
                    let without = credit(&self.fleet);
                    self.fleet.swap(&stages[step - 1], &stages[step]);
                    weights.push((list - (without - after)).max(Decimal::ZERO));
                }
                if cents(weights.iter().sum()).is_zero() {
                    weights = lists;
                }
                let Some((first, _)) = acting.first() else {
                    carried = drop;
                    continue;
                };
                let due = Money::new(due, self.workloads[*first].cost.currency());
                for ((member, action), share) in acting.iter().zip(allocate(due, &weights)) {
                    let own = &mut self.paths[*member].actions[*action];
                    *own = own.clone().saving_instead(share);
                }
            }
            self.share_with_helpers(&members, &at_list);
        }
    }

    /// What saves nothing in its own step is not done, unless what others save rests on it: a stop
    /// whose cover only another move can use. It then has a part of that, by what the plan would
    /// cost more without it.
    fn share_with_helpers(&mut self, members: &[usize], at_list: &[Vec<Decimal>]) {
        // What each saves that shares it with helpers: commitments may pay for what it leaves.
        let mut weights: Vec<Option<Decimal>> = Vec::with_capacity(members.len());
        let mut has_helpers = false;
        for (member, at_list) in members.iter().zip(at_list) {
            let path = &self.paths[*member];
            let saved = path.saved();
            if !saved.is_zero() || path.actions.is_empty() {
                let is_near = path.stages[LAST].iter().any(|slot| {
                    let component = self.fleet.component(&slot.class);
                    component.is_some_and(|component| self.fleet.is_touched(component))
                });
                weights.push(is_near.then_some(saved));
                continue;
            }
            let listed = at_list.iter().sum();
            let gain = self.fleet.gain(path, listed);
            weights.push(Some(gain));
            if gain.is_zero() {
                self.fleet.swap(&path.stages[LAST], &path.stages[TODAY]);
                self.paths[*member].undo();
            } else {
                has_helpers = true;
            }
        }
        let sharing = || members.iter().zip(&weights).filter(|(_, weight)| weight.is_some());
        let saved: Decimal = sharing().map(|(member, _)| self.paths[*member].saved()).sum();
        let shares = members.first().filter(|_| has_helpers).map(|first| {
            let saved = Money::new(saved, self.workloads[*first].cost.currency());
            let weights: Vec<Decimal> =
                weights.iter().map(|weight| weight.unwrap_or_default()).collect();
            allocate(saved, &weights)
        });
        for (place, (member, at_list)) in members.iter().zip(at_list).enumerate() {
            let path = &mut self.paths[*member];
            let share = shares.as_ref().filter(|_| weights[place].is_some());
            let own = share.map_or(path.saved(), |shares| shares[place].amount());
            path.divide(own, at_list);
        }
    }

    /// What its actions leave of what a workload costs today; nothing where they save more than
    /// that.
    pub(super) fn left(&self, place: usize) -> Money {
        let cost = self.workloads[place].cost;
        less(cost, self.paths[place].saved().min(cost.amount()))
    }

    /// No row saves more than it costs today. Which of equals is shown as covered is decided
    /// before the plan: what an action or a purchase saves beyond the cost of its own row, commitments
    /// that it leaves pay for others, which say so in their own rows.
    pub(super) fn settle(&mut self, parts: &mut [Vec<CommitPart>]) {
        let sets = self.touched_sets().into_iter().map(|(_, members)| members);
        let mut sets: Vec<Vec<usize>> = sets.collect();
        let touched: BTreeSet<usize> = sets.iter().flatten().copied().collect();
        let others = (0..self.paths.len()).filter(|place| !touched.contains(place));
        sets.extend(others.map(|place| vec![place]));
        for members in sets {
            let mut over = Decimal::ZERO;
            for member in &members {
                let cost = self.workloads[*member].cost;
                let bought = saved_by(&parts[*member]);
                let kept = bought.min(cost.amount());
                if kept < bought {
                    let weights: Vec<Decimal> =
                        parts[*member].iter().map(|part| part.saving.amount()).collect();
                    let own = allocate(Money::new(kept, cost.currency()), &weights);
                    for (part, saving) in parts[*member].iter_mut().zip(own) {
                        part.saving = saving;
                    }
                }
                let path = &mut self.paths[*member];
                let saved = path.saved();
                let room = saved.min(cost.amount() - kept);
                if room < saved {
                    let weights: Vec<Decimal> = path.savings().collect();
                    path.save(Money::new(room, cost.currency()), &weights);
                }
                over += saved - room + bought - kept;
            }
            self.pass_on(over, &members, parts);
        }
    }

    /// The classes of members that commitments pay a part of.
    fn covered_classes(&self, members: &[usize]) -> BTreeSet<Class> {
        let last = members.iter().flat_map(|member| &self.paths[*member].stages[LAST]);
        let own: BTreeSet<Class> = last.map(|slot| slot.class.clone()).collect();
        let places = components(&self.fleet, &own).into_iter();
        let shares = places.flat_map(|place| self.fleet.open_shares(place, Layer::Paid));
        shares.filter(|(_, open)| *open < Decimal::ONE).map(|(class, _)| class).collect()
    }

    /// Gives what rows save beyond their cost to others: to the actions of those that nothing
    /// covers any more, down to what these then cost, and then to those that commitments cover.
    fn pass_on(&mut self, over: Decimal, members: &[usize], parts: &mut [Vec<CommitPart>]) {
        if over <= Decimal::ZERO {
            return;
        }
        let covered = self.covered_classes(members);
        let (stays, mut moved): (Vec<usize>, Vec<usize>) = members.iter().partition(|member| {
            self.paths[**member].stages[LAST].iter().any(|slot| covered.contains(&slot.class))
        });
        moved.retain(|member| !self.paths[*member].actions.is_empty());
        let actions = members.iter().flat_map(|member| {
            let own = self.paths[*member].actions.iter().map(Action::risk);
            own.chain(parts[*member].iter().map(|part| part.risk))
        });
        let risk = actions.max().unwrap_or(Risk::Low);
        let room = |draft: &Self, parts: &[Vec<CommitPart>], member: usize| {
            let saved = draft.paths[member].saved() + saved_by(&parts[member]);
            draft.workloads[member].cost.amount() - saved
        };
        let to_list = moved.iter().map(|member| {
            let room = room(self, parts, *member) - self.paths[*member].left.amount();
            room.max(Decimal::ZERO)
        });
        let to_list: Vec<Decimal> = to_list.collect();
        let over = over - self.give(over, &moved, &to_list, None, parts);
        // What commitments cover today takes none of what is free, as far as the others take it.
        let open = stays.iter().map(|member| {
            let workload = &self.workloads[*member];
            let open = workload.billed.iter().map(|member| member.open_monthly).sum();
            room(self, parts, *member).min(cents(open))
        });
        let mut rooms: Vec<Decimal> = open.collect();
        if rooms.iter().sum::<Decimal>() < over {
            rooms = stays.iter().map(|member| room(self, parts, *member)).collect();
        }
        let over = over - self.give(over, &stays, &rooms, Some(risk), parts);
        let rooms: Vec<Decimal> = moved.iter().map(|member| room(self, parts, *member)).collect();
        self.give(over, &moved, &rooms, None, parts);
    }

    /// Lets rows save more, in proportion to their rooms and at most these: by their own actions, or
    /// by commitments that others free, at a risk. Returns how much that is together.
    fn give(
        &mut self,
        over: Decimal,
        members: &[usize],
        rooms: &[Decimal],
        risk: Option<Risk>,
        parts: &mut [Vec<CommitPart>],
    ) -> Decimal {
        let given = over.min(rooms.iter().sum());
        let (Some(first), true) = (members.first(), given > Decimal::ZERO) else {
            return Decimal::ZERO;
        };
        let together = Money::new(given, self.workloads[*first].cost.currency());
        for (member, saving) in members.iter().zip(within(together, rooms)) {
            if saving.amount().is_zero() {
                continue;
            }
            match risk {
                Some(risk) => parts[*member].push(CommitPart {
                    saving,
                    detail: "covered by existing commitments that other actions free".to_owned(),
                    risk,
                    caveat: None,
                }),
                None => {
                    let path = &mut self.paths[*member];
                    let weights: Vec<Decimal> = path.savings().collect();
                    let saved = path.saved() + saving.amount();
                    path.save(Money::new(saved, saving.currency()), &weights);
                }
            }
        }
        given
    }

    /// Components that commitments touch and workloads move between, each with the workloads.
    pub(super) fn touched_sets(&self) -> Vec<(Vec<usize>, Vec<usize>)> {
        let own: Vec<BTreeSet<usize>> = self
            .paths
            .iter()
            .map(|path| {
                let slots = [TODAY, RESIZED].into_iter().flat_map(|stage| &path.stages[stage]);
                components(&self.fleet, &slots.map(|slot| slot.class.clone()).collect())
            })
            .collect();
        self.sets(&own)
    }

    /// Components that commitments touch, joined where a workload has `own` in several, each with
    /// the workloads.
    pub(super) fn sets(&self, own: &[BTreeSet<usize>]) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut joined = Joined::of(self.fleet.components().len());
        for places in own {
            for pair in places.iter().collect::<Vec<_>>().windows(2) {
                joined.join(*pair[0], *pair[1]);
            }
        }
        let mut sets: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for component in self.fleet.components() {
            sets.entry(joined.root(component)).or_default().0.push(component);
        }
        for (workload, places) in own.iter().enumerate() {
            if let Some(first) = places.first() {
                sets.entry(joined.root(*first)).or_default().1.push(workload);
            }
        }
        let is_touched = |components: &[usize]| {
            components.iter().any(|component| self.fleet.is_touched(*component))
        };
        sets.into_values().filter(|(components, _)| is_touched(components)).collect()
    }

    /// What each kind of action on each workload would save by itself, where commitments are
    /// near.
    pub(super) fn alone(&mut self) -> Vec<BTreeMap<ActionKind, Decimal>> {
        let mut alone: Vec<BTreeMap<ActionKind, Decimal>> = Vec::new();
        alone.resize_with(self.paths.len(), BTreeMap::new);
        let sets = self.touched_sets();
        for member in sets.iter().flat_map(|(_, members)| members) {
            let stages = &self.paths[*member].stages;
            self.fleet.swap(&stages[LAST], &stages[TODAY]);
        }
        let everything = Terms { accepted: Risk::High, ..*self.terms };
        for (_, members) in &sets {
            for member in members {
                let workload = &self.workloads[*member];
                let places = components(&self.fleet, &classes(workload).collect());
                let credit = |fleet: &Fleet| fleet.credits(places.iter().copied());
                let today = &self.paths[*member].stages[TODAY];
                let before = credit(&self.fleet);
                let none = Choice::NOTHING;
                let mut single =
                    vec![Choice { ends: true, ..none }, Choice { schedules: true, ..none }];
                // What the plan takes speaks for its kind.
                let taken = self.paths[*member].choice.resize;
                let places = taken.into_iter().chain(0..workload.resizes.len());
                single.extend(places.map(|place| Choice { resize: Some(place), ..none }));
                self.fleet.remove(today);
                for choice in single {
                    let path = Path::of(workload, &everything, Some(choice));
                    let Some(action) = path.actions.first() else { continue };
                    self.fleet.add(&path.stages[LAST]);
                    let lost = before - credit(&self.fleet);
                    self.fleet.remove(&path.stages[LAST]);
                    let saved = action.monthly_savings().amount() - lost;
                    alone[*member].entry(action.kind()).or_insert(saved);
                }
                self.fleet.add(today);
            }
        }
        for member in sets.iter().flat_map(|(_, members)| members) {
            let stages = &self.paths[*member].stages;
            self.fleet.swap(&stages[TODAY], &stages[LAST]);
        }
        alone
    }
}

impl Fleet {
    /// What this fleet would cost more without the actions of a path, in cents, by what they save
    /// at list price; zero where it would not.
    pub(super) fn gain(&mut self, path: &Path, listed: Decimal) -> Decimal {
        let (today, last) = (&path.stages[TODAY], &path.stages[LAST]);
        let own = today.iter().chain(last).map(|slot| slot.class.clone());
        let places = components(self, &own.collect());
        let with = self.credits(places.iter().copied());
        self.swap(last, today);
        let lost = self.credits(places) - with;
        self.swap(today, last);
        cents(listed - lost).max(Decimal::ZERO)
    }
}

/// Splits a saving of at most some rooms together among them, in proportion and in cents: none
/// gets more than it has room for.
pub(super) fn within(saving: Money, rooms: &[Decimal]) -> Vec<Money> {
    let shares = allocate(saving, rooms).into_iter().map(Money::amount);
    let mut shares: Vec<Decimal> = shares.collect();
    let beyond = shares.iter().zip(rooms).map(|(share, room)| (share - room).max(Decimal::ZERO));
    let mut beyond: Decimal = beyond.sum();
    for (share, room) in shares.iter_mut().zip(rooms) {
        let more = beyond.min((room - *share).max(Decimal::ZERO));
        *share = (*share).min(*room) + more;
        beyond -= more;
    }
    shares.into_iter().map(|share| Money::new(share, saving.currency())).collect()
}

fn saved_by(parts: &[CommitPart]) -> Decimal {
    parts.iter().map(|part| part.saving.amount()).sum()
}

/// The step after which an action shows in the stages of a path.
fn step_of(kind: ActionKind) -> usize {
    match kind {
        ActionKind::Stop | ActionKind::Release => ENDED,
        ActionKind::Schedule => SCHEDULED,
        ActionKind::Rightsize | ActionKind::Share => RESIZED,
        ActionKind::Spot | ActionKind::Commit => LAST,
    }
}
