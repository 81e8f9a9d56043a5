use super::Bottleneck::*;
use super::*;
use crate::savings::Bound;

/// A GPU that works 65% of the time, on which everything was read and nothing
/// stands out.
fn with_counters() -> Signals {
    Signals {
        busy: Some(65.0),
        sm: Some(55.0),
        occupancy: Some(40.0),
        tensor: Some(20.0),
        dram: Some(30.0),
        pcie: Some(5.0),
        ..with_nvml()
    }
}

fn with_nvml() -> Signals {
    Signals {
        readings: 1_000,
        idle_share: Some(2.0),
        vram_peak: Some(50.0),
        busy: Some(85.0),
        low_share: Some(5.0),
        high_share: Some(85.0),
        rises: Some(10.0),
        rise_period_seconds: Some(100.0),
        memory_utilization: Some(30.0),
        power: Some(55.0),
        power_capped: Some(0.0),
        pcie: Some(5.0),
        host_cpu: Some(30.0),
        busiest_core: Some(60.0),
        io_wait: Some(1.0),
        io_pressure: Some(1.0),
        ..Signals::default()
    }
}

/// Works in turns of eight seconds.
fn in_turns(signals: Signals) -> Signals {
    Signals {
        busy: Some(45.0),
        low_share: Some(40.0),
        high_share: Some(40.0),
        rises: Some(60.0),
        rise_period_seconds: Some(8.0),
        ..signals
    }
}

fn evaluation(signals: Signals) -> Diagnosis {
    diagnose(&signals, &Policy::default(), false)
}

#[track_caller]
fn assert_is(signals: Signals, bottleneck: Bottleneck, tier: Tier, confidence: Confidence) {
    let diagnosis = evaluation(signals);
    assert_eq!(diagnosis.bottleneck, bottleneck, "{}", diagnosis.reason);
    assert_eq!((diagnosis.tier, diagnosis.confidence), (Some(tier), Some(confidence)));
    assert!(!diagnosis.evidence.is_empty() && diagnosis.missing.is_empty());
    assert!(diagnosis.evidence.iter().all(Sign::holds));
}

#[track_caller]
fn counted(signals: Signals, bottleneck: Bottleneck) {
    assert_is(signals, bottleneck, Tier::Counters, Confidence::Measured);
}

#[track_caller]
fn derived(signals: Signals, bottleneck: Bottleneck) {
    assert_is(signals, bottleneck, Tier::Nvml, Confidence::Derived);
}

#[track_caller]
fn guessed(signals: Signals, bottleneck: Bottleneck, tier: Tier) {
    assert_is(signals, bottleneck, tier, Confidence::Heuristic);
}

#[track_caller]
fn assert_unknown(signals: Signals, missing: &[&str]) {
    let diagnosis = evaluation(signals);
    assert_eq!(diagnosis.bottleneck, Unknown, "{}", diagnosis.reason);
    assert_eq!(diagnosis.missing, missing, "{}", diagnosis.reason);
    assert_eq!(diagnosis.confidence, None);
    assert!(
        diagnosis.evidence.is_empty()
            && diagnosis.advice.is_empty()
            && !diagnosis.reason.is_empty()
    );
}

/// The same with something changed.
fn but(mut signals: Signals, change: impl FnOnce(&mut Signals)) -> Signals {
    change(&mut signals);
    signals
}

#[test]
fn what_nothing_holds_back_is_healthy() {
    counted(with_counters(), Healthy);
    derived(with_nvml(), Healthy);
    let utilization = Signals { power: None, busy: Some(75.0), ..with_nvml() };
    guessed(utilization, Healthy, Tier::UtilizationOnly);
    assert_unknown(but(with_nvml(), |s| s.busy = Some(59.9)), &[]);
    assert_unknown(but(with_counters(), |s| s.sm = Some(49.9)), &[]);
}

#[test]
fn rest_is_idle_or_parked_by_the_memory_held() {
    let rest = Signals { idle_share: Some(99.0), busy: Some(0.0), ..with_nvml() };
    let idle = but(rest, |s| s.vram_peak = Some(4.9));
    derived(idle, Idle);
    let parked = but(rest, |s| s.vram_peak = Some(5.0));
    derived(parked, Parked);
    assert_unknown(but(rest, |s| s.vram_peak = None), &["peak of memory in use"]);
    // One reading in fifty is work.
    assert_unknown(but(rest, |s| s.idle_share = Some(98.0)), &[]);
}

