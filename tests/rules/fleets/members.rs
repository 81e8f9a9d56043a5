//! A group hides nothing: every member is judged by itself, and the stop of the idle
//! ones is worth what it is worth of the same boxes alone.

use super::{
    assert_totals, bought, committed, declared, holding, idle, in_zone, inside, kinds, only_stop,
    only_workload, scaled, tagged, warns, windows, working, young,
};
use crate::rules::builder::{Machine, audited, estate, flat};
use crate::rules::fixtures::{decimal, dollars, of, only};
use gpucost::domain::{ActionKind, Metric, OperatingSystem, Statistic, UsageState};

fn several(count: u32, make: fn(&str) -> Machine, prefix: &str) -> Vec<Machine> {
    let ids = (1..=count).map(|index| format!("i-{prefix}-{index:02}"));
    ids.map(|id| make(&id)).collect()
}

/// Bytes in and out, each of so many a period of five minutes.
fn talking(machine: Machine, bytes: f64) -> Machine {
    machine.series(Metric::NetworkIn, Statistic::Sum, None, flat(bytes)).series(
        Metric::NetworkOut,
        Statistic::Sum,
        None,
        flat(bytes),
    )
}

#[test]
fn three_quarters_of_a_fleet_are_idle_under_a_tag_as_alone() {
    let mut machines = several(15, idle, "idle");
    machines.extend(several(5, working, "busy"));
    let alone = audited(&estate(machines.clone()));
    let grouped = audited(&estate(tagged(machines, "renderer")));
    // 20 × 734.38 = 14 687.60, of which 15 × 734.38 = 11 015.70 end. The other five are
    // reserved: 5 × 271.7206 = 1 358.603; 14 687.60 − 11 015.70 − 1 358.60 = 2 313.30.
    let expected = ["14687.60", "2313.30", "11015.70", "1358.60"];
    assert_totals(&alone, expected);
    assert_totals(&grouped, expected);
    assert_eq!((bought(&alone), bought(&grouped)), (5, 5));
    // Together the twenty work at 17.5% in the mean, which is true of none of them.
    assert_eq!(kinds(&grouped), [ActionKind::Stop, ActionKind::Commit]);
    assert!(of(&grouped, "overprovisioned-gpu").is_empty());
    let stop = only_stop(&grouped);
    for index in 1..=15 {
        let name = format!("i-idle-{index:02}");
        assert!(stop.detail().contains(&name), "{name}: {}", stop.detail());
    }
    assert!(!stop.detail().contains("i-busy"), "{}", stop.detail());
    let finding = only(&grouped, "idle-gpu");
    assert_eq!(dollars(finding), Some(decimal("11015.70")));
    assert_eq!(of(&alone, "idle-gpu").len(), 15);
}

#[test]
fn a_busy_majority_hides_nobody() {
    let mut machines = several(2, idle, "idle");
    machines.extend(several(6, working, "busy"));
    let alone = audited(&estate(machines.clone()));
    let grouped = audited(&estate(tagged(machines, "renderer")));
    // 8 × 734.38 = 5 875.04; 2 × 734.38 = 1 468.76; 6 × 271.7206 = 1 630.3236.
    let expected = ["5875.04", "2775.96", "1468.76", "1630.32"];
    assert_totals(&alone, expected);
    assert_totals(&grouped, expected);
    let stop = only_stop(&grouped);
    assert!(stop.detail().contains("i-idle-01"), "{}", stop.detail());
    assert!(stop.detail().contains("i-idle-02"), "{}", stop.detail());
    assert!(!stop.detail().contains("i-busy"), "{}", stop.detail());
}

#[test]
fn nobody_is_stopped_where_everybody_works() {
    let audit = audited(&estate(tagged(several(3, working, "busy"), "renderer")));
    // 3 × 734.38 = 2 203.14; 3 × 271.7206 = 815.1618.
    assert_totals(&audit, ["2203.14", "1387.98", "0", "815.16"]);
    assert_eq!(kinds(&audit), [ActionKind::Commit]);
    assert!(of(&audit, "idle-gpu").is_empty());
}

