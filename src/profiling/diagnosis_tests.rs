use super::*;

/// A GPU that works 65 % of the time, on which everything was read and nothing
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

fn judged(signals: Signals) -> Diagnosis {
    diagnose(&signals, &Policy::default(), false)
}

#[track_caller]
fn assert_is(signals: Signals, bottleneck: Bottleneck, tier: Tier, confidence: Confidence) {
    let found = judged(signals);
    assert_eq!(found.bottleneck, bottleneck, "{}", found.reason);
    assert_eq!(
        (found.tier, found.confidence),
        (Some(tier), Some(confidence))
    );
    assert!(!found.evidence.is_empty() && found.missing.is_empty());
    assert!(found.evidence.iter().all(crate::profiling::rules::holds));
}

#[track_caller]
fn assert_unknown(signals: Signals, missing: &[&str]) {
    let found = judged(signals);
    assert_eq!(found.bottleneck, Bottleneck::Unknown, "{}", found.reason);
    assert_eq!(found.missing, missing, "{}", found.reason);
    assert_eq!(found.confidence, None);
    assert!(found.evidence.is_empty() && found.advice.is_empty() && !found.reason.is_empty());
}

#[test]
fn what_nothing_holds_back_is_healthy() {
    assert_is(
        with_counters(),
        Bottleneck::Healthy,
        Tier::Counters,
        Confidence::Measured,
    );
    assert_is(
        with_nvml(),
        Bottleneck::Healthy,
        Tier::Nvml,
        Confidence::Derived,
    );
    let utilization = Signals {
        power: None,
        busy: Some(75.0),
        ..with_nvml()
    };
    assert_is(
        utilization,
        Bottleneck::Healthy,
        Tier::UtilizationOnly,
        Confidence::Heuristic,
    );
    assert_unknown(
        Signals {
            busy: Some(59.9),
            ..with_nvml()
        },
        &[],
    );
    assert_unknown(
        Signals {
            sm: Some(49.9),
            ..with_counters()
        },
        &[],
    );
}

#[test]
fn rest_is_idle_or_parked_by_the_memory_held() {
    let rest = Signals {
        idle_share: Some(99.0),
        busy: Some(0.0),
        ..with_nvml()
    };
    let idle = Signals {
        vram_peak: Some(4.9),
        ..rest
    };
    assert_is(idle, Bottleneck::Idle, Tier::Nvml, Confidence::Derived);
    let parked = Signals {
        vram_peak: Some(5.0),
        ..rest
    };
    assert_is(parked, Bottleneck::Parked, Tier::Nvml, Confidence::Derived);
    assert_unknown(
        Signals {
            vram_peak: None,
            ..rest
        },
        &["peak of memory in use"],
    );
    // One reading in fifty is work.
    assert_unknown(
        Signals {
            idle_share: Some(98.0),
            ..rest
        },
        &[],
    );
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
    assert_is(
        full,
        Bottleneck::Compute,
        Tier::Counters,
        Confidence::Measured,
    );
    // FP32 work does not use the tensor pipe: SM activity alone is no proof.
    let plain = Signals {
        tensor: Some(49.9),
        ..full
    };
    assert_is(
        plain,
        Bottleneck::Healthy,
        Tier::Counters,
        Confidence::Measured,
    );
    let crowded = Signals {
        dram: Some(48.0),
        ..full
    };
    assert_is(
        crowded,
        Bottleneck::Healthy,
        Tier::Counters,
        Confidence::Measured,
    );
    assert_unknown(
        Signals {
            tensor: None,
            ..full
        },
        &["tensor activity"],
    );
    // What is quiet without the missing signal stays quiet.
    let slower = Signals {
        tensor: None,
        sm: Some(79.9),
        ..full
    };
    assert_is(
        slower,
        Bottleneck::Healthy,
        Tier::Counters,
        Confidence::Measured,
    );
}