#[test]
fn arithmetic_by_counters() {
    let full = Signals {
        busy: Some(99.0),
        sm: Some(80.0),
        tensor: Some(50.0),
        dram: Some(47.9),
        ..with_counters()
    };
    counted(full, Compute);
    // FP32 work does not use the tensor pipe: SM activity alone does not prove use.
    let plain = but(full, |s| s.tensor = Some(49.9));
    counted(plain, Healthy);
    let crowded = but(full, |s| s.dram = Some(48.0));
    counted(crowded, Healthy);
    assert_unknown(but(full, |s| s.tensor = None), &["tensor activity"]);
    // What is quiet without the missing signal stays quiet.
    let slower = Signals { tensor: None, sm: Some(79.9), ..full };
    counted(slower, Healthy);
}

#[test]
fn arithmetic_by_power() {
    let full = Signals { busy: Some(90.0), power: Some(70.0), ..with_nvml() };
    derived(full, Compute);
    let capped = Signals { power: Some(60.0), power_capped: Some(50.0), ..full };
    derived(capped, Compute);
    assert_eq!(evaluation(capped).evidence.len(), 2, "only what holds is evidence");
    let below = Signals { power: Some(69.9), power_capped: Some(49.9), ..full };
    derived(below, Healthy);
    let no_memory = but(full, |s| s.memory_utilization = None);
    guessed(no_memory, Compute, Tier::UtilizationOnly);
}

#[test]
fn memory_bandwidth() {
    let seen = Signals { dram: Some(60.0), tensor: Some(49.9), sm: Some(95.0), ..with_counters() };
    counted(seen, MemoryBandwidth);
    assert_unknown(Signals { tensor: None, sm: Some(70.0), ..seen }, &["tensor activity"]);
    let full = Signals { busy: Some(90.0), memory_utilization: Some(60.0), ..with_nvml() };
    derived(full, MemoryBandwidth);
    let low_power = but(full, |s| s.power = Some(39.9));
    derived(low_power, Healthy);
    let moderate = but(full, |s| s.memory_utilization = Some(59.9));
    derived(moderate, Healthy);
    assert_eq!(MemoryBandwidth.bound(), Bound::Bandwidth);
    assert_eq!(Compute.bound(), Bound::Compute);
    assert_eq!(Launch.bound(), Bound::Unknown);
}

#[test]
fn a_full_link() {
    let seen = Signals { pcie: Some(60.0), sm: Some(29.9), ..with_counters() };
    counted(seen, Pcie);
    assert_unknown(but(seen, |s| s.pcie = None), &["PCIe link in use"]);
    let waiting = Signals { pcie: Some(60.0), busy: Some(59.9), ..with_nvml() };
    derived(waiting, Pcie);
    let working = but(waiting, |s| s.busy = Some(60.0));
    derived(working, Healthy);
    assert_unknown(but(waiting, |s| s.pcie = Some(59.9)), &[]);
}

#[test]
fn turns_beside_a_busy_host_are_starvation() {
    for (signals, tier, confidence) in [
        (with_counters(), Tier::Counters, Confidence::Measured),
        (with_nvml(), Tier::Nvml, Confidence::Derived),
        (but(with_nvml(), |s| s.power = None), Tier::UtilizationOnly, Confidence::Heuristic),
    ] {
        let turns = in_turns(signals);
        for busy_host in [
            but(turns, |s| s.host_cpu = Some(85.0)),
            but(turns, |s| s.busiest_core = Some(95.0)),
            but(turns, |s| s.io_wait = Some(20.0)),
            but(turns, |s| s.io_pressure = Some(20.0)),
        ] {
            assert_is(busy_host, Input, tier, confidence);
        }
    }
}

#[test]
fn turns_alone_are_no_starvation() {
    let quiet = evaluation(in_turns(with_counters()));
    assert_eq!(quiet.bottleneck, Unknown);
    assert!(quiet.missing.is_empty());
    assert!(quiet.reason.contains("in bursts"), "{}", quiet.reason);
    let unread = Signals {
        host_cpu: None,
        busiest_core: None,
        io_wait: None,
        io_pressure: None,
        ..in_turns(with_nvml())
    };
    assert_unknown(unread, &["host CPU"]);
    assert!(evaluation(unread).reason.starts_with("may be input-starved"));
    // Without pressure figures, which old kernels lack, the others decide.
    let old = but(in_turns(with_nvml()), |s| s.io_pressure = None);
    assert_unknown(old, &[]);
}

