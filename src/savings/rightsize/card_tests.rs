//! What stays on its card, what an engine reserves, and what links cards.

use super::*;

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
    let today = Today {
        shape: shape(name).expect("known"),
        cost: &cost,
        region: "us-east-1",
        activity: None,
    };
    let candidates = considered(name, demand, accepted).into_iter();
    let suitable = candidates.filter(Considered::is_accepted).collect();
    best(&today, demand, suitable, accepted, |_| false).expect("a move")
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
