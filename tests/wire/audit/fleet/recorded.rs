//! `--save` and `--from`: the recording says what the account said, and asks
//! nobody again.

use super::gathering::gathered;

#[test]
fn a_recording_gives_the_same_report() {
    let Some(fleet) = gathered() else { return };
    let replayed = fleet.replayed[0].json(0);
    let live = &fleet.live.report;
    for part in ["as_of", "scope", "prices", "summary", "workloads", "findings", "gaps", "api"] {
        assert_eq!(replayed[part], live[part], "{part}");
    }
    assert_eq!(fleet.replayed[0].stderr, fleet.live.stderr);
}

#[test]
fn a_recording_gives_the_same_bytes_twice_without_a_call() {
    let Some(fleet) = gathered() else { return };
    let [first, second] = &fleet.replayed;
    assert!(first.stdout == second.stdout, "the bytes differ");
    assert_eq!(fleet.replay_calls.values().sum::<usize>(), 0);
}

#[test]
fn a_recording_has_every_price_that_its_report_rests_on() {
    let Some(fleet) = gathered() else { return };
    let live = &fleet.live.report;
    let bundled = live["prices"]["origins"]["bundled"].as_u64();
    assert!(bundled > Some(0), "the price list does not know all");
    let relabelled = fleet.relabelled.json(0);
    let origins = &relabelled["prices"]["origins"];
    assert_eq!(origins["bundled"], 0, "{origins}");
    assert_eq!(relabelled["summary"], live["summary"]);
}
