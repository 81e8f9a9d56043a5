//! Machines that are split, packed, or share a card, with the arithmetic of each.

use super::*;

fn monthly(candidate: &Considered) -> Decimal {
    candidate.monthly.expect("priced").amount()
}

/// Five p4d.24xlarge of a service, each GPU a replica at 6% with 10,000 MiB and the CPU at 2%.
fn serving() -> Demand {
    let lone = Demand {
        gpus_linked: Some(false),
        cpu_p95: Some(2.0),
        cpu_p95_sum: Some(2.0),
        ..demand(8, 6.0, 10_000.0)
    };
    Demand { least_machines: 2, ..group(lone, 5) }
}

#[test]
fn replicas_leave_machines_of_several_cards() {
    let replicas = Demand { least_instances: 2, ..serving() };
    let candidates = considered("p4d.24xlarge", &replicas, Risk::Medium);
    // 40 × 6% × 1 555 / 864 = 431.9% of an L40S, 5.4 of them at 80%: six. CPU takes
    // 5 × 96 × 2% × 1.2 / 4 = 2.9 machines. 6 × 1.861 × 730 = 8 151.18.
    let split = find(&candidates, "g6e.xlarge");
    assert_eq!((split.count, split.spread), (6, Spread::Replicas));
    assert!(split.is_accepted());
    assert_eq!(monthly(split), Decimal::new(815_118, 2));
    assert_eq!(split.risk, Risk::Medium);
    close(split.projection.expect("projected").utilization, 240.0 * (1_555.0 / 864.0) / 6.0);
    // Linked GPUs need a machine with as many.
    let linked = Demand { gpus_linked: None, ..replicas };
    let candidates = considered("p4d.24xlarge", &linked, Risk::Medium);
    assert_eq!(reason(&candidates, "g6e.xlarge"), "gpus");
}

#[test]
fn each_tenant_keeps_a_card() {
    let tenants = Demand { least_instances: 5, ..serving() };
    let candidates = considered("p4d.24xlarge", &tenants, Risk::Medium);
    // 40 × 1.861 × 730 = 54 341.20 of 80 145.40.
    let split = find(&candidates, "g6e.xlarge");
    assert_eq!((split.count, split.spread), (40, Spread::Tenants));
    assert!(split.is_accepted());
    assert_eq!(monthly(split), Decimal::new(5_434_120, 2));
    // The busiest of them is not the mean: 50% × 1 555 / 864 = 90%.
    let uneven = Demand { gpu_peak_largest: Some(50.0), ..tenants.clone() };
    let candidates = considered("p4d.24xlarge", &uneven, Risk::Medium);
    assert_eq!(reason(&candidates, "g6e.xlarge"), "utilization");
    // Nothing is split where nothing may go wrong.
    let candidates = considered("p4d.24xlarge", &tenants, Risk::Low);
    assert_eq!(reason(&candidates, "g6e.xlarge"), "gpus");
}

#[test]
fn tenants_of_one_owner_share_cards_at_high() {
    // Forty tenants with 2 048 MiB each: 6% × 1 555 / 864 = 10.8% of an L40S, seven of them
    // 75.6%, eight 86.4%: 40 / 7 = 5.7 cards. 8 × 2 457.6 + 8 192 = 27 853 MiB of host memory.
    let small =
        Demand { least_instances: 5, vram_peak_mib: 2_048.0, may_share_gpus: true, ..serving() };
    let candidates = considered("p4d.24xlarge", &small, Risk::High);
    let shared = find(&candidates, "g6e.xlarge");
    assert_eq!(
        (shared.count, shared.spread, shared.per_gpu, shared.risk),
        (6, Spread::Tenants, 7, Risk::High)
    );
    assert!(shared.is_accepted());
    assert_eq!(monthly(shared), Decimal::new(815_118, 2));
    close(shared.projection.expect("projected").utilization, 7.0 * 6.0 * (1_555.0 / 864.0));
    // With 4 096 MiB each a host of 32 GiB holds (32 768 − 8 192) / 4 915.2 − 1 = 4 of them:
    // ten machines.
    let larger = Demand { vram_peak_mib: 4_096.0, ..small.clone() };
    let candidates = considered("p4d.24xlarge", &larger, Risk::High);
    let shared = find(&candidates, "g6e.xlarge");
    assert_eq!((shared.count, shared.per_gpu), (10, 4));
    // Several owners, and whatever is accepted below, keep a card each.
    let owners = Demand { may_share_gpus: false, ..small.clone() };
    for (demand, accepted) in [(owners, Risk::High), (small, Risk::Medium)] {
        let candidates = considered("p4d.24xlarge", &demand, accepted);
        assert_eq!(find(&candidates, "g6e.xlarge").count, 40);
    }
}

