//! Machines that are split, packed, or share a card, with the arithmetic of each, and what another
//! card does to the work.

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

#[test]
fn the_card_of_today_holds_what_it_holds() {
    // 65% of an A10G with a CPU at 5%: 64 × 5% × 1.2 = 3.84 vCPUs, and
    // 2 × 8 192 × 1.2 + 8 192 = 27 853 MiB of host memory, more than a g5.xlarge has.
    let candidates = considered("g5.16xlarge", &demand(1, 65.0, 8_192.0), Risk::Medium);
    assert_eq!(reason(&candidates, "g5.xlarge"), "memory");
    // 1.212 × 730 = 884.76 instead of 4.096 × 730 = 2 990.08.
    let smaller = find(&candidates, "g5.2xlarge");
    assert!(smaller.is_accepted());
    let monthly = smaller.monthly.map(|sum| sum.amount());
    assert_eq!(monthly, Some(Decimal::new(88_476, 2)));
    // 95% of a card does not fit it with headroom: 21 900 × 1.2 = 26 280 of 23 028 MiB. It
    // runs there all the same, and an L4 of the same size may not hold it.
    let full = considered("g5.16xlarge", &demand(1, 95.0, 21_900.0), Risk::Medium);
    assert_eq!(reason(&full, "g5.8xlarge"), "accepted");
    assert_eq!(reason(&full, "g6.8xlarge"), "vram");
}

#[test]
fn memory_that_an_engine_took_says_nothing_about_the_need() {
    let engine = Demand { vram_is_reserved: true, ..group(demand(1, 15.0, 20_700.0), 6) };
    // 6 × 15 / 80 = 1.125: two of the same card, and no less memory.
    let candidates = considered("g5.xlarge", &engine, Risk::Medium);
    let same = find(&candidates, "g5.xlarge");
    assert!(same.is_accepted());
    assert_eq!(same.count, 2);
    assert_eq!(reason(&candidates, "g6f.xlarge"), "reserved-vram");
    // A peak that is not flat needs headroom where fewer share the load:
    // 20 700 × 1.2 = 24 840 of 23 028 MiB.
    let varying = Demand { vram_is_reserved: false, ..engine.clone() };
    let candidates = considered("g5.xlarge", &varying, Risk::Medium);
    assert_eq!(reason(&candidates, "g5.xlarge"), "vram");
    // Stated at 8 GiB, it needs 9 830 MiB.
    let stated = Demand { vram_peak_mib: 8_192.0, ..varying };
    let candidates = considered("g5.xlarge", &stated, Risk::Medium);
    assert_eq!(reason(&candidates, "g5.xlarge"), "accepted");
    assert_eq!(reason(&candidates, "g6f.xlarge"), "vram");
}

fn moved_from(name: &str, demand: &Demand, accepted: Risk) -> Rightsizing {
    let cost = cost(name, demand.instances);
    let candidates = considered(name, demand, accepted).into_iter();
    let suitable = candidates.filter(Considered::is_accepted).collect();
    best(&today(name, &cost), demand, suitable, accepted, |_| false).expect("a move")
}

#[test]
fn slower_work_is_said_and_never_above_100_percent() {
    let training = Demand {
        kind: WorkloadKind::Training,
        bound: Bound::Bandwidth,
        ..demand(1, 83.3, 3_000.0)
    };
    // 83.3 × 900 / 600 = 124.95 on an A10G.
    let rightsizing = moved_from("p3.8xlarge", &training, Risk::Medium);
    let there = rightsizing.projection.expect("projected");
    assert_eq!(there.utilization, 100.0);
    close(there.slowdown, 1.2495);
    let caveats = rightsizing.action.caveats().join("\n");
    assert!(caveats.contains("an epoch may take up to 1.50 times as long"), "{caveats}");
    let words = format!("{} {}", rightsizing.action.detail(), rightsizing.steps.join(" "));
    assert!(words.contains("1.25 times") && !words.contains("124.9"), "{words}");
    // A faster card takes no longer: an L40S does 83.3 × 125 / 362.
    let compute = Demand { bound: Bound::Compute, ..training };
    let candidates = considered("p3.8xlarge", &compute, Risk::Medium);
    close(
        find(&candidates, "g6e.xlarge").projection.expect("projected").utilization,
        83.3 * 125.0 / 362.0,
    );
}

#[test]
fn what_may_work_as_one_loses_its_link_at_high_risk_only() {
    let unknown = Demand { gpus_linked: None, ..demand(2, 30.0, 18_432.0) };
    let medium = considered("p4d.24xlarge", &unknown, Risk::Medium);
    assert_eq!(reason(&medium, "g7e.12xlarge"), "nvlink");
    // 8.286 × 730 = 6 048.78 instead of 21.957642 × 730 = 16 029.08.
    let rightsizing = moved_from("p4d.24xlarge", &unknown, Risk::High);
    let target = rightsizing.action.target().expect("a type");
    assert_eq!(target.instance_type, "g7e.12xlarge");
    assert_eq!(rightsizing.action.risk(), Risk::High);
    let mut caveats = rightsizing.action.caveats().iter();
    assert!(caveats.any(|caveat| caveat.starts_with("NVLink is lost, and whether")));
    // What trains on both keeps it at every risk.
    let training = Demand { gpus_linked: Some(true), ..unknown };
    let high = considered("p4d.24xlarge", &training, Risk::High);
    assert_eq!(reason(&high, "g7e.12xlarge"), "nvlink");
}

#[test]
fn the_runners_up_are_of_other_families() {
    let rightsizing = moved_from("p3.8xlarge", &demand(1, 20.0, 8_192.0), Risk::Medium);
    let mut moves: Vec<&Rightsizing> = vec![&rightsizing];
    moves.extend(&rightsizing.runner_ups);
    assert_eq!(moves.len(), 3);
    let family = |chosen: &&Rightsizing| {
        let target = chosen.action.target().expect("a type");
        target.instance_type.split_once('.').expect("a family").0.to_owned()
    };
    let families: std::collections::BTreeSet<String> = moves.iter().map(family).collect();
    assert_eq!(families.len(), 3, "{families:?}");
    let saved = moves.iter().map(|chosen| chosen.action.monthly_savings().amount());
    assert!(saved.rev().is_sorted());
    assert!(moves.iter().all(|chosen| !chosen.moved.is_empty() && !chosen.quotes.is_empty()));
}
