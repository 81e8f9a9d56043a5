//! What holds for the audit of any estate.

use crate::rules::builder::{Machine, audited, estate};
use gpucost::analysis::{Audit, AuditedWorkload};
use gpucost::domain::{
    Action, Address, Classification, Currency, InstanceState, Lifecycle, Money, Volume,
};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::Decimal;

/// An hour: the same arithmetic as five minutes on a twelfth of the points.
const PERIOD_SECONDS: u32 = 3_600;
/// Periods in the window.
const PERIODS: u32 = 14 * 24;

/// Types with their GPUs and the memory of one as its driver reports it; the
/// last is in no catalog.
const TYPES: [(&str, u16, f64); 6] = [
    ("g5.xlarge", 1, 23_028.0),
    ("g5.16xlarge", 1, 23_028.0),
    ("g4dn.12xlarge", 4, 15_360.0),
    ("g6e.2xlarge", 1, 46_068.0),
    ("p3.8xlarge", 4, 16_160.0),
    ("z9.large", 1, 16_384.0),
];

/// What is drawn at random about one machine.
#[derive(Debug, Clone)]
pub struct Draft {
    kind: usize,
    region: &'static str,
    stopped: bool,
    spot: bool,
    group: Option<&'static str>,
    launched_hours_ago: i64,
    /// Whole percentages by GPU, one period in `every` and idle in the others.
    pub levels: [u32; 4],
    every: u32,
    /// Periods at the end of the window with points.
    sampled: u32,
    vram_percent: Option<u32>,
    pub has_cpu: bool,
    volume_gib: Option<u64>,
    has_address: bool,
}

fn draft() -> impl Strategy<Value = Draft> {
    let level = || prop_oneof![3 => Just(0_u32), 4 => 0..=100_u32];
    let identity = (
        0..TYPES.len(),
        prop_oneof![4 => Just("us-east-1"), 1 => Just("eu-west-1")],
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop_oneof![3 => Just(None), 1 => Just(Some("red")), 1 => Just(Some("blue"))],
        1..2_000_i64,
    );
    let usage = (
        [level(), level(), level(), level()],
        prop_oneof![3 => Just(1_u32), 1 => 2..12_u32],
        prop_oneof![4 => Just(PERIODS), 1 => 0..PERIODS],
        prop::option::weighted(0.8, 0..=95_u32),
        prop::bool::weighted(0.8),
    );
    let idle_storage = (prop::option::of(1..5_000_u64), any::<bool>());
    (identity, usage, idle_storage).prop_map(|(identity, usage, idle_storage)| Draft {
        kind: identity.0,
        region: identity.1,
        stopped: identity.2,
        spot: identity.3,
        group: identity.4,
        launched_hours_ago: identity.5,
        levels: usage.0,
        every: usage.1,
        sampled: usage.2,
        vram_percent: usage.3,
        has_cpu: usage.4,
        volume_gib: idle_storage.0,
        has_address: idle_storage.1,
    })
}

impl Draft {
    fn machine(&self, id: &str) -> Machine {
        let (instance_type, gpus, vram_mib) = TYPES[self.kind];
        let mut machine = Machine::new(id, instance_type)
            .with_period(PERIOD_SECONDS)
            .launched_hours_ago(self.launched_hours_ago);
        machine.instance.region = self.region.to_owned();
        if let Some(group) = self.group {
            machine = machine.tag("gpucost:workload", group);
        }
        if self.spot {
            machine.instance.lifecycle = Lifecycle::Spot;
        }
        machine.instance.volumes.extend(self.volume_gib.map(|size_gib| Volume {
            id: format!("vol-{id}"),
            volume_type: Some("gp3".to_owned()),
            size_gib: Some(size_gib),
        }));
        if self.has_address {
            machine.instance.addresses.push(Address { id: format!("eipalloc-{id}") });
        }
        if self.stopped {
            machine.instance.state = InstanceState::Stopped;
            return machine;
        }
        // Nothing is measured of an instance before it is first seen.
        let since_launch = u32::try_from(self.launched_hours_ago).expect("in the past");
        let ran = |period: u32| period >= PERIODS - self.sampled.min(since_launch);
        if self.has_cpu {
            machine = machine.cpu(|period| ran(period).then_some(5.0));
        }
        for (index, level) in (0..gpus).zip(self.levels) {
            let every = self.every;
            machine = machine.gpu(index, move |period| {
                let value = if period % every == 0 { level } else { 0 };
                ran(period).then_some(f64::from(value))
            });
            if let Some(percent) = self.vram_percent {
                machine = machine.vram(index, vram_mib * f64::from(percent) / 100.0, vram_mib);
            }
        }
        machine
    }
}