#[test]
fn single_gpu_jobs_are_packed_on_their_own_card() {
    // Eight p3.8xlarge, of which training uses one V100 each.
    let lone = Demand {
        kind: WorkloadKind::Training,
        gpus_linked: Some(false),
        ..demand(1, 65.0, 13_312.0)
    };
    let jobs = Demand { least_instances: 8, least_machines: 2, ..group(lone, 8) };
    let candidates = considered("p3.8xlarge", &jobs, Risk::Medium);
    // Eight GPUs are two machines: 6 × 12.24 × 730 = 53 611.20 less, though P3 is not launched
    // any more.
    let packed = find(&candidates, "p3.8xlarge");
    assert_eq!((packed.count, packed.spread), (2, Spread::Tenants));
    assert!(packed.is_accepted());
    let today = cost("p3.8xlarge", 8).compute_monthly.amount();
    assert_eq!(today - monthly(packed), Decimal::new(5_361_120, 2));
    assert_eq!(packed.risk, Risk::Medium);
    // Work that needs a CPU of 50% takes 8 × 32 × 50% × 1.2 / 32 = 4.8 machines.
    let busy = Demand { cpu_p95: Some(50.0), cpu_p95_sum: Some(400.0), ..jobs.clone() };
    let candidates = considered("p3.8xlarge", &busy, Risk::Medium);
    assert_eq!(find(&candidates, "p3.8xlarge").count, 5);
    // GPUs that work as one stay together, and jobs are not packed on another card.
    let linked =
        Demand { gpus_active: 2, gpus_active_in_all: 16, gpus_linked: Some(true), ..jobs.clone() };
    let candidates = considered("p3.8xlarge", &linked, Risk::Medium);
    let is_there = candidates.iter().any(|candidate| candidate.shape.instance_type == "p3.8xlarge");
    assert!(!is_there);
    let candidates = considered("p3.8xlarge", &jobs, Risk::Medium);
    assert_eq!(find(&candidates, "g6e.12xlarge").spread, Spread::Kept);
}

#[test]
fn small_work_of_several_cards_shares_one_at_high() {
    // Four A10G at 12% with 7 168 MiB each, of unknown kind.
    let small =
        Demand { kind: WorkloadKind::Unknown, gpus_linked: None, ..demand(4, 12.0, 7_168.0) };
    assert_eq!(reason(&considered("g5.12xlarge", &small, Risk::Medium), "g6e.2xlarge"), "gpus");
    let candidates = considered("g5.12xlarge", &small, Risk::High);
    // 4 × 7 168 × 1.2 = 34 406 MiB of VRAM, more than an L4 and less than an L40S has, and
    // 5 × 8 601.6 + 8 192 = 51 200 MiB of host memory. 2.24208 × 730 = 1 636.72.
    let shared = find(&candidates, "g6e.2xlarge");
    assert_eq!((shared.count, shared.spread), (1, Spread::Kept));
    assert!(shared.is_accepted());
    assert_eq!(shared.risk, Risk::High);
    assert_eq!(monthly(shared), Decimal::new(163_672, 2));
    assert_eq!(reason(&candidates, "g6e.xlarge"), "memory");
    assert_eq!(reason(&candidates, "g6.2xlarge"), "vram");
    // 4 × 12% × 600 / 864 = 33.3%.
    close(shared.projection.expect("projected").utilization, 48.0 * 600.0 / 864.0);
    let cheapest = candidates.first().expect("some");
    assert_eq!(cheapest.shape.instance_type, "g6e.2xlarge");
    // Production has walls.
    let production = Demand { may_share_gpus: false, ..small };
    assert_eq!(reason(&considered("g5.12xlarge", &production, Risk::High), "g6e.2xlarge"), "gpus");
}
