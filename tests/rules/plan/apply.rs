//! An estate as it would be with its plan carried out: a model made for the
//! tests, so that what the plan leaves can be audited again.

use super::load::{Load, Machine, largest, scaled, sum};
use gpucost::analysis::{Audit, AuditedWorkload};
use gpucost::catalog::{gpu_spec, known_shape};
use gpucost::domain::{
    ActionKind, GpuOffer, GpuShare, Instance, Lifecycle, Metric, OfferingClass, PriceOption,
    ReservedInstances, ResourceId, SavingsPlan, SavingsPlanKind, Statistic, Target, Workload,
};
use gpucost::savings::{Purchase, Ratio, RatioBasis, SharedCard, SharingMode, Spread};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The estate after every action of the plan of an audit, as though it had been
/// carried out before the window, in which everything is measured anew.
pub fn apply(audit: &Audit, estate: &Estate) -> Estate {
    let mut after = estate.clone();
    after.instances.clear();
    after.metrics.clear();
    let known: BTreeSet<_> =
        audit.workloads.iter().flat_map(|workload| &workload.workload.instances).collect();
    for instance in &estate.instances {
        if !known.contains(&instance.id) {
            after.instances.push(instance.clone());
        }
    }
    for workload in &audit.workloads {
        // What stays is measured as it was.
        if workload.actions.is_empty() {
            let own = |id: &ResourceId| workload.workload.instances.contains(id);
            let stays = estate.instances.iter().filter(|instance| own(&instance.id));
            after.instances.extend(stays.cloned());
            let series = estate.metrics.iter().filter(|series| own(&series.instance));
            after.metrics.extend(series.cloned());
            continue;
        }
        let change = Change { one: workload, estate };
        for machine in change.carried_out() {
            let (instance, series) = machine.into_series(estate.window);
            after.instances.push(instance);
            after.metrics.extend(series);
        }
    }
    lower_reservations(&mut after, audit, estate);
    let reservations = &mut after.commitments.reserved_instances;
    for reservation in reservations.iter_mut() {
        let mut changes = audit.scope_changes.iter();
        if changes.any(|change| change.id == reservation.id) {
            reservation.zone = None;
        }
    }
    for (index, purchase) in audit.purchases.iter().enumerate() {
        buy(&mut after, purchase, index);
    }
    after
}

/// A capacity reservation whose room is released is canceled. Of another that can be
/// lowered, whatever leaves it takes its room along.
fn lower_reservations(after: &mut Estate, audit: &Audit, before: &Estate) {
    let is_released = |id: &str| {
        let mut unused = audit.unused.iter();
        unused.any(|commitment| commitment.id == id && !commitment.actions.is_empty())
    };
    let inside = |estate: &Estate, id: &str| -> Vec<Instance> {
        let instances = estate.instances.iter().cloned();
        instances
            .filter(|instance| instance.capacity_reservation_id.as_deref() == Some(id))
            .collect()
    };
    let mut reservations = std::mem::take(&mut after.commitments.capacity_reservations);
    reservations.retain(|reservation| !is_released(&reservation.id));
    for reservation in &mut reservations {
        let (was, is) = (inside(before, &reservation.id), inside(after, &reservation.id));
        if reservation.can_be_cancelled(before.as_of) {
            reservation.total -= (was.len() - is.len()) as u32;
        }
        let running = is.iter().filter(|instance| instance.state.is_running()).count();
        reservation.available = reservation.total - running as u32;
    }
    for instance in &mut after.instances {
        if instance.capacity_reservation_id.as_deref().is_some_and(is_released) {
            instance.capacity_reservation_id = None;
        }
    }
    after.commitments.capacity_reservations = reservations;
}

