//! Packings against every arrangement of their tenants.

use super::tests::{of, outcome, planned, question, tenant};
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

// The second route: every division of tenants into groups, each of which is put on slices of
// an A100 with 40 GiB in every way that NVIDIA's guide allows.

/// Compute slices, memory slices, MiB, how many, and where it may begin.
const PROFILES: [(u32, u32, f64, usize, &[u32]); 5] = [
    (1, 1, 4_864.0, 7, &[0, 1, 2, 3, 4, 5, 6]),
    (1, 2, 9_856.0, 4, &[0, 2, 4, 6]),
    (2, 2, 9_856.0, 3, &[0, 2, 4]),
    (3, 4, 19_968.0, 2, &[0, 4]),
    (4, 4, 19_968.0, 1, &[0]),
];

fn sum_at_worst(tenants: &[&ShareTenant]) -> f64 {
    let hours = tenants.iter().map(|tenant| tenant.hours.len()).max();
    let at = |hour: usize| -> f64 {
        let own = |tenant: &&ShareTenant| {
            let known = tenant.hours.get(hour).copied();
            known.or(tenant.peak_percent)
        };
        tenants.iter().filter_map(own).sum()
    };
    (0..hours.unwrap_or(0).max(1)).map(at).fold(0.0, f64::max)
}

fn on_slices(tenants: &[&ShareTenant], taken: u32, compute: u32, used: [usize; 5]) -> bool {
    let Some((first, rest)) = tenants.split_first() else { return true };
    PROFILES.iter().enumerate().any(|(kind, profile)| {
        let (slices, size, mib, most, starts) = *profile;
        let too_slow = |peak: f64| peak * 7.0 > 80.0 * f64::from(slices);
        if first.vram_peak_mib * 1.2 > mib
            || first.peak_percent.is_some_and(too_slow)
            || compute + slices > 7
            || used[kind] == most
        {
            return false;
        }
        starts.iter().any(|start| {
            let mask = ((1_u32 << size) - 1) << start;
            let mut used = used;
            used[kind] += 1;
            taken & mask == 0 && on_slices(rest, taken | mask, compute + slices, used)
        })
    })
}

/// The most slices of a card.
const MOST_ON_CARD: usize = 7;

/// Every choice of at most so many of each kind.
fn choices(most: &[usize]) -> Vec<Vec<usize>> {
    most.iter().fold(vec![Vec::new()], |combinations, most| {
        let longer = combinations.iter().flat_map(|combination| {
            let counts = 0..=*most;
            counts.map(move |count| [combination.as_slice(), &[count]].concat())
        });
        longer.collect()
    })
}

/// The fewest cards for so many tenants of each kind, where `cards` are the choices that fit
/// on one: tenants of a kind are alike, so that their number stands for all divisions.
fn fewest_of(
    left: &[usize],
    cards: &BTreeSet<Vec<usize>>,
    known: &mut BTreeMap<Vec<usize>, usize>,
) -> usize {
    let Some(first) = left.iter().position(|count| *count > 0) else { return 0 };
    if let Some(number) = known.get(left) {
        return *number;
    }
    let mut best = usize::MAX;
    // One of the first kind that is left is on some card.
    for card in choices(left) {
        if card[first] == 0 || !cards.contains(&card) {
            continue;
        }
        let rest = left.iter().zip(&card).map(|(left, taken)| left - taken);
        let rest: Vec<usize> = rest.collect();
        best = best.min(1 + fewest_of(&rest, cards, known));
    }
    known.insert(left.to_vec(), best);
    best
}

/// The fewest cards with MIG for tenants of a few kinds, each with how many there are.
fn with_mig_of_kinds(kinds: &[(ShareTenant, usize)]) -> usize {
    let counts: Vec<usize> = kinds.iter().map(|(_, count)| *count).collect();
    let fits = |card: &Vec<usize>| {
        let pairs = kinds.iter().zip(card);
        let group: Vec<&ShareTenant> =
            pairs.flat_map(|((kind, _), count)| std::iter::repeat_n(kind, *count)).collect();
        let is_slices = || {
            group.len() <= MOST_ON_CARD
                && sum_at_worst(&group) <= 80.0
                && on_slices(&group, 0, 0, [0; 5])
        };
        group.len() == 1 || is_slices()
    };
    let cards: BTreeSet<Vec<usize>> = choices(&counts).into_iter().filter(fits).collect();
    fewest_of(&counts, &cards, &mut BTreeMap::new())
}

