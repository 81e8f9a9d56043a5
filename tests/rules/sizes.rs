//! What is right-sized whatever its class, what an engine reserves, and what may be committed
//! to because nothing less would do.

use crate::rules::builder::{A10G_MIB, Machine, audited, estate, flat, g5, judge};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{ActionKind, Metric, Policy, Risk, Statistic};
use rust_decimal::Decimal;

/// Where the lever alone would move a workload.
fn target(workload: &AuditedWorkload) -> Option<(String, u32)> {
    let target = workload.proposals.rightsize()?.action.target()?;
    Some((target.instance_type.clone(), target.count))
}

fn steps(audit: &Audit, rule: &str) -> String {
    let mut findings = audit.findings.iter();
    let finding = findings.find(|finding| finding.rule() == rule);
    let finding = finding.unwrap_or_else(|| panic!("{rule} is silent"));
    finding.recommendation.steps.join("\n")
}

/// A g5.16xlarge with 64 vCPUs, of which its GPU's work takes 5%.
fn oversized(percent: f64) -> Machine {
    Machine::new("i-1", "g5.16xlarge")
        .cpu(flat(5.0))
        .gpu(0, flat(percent))
        .vram(0, 8_192.0, A10G_MIB)
}

#[test]
fn no_promise_keeps_a_machine_that_stays_oversized() {
    // Two of eight A100 at 70% with 30,000 MiB each move to 1 × g7e.12xlarge at 8.2861 × 730 =
    // 6,048.84, though three years of the p4d paid at once are 5,956.11 per month.
    let busy = Machine::new("i-1", "p4d.24xlarge").cpu(flat(10.0));
    let eight = (0..8).fold(busy, |machine, gpu| {
        let (percent, vram) = if gpu < 2 { (70.0, 30_000.0) } else { (0.0, 100.0) };
        machine.gpu(gpu, flat(percent)).vram(gpu, vram, 40_960.0)
    });
    let audit = audit(&estate(vec![eight]), &Policy::default(), Risk::High);
    let [action] = audit.workloads[0].actions.as_slice() else {
        panic!("one action: {:?}", audit.workloads[0].actions);
    };
    let to = action.target().expect("a type");
    assert_eq!((to.instance_type.as_str(), to.count), ("g7e.12xlarge", 1));
    assert_eq!(action.monthly_savings().amount().to_string(), "9980.24");
    assert!(audit.purchases.is_empty(), "{:?}", audit.purchases);
}

#[test]
fn a_busy_gpu_leaves_an_oversized_host() {
    // 64 × 5% × 1.2 = 3.84 vCPUs and 2 × 8 192 × 1.2 + 8 192 = 27 853 MiB: a g5.2xlarge, on
    // either side of the border between the classes.
    for percent in [59.9, 60.0, 65.0] {
        let judged = judge(oversized(percent));
        let workload = judged.workload();
        assert_eq!(target(workload), Some(("g5.2xlarge".to_owned(), 1)), "{percent}");
        // (4.096 − 1.212) × 730.
        let proposal = workload.proposals.rightsize().expect("a move");
        assert_eq!(proposal.action.monthly_savings().amount().to_string(), "2105.32");
        let kinds = judged.actions();
        assert_eq!(kinds, [ActionKind::Rightsize, ActionKind::Commit], "{percent}");
    }
    // What uses its host stays: 64 × 60% × 1.2 = 46.1 vCPUs.
    let busy = Machine::new("i-1", "g5.16xlarge")
        .cpu(flat(60.0))
        .gpu(0, flat(65.0))
        .vram(0, 8_192.0, A10G_MIB);
    assert_eq!(target(judge(busy).workload()), None);
}

/// Six g5.xlarge at 15%, with 20 700 of 23 028 MiB in use.
fn engines(kind: Option<&str>) -> Vec<Machine> {
    let machine = |number: u32| {
        let mut replica = g5(&format!("i-{number}")).gpu(0, flat(15.0)).vram(0, 20_700.0, A10G_MIB);
        replica.instance.auto_scaling_group = Some("chat".to_owned());
        match kind {
            Some(kind) => replica.tag("gpucost:kind", kind),
            None => replica,
        }
    };
    (1..=6).map(machine).collect()
}

#[test]
fn memory_that_an_engine_reserves_is_no_need() {
    // 6 × 15 / 80 = 1.125: two replicas, on the same card.
    let serving = audited(&estate(engines(Some("serving"))));
    assert_eq!(target(&serving.workloads[0]), Some(("g5.xlarge".to_owned(), 2)));
    assert!(steps(&serving, "overprovisioned-gpu").contains("gpucost:vram=8GiB"));
    // A group alone proves nothing: as many, on cards with no less memory.
    let undeclared = audited(&estate(engines(None)));
    assert_eq!(target(&undeclared.workloads[0]), Some(("g6.xlarge".to_owned(), 6)));
    let told = steps(&undeclared, "overprovisioned-gpu");
    assert!(told.contains("vllm:kv_cache_usage_perc"), "{told}");
    // Stated, the need is 8 × 1.2 = 9.6 GiB, and nothing hides it.
    let stated = engines(None).into_iter();
    let stated = stated.map(|machine| machine.tag("gpucost:vram", "8GiB"));
    let stated = audited(&estate(stated.collect()));
    let workload = &stated.workloads[0].workload;
    let vram = workload.vram().expect("measured");
    assert!(vram.is_reserved);
    assert_eq!(workload.vram_use_mib(&vram), Some(8_192.0));
}

