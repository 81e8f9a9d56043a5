//! Random fleets on a grid of hours.

use crate::rules::builder::{DAYS, Machine, as_of, estate};
use gpucost::domain::{
    CapacityReservation, CommitmentTerm, Commitments, Currency, InstanceState, Lifecycle, Metric,
    OfferingClass, OperatingSystem, PaymentOption, ReservedInstances, SavingsPlan, SavingsPlanKind,
    Statistic, Tenancy, Volume,
};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const HOUR_SECONDS: u32 = 3_600;
const HOURS: u32 = DAYS * 24;

/// Types with their GPUs and the memory of one as its driver reports it.
const TYPES: [(&str, u16, f64); 5] = [
    ("g5.xlarge", 1, 23_028.0),
    ("g5.2xlarge", 1, 23_028.0),
    ("g5.12xlarge", 4, 23_028.0),
    ("p3.8xlarge", 4, 16_160.0),
    ("g6e.xlarge", 1, 46_068.0),
];
const ZONES: [&str; 3] = ["a", "b", "c"];
const KINDS: [Option<&str>; 6] =
    [None, None, Some("serving"), Some("training"), Some("batch"), Some("development")];

/// One box.
#[derive(Debug, Clone)]
pub struct Box_ {
    pub kind: usize,
    pub group: Option<u8>,
    pub is_auto_scaling: bool,
    pub declared: usize,
    pub is_restartable: bool,
    pub zone: usize,
    pub is_windows: bool,
    pub is_dedicated: bool,
    pub is_second_account: bool,
    pub is_in_china: bool,
    pub is_spot: bool,
    /// Hours since it was first seen.
    pub age: u32,
    /// Hours of a day in which it is up, from midnight.
    pub up: u32,
    /// Busy hours of a day while it is up, from midnight, and how busy, by GPU.
    pub busy: u32,
    pub levels: [u32; 4],
    pub vram_percent: u32,
    /// Traffic in Mbit/s; absent where nobody measured it.
    pub network_mbps: Option<u32>,
    /// Which of utilization, memory and CPU lack points, and every how many-th has one.
    pub holes: [u32; 3],
    pub is_in_reservation: bool,
    pub is_ignored: bool,
    pub volume_gib: Option<u64>,
    /// Days from now on after which it ends, by its tag.
    pub until_days: Option<i64>,
}

fn hole() -> impl Strategy<Value = u32> {
    prop_oneof![8 => Just(1_u32), 1 => 2..6_u32, 1 => Just(40_u32)]
}

prop_compose! {
    fn one()(
        kind in 0..TYPES.len(),
        (group, is_auto_scaling) in (prop_oneof![2 => Just(None), 3 => (0..2_u8).prop_map(Some)], prop::bool::weighted(0.3)),
        (declared, is_restartable) in (0..KINDS.len(), prop::bool::weighted(0.3)),
        zone in 0..ZONES.len(),
        (is_windows, is_dedicated, is_second_account, is_in_china, is_spot) in (
            prop::bool::weighted(0.15), prop::bool::weighted(0.1), prop::bool::weighted(0.2),
            prop::bool::weighted(0.05), prop::bool::weighted(0.1)),
        age in prop_oneof![4 => Just(2_000_u32), 1 => 20..2 * HOURS],
        up in prop_oneof![3 => Just(24_u32), 1 => 4..24_u32],
        busy in prop_oneof![2 => Just(24_u32), 2 => 0..24_u32],
        levels in [level(), level(), level(), level()],
        vram_percent in 0..=95_u32,
        // The traffic of what is idle is none.
        network_mbps in prop_oneof![
            3 => Just(None), 3 => Just(Some(0_u32)), 4 => (1..20_000_u32).prop_map(Some)],
        holes in [hole(), hole(), hole()],
        is_in_reservation in prop::bool::weighted(0.15),
        (is_ignored, volume_gib) in (prop::bool::weighted(0.05), prop::option::of(1..2_000_u64)),
        // For no term, for one year, and for all.
        until_days in prop_oneof![
            6 => Just(None), 1 => (1..365_i64).prop_map(Some), 1 => (366..1_090_i64).prop_map(Some),
            1 => Just(Some(1_100_i64))],
    ) -> Box_ {
        Box_ {
            kind, group, is_auto_scaling, declared, is_restartable, zone, is_windows, is_dedicated,
            is_second_account, is_in_china, is_spot, age, up, busy, levels, vram_percent,
            network_mbps, holes, is_in_reservation, is_ignored, volume_gib,
            until_days,
        }
    }
}

fn level() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0_u32), 1 => 1..10_u32, 4 => 10..=100_u32]
}