/// Reserved instances or a savings plan for a year or more, which hold for the
/// whole window as everything else does.
fn buy(estate: &mut Estate, purchase: &Purchase, index: usize) {
    let id = format!("planned-{index}");
    let (term, is_reserved) = match purchase.term.option {
        PriceOption::Reserved(term) => (term, true),
        PriceOption::Ec2InstanceSavingsPlan(term) => (term, false),
        other => panic!("{other} is no commitment of a plan"),
    };
    let start = estate.window.start;
    let end = start + SignedDuration::from_hours(8_760 * i64::from(term.years));
    let hourly = purchase.term.effective_hourly.amount();
    let currency = purchase.term.effective_hourly.currency();
    if is_reserved {
        estate.commitments.reserved_instances.push(ReservedInstances {
            id,
            account: purchase.account.clone(),
            region: purchase.key.region.clone(),
            zone: None,
            instance_type: purchase.key.instance_type.clone(),
            operating_system: purchase.key.operating_system,
            tenancy: purchase.key.tenancy,
            count: purchase.count,
            class: OfferingClass::Standard,
            payment: term.payment,
            start,
            end,
            currency,
            upfront: Decimal::ZERO,
            recurring_hourly: hourly,
        });
    } else {
        estate.commitments.savings_plans.push(SavingsPlan {
            id,
            account: purchase.account.clone(),
            kind: SavingsPlanKind::Ec2Instance,
            region: Some(purchase.key.region.clone()),
            family: Some(purchase.key.family().to_owned()),
            currency,
            commitment_hourly: hourly * Decimal::from(purchase.count),
            term,
            start,
            end,
        });
    }
}

/// One workload with its plan.
struct Change<'a> {
    one: &'a AuditedWorkload,
    estate: &'a Estate,
}

