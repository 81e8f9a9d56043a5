//! AWS Compute Optimizer's idle rule beside our own, and encoders at work.

use crate::rules::builder::{A10G_MIB, Machine, flat, judge};
use crate::rules::fixtures::holds;
use gpucost::domain::{ActionKind, Evidence, Metric, Observation, Statistic};

/// A g5.xlarge that computes nothing and holds 2% of its memory, with a CPU at
/// so many percent and so many bytes each way in five minutes.
fn idle(cpu_percent: f64, received: f64, sent: f64) -> Machine {
    Machine::new("i-1", "g5.xlarge")
        .cpu(flat(cpu_percent))
        .gpu(0, flat(0.0))
        .vram(0, 460.56, A10G_MIB)
        .series(Metric::NetworkIn, Statistic::Sum, None, flat(received))
        .series(Metric::NetworkOut, Statistic::Sum, None, flat(sent))
}

fn encoding(machine: Machine, sessions: impl Fn(u32) -> Option<f64>) -> Machine {
    machine.series(Metric::GpuEncoderSessions, Statistic::Maximum, Some(0), sessions)
}

/// The second opinion that stands beside an idle finding, with its words.
fn opinion(machine: Machine) -> Option<(Evidence, String)> {
    let judged = judge(machine);
    assert_eq!(judged.verdict(), "overprovisioned/idle");
    let finding = judged.finding("idle-gpu").expect("a finding");
    finding.evidence().iter().find_map(|evidence| match &evidence.observation {
        Observation::Fact { name, origin } if name.contains("Compute Optimizer") => {
            Some((evidence.clone(), origin.clone()))
        }
        _ => None,
    })
}

#[test]
fn it_agrees_when_all_five_signs_hold() {
    // (10 000 + 7 361) × 288 = 4 999 968 bytes a day.
    let quiet = encoding(idle(4.9, 10_000.0, 7_361.0), flat(0.0));
    let (evidence, words) = opinion(quiet).expect("every series is there");
    assert_eq!((evidence.observed, evidence.threshold), (5.0, 5.0));
    assert!(holds(&evidence));
    assert_eq!(
        words,
        "the rule agrees: GPUs idle 100.0% of the window (> 99), encoder sessions 0.0 \
         concurrent (< 1), VRAM 2.0% (< 5), maximum CPU 4.9% (< 5), network 4.99997 MB/day (< 5)"
    );
}

#[test]
fn a_busy_cpu_or_network_makes_it_disagree_and_changes_no_verdict() {
    // (10 000 + 7 362) × 288 = 5 000 256 bytes a day.
    for (cpu, sent, holding) in [(5.0, 7_361.0, 4.0), (4.9, 7_362.0, 4.0), (60.0, 1e6, 3.0)] {
        let machine = encoding(idle(cpu, 10_000.0, sent), flat(0.0));
        let (evidence, words) = opinion(machine).expect("every series is there");
        assert_eq!(evidence.observed, holding, "{cpu} {sent}");
        assert!(holds(&evidence));
        assert!(words.starts_with("the rule disagrees: "), "{words}");
    }
}

#[test]
fn without_one_of_its_series_there_is_no_second_opinion() {
    assert!(opinion(idle(3.0, 1.0, 1.0)).is_none(), "no encoder");
    let mut machine = encoding(idle(3.0, 1.0, 1.0), flat(0.0));
    machine.series.retain(|series| series.metric != Metric::NetworkOut);
    assert!(opinion(machine).is_none(), "no network");
}

#[test]
fn an_encoder_at_work_is_never_idle() {
    let once = |period: u32| Some(if period == 2_000 { 1.0 } else { 0.0 });
    let judged = judge(encoding(idle(3.0, 1.0, 1.0), once));
    assert_eq!(judged.verdict(), "overprovisioned/steady");
    assert_eq!(judged.finding("idle-gpu"), None);
    // What works once in a while may rest in the other hours, and is not stopped.
    assert_eq!(judged.actions(), [ActionKind::Schedule]);
    let powered = Machine::new("i-1", "g5.xlarge").cpu(flat(3.0)).power(flat(19.0));
    let judged = judge(encoding(powered, once));
    assert_eq!(judged.verdict(), "overprovisioned/-");
}

#[test]
fn a_gpu_that_encodes_is_not_unused() {
    let machine = (1..4).fold(
        Machine::new("i-1", "g5.12xlarge")
            .cpu(flat(5.0))
            .gpu(0, flat(70.0))
            .vram(0, 1_000.0, A10G_MIB),
        |machine, gpu| {
            machine.gpu(gpu, flat(0.0)).vram(gpu, 3.0, A10G_MIB).series(
                Metric::GpuEncoderSessions,
                Statistic::Maximum,
                Some(gpu),
                flat(1.0),
            )
        },
    );
    let judged = judge(machine);
    assert_eq!(judged.finding("unused-gpus"), None);
    // Nothing less would do, and that may be committed to.
    assert_eq!(judged.actions(), [ActionKind::Commit]);
}