#[test]
fn arithmetic_by_power() {
    let full = Signals {
        busy: Some(90.0),
        power: Some(70.0),
        ..with_nvml()
    };
    assert_is(full, Bottleneck::Compute, Tier::Nvml, Confidence::Derived);
    let capped = Signals {
        power: Some(60.0),
        power_capped: Some(50.0),
        ..full
    };
    assert_is(capped, Bottleneck::Compute, Tier::Nvml, Confidence::Derived);
    assert_eq!(
        judged(capped).evidence.len(),
        2,
        "only what holds is evidence"
    );
    let below = Signals {
        power: Some(69.9),
        power_capped: Some(49.9),
        ..full
    };
    assert_is(below, Bottleneck::Healthy, Tier::Nvml, Confidence::Derived);
    let no_memory = Signals {
        memory_utilization: None,
        ..full
    };
    assert_is(
        no_memory,
        Bottleneck::Compute,
        Tier::UtilizationOnly,
        Confidence::Heuristic,
    );
}

#[test]
fn memory_bandwidth() {
    let counted = Signals {
        dram: Some(60.0),
        tensor: Some(49.9),
        sm: Some(95.0),
        ..with_counters()
    };
    assert_is(
        counted,
        Bottleneck::MemoryBandwidth,
        Tier::Counters,
        Confidence::Measured,
    );
    assert_unknown(
        Signals {
            tensor: None,
            sm: Some(70.0),
            ..counted
        },
        &["tensor activity"],
    );
    let full = Signals {
        busy: Some(90.0),
        memory_utilization: Some(60.0),
        ..with_nvml()
    };
    assert_is(
        full,
        Bottleneck::MemoryBandwidth,
        Tier::Nvml,
        Confidence::Derived,
    );
    let low_power = Signals {
        power: Some(39.9),
        ..full
    };
    assert_is(
        low_power,
        Bottleneck::Healthy,
        Tier::Nvml,
        Confidence::Derived,
    );
    let moderate = Signals {
        memory_utilization: Some(59.9),
        ..full
    };
    assert_is(
        moderate,
        Bottleneck::Healthy,
        Tier::Nvml,
        Confidence::Derived,
    );
    assert_eq!(Bottleneck::MemoryBandwidth.bound(), Bound::Bandwidth);
    assert_eq!(Bottleneck::Compute.bound(), Bound::Compute);
    assert_eq!(Bottleneck::Launch.bound(), Bound::Unknown);
}

#[test]
fn a_full_link() {
    let counted = Signals {
        pcie: Some(60.0),
        sm: Some(29.9),
        ..with_counters()
    };
    assert_is(
        counted,
        Bottleneck::Pcie,
        Tier::Counters,
        Confidence::Measured,
    );
    assert_unknown(
        Signals {
            pcie: None,
            ..counted
        },
        &["PCIe link in use"],
    );
    let waiting = Signals {
        pcie: Some(60.0),
        busy: Some(59.9),
        ..with_nvml()
    };
    assert_is(waiting, Bottleneck::Pcie, Tier::Nvml, Confidence::Derived);
    let working = Signals {
        busy: Some(60.0),
        ..waiting
    };
    assert_is(
        working,
        Bottleneck::Healthy,
        Tier::Nvml,
        Confidence::Derived,
    );
    assert_unknown(
        Signals {
            pcie: Some(59.9),
            ..waiting
        },
        &[],
    );
}

#[test]
fn turns_beside_a_busy_host_are_starvation() {
    for (signals, tier, confidence) in [
        (with_counters(), Tier::Counters, Confidence::Measured),
        (with_nvml(), Tier::Nvml, Confidence::Derived),
        (
            Signals {
                power: None,
                ..with_nvml()
            },
            Tier::UtilizationOnly,
            Confidence::Heuristic,
        ),
    ] {
        let turns = in_turns(signals);
        for busy_host in [
            Signals {
                host_cpu: Some(85.0),
                ..turns
            },
            Signals {
                busiest_core: Some(95.0),
                ..turns
            },
            Signals {
                io_wait: Some(20.0),
                ..turns
            },
            Signals {
                io_pressure: Some(20.0),
                ..turns
            },
        ] {
            assert_is(busy_host, Bottleneck::Input, tier, confidence);
        }
    }
}