/// What the account has bought.
#[derive(Debug, Clone)]
pub struct ExistingCommitments {
    /// Reserved instances: of a type, how many, days since they began, which a queued one has yet
    /// to do, and the zone.
    pub reserved: Option<(usize, u32, i64, Option<usize>)>,
    /// Room beside what runs in it, and whether it can be lowered.
    pub capacity: Option<(u32, bool)>,
    /// A savings plan: its family's type, dollars an hour, Compute or not.
    pub plan: Option<(usize, u32, bool)>,
}

prop_compose! {
    fn bought()(
        reserved in prop::option::weighted(0.5, (
            0..TYPES.len(), 1..4_u32, prop_oneof![3 => Just(100_i64), 2 => 1..14_i64, 1 => Just(-5_i64)],
            prop::option::weighted(0.3, 0..ZONES.len()))),
        capacity in prop::option::weighted(0.4, (0..3_u32, any::<bool>())),
        plan in prop::option::weighted(0.2, (0..TYPES.len(), 1..4_u32, any::<bool>())),
    ) -> ExistingCommitments {
        ExistingCommitments { reserved, capacity, plan }
    }
}

/// Up to seven boxes, and what was bought.
pub fn fleet() -> impl Strategy<Value = (Vec<Box_>, ExistingCommitments)> {
    (prop::collection::vec(one(), 1..8), bought())
}

impl Box_ {
    /// Whether it runs in an hour of the window.
    fn runs(&self, hour: u32) -> bool {
        hour % 24 < self.up && hour + self.age.min(HOURS) >= HOURS
    }

    pub fn machine(&self, id: &str, capacity_type: Option<usize>) -> Machine {
        let (name, gpus, vram_mib) = TYPES[self.kind];
        let mut machine = Machine::new(id, name).with_period(HOUR_SECONDS);
        let instance = &mut machine.instance;
        instance.region = if self.is_in_china { "cn-north-1" } else { "us-east-1" }.to_owned();
        instance.zone = Some(format!("{}{}", instance.region, ZONES[self.zone]));
        if self.is_second_account {
            instance.account = "444455556666".to_owned();
        }
        if self.is_windows {
            instance.operating_system = OperatingSystem::Windows;
        }
        if self.is_dedicated {
            instance.tenancy = Tenancy::Dedicated;
        }
        if self.is_spot {
            instance.lifecycle = Lifecycle::Spot;
        }
        let volumes = self.volume_gib.iter().map(|size| Volume {
            id: format!("vol-{id}"),
            volume_type: Some("gp3".to_owned()),
            size_gib: Some(*size),
        });
        instance.volumes = volumes.collect();
        let is_plain = !(self.is_windows || self.is_dedicated || self.is_spot || self.is_in_china);
        if self.is_in_reservation && is_plain && capacity_type == Some(self.kind) {
            instance.capacity_reservation_id = Some("cr-1".to_owned());
        }
        let last = (0..HOURS).rev().find(|hour| self.runs(*hour));
        let started = last.map(|last| {
            let stretch = (0..=last).rev().take_while(|hour| self.runs(*hour));
            last + 1 - stretch.count() as u32
        });
        let first_seen = as_of() - SignedDuration::from_hours(i64::from(self.age.max(1)));
        instance.attached_time = Some(first_seen);
        let window_start = as_of() - SignedDuration::from_hours(i64::from(HOURS));
        instance.launch_time = match started {
            Some(hour) if hour > 0 => window_start + SignedDuration::from_hours(i64::from(hour)),
            _ => first_seen,
        };
        if last != Some(HOURS - 1) {
            instance.state = InstanceState::Stopped;
            let stopped = last.map_or(first_seen, |last| {
                window_start + SignedDuration::from_hours(i64::from(last) + 1)
            });
            let time = stopped.strftime("%Y-%m-%d %H:%M:%S GMT");
            instance.state_transition_reason = Some(format!("User initiated ({time})"));
        }
        if let Some(group) = self.group {
            if self.is_auto_scaling {
                instance.auto_scaling_group = Some(format!("asg-{group}"));
            } else {
                machine = machine.tag("gpucost:workload", &format!("team-{group}"));
            }
        }
        if let Some(kind) = KINDS[self.declared] {
            machine = machine.tag("gpucost:kind", kind);
        }
        if self.is_restartable {
            machine = machine.tag("gpucost:restartable", "true");
        }
        if self.is_ignored {
            machine = machine.tag("gpucost:ignore", "drawn");
        }
        if let Some(days) = self.until_days {
            let end = as_of() + SignedDuration::from_hours(24 * days);
            machine = machine.tag("gpucost:until", &end.strftime("%Y-%m-%d").to_string());
        }
        let [of_gpu, of_memory, of_cpu] = self.holes;
        let reported = |every: u32| move |hour: u32| self.runs(hour) && hour.is_multiple_of(every);
        let (gpu, memory, cpu) = (reported(of_gpu), reported(of_memory), reported(of_cpu));
        machine = machine.cpu(|hour| cpu(hour).then_some(4.0));
        machine = machine.without_network();
        if let Some(mbps) = self.network_mbps {
            let bytes = f64::from(mbps) * 1e6 / 8.0 * 3_600.0;
            for metric in [Metric::NetworkIn, Metric::NetworkOut] {
                machine = machine
                    .series(metric, Statistic::Sum, None, |hour| self.runs(hour).then_some(bytes));
            }
        }
        let used = vram_mib * f64::from(self.vram_percent) / 100.0;
        for (index, level) in (0..gpus).zip(self.levels) {
            let at = |hour: u32| {
                let level = if hour % 24 < self.busy { level } else { 0 };
                gpu(hour).then_some(f64::from(level))
            };
            let held = |hour: u32| memory(hour).then_some(used);
            for statistic in [Statistic::Average, Statistic::Maximum] {
                machine = machine
                    .series(Metric::GpuUtilization, statistic, Some(index), at)
                    .series(Metric::GpuMemoryUsed, statistic, Some(index), held);
            }
            let total = Metric::GpuMemoryTotal;
            machine = machine.series(total, Statistic::Maximum, Some(index), |hour| {
                memory(hour).then_some(vram_mib)
            });
        }
        machine
    }
}