#[test]
fn memory_that_varies_or_leaves_room_is_not_reserved() {
    let is_reserved = |level: fn(u32) -> Option<f64>| {
        let used = Metric::GpuMemoryUsed;
        let machine = g5("i-1")
            .gpu(0, flat(15.0))
            .series(used, Statistic::Average, Some(0), level)
            .series(used, Statistic::Maximum, Some(0), level)
            .series(Metric::GpuMemoryTotal, Statistic::Maximum, Some(0), flat(A10G_MIB));
        let judged = judge(machine);
        judged.workload().workload.vram().expect("measured").is_reserved
    };
    assert!(is_reserved(|_| Some(20_700.0)));
    // Of 20 700, 2% are 414.
    assert!(is_reserved(|period| Some(if period % 2 == 0 { 20_700.0 } else { 20_300.0 })));
    assert!(!is_reserved(|period| Some(if period % 2 == 0 { 20_700.0 } else { 20_200.0 })));
    // 19 500 are 84.7% of the card.
    assert!(!is_reserved(|_| Some(19_500.0)));
    // Restarts within a period of each day leave it reserved.
    assert!(is_reserved(|period| Some(if period % 288 == 0 { 9_000.0 } else { 20_700.0 })));
}

#[test]
fn equal_memory_does_not_shrink_what_trains() {
    let machine = |number: u32, kind: &str| {
        let mut node = Machine::new(&format!("i-{number}"), "p4d.24xlarge").cpu(flat(5.0));
        node.instance.auto_scaling_group = Some("nodes".to_owned());
        let node = node.tag("gpucost:kind", kind);
        (0..8).fold(node, |node, index| node.gpu(index, flat(20.0)).vram(index, 37_000.0, 40_960.0))
    };
    let of = |kind: &str| {
        let machines = (1..=5).map(|number| machine(number, kind));
        let audit = audited(&estate(machines.collect()));
        target(&audit.workloads[0])
    };
    assert_eq!(of("training"), None);
    // 5 × 8 × 20 / (80 × 8) = 1.25: two of the same, and no larger cards.
    assert_eq!(of("serving"), Some(("p4d.24xlarge".to_owned(), 2)));
}

#[test]
fn what_cannot_shrink_may_be_committed_to_for_a_year() {
    let machine = |percent: f64| {
        Machine::new("i-1", "g4dn.xlarge")
            .cpu(flat(5.0))
            .gpu(0, flat(percent))
            .vram(0, 10_000.0, 15_360.0)
    };
    // 10 000 × 1.2 = 12 000 MiB: more than half an L4 has, and nothing costs less.
    let judged = judge(machine(10.0));
    assert_eq!(judged.verdict(), "overprovisioned/steady");
    let proposals = &judged.workload().proposals;
    assert!(proposals.nothing_less_would_do);
    assert!(proposals.committing().expect("a commitment").one_year_only);
    assert_eq!(judged.actions(), [ActionKind::Commit]);
    let finding = judged.finding("steady-on-demand").expect("a finding");
    let caveats = finding.recommendation.caveats.join("\n");
    assert!(caveats.contains("one year at most"), "{caveats}");
    // What is used well has no such limit.
    let used = judge(machine(65.0));
    let committing = used.workload().proposals.committing();
    assert!(!committing.expect("a commitment").one_year_only);
    // What a smaller type would hold is committed to on that.
    assert!(!judge(oversized(10.0)).workload().proposals.nothing_less_would_do);
}

/// Four models, one on each A10G, of which one is busy: it has no room on a slower card, whatever
/// the mean of the four is. 4,140.56 − 4 × 1.212 × 730 = 601.52.
#[test]
fn the_busiest_of_independent_gpus_decides() {
    let machine = Machine::new("i-1", "g5.12xlarge")
        .tag("gpucost:kind", "serving")
        .tag("gpucost:gpus", "independent")
        .cpu(flat(5.0));
    let machine =
        [95.0, 6.0, 6.0, 6.0].into_iter().zip(0..).fold(machine, |machine, (level, gpu)| {
            machine.gpu(gpu, flat(level)).vram(gpu, 9_000.0, A10G_MIB)
        });
    let report = audit(&estate(vec![machine]), &Policy::default(), Risk::Medium);
    let action = &report.workloads[0].actions[0];
    let to = action.target().expect("another type");
    assert_eq!((to.instance_type.as_str(), to.count), ("g5.2xlarge", 4));
    assert_eq!(action.monthly_savings().amount(), Decimal::new(60_152, 2));
}