impl Change<'_> {
    /// What every lever but a stop is about; all of it where nothing is idle.
    fn working(&self) -> &Workload {
        let part = self.one.working();
        part.map_or(&*self.one.workload, |part| &*part.workload)
    }

    fn carried_out(&self) -> Vec<Machine> {
        let of = |ids: &[ResourceId]| -> Vec<Machine> {
            ids.iter().map(|id| Machine::of(self.estate, id)).collect()
        };
        let works = |id: &&ResourceId| self.working().instances.contains(id);
        let (working, resting): (Vec<&ResourceId>, Vec<&ResourceId>) =
            self.one.workload.instances.iter().partition(works);
        let owned = |ids: Vec<&ResourceId>| of(&ids.into_iter().cloned().collect::<Vec<_>>());
        let (mut machines, mut resting) = (owned(working), owned(resting));
        for action in &self.one.actions {
            match action.kind() {
                ActionKind::Stop => {
                    let stop = self.one.proposals.stop().expect("the plan stops");
                    let members = machines.iter_mut().chain(&mut resting);
                    members
                        .filter(|machine| stop.members.contains(&machine.instance.id))
                        .for_each(|machine| self.stop(machine));
                }
                ActionKind::Release => machines.iter_mut().for_each(|machine| {
                    machine.instance.volumes.clear();
                    machine.instance.addresses.clear();
                }),
                ActionKind::Schedule => self.switch_off(&mut machines),
                ActionKind::Rightsize => {
                    let target = action.target().expect("a move leads somewhere");
                    machines = self.resized(machines, target);
                }
                ActionKind::Share => {
                    let target = action.target().expect("a move leads somewhere");
                    machines = self.shared(machines, target);
                }
                ActionKind::Spot => machines.iter_mut().for_each(|machine| {
                    machine.instance.lifecycle = Lifecycle::Spot;
                    machine.instance.capacity_reservation_id = None;
                }),
                // ExistingCommitments by pool, for the estate.
                ActionKind::Commit => {}
            }
        }
        if !self.one.actions.is_empty() {
            let members = machines.iter_mut().chain(&mut resting);
            members.for_each(|machine| machine.settle(self.estate.window));
        }
        machines.extend(resting);
        machines
    }

    fn stop(&self, machine: &mut Machine) {
        let before = self.estate.window.start - SignedDuration::from_hours(1);
        machine.stop_at(before);
        machine.instance.capacity_reservation_id = None;
        machine.load.clear();
    }

    /// Drops what was measured in the hours that are off, the points of the CPU
    /// too: they are the proof that an instance ran.
    fn switch_off(&self, machines: &mut [Machine]) {
        let workload = self.working();
        let proposal = self.one.proposals.schedule();
        let proposal = proposal.expect("the plan has a schedule");
        let off: BTreeSet<i64> = workload
            .activity
            .hours()
            .zip(&proposal.schedule.off_hours)
            .filter(|(_, off)| **off)
            .map(|(hour, _)| hour.start.as_second())
            .collect();
        let start = self.estate.window.start.as_second();
        for machine in machines {
            assert!(machine.proves_running(), "only a CPU point tells hours off");
            for curve in machine.load.values_mut() {
                let period = i64::from(curve.period_seconds);
                curve.values.retain(|index, _| {
                    let second = start + i64::from(*index) * period;
                    !off.contains(&(second - second.rem_euclid(3_600)))
                });
            }
        }
    }

    /// The load of today's active GPUs on the new type. Replicas run as many as before up
    /// to their new number, and spread all of the load evenly over them, as whoever hands out
    /// the requests does; tenants run together, each on a GPU of its own.
    fn resized(&self, machines: Vec<Machine>, target: &Target) -> Vec<Machine> {
        let workload = self.working();
        let proposal = self.one.proposals.rightsize();
        let proposal = proposal.expect("the plan has a right-sizing");
        assert_eq!(proposal.action.target(), Some(target));
        let ratio = proposal
            .projection
            .map_or(Ratio { value: 1.0, basis: RatioBasis::SameGpu }, |projection| {
                projection.ratio
            });
        let chosen = proposal.suitable.first().expect("the chosen type");
        let (spread, per_gpu) = (chosen.spread, usize::from(chosen.per_gpu));
        let today = workload.shape.as_ref().expect("a known type");
        let shape = known_shape(&self.estate.shapes, &target.instance_type).expect("a known type");
        let devices = devices(shape.gpu.as_ref());
        let count = target.count as usize;
        let vcpu = f64::from(today.vcpu) / f64::from(shape.vcpu);
        let total_mib = shape.gpu.as_ref().and_then(card_mib);
        let is_replicas = spread == Spread::Replicas;
        let everything = Load::merged(machines.iter().map(|machine| &machine.load));
        let gpus_in_all = count as f64 * f64::from(devices.max(1));
        let loads: Vec<Load> = machines.iter().map(|machine| machine.load.clone()).collect();
        let running = Load::running(&loads);
        let mut taken = self.one.actions.iter();
        let is_scheduled = taken.any(|action| action.kind() == ActionKind::Schedule);
        let tenants = self.tenants(&machines);
        let is_fewer = count < machines.len();
        let mut kept = if spread.keeps_machines() { machines } else { copies(&machines, count) };
        for (rank, machine) in kept.iter_mut().enumerate() {
            machine.instance.instance_type = target.instance_type.clone();
            machine.instance.capacity_reservation_id = None;
            let ranked = self.ranked(machine);
            let mut load = machine.load.of_the_instance();
            // Agentless power is in percent of another limit there.
            load.remove(&(None, Metric::GpuPowerUtilization, Statistic::Average));
            for (key, curve) in load.iter_mut() {
                let of_all = || sum(loads.iter().filter_map(|load| load.get(key)));
                match key.1 {
                    Metric::CpuUtilization if spread.keeps_machines() => {
                        *curve = scaled(curve, vcpu);
                    }
                    Metric::CpuUtilization => {
                        curve.values = scaled(&of_all(), vcpu / count as f64).values;
                    }
                    Metric::NetworkIn | Metric::NetworkOut
                        if !(spread.keeps_machines() || is_replicas && is_fewer) =>
                    {
                        curve.values = scaled(&of_all(), 1.0 / count as f64).values;
                    }
                    _ => {}
                }
            }
            for (device, from) in (0..devices).zip(ranked.iter().cycle()) {
                let place = rank * usize::from(devices) + usize::from(device);
                for (key, curve) in machine.load.of_gpu(*from) {
                    let (_, metric, statistic) = key;
                    let is_work = metric == Metric::GpuUtilization;
                    let mut curve = match spread {
                        Spread::Replicas if is_work => {
                            let curve_of_all = &everything[&(None, metric, statistic)];
                            scaled(curve_of_all, ratio.value / gpus_in_all)
                        }
                        Spread::Replicas => largest(loads.iter().filter_map(|load| load.get(&key))),
                        Spread::Tenants => {
                            let own = tenants.iter().skip(place * per_gpu).take(per_gpu);
                            let own: Vec<_> = own
                                .filter_map(|(owner, gpu)| {
                                    loads[*owner].get(&(Some(*gpu), metric, statistic))
                                })
                                .collect();
                            let factor = if is_work { ratio.value } else { 1.0 };
                            let mut there = if own.is_empty() {
                                scaled(curve, 0.0)
                            } else {
                                scaled(&sum(own.into_iter()), factor)
                            };
                            for period in running.keys() {
                                there.values.entry(*period).or_insert(0.0);
                            }
                            there
                        }
                        Spread::Kept if per_gpu > 1 => {
                            let shared = ranked.iter().skip(usize::from(device));
                            let shared = shared.step_by(usize::from(devices));
                            let curves = shared.filter_map(|gpu| {
                                machine.load.get(&(Some(*gpu), metric, statistic))
                            });
                            let factor = if is_work { ratio.value } else { 1.0 };
                            scaled(&sum(curves), factor)
                        }
                        Spread::Kept if is_work && usize::from(device) >= ranked.len() => {
                            scaled(curve, 0.0)
                        }
                        Spread::Kept if is_work => scaled(curve, ratio.value),
                        Spread::Kept => curve.clone(),
                    };
                    if metric == Metric::GpuMemoryTotal {
                        let total = total_mib.unwrap_or_default();
                        curve.values.values_mut().for_each(|value| *value = total);
                    }
                    load.insert((Some(device), metric, statistic), curve);
                }
            }
            machine.load = load;
            if is_replicas && is_fewer {
                machine.load.run_in_turn(rank, count, &running);
            }
            let slowdown = proposal.projection.map_or(1.0, |projection| projection.slowdown);
            machine.load.stretch(slowdown, is_scheduled);
        }
        kept
    }

    /// The GPUs of all machines, as the place of their machine and their index: those that
    /// work first, then those that hold memory.
    fn tenants(&self, machines: &[Machine]) -> Vec<(usize, u16)> {
        let mut tenants: Vec<(bool, bool, usize, u16)> = Vec::new();
        for gpu in self.working().gpus() {
            let mut ids = machines.iter().map(|machine| &machine.instance.id);
            if let Some(owner) = ids.position(|id| *id == gpu.instance) {
                let rests = gpu.is_active() == Some(false);
                let is_empty = gpu.is_allocated() == Some(false);
                tenants.push((rests, is_empty, owner, gpu.index));
            }
        }
        tenants.sort_unstable();
        let places = tenants.into_iter();
        places.map(|(_, _, owner, gpu)| (owner, gpu)).collect()
    }

    /// The GPUs of a machine: those that work first, then those that hold
    /// memory.
    fn ranked(&self, machine: &Machine) -> Vec<u16> {
        let mut gpus: Vec<_> =
            self.working().gpus().filter(|gpu| gpu.instance == machine.instance.id).collect();
        gpus.sort_by_key(|gpu| {
            (gpu.is_active() == Some(false), gpu.is_allocated() == Some(false), gpu.index)
        });
        gpus.iter().map(|gpu| gpu.index).collect()
    }

    /// Tenants where the cards of the plan put them. A card in MIG mode reports no
    /// utilization.
    fn shared(&self, machines: Vec<Machine>, target: &Target) -> Vec<Machine> {
        let workload = self.working();
        let proposal = self.one.proposals.share().expect("the plan shares");
        assert_eq!(proposal.action.target(), Some(target));
        let tenants: Vec<_> =
            workload.gpus().filter(|gpu| gpu.is_allocated() != Some(false)).collect();
        assert_eq!(tenants.len(), proposal.tenants.len());
        let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
        let devices = devices(offer);
        let count = target.count as usize;
        let cards = spread(&proposal.cards, count * usize::from(devices));
        let loads: Vec<_> = machines
            .iter()
            .map(|machine| (machine.instance.id.clone(), machine.load.clone()))
            .collect();
        let load_of = |tenant: usize| {
            let gpu = tenants[tenant];
            let (_, load) = loads.iter().find(|(id, _)| *id == gpu.instance)?;
            Some((load, gpu.index))
        };
        let cpu = (None, Metric::CpuUtilization, Statistic::Average);
        let mut kept = machines;
        kept.truncate(count);
        for (index, machine) in kept.iter_mut().enumerate() {
            let mut load = machine.load.of_the_instance();
            if let Some(curve) = load.get_mut(&cpu) {
                let sum = sum(loads.iter().filter_map(|(_, load)| load.get(&cpu)));
                curve.values = scaled(&sum, 1.0 / count as f64).values;
            }
            for device in 0..devices {
                let card = &cards[index * usize::from(devices) + usize::from(device)];
                for (key, own) in machine.load.of_gpu(device) {
                    let (_, metric, statistic) = key;
                    if metric == Metric::GpuUtilization && proposal.mode == SharingMode::Mig {
                        continue;
                    }
                    let curve = match metric {
                        Metric::GpuUtilization | Metric::GpuMemoryUsed => {
                            let tenants = card.iter().filter_map(|tenant| {
                                let (load, from) = load_of(*tenant)?;
                                load.get(&(Some(from), metric, statistic))
                            });
                            sum(tenants.chain([&scaled(own, 0.0)]))
                        }
                        _ => own.clone(),
                    };
                    load.insert((Some(device), metric, statistic), curve);
                }
            }
            machine.load = load;
        }
        kept
    }
}