/// The fewest cards of any division in which every group of more than one fits.
fn fewest(tenants: &[ShareTenant], fits: impl Fn(&[&ShareTenant]) -> bool) -> usize {
    let everyone = (1_usize << tenants.len()) - 1;
    let group = |mask: usize| -> Vec<&ShareTenant> {
        let numbered = tenants.iter().enumerate();
        let chosen = numbered.filter(|(place, _)| (mask >> place) & 1 == 1);
        chosen.map(|(_, tenant)| tenant).collect()
    };
    let is_card: Vec<bool> =
        (0..=everyone).map(|mask| mask.count_ones() == 1 || fits(&group(mask))).collect();
    let mut least = vec![0; everyone + 1];
    for mask in 1..=everyone {
        let mut best = usize::MAX;
        let mut part = mask;
        while part > 0 {
            if is_card[part] {
                best = best.min(1 + least[mask ^ part]);
            }
            part = (part - 1) & mask;
        }
        least[mask] = best;
    }
    least[everyone]
}

fn with_mig(tenants: &[ShareTenant]) -> usize {
    fewest(tenants, |group| sum_at_worst(group) <= 80.0 && on_slices(group, 0, 0, [0; 5]))
}

fn with_mps(tenants: &[ShareTenant], card_mib: f64) -> usize {
    fewest(tenants, |group| {
        let mib: f64 = group.iter().map(|tenant| tenant.vram_peak_mib * 1.2).sum();
        sum_at_worst(group) <= 80.0 && mib <= card_mib
    })
}

/// Tenants with whole percentages and MiB, so that sums are exact in any order.
fn some_tenants(most: usize) -> impl Strategy<Value = Vec<ShareTenant>> {
    let hours = prop::collection::vec(0..=100_u32, 3);
    let drawn = (1..=15_u32, 0..=48_u32, proptest::option::of(hours));
    prop::collection::vec(drawn, 1..=most).prop_map(|rows| {
        let numbered = rows.into_iter().enumerate();
        let tenants = numbered.map(|(number, (gib, peak, hours))| ShareTenant {
            hours: hours
                .unwrap_or_default()
                .into_iter()
                .map(|share| f64::from(peak * share / 100))
                .collect(),
            ..of(
                Isolation::Trusted,
                "search",
                tenant(&format!("t{number}"), f64::from(gib * 1_000), Some(f64::from(peak))),
            )
        });
        tenants.collect()
    })
}

fn check_rules(plan: &SharePlan, packing: &Packing) -> Result<(), TestCaseError> {
    let mut placed: Vec<usize> = packing
        .lots
        .iter()
        .flat_map(|lot| &lot.cards)
        .flat_map(|card| card.tenants.iter().map(|slice| slice.tenant))
        .collect();
    placed.sort_unstable();
    let places: Vec<usize> = (0..plan.question.tenants.len()).collect();
    prop_assert_eq!(placed, places);
    prop_assert!(packing.least_cards() <= packing.cards());
    for card in packing.lots.iter().flat_map(|lot| &lot.cards) {
        prop_assert!(card.peak_percent <= card.separate_percent);
        if card.tenants.len() > 1 {
            prop_assert!(card.peak_percent <= Some(80.0));
        }
        let mut taken = 0_u32;
        for (profile, at) in card.tenants.iter().filter_map(|tenant| tenant.placement.as_ref()) {
            let mask = ((1_u32 << profile.placement_size) - 1) << at;
            prop_assert_eq!(taken & mask, 0);
            taken |= mask;
        }
    }
    Ok(())
}

/// Eight to twelve trusted tenants of two to four kinds.
fn kinds() -> impl Strategy<Value = Vec<(ShareTenant, usize)>> {
    let kind = (1..=15_u32, 0..=48_u32);
    let kinds = prop::collection::vec(kind, 2..=4);
    let tenants = prop::collection::vec(any::<prop::sample::Index>(), 8..=12);
    (kinds, tenants).prop_map(|(kinds, tenants)| {
        let mut counts = vec![0; kinds.len()];
        for chosen in tenants {
            counts[chosen.index(kinds.len())] += 1;
        }
        let kinds = kinds.into_iter().map(|(gib, peak)| {
            let peak = Some(f64::from(peak));
            let lone = tenant("kind", f64::from(gib * 1_000), peak);
            of(Isolation::Trusted, "search", lone)
        });
        kinds.zip(counts).collect()
    })
}

/// Every tenant of some kinds, under a name of its own.
fn each_of(kinds: &[(ShareTenant, usize)]) -> Vec<ShareTenant> {
    let tenants = kinds.iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, *count));
    let numbered = tenants
        .enumerate()
        .map(|(number, kind)| ShareTenant { name: format!("t{number}"), ..kind.clone() });
    numbered.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn up_to_twelve_tenants_take_as_few_cards_as_any_slices(kinds in kinds()) {
        let plan = planned(question("p4d.24xlarge", each_of(&kinds)));
        let mig = outcome(&plan, Method::Mig).as_ref().expect("an A100 has MIG");
        check_rules(&plan, mig)?;
        let fewest = with_mig_of_kinds(&kinds);
        prop_assert_eq!((mig.cards(), mig.least_cards()), (fewest, fewest));
    }
}