/// The boxes as an estate with what was bought.
pub fn estate_of(boxes: &[Box_], bought: &ExistingCommitments) -> Estate {
    let capacity_type = bought.capacity.and(boxes.first()).map(|first| first.kind);
    let machines: Vec<Machine> = boxes
        .iter()
        .enumerate()
        .map(|(index, drawn)| drawn.machine(&format!("i-{index}"), capacity_type))
        .collect();
    let inside = |state: fn(&InstanceState) -> bool| {
        let held = machines.iter().map(|machine| &machine.instance);
        let held = held.filter(|instance| {
            instance.capacity_reservation_id.is_some() && state(&instance.state)
        });
        held.count() as u32
    };
    let (total, now) = (inside(|_| true), inside(|state| state.is_running()));
    let mut fleet = estate(machines);
    fleet.accounts = vec!["111122223333".to_owned(), "444455556666".to_owned()];
    fleet.regions = vec!["cn-north-1".to_owned(), "us-east-1".to_owned()];
    fleet.commitments = Commitments {
        reserved_instances: bought.reserved.iter().map(reserved).collect(),
        savings_plans: bought.plan.iter().map(savings_plan).collect(),
        capacity_reservations: bought
            .capacity
            .iter()
            .zip(capacity_type)
            .map(|((room, can_be_lowered), kind)| CapacityReservation {
                id: "cr-1".to_owned(),
                account: None,
                region: "us-east-1".to_owned(),
                zone: "us-east-1a".to_owned(),
                instance_type: TYPES[kind].0.to_owned(),
                operating_system: OperatingSystem::Linux,
                tenancy: Tenancy::Shared,
                total: total + room,
                available: total + room - now,
                capacity_block: false,
                start: None,
                committed_until: (!can_be_lowered)
                    .then(|| as_of() + SignedDuration::from_hours(1_000)),
                end: None,
                tags: BTreeMap::new(),
            })
            .collect(),
        ..Commitments::default()
    };
    fleet
}

fn term_times() -> (jiff::Timestamp, jiff::Timestamp) {
    let days = |count: i64| SignedDuration::from_hours(24 * count);
    (as_of() - days(100), as_of() + days(265))
}

fn reserved((kind, count, days, zone): &(usize, u32, i64, Option<usize>)) -> ReservedInstances {
    let start = as_of() - SignedDuration::from_hours(24 * days);
    let (_, end) = term_times();
    ReservedInstances {
        id: "ri-1".to_owned(),
        account: None,
        region: "us-east-1".to_owned(),
        zone: zone.map(|zone| format!("us-east-1{}", ZONES[zone])),
        instance_type: TYPES[*kind].0.to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        count: *count,
        class: OfferingClass::Standard,
        payment: PaymentOption::NoUpfront,
        start,
        end,
        currency: Currency::Usd,
        upfront: Decimal::ZERO,
        recurring_hourly: Decimal::new(6, 1),
    }
}

/// Its rates are in no catalog unless an estate records them.
fn savings_plan((kind, dollars, is_compute): &(usize, u32, bool)) -> SavingsPlan {
    let (start, end) = term_times();
    let family = TYPES[*kind].0.split_once('.').map(|(family, _)| family.to_owned());
    SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind: if *is_compute { SavingsPlanKind::Compute } else { SavingsPlanKind::Ec2Instance },
        region: (!is_compute).then(|| "us-east-1".to_owned()),
        family: family.filter(|_| !is_compute),
        currency: Currency::Usd,
        commitment_hourly: Decimal::from(*dollars),
        term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
        start,
        end,
    }
}