#[test]
fn what_holds_memory_is_stopped_in_the_same_action_and_told_apart() {
    let mut machines = several(2, idle, "idle");
    machines.extend(several(3, holding, "held"));
    machines.extend(several(2, working, "busy"));
    let audit = audited(&estate(tagged(machines, "renderer")));
    // 7 × 734.38 = 5 140.66; 5 × 734.38 = 3 671.90; 2 × 271.7206 = 543.4412.
    assert_totals(&audit, ["5140.66", "925.32", "3671.90", "543.44"]);
    // 2 × 734.38 and 3 × 734.38.
    let of_rule = |rule| dollars(only(&audit, rule));
    assert_eq!(of_rule("idle-gpu"), Some(decimal("1468.76")));
    assert_eq!(of_rule("idle-held-gpu"), Some(decimal("2203.14")));
    let stop = only_stop(&audit);
    for name in ["i-idle-01", "i-idle-02", "i-held-01", "i-held-03"] {
        assert!(stop.detail().contains(name), "{}", stop.detail());
    }
    assert!(!stop.detail().contains("i-busy"), "{}", stop.detail());
}

#[test]
fn a_group_that_is_idle_ends_as_a_whole() {
    let audit = audited(&estate(tagged(several(4, idle, "idle"), "renderer")));
    // 4 × 734.38.
    assert_totals(&audit, ["2937.52", "0", "2937.52", "0"]);
    assert_eq!(kinds(&audit), [ActionKind::Stop]);
    let state = only_workload(&audit).verdict.state;
    assert_eq!(state, Some(UsageState::Idle));
    assert!(audit.purchases.is_empty());
}

#[test]
fn an_auto_scaling_group_replaces_what_is_stopped_by_hand() {
    let machines = || {
        let mut machines = several(3, idle, "idle");
        machines.extend(several(3, working, "busy"));
        machines
    };
    let scaling = audited(&estate(scaled(machines(), "renderer")));
    let by_tag = audited(&estate(tagged(machines(), "renderer")));
    // 6 × 734.38 = 4 406.28; 3 × 734.38 = 2 203.14; 3 × 271.7206 = 815.1618.
    let expected = ["4406.28", "1387.98", "2203.14", "815.16"];
    assert_totals(&scaling, expected);
    assert_totals(&by_tag, expected);
    let stop = only_stop(&scaling);
    assert!(warns(stop, "minimum") && warns(stop, "policies"), "{stop:?}");
    let steps = &only(&scaling, "idle-gpu").recommendation.steps;
    let place = |words: &str| steps.iter().position(|step| step.contains(words));
    let (lower, terminate) = (place("minimum"), place("decrement"));
    assert!(lower.is_some() && lower < terminate, "{steps:?}");
    assert!(!warns(only_stop(&by_tag), "minimum"));
}

#[test]
fn an_auto_scaling_group_that_is_idle_is_lowered_first_too() {
    let audit = audited(&estate(scaled(several(2, idle, "idle"), "renderer")));
    assert_totals(&audit, ["1468.76", "0", "1468.76", "0"]);
    let steps = only(&audit, "idle-gpu").recommendation.steps.join("\n");
    assert!(steps.contains("minimum") && steps.contains("decrement"), "{steps}");
}

#[test]
fn an_idle_member_beside_training_keeps_its_dollars_and_is_asked_about_first() {
    let machines = || {
        let mut machines = several(3, working, "busy");
        machines.push(idle("i-idle-01"));
        machines
    };
    let question = "coordinator or spare?";
    // 4 × 734.38 = 2 937.52; 3 × 271.7206 = 815.1618.
    let expected = ["2937.52", "1387.98", "734.38", "815.16"];
    let training = audited(&estate(declared(tagged(machines(), "renderer"), "training")));
    assert_totals(&training, expected);
    let first = only_stop(&training).caveats().first();
    assert!(first.is_some_and(|caveat| caveat.contains(question)), "{first:?}");
    let finding = only(&training, "idle-gpu");
    assert_eq!(dollars(finding), Some(decimal("734.38")));
    let first = finding.recommendation.caveats.first();
    assert!(first.is_some_and(|caveat| caveat.contains(question)), "{first:?}");
    // A name that suggests it is enough to ask.
    let guessed = audited(&estate(tagged(machines(), "llm-train")));
    assert_totals(&guessed, expected);
    assert!(warns(only_stop(&guessed), question));
    // Batch workers need no coordinator among the idle ones.
    let batch = audited(&estate(declared(tagged(machines(), "renderer"), "batch")));
    assert_totals(&batch, expected);
    assert!(!warns(only_stop(&batch), question));
}

#[test]
fn without_peers_that_train_nobody_coordinates() {
    let machines = declared(tagged(several(2, idle, "idle"), "renderer"), "training");
    let machines = machines.into_iter().map(|machine| talking(machine, 20_000.0));
    let audit = audited(&estate(machines.collect()));
    // 11.52 MB a day leave the stop, and make none of it waste.
    assert_totals(&audit, ["1468.76", "0", "0", "1468.76"]);
    assert!(!warns(only_stop(&audit), "coordinator"));
}