/// Four 3g.20gb (14,400 MiB with headroom), four 2g.10gb (20 × 7 / 2 = 70%) and four 1g.5gb are
/// 4 × 3 + 4 × 2 + 4 × 1 = 24 slices of compute, and so four cards at least: twice 3g + 2g + 2g,
/// once 3g + 1g + 1g + 1g + 1g, and 3g. First come, first served, two 3g would share a card, of
/// which a slice of compute stays free.
#[test]
fn twelve_tenants_on_slices_by_hand() {
    let kind = |mib: f64, peak: f64| {
        let lone = tenant("kind", mib, Some(peak));
        (of(Isolation::Trusted, "search", lone), 4)
    };
    let kinds = [kind(12_000.0, 5.0), kind(8_000.0, 20.0), kind(3_000.0, 5.0)];
    assert_eq!(with_mig_of_kinds(&kinds), 4);
    let plan = planned(question("p4d.24xlarge", each_of(&kinds)));
    let mig = outcome(&plan, Method::Mig).as_ref().expect("an A100");
    assert_eq!((mig.cards(), mig.least_cards()), (4, 4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn few_tenants_take_as_few_cards_as_any_arrangement(tenants in some_tenants(7)) {
        let plan = planned(question("p4d.24xlarge", tenants.clone()));
        let mig = outcome(&plan, Method::Mig).as_ref().expect("an A100 has MIG");
        check_rules(&plan, mig)?;
        let fewest = with_mig(&tenants);
        prop_assert_eq!((mig.cards(), mig.least_cards()), (fewest, fewest));
        let mps = outcome(&plan, Method::Mps).as_ref().expect("trusted, of one owner");
        check_rules(&plan, mps)?;
        let fewest = with_mps(&tenants, plan.question.on.card_mib);
        prop_assert_eq!((mps.cards(), mps.least_cards()), (fewest, fewest));
    }

    #[test]
    fn the_bound_for_many_tenants_is_one(tenants in some_tenants(40)) {
        let plan = planned(question("p4d.24xlarge", tenants));
        for method in &plan.methods {
            if let Ok(packing) = &method.outcome {
                check_rules(&plan, packing)?;
            }
        }
    }
}

/// Trusted tenants of one owner with little memory.
fn with_peaks(peaks: &[u32]) -> Vec<ShareTenant> {
    let numbered = peaks.iter().enumerate();
    numbered
        .map(|(number, peak)| {
            let lone = tenant(&format!("t{number}"), 4_000.0, Some(f64::from(*peak)));
            of(Isolation::Trusted, "search", lone)
        })
        .collect()
}

#[test]
fn twelve_tenants_are_searched_to_the_end() {
    // The largest first takes five cards: 45 + 31, 37 + 36, 26 + 22 + 21, 21 + 16 + 14 + 13,
    // 12. Four are enough: 45 + 21 + 14, 37 + 31 + 12, 36 + 22 + 21, 26 + 16 + 13.
    let tenants = with_peaks(&[45, 37, 36, 31, 26, 22, 21, 21, 16, 14, 13, 12]);
    let question = question("g5.xlarge", tenants.clone());
    let needs = |tenant: &ShareTenant| crate::savings::Tenant {
        vram_needed_mib: question.vram_needed_mib(tenant),
        peak_percent: tenant.peak_percent.expect("known"),
    };
    let needs: Vec<crate::savings::Tenant> = tenants.iter().map(needs).collect();
    let card_mib = question.on.card_mib;
    assert_eq!(crate::savings::pack_mps(&needs, card_mib).len(), 5);
    assert_eq!(with_mps(&tenants, card_mib), 4);
    let plan = planned(question);
    let mps = outcome(&plan, Method::Mps).as_ref().expect("one owner");
    assert_eq!((mps.cards(), mps.least_cards()), (4, 4));
}

#[test]
fn the_bound_is_proved_where_volume_alone_is_less() {
    // 7 × 41 / 80 = 3.6: four by volume. No two of them meet: 41 + 41 = 82.
    let mps = |count: usize| {
        let tenants = with_peaks(&vec![41; count]);
        let plan = planned(question("g5.xlarge", tenants));
        let packing = outcome(&plan, Method::Mps).as_ref().expect("one owner");
        (packing.cards(), packing.least_cards())
    };
    assert_eq!(mps(7), (7, 7));
    // Thirteen are more than are searched: 13 × 41 / 80 = 6.7.
    assert_eq!(mps(13), (13, 7));
}