#[test]
fn what_does_not_alternate_may_be_slowed_at_a_guess() {
    let slowed = Signals {
        busy: Some(45.0),
        low_share: Some(0.0),
        high_share: Some(0.0),
        host_cpu: Some(80.0),
        ..with_nvml()
    };
    guessed(slowed, Input, Tier::Nvml);
    guessed(but(slowed, |s| s.busy = Some(20.0)), Input, Tier::Nvml);
    assert_unknown(but(slowed, |s| s.busy = Some(19.9)), &[]);
    assert_unknown(but(slowed, |s| s.host_cpu = Some(79.9)), &[]);
    let busy = but(slowed, |s| s.busy = Some(70.0));
    derived(busy, Healthy);
    // Slow turns are the program's business, not starvation that this rule sees.
    let slow = Signals {
        rise_period_seconds: Some(60.1),
        host_cpu: Some(30.0),
        busiest_core: Some(60.0),
        io_wait: Some(90.0),
        ..in_turns(with_nvml())
    };
    assert_unknown(slow, &[]);
}

#[test]
fn small_kernels() {
    let seen = Signals {
        busy: Some(80.0),
        sm: Some(39.9),
        occupancy: Some(14.9),
        dram: Some(29.9),
        ..with_counters()
    };
    counted(seen, Launch);
    for larger in [
        but(seen, |s| s.busy = Some(79.9)),
        but(seen, |s| s.sm = Some(40.0)),
        but(seen, |s| s.occupancy = Some(15.0)),
        but(seen, |s| s.dram = Some(30.0)),
    ] {
        assert_unknown(larger, &[]);
    }
    assert_unknown(but(seen, |s| s.occupancy = None), &["SM occupancy"]);
    let read = Signals {
        busy: Some(80.0),
        power: Some(39.9),
        memory_utilization: Some(19.9),
        ..with_nvml()
    };
    derived(read, Launch);
    let moving = but(read, |s| s.memory_utilization = Some(20.0));
    derived(moving, Healthy);
}

#[test]
fn a_busy_gpu_without_power_is_not_guessed_at() {
    let full = Signals {
        busy: Some(95.0),
        power: None,
        power_capped: None,
        memory_utilization: None,
        ..with_nvml()
    };
    assert_unknown(full, &["power", "memory utilization"]);
    let still = but(full, |s| s.memory_utilization = Some(19.9));
    assert_unknown(still, &["power"]);
    let reason = evaluation(still).reason;
    assert_eq!(reason, "may be compute-bound or launch-bound; not read: power");
    // What moves so much memory is not launch-bound, whatever it draws.
    let moving = but(full, |s| s.memory_utilization = Some(39.8));
    assert_eq!(evaluation(moving).reason, "may be compute-bound; not read: power");
    let busy = but(moving, |s| s.busy = Some(83.0));
    guessed(busy, Healthy, Tier::UtilizationOnly);
    // Power that was read says nothing without a limit.
    let unlimited = Signals { lacks_power_limit: true, ..still };
    assert_unknown(unlimited, &["power limit"]);
}

#[test]
fn not_available_is_not_idle() {
    let none = evaluation(but(with_nvml(), |s| s.busy = None));
    assert_eq!((none.bottleneck, none.tier), (Unknown, None));
    assert_eq!(none.missing, ["GPU utilization"]);
    assert_unknown(Signals { readings: 4, ..with_nvml() }, &["enough readings"]);
}

#[test]
fn mig_is_advised_for_cards_that_have_it() {
    let parked = but(with_nvml(), |s| s.idle_share = Some(100.0));
    let advised = |divisible| diagnose(&parked, &Policy::default(), divisible).advice.join(" ");
    assert!(advised(true).contains("MIG") && advised(true).contains("MPS"));
    assert!(!advised(false).contains("MIG") && advised(false).contains("MPS"));
}

#[test]
fn advice_against_starvation_knows_disks() {
    let disk = but(in_turns(with_nvml()), |s| s.io_wait = Some(30.0));
    assert!(evaluation(disk).advice[0].contains("NVMe"));
    let cpu = but(in_turns(with_nvml()), |s| s.host_cpu = Some(96.0));
    assert!(evaluation(cpu).advice[0].contains("workers"));
    assert!(
        evaluation(cpu).reason.contains("host CPU 96.0% (≥ 85%)"),
        "{}",
        evaluation(cpu).reason
    );
}