/// What stands between the ID of a machine and the number of its copy.
const COPY: char = '+';

/// So many machines like those of today, each with an ID of its own.
fn copies(machines: &[Machine], count: usize) -> Vec<Machine> {
    let numbered = machines.iter().cycle().zip(0..count);
    numbered
        .map(|(machine, number)| {
            let mut copy = machine.clone();
            if number >= machines.len() {
                let id = format!("{}{COPY}{number}", machine.instance.id.as_str());
                copy.instance.id = ResourceId::named(id);
            }
            copy
        })
        .collect()
}

/// The machine that one was copied from.
pub fn origin(id: &ResourceId) -> ResourceId {
    match id.as_str().split_once(COPY) {
        Some((origin, _)) => ResourceId::named(origin),
        None => id.clone(),
    }
}

/// The tenants of each of so many cards: whole instances have more cards than the
/// plan fills, and nobody crowds two on one beside an empty one.
fn spread(filled: &[SharedCard], cards: usize) -> Vec<Vec<usize>> {
    let mut spread: Vec<Vec<usize>> =
        filled.iter().map(|card| card.slices.iter().map(|slice| slice.tenant).collect()).collect();
    assert!(spread.len() <= cards);
    while spread.len() < cards {
        let fullest = spread.iter_mut().max_by_key(|card| card.len());
        let moved = fullest.filter(|card| card.len() > 1).and_then(|card| card.pop());
        spread.push(moved.into_iter().collect());
    }
    spread
}

fn devices(offer: Option<&GpuOffer>) -> u16 {
    offer.map_or(0, |offer| offer.share.visible_devices())
}

/// Memory that a card or a part of one reports.
fn card_mib(offer: &GpuOffer) -> Option<f64> {
    let mib = match offer.share {
        GpuShare::Fraction(_) => offer.vram_mib,
        GpuShare::Whole(_) => gpu_spec(offer).and_then(|spec| spec.memory_mib_reported),
    };
    Some(mib.or(offer.vram_mib)? as f64)
}
