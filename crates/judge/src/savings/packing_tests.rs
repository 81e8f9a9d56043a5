use super::*;
use crate::catalog::{mig_profiles, shape};
use proptest::prelude::*;

fn a100() -> Vec<MigProfile> {
    let offer = shape("p4d.24xlarge").and_then(|shape| shape.gpu.clone());
    mig_profiles(&offer.expect("known"))
}

fn tenant(gib: f64, peak_percent: f64) -> Tenant {
    Tenant { vram_needed_mib: gib * 1024.0, peak_percent }
}

/// Profile names by card, in order.
fn names(cards: &[SharedCard]) -> Vec<Vec<&str>> {
    cards
        .iter()
        .map(|card| {
            let mut names: Vec<&str> = card
                .slices
                .iter()
                .map(|slice| slice.placement.as_ref().map_or("alone", |(p, _)| &p.name))
                .collect();
            names.sort_unstable();
            names
        })
        .collect()
}

#[test]
fn twelve_gib_take_half_a_card_and_two_share_it() {
    // A 2g.10gb has 9 856 MiB, less than 12 288; a 3g.20gb has 19 968.
    let cards = pack_mig(&[tenant(12.0, 33.0); 5], &a100());
    assert_eq!(
        names(&cards),
        [vec!["3g.20gb", "3g.20gb"], vec!["3g.20gb", "3g.20gb"], vec!["3g.20gb"]]
    );
    let starts = cards[0].slices.iter().map(|slice| {
        let (_, start) = slice.placement.as_ref().expect("a slice");
        *start
    });
    assert_eq!(starts.collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn a_slice_holds_what_the_driver_with_the_smallest_figure_shows() {
    // 19 968 MiB are 19.5 GiB; older drivers show 20 096 and more for a 3g.20gb.
    assert_eq!(names(&pack_mig(&[tenant(19.5, 33.0)], &a100())), [["3g.20gb"]]);
    assert_eq!(names(&pack_mig(&[tenant(19.6, 33.0)], &a100())), [["alone"]]);
}

#[test]
fn a_slice_holds_what_it_computes_at_eighty_percent() {
    // 34.2 × 7 / 3 = 79.8; 34.3 × 7 / 3 = 80.03 needs 4 of 7: 34.3 × 7 / 4 = 60.
    // There is one of those on a card.
    assert_eq!(names(&pack_mig(&[tenant(12.0, 34.2); 2], &a100())).len(), 1);
    assert_eq!(names(&pack_mig(&[tenant(12.0, 34.3); 2], &a100())), [["4g.20gb"], ["4g.20gb"]]);
    // 46 × 7 / 4 = 80.5: no slice.
    assert_eq!(names(&pack_mig(&[tenant(12.0, 46.0)], &a100())), [["alone"]]);
}

#[test]
fn sizes_mix_under_the_placement_rules() {
    // 3g.20gb on memory slices 0–3, 2g.10gb on 4–5, 1g.10gb on 6–7: six of seven
    // compute slices. 25 + 20 + 10 = 55%.
    let mixed = [tenant(12.0, 25.0), tenant(9.0, 20.0), tenant(9.0, 10.0)];
    assert_eq!(names(&pack_mig(&mixed, &a100())), [["1g.10gb", "2g.10gb", "3g.20gb"]]);
    // Seven small ones on a card at most: 1g.5gb has 4 864 MiB.
    let small = pack_mig(&[tenant(4.0, 5.0); 8], &a100());
    assert_eq!(small.iter().map(|c| c.slices.len()).collect::<Vec<_>>(), [7, 1]);
}

#[test]
fn no_more_than_eighty_percent_meet_on_a_card() {
    // Slices of 2g.10gb hold 22% each (77% of the slice); three are 66%. Four
    // slices of 1g.10gb at 11% would be 44%.
    let cards = pack_mig(&[tenant(9.0, 22.0); 4], &a100());
    assert_eq!(cards.iter().map(|c| c.slices.len()).collect::<Vec<_>>(), [3, 1]);
    // Through MPS, 30 + 30% are 60%, and a third would make 90.
    let mps = pack_mps(&[tenant(5.0, 30.0); 3], 40_960.0);
    assert_eq!(mps.iter().map(|c| c.slices.len()).collect::<Vec<_>>(), [2, 1]);
    // 15 + 15 GiB fit into 40, and a third does not.
    let mps = pack_mps(&[tenant(15.0, 1.0); 3], 40_960.0);
    assert_eq!(mps.iter().map(|c| c.slices.len()).collect::<Vec<_>>(), [2, 1]);
    // Above the target by itself: alone.
    let mps = pack_mps(&[tenant(1.0, 90.0), tenant(1.0, 1.0)], 40_960.0);
    assert_eq!(mps.len(), 2);
}

fn some_tenants() -> impl Strategy<Value = Vec<Tenant>> {
    let drawn = (0.1..45.0_f64, 0.0..100.0_f64, 0.0..1.0_f64)
        .prop_map(|(gib, p95, scale)| tenant(gib * scale, p95 * scale));
    prop::collection::vec(drawn, 0..40)
}

fn check_tenants(tenants: &[Tenant], cards: &[SharedCard]) -> Result<(), TestCaseError> {
    let mut placed: Vec<usize> =
        cards.iter().flat_map(|card| card.slices.iter().map(|slice| slice.tenant)).collect();
    placed.sort_unstable();
    prop_assert_eq!(placed, (0..tenants.len()).collect::<Vec<_>>());
    for card in cards.iter().filter(|card| card.slices.len() > 1) {
        let sum: f64 = card.slices.iter().map(|s| tenants[s.tenant].peak_percent).sum();
        prop_assert!(sum <= 80.0 + 1e-9);
    }
    Ok(())
}

/// The largest MIG mode of an A100: memory slices it has, and which of them an
/// instance of a profile takes, from NVIDIA's guide.
fn memory_slices(name: &str, start: u8) -> std::ops::Range<u8> {
    let (starts, size): (&[u8], u8) = match name {
        "1g.5gb" => (&[0, 1, 2, 3, 4, 5, 6], 1),
        "1g.10gb" => (&[0, 2, 4, 6], 2),
        "2g.10gb" => (&[0, 2, 4], 2),
        "3g.20gb" => (&[0, 4], 4),
        "4g.20gb" => (&[0], 4),
        other => panic!("{other} is not a part of a card"),
    };
    assert!(starts.contains(&start), "{name} at {start}");
    start..start + size
}

proptest! {
    #[test]
    fn slices_never_overlap_and_hold_what_is_on_them(tenants in some_tenants()) {
        let cards = pack_mig(&tenants, &a100());
        check_tenants(&tenants, &cards)?;
        for card in &cards {
            let mut taken = [false; 8];
            let mut compute = 0;
            for slice in &card.slices {
                let Some((profile, start)) = &slice.placement else {
                    prop_assert_eq!(card.slices.len(), 1, "a card of its own");
                    continue;
                };
                for slice in memory_slices(&profile.name, *start) {
                    prop_assert!(!taken[usize::from(slice)]);
                    taken[usize::from(slice)] = true;
                }
                compute += profile.compute_slices;
                let tenant = tenants[slice.tenant];
                let mib = profile.memory_mib.expect("known of an A100") as f64;
                prop_assert!(tenant.vram_needed_mib <= mib);
                let on_slice = tenant.peak_percent * 7.0 / f64::from(profile.compute_slices);
                prop_assert!(on_slice <= 80.0);
            }
            prop_assert!(compute <= 7);
        }
    }

    #[test]
    fn mps_never_puts_more_on_a_card_than_it_holds(tenants in some_tenants()) {
        let cards = pack_mps(&tenants, 40_960.0);
        check_tenants(&tenants, &cards)?;
        for card in cards.iter().filter(|card| card.slices.len() > 1) {
            let mib: f64 = card.slices.iter().map(|s| tenants[s.tenant].vram_needed_mib).sum();
            prop_assert!(mib <= 40_960.0 + 1e-6);
        }
    }
}