#[test]
fn an_idle_member_that_talks_beside_training_is_a_finding_without_dollars() {
    let with = |kind: &str, bytes: f64| {
        let mut machines = several(3, working, "busy");
        machines.push(talking(idle("i-idle-01"), bytes));
        audited(&estate(declared(tagged(machines, "renderer"), kind)))
    };
    // 2 × 288 × 20 000 B = 11.52 MB a day: nothing ends, 3 × 271.7206 = 815.1618.
    let loud = with("training", 20_000.0);
    assert_totals(&loud, ["2937.52", "2122.36", "0", "815.16"]);
    assert_eq!(dollars(only(&loud, "idle-gpu")), None);
    assert_eq!(kinds(&loud), [ActionKind::Commit]);
    // 2 × 288 × 4 000 B = 2.304 MB a day: a health check.
    let quiet = with("training", 4_000.0);
    assert_totals(&quiet, ["2937.52", "1387.98", "734.38", "815.16"]);
    assert_eq!(dollars(only(&quiet, "idle-gpu")), Some(decimal("734.38")));
    // Of work that is not training it makes the stop less certain: 734.38 + 815.16 = 1 549.54.
    let batch = with("batch", 20_000.0);
    assert_totals(&batch, ["2937.52", "1387.98", "0", "1549.54"]);
    assert!(warns(only_stop(&batch), "network reached 11.5 MB per day"));
}

#[test]
fn the_caveat_of_a_service_names_how_many_stay_in_each_zone() {
    let (first, second) = ("us-east-1a", "us-east-1b");
    let fleet = |second: &str| {
        let machines = vec![
            in_zone(working("i-1"), first),
            in_zone(working("i-2"), first),
            in_zone(idle("i-3"), first),
            in_zone(working("i-4"), second),
            in_zone(idle("i-5"), second),
            in_zone(idle("i-6"), second),
        ];
        declared(tagged(machines, "renderer"), "serving")
    };
    // 6 × 734.38 = 4 406.28; 3 × 734.38 = 2 203.14; 3 × 271.7206 = 815.1618.
    let expected = ["4406.28", "1387.98", "2203.14", "815.16"];
    let zones = audited(&estate(fleet(second)));
    assert_totals(&zones, expected);
    let stop = only_stop(&zones);
    assert!(warns(stop, "2 in us-east-1a"), "{stop:?}");
    assert!(warns(stop, "1 in us-east-1b"), "{stop:?}");
    // In one zone there is nothing to keep apart.
    let zone = audited(&estate(fleet(first)));
    assert_totals(&zone, expected);
    assert!(!warns(only_stop(&zone), "in us-east-1a"));
}

#[test]
fn replicas_that_stay_are_counted_after_all_that_end() {
    let machines = vec![
        in_zone(working("i-1"), "us-east-1a"),
        in_zone(idle("i-2"), "us-east-1a"),
        in_zone(holding("i-3"), "us-east-1a"),
        in_zone(working("i-4"), "us-east-1b"),
        in_zone(working("i-5"), "us-east-1b"),
    ];
    let machines = declared(tagged(machines, "renderer"), "serving");
    let audit = audited(&estate(machines));
    // 5 × 734.38 = 3 671.90; 2 × 734.38 = 1 468.76; 3 × 271.7206 = 815.1618.
    assert_totals(&audit, ["3671.90", "1387.98", "1468.76", "815.16"]);
    // One stop ends the idle one and the one that holds memory: of three one stays.
    let stop = only_stop(&audit);
    assert!(warns(stop, "1 in us-east-1a"), "{stop:?}");
    assert!(!warns(stop, "2 in us-east-1a"), "{stop:?}");
    assert!(warns(stop, "2 in us-east-1b"), "{stop:?}");
}

#[test]
fn a_replica_that_is_not_stopped_stays_in_its_zone() {
    // The idle one of the first zone runs in a reservation that cannot be lowered: no
    // dollars are counted for it, and the stop is about the other one.
    let machines = vec![
        in_zone(working("i-1"), "us-east-1a"),
        in_zone(working("i-2"), "us-east-1a"),
        inside(in_zone(idle("i-3"), "us-east-1a")),
        in_zone(working("i-4"), "us-east-1b"),
        in_zone(working("i-5"), "us-east-1b"),
        in_zone(idle("i-6"), "us-east-1b"),
    ];
    let mut fleet = estate(declared(tagged(machines, "renderer"), "serving"));
    fleet.commitments.capacity_reservations = vec![committed(1, 0)];
    let audit = audited(&fleet);
    // 6 × 734.38 = 4 406.28; 4 × 271.7206 = 1 086.8824.
    assert_totals(&audit, ["4406.28", "2585.02", "734.38", "1086.88"]);
    let stop = only_stop(&audit);
    assert!(warns(stop, "3 in us-east-1a"), "{stop:?}");
    assert!(warns(stop, "2 in us-east-1b"), "{stop:?}");
}