/// Drafts as machines.
pub fn machines(drafts: &[Draft]) -> Vec<Machine> {
    drafts.iter().enumerate().map(|(index, draft)| draft.machine(&format!("i-{index}"))).collect()
}

/// Up to six machines.
pub fn fleet() -> impl Strategy<Value = Vec<Draft>> {
    prop::collection::vec(draft(), 1..7)
}

/// A fleet as it is read and as it may be read another time: the same
/// instances and series in another order.
fn fleet_in_two_orders() -> impl Strategy<Value = (Estate, Estate)> {
    fleet().prop_flat_map(|drafts| {
        let ordered = estate(machines(&drafts));
        let shuffled = (
            Just(ordered.instances.clone()).prop_shuffle(),
            Just(ordered.metrics.clone()).prop_shuffle(),
        );
        (Just(ordered), shuffled).prop_map(|(ordered, (instances, metrics))| {
            let reordered = Estate { instances, metrics, ..ordered.clone() };
            (ordered, reordered)
        })
    })
}

fn sum(parts: impl Iterator<Item = Money>) -> Decimal {
    parts.inspect(|part| assert_eq!(part.currency(), Currency::Usd)).map(Money::amount).sum()
}

fn is_in_cents(amount: Decimal) -> bool {
    amount == amount.round_dp(2)
}

/// What of the savings is certain, or what is not.
fn savings(actions: &[Action], certain: bool) -> impl Iterator<Item = Money> {
    actions.iter().map(move |action| {
        let part = action.certain();
        if certain {
            part
        } else {
            action.monthly_savings().checked_sub(part).expect("one currency")
        }
    })
}

/// The sum of what is known; absent when there are parts and none is known.
fn total(parts: impl Iterator<Item = Option<Money>>) -> Option<Decimal> {
    let parts: Vec<Option<Money>> = parts.collect();
    let is_unknown = !parts.is_empty() && parts.iter().all(Option::is_none);
    (!is_unknown).then(|| sum(parts.into_iter().flatten()))
}

pub fn check_sums(audit: &Audit) -> Result<(), TestCaseError> {
    let totals = &audit.totals;
    let cost = totals.monthly_cost.map(Money::amount);
    let parts = || audit.workloads.iter();
    let costs = |workload: &AuditedWorkload| workload.workload.monthly_cost();
    let unused = || audit.unused.iter();
    let unused_costs = || unused().map(|commitment| commitment.monthly_cost);
    prop_assert_eq!(cost, total(parts().map(costs).chain(unused_costs())));
    let saved = |wanted: bool| {
        let of_workloads = parts().flat_map(|workload| savings(&workload.actions, wanted));
        let of_unused = unused().flat_map(|commitment| savings(&commitment.actions, wanted));
        cost.map(|_| sum(of_workloads.chain(of_unused)))
    };
    let waste = totals.monthly_waste.map(Money::amount);
    let optimization = totals.monthly_optimization.map(Money::amount);
    prop_assert_eq!(waste, saved(true));
    prop_assert_eq!(optimization, saved(false));
    let planned = totals.planned_monthly_cost.map(Money::amount);
    prop_assert_eq!(
        planned,
        total(
            parts()
                .map(AuditedWorkload::planned_monthly_cost)
                .chain(unused().map(|commitment| commitment.planned_monthly_cost()))
        )
    );
    if let (Some(cost), Some(saved)) = (cost, totals.monthly_savings()) {
        prop_assert_eq!(planned, Some(cost - saved.amount()));
    }
    prop_assert_eq!(
        cost,
        total(
            totals.by_classification.values().map(|class| class.monthly_cost).chain(unused_costs())
        )
    );
    for (class, sums) in &totals.by_classification {
        let of_class = |workload: &&AuditedWorkload| workload.verdict.classification == *class;
        let own = total(parts().filter(of_class).map(costs));
        prop_assert_eq!(sums.monthly_cost.map(Money::amount), own);
    }
    for (class, sums) in &totals.running_by_classification {
        let runs = |workload: &&AuditedWorkload| {
            workload.verdict.classification == *class && workload.workload.key.running
        };
        let own = total(parts().filter(runs).map(costs));
        prop_assert_eq!(sums.monthly_cost.map(Money::amount), own);
    }
    for amount in [cost, waste, optimization].into_iter().flatten() {
        prop_assert!(is_in_cents(amount), "{} is not in cents", amount);
    }
    Ok(())
}

