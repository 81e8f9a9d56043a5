//! What a MIG slice of an A100 really computes, against its share of the card.

use crate::support::data::shared;
use gpucost::catalog::{mig_profiles, shape};
use std::collections::HashMap;

#[test]
fn few_slices_are_slower_than_their_share_and_none_that_holds_its_memory() {
    let Some(folder) = shared("slices", "samples/mig-throughput") else {
        return;
    };
    let offer = shape("p4d.24xlarge").and_then(|shape| shape.gpu.clone());
    let profiles = mig_profiles(&offer.expect("an A100"));
    let mut reader = csv::Reader::from_path(folder.join("mig_step_time_a100_40gb.csv"))
        .expect("the steps are there");
    let lines: Vec<HashMap<String, String>> = reader
        .deserialize()
        .map(|line| line.expect("a whole line"))
        .collect();
    let step = |line: &HashMap<String, String>| line["median_step_s"].parse::<f64>().ok();
    let (mut slices, mut compared, mut slower) = (0, 0, 0);
    let (mut allowed, mut allowed_slower) = (0, 0);
    for line in lines.iter().filter(|line| line["mig_profile"] != "7g.40gb") {
        slices += 1;
        let Some(seconds) = step(line) else {
            continue;
        };
        let whole = lines.iter().find(|other| {
            ["model", "batch"]
                .iter()
                .all(|key| other[*key] == line[*key])
                && other["mig_profile"] == "7g.40gb"
        });
        let whole_seconds = whole.and_then(step).expect("the whole card was measured");
        let profile = profiles
            .iter()
            .find(|profile| profile.name == line["mig_profile"])
            .expect("a profile of the book");
        let share = f64::from(profile.compute_slices) / 7.0;
        let is_slower = whole_seconds / seconds < 0.8 * share;
        compared += 1;
        slower += usize::from(is_slower);
        let peak_mib: f64 = line["reserved_mem_mib_on_A100_40GB"]
            .parse()
            .expect("a number");
        if peak_mib * 1.2 <= profile.memory_mib.expect("known") as f64 {
            allowed += 1;
            allowed_slower += usize::from(is_slower);
        }
    }
    println!(
        "{slices} slices, {compared} measured, {slower} slower than 80% of their share; of \
         the {allowed} that hold the memory with headroom {allowed_slower}"
    );
    // Eight runs left no log, most for want of memory. Both slow ones are
    // deepspeech2 on 1g.5gb, with more memory than the slice has.
    assert_eq!((slices, compared, slower), (64, 56, 2));
    assert_eq!((allowed, allowed_slower), (42, 0));
}