#[test]
fn one_ignored_member_does_not_take_out_the_others() {
    let machines = vec![
        working("i-busy-01"),
        working("i-busy-02"),
        idle("i-idle-01"),
        idle("i-kept-01").tag("gpucost:ignore", "licence server"),
    ];
    let audit = audited(&estate(tagged(machines, "renderer")));
    // 4 × 734.38 = 2 937.52; one ends, two are reserved: 2 × 271.7206 = 543.4412.
    assert_totals(&audit, ["2937.52", "1659.70", "734.38", "543.44"]);
    let stop = only_stop(&audit);
    assert!(stop.detail().contains("i-idle-01"), "{}", stop.detail());
    assert!(!stop.detail().contains("i-kept-01"), "{}", stop.detail());
    assert_eq!(
        dollars(only(&audit, "idle-gpu")),
        Some(decimal("734.38")),
        "the finding is about the one that may be stopped"
    );
}

#[test]
fn nothing_is_bought_for_an_ignored_member_that_works() {
    let machines = vec![
        working("i-1"),
        working("i-2"),
        working("i-3").tag("gpucost:ignore", "leaves next month"),
    ];
    let audit = audited(&estate(tagged(machines, "renderer")));
    // 3 × 734.38 = 2 203.14; 2 × 271.7206 = 543.4412.
    assert_totals(&audit, ["2203.14", "1659.70", "0", "543.44"]);
    assert_eq!(bought(&audit), 2);
}

#[test]
fn a_group_of_ignored_members_costs_and_says_nothing() {
    let machines = several(2, idle, "idle").into_iter();
    let machines = machines.map(|machine| machine.tag("gpucost:ignore", "spares"));
    let audit = audited(&estate(tagged(machines.collect(), "renderer")));
    assert_totals(&audit, ["1468.76", "1468.76", "0", "0"]);
    assert!(audit.findings.is_empty(), "{:?}", audit.findings);
    assert_eq!(audit.totals.ignored_workloads, 1);
}

#[test]
fn an_idle_member_ends_at_the_price_of_its_own_system() {
    // 2 × 734.38 + 2 × 868.70 = 3 206.16 either way. The catalog sells no reserved
    // Windows g5.xlarge.
    let machines =
        vec![working("i-1"), working("i-2"), windows(working("i-3")), windows(idle("i-4"))];
    let of_windows = audited(&estate(tagged(machines, "renderer")));
    // 868.70 end; 2 × 271.7206 = 543.4412.
    assert_totals(&of_windows, ["3206.16", "1794.02", "868.70", "543.44"]);
    let systems: Vec<OperatingSystem> =
        of_windows.purchases.iter().map(|purchase| purchase.key.operating_system).collect();
    assert_eq!(systems, [OperatingSystem::Linux]);
    let machines =
        vec![idle("i-1"), working("i-2"), windows(working("i-3")), windows(working("i-4"))];
    let of_linux = audited(&estate(tagged(machines, "renderer")));
    // 734.38 end; one is reserved.
    assert_totals(&of_linux, ["3206.16", "2200.06", "734.38", "271.72"]);
    assert_eq!(bought(&of_linux), 1);
}

#[test]
fn a_member_of_five_days_is_idle_so_far_and_one_of_eight_days_ends() {
    let with = |hours: u32| {
        let machines = vec![working("i-1"), working("i-2"), young("i-3", hours, 0.0)];
        audited(&estate(tagged(machines, "renderer")))
    };
    // 3 × 734.38 = 2 203.14; 2 × 271.7206 = 543.4412.
    let five = with(5 * 24);
    assert_totals(&five, ["2203.14", "1659.70", "0", "543.44"]);
    assert_eq!(dollars(only(&five, "idle-so-far")), None);
    assert!(of(&five, "idle-held-gpu").is_empty());
    let eight = with(8 * 24);
    assert_totals(&eight, ["2203.14", "925.32", "734.38", "543.44"]);
    assert!(of(&eight, "idle-so-far").is_empty());
    assert_eq!(dollars(only(&eight, "idle-held-gpu")), Some(decimal("734.38")));
}