fn check_actions(workload: &AuditedWorkload) -> Result<(), TestCaseError> {
    let mut kinds: Vec<_> = workload.actions.iter().map(Action::kind).collect();
    prop_assert!(kinds.is_sorted(), "in the order of the plan");
    kinds.dedup();
    prop_assert_eq!(kinds.len(), workload.actions.len(), "one action of each kind");
    let saved: Decimal =
        workload.actions.iter().map(|action| action.monthly_savings().amount()).sum();
    let cost = workload.workload.monthly_cost().map_or(Decimal::ZERO, Money::amount);
    prop_assert!(saved <= cost, "{} of {}", saved, cost);
    for action in &workload.actions {
        let cost = workload.workload.monthly_cost().expect("only what is priced is saved");
        let savings = action.monthly_savings();
        prop_assert!(savings.amount() > Decimal::ZERO);
        prop_assert!(savings.amount() <= cost.amount());
        prop_assert!(is_in_cents(savings.amount()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn totals_are_the_sum_of_their_parts_to_the_cent(drafts in fleet()) {
        check_sums(&audited(&estate(machines(&drafts))))?;
    }

    #[test]
    fn every_saving_is_positive_and_at_most_the_cost(drafts in fleet()) {
        let audit = audited(&estate(machines(&drafts)));
        for workload in &audit.workloads {
            check_actions(workload)?;
        }
        for finding in &audit.findings {
            let saved = finding.monthly_savings.map(Money::amount);
            prop_assert!(saved.is_none_or(|amount| amount > Decimal::ZERO));
        }
    }

    #[test]
    fn nothing_is_counted_twice_or_lost(drafts in fleet()) {
        let audit = audited(&estate(machines(&drafts)));
        let classes = audit.totals.by_classification.values();
        prop_assert_eq!(classes.map(|class| class.instances).sum::<u64>(), drafts.len() as u64);
        prop_assert_eq!(audit.totals.instances, drafts.len() as u64);
        let members: usize = audit.workloads.iter().map(|workload| workload.workload.instances.len()).sum();
        prop_assert_eq!(members, drafts.len());
        let funnel = &audit.funnel;
        prop_assert!(funnel.active_gpus <= funnel.allocated_gpus);
        // A GPU of which memory alone is reported is allocated, and its utilization unmeasured.
        let held = funnel.allocated_gpus + funnel.unknown_allocation_gpus;
        prop_assert!(held <= funnel.total_gpus);
        let measured = funnel.total_gpus - funnel.unmeasured_gpus;
        prop_assert!(funnel.active_gpus + funnel.unknown_allocation_gpus <= measured);
        prop_assert!(funnel.effective_gpus <= funnel.active_gpus as f64 + 1e-6);
    }

    #[test]
    fn what_is_not_measured_is_never_judged(drafts in fleet()) {
        let audit = audited(&estate(machines(&drafts)));
        for workload in &audit.workloads {
            let judged = workload.verdict.classification != Classification::InsufficientData;
            prop_assert_eq!(judged, workload.verdict.confidence.is_some());
            prop_assert!(judged || workload.verdict.state.is_none());
            prop_assert!(!judged || workload.workload.utilization.is_some());
        }
    }

    #[test]
    fn another_idle_workload_adds_its_cost_to_the_waste(drafts in fleet()) {
        let before = audited(&estate(machines(&drafts)));
        let mut more = machines(&drafts);
        more.push(
            Machine::new("i-idle", "g5.xlarge")
                .with_period(PERIOD_SECONDS)
                .cpu(|_| Some(1.0))
                .gpu(0, |_| Some(0.0))
                .vram(0, 460.56, 23_028.0),
        );
        let after = audited(&estate(more));
        let waste = |audit: &Audit| {
            let waste = audit.totals.monthly_waste;
            waste.map_or(Decimal::ZERO, Money::amount)
        };
        // 1.006 × 730.
        prop_assert_eq!(waste(&after) - waste(&before), Decimal::new(73_438, 2));
    }

    #[test]
    fn the_order_of_the_input_changes_nothing((ordered, reordered) in fleet_in_two_orders()) {
        prop_assert_eq!(audited(&ordered), audited(&reordered));
    }
}