#[test]
fn turns_alone_are_no_starvation() {
    let quiet = judged(in_turns(with_counters()));
    assert_eq!(quiet.bottleneck, Bottleneck::Unknown);
    assert!(quiet.missing.is_empty());
    assert!(quiet.reason.contains("in turns"), "{}", quiet.reason);
    let unread = Signals {
        host_cpu: None,
        busiest_core: None,
        io_wait: None,
        io_pressure: None,
        ..in_turns(with_nvml())
    };
    assert_unknown(unread, &["host CPU"]);
    assert!(judged(unread).reason.starts_with("it may be input-starved"));
    // Without pressure figures, which old kernels lack, the others decide.
    let old = Signals {
        io_pressure: None,
        ..in_turns(with_nvml())
    };
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
    assert_is(slowed, Bottleneck::Input, Tier::Nvml, Confidence::Heuristic);
    assert_is(
        Signals {
            busy: Some(20.0),
            ..slowed
        },
        Bottleneck::Input,
        Tier::Nvml,
        Confidence::Heuristic,
    );
    assert_unknown(
        Signals {
            busy: Some(19.9),
            ..slowed
        },
        &[],
    );
    assert_unknown(
        Signals {
            host_cpu: Some(79.9),
            ..slowed
        },
        &[],
    );
    let busy = Signals {
        busy: Some(70.0),
        ..slowed
    };
    assert_is(busy, Bottleneck::Healthy, Tier::Nvml, Confidence::Derived);
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
    let counted = Signals {
        busy: Some(80.0),
        sm: Some(39.9),
        occupancy: Some(14.9),
        dram: Some(29.9),
        ..with_counters()
    };
    assert_is(
        counted,
        Bottleneck::Launch,
        Tier::Counters,
        Confidence::Measured,
    );
    for larger in [
        Signals {
            busy: Some(79.9),
            ..counted
        },
        Signals {
            sm: Some(40.0),
            ..counted
        },
        Signals {
            occupancy: Some(15.0),
            ..counted
        },
        Signals {
            dram: Some(30.0),
            ..counted
        },
    ] {
        assert_unknown(larger, &[]);
    }
    assert_unknown(
        Signals {
            occupancy: None,
            ..counted
        },
        &["SM occupancy"],
    );
    let read = Signals {
        busy: Some(80.0),
        power: Some(39.9),
        memory_utilization: Some(19.9),
        ..with_nvml()
    };
    assert_is(read, Bottleneck::Launch, Tier::Nvml, Confidence::Derived);
    let moving = Signals {
        memory_utilization: Some(20.0),
        ..read
    };
    assert_is(moving, Bottleneck::Healthy, Tier::Nvml, Confidence::Derived);
}

#[test]
fn a_busy_gpu_without_power_is_not_guessed_at() {
    let full = Signals {
        busy: Some(95.0),
        power: None,
        power_capped: None,
        ..with_nvml()
    };
    assert_unknown(full, &["power"]);
    let reason = judged(full).reason;
    assert_eq!(
        reason,
        "it may be compute-bound or launch-bound; not read: power"
    );
}

#[test]
fn not_available_is_not_idle() {
    let none = judged(Signals {
        busy: None,
        ..with_nvml()
    });
    assert_eq!((none.bottleneck, none.tier), (Bottleneck::Unknown, None));
    assert_eq!(none.missing, ["GPU utilization"]);
    assert_unknown(
        Signals {
            readings: 4,
            ..with_nvml()
        },
        &["enough readings"],
    );
}

#[test]
fn mig_is_advised_for_cards_that_have_it() {
    let parked = Signals {
        idle_share: Some(100.0),
        ..with_nvml()
    };
    let advised = |divisible| {
        diagnose(&parked, &Policy::default(), divisible)
            .advice
            .join(" ")
    };
    assert!(advised(true).contains("MIG") && advised(true).contains("MPS"));
    assert!(!advised(false).contains("MIG") && advised(false).contains("MPS"));
}

#[test]
fn advice_against_starvation_knows_disks() {
    let disk = Signals {
        io_wait: Some(30.0),
        ..in_turns(with_nvml())
    };
    assert!(judged(disk).advice[0].contains("NVMe"));
    let cpu = Signals {
        host_cpu: Some(96.0),
        ..in_turns(with_nvml())
    };
    assert!(judged(cpu).advice[0].contains("workers"));
    assert!(
        judged(cpu).reason.contains("host CPU 96.0 % (≥ 85 %)"),
        "{}",
        judged(cpu).reason
    );
}
