//! Whether the GPUs of one machine hold a tenant each or work as one decides what may be
//! shared, split and packed. A p4d.24xlarge is 21.957642 × 730 = 16 029.08 a month, a g6e.xlarge
//! 1.861 × 730 = 1 358.53, a p3.8xlarge 12.24 × 730 = 8 935.20.

use super::{act, assert_more_risk_saves_no_less, at, moved, sole, to};
use crate::rules::builder::{Machine, estate, flat};
use crate::rules::fixtures::decimal;
use gpucost::domain::{ActionKind, Risk};
use gpucost::usage::Estate;

/// Between 10 and 16 percent, as if by chance, for so many sources of it.
fn noise(source: u32) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| {
        let mixed = (period ^ source.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0xc2b2_ae35);
        Some(10.0 + f64::from((mixed >> 16) % 7))
    }
}

/// Three p4d.24xlarge of a declared service, of which each GPU holds 4 GiB. Its GPUs follow
/// a source of their own each, or one a machine.
fn service(in_step: bool, tag: Option<&str>) -> Estate {
    let machines = (0..3).map(|number: u32| {
        let mut machine = Machine::new(&format!("i-{number}"), "p4d.24xlarge")
            .cpu(flat(4.0))
            .tag("gpucost:workload", "chat")
            .tag("gpucost:kind", "serving");
        if let Some(value) = tag {
            machine = machine.tag("gpucost:gpus", value);
        }
        (0..8).fold(machine, |machine, gpu| {
            let source = if in_step { number } else { number * 8 + u32::from(gpu) };
            machine.gpu(gpu, noise(source)).vram(gpu, 4_096.0, 40_960.0)
        })
    });
    estate(machines.collect())
}

#[test]
fn gpus_that_go_their_own_way_are_tenants() {
    // 4 096 × 1.2 = 4 916 MiB and a peak of 16%: 2g.10gb would hold it at 56%, but takes 3.5
    // times as long; 3g.20gb holds two a card. 24 tenants on 12 cards are two machines, which
    // costs 32 058.16 and less than 24 × 1 358.53 = 32 604.72.
    let fleet = service(false, None);
    let action = act(&fleet, Risk::Medium, ActionKind::Share).expect("shared");
    assert_eq!(action.monthly_savings().amount(), decimal("16029.08"));
    assert_eq!(moved(&fleet, Risk::Medium), None);
    // The tag says otherwise.
    let linked = service(false, Some("linked"));
    assert_eq!(act(&linked, Risk::High, ActionKind::Share), None);
}

#[test]
fn forty_light_tenants_fit_on_six_cards_of_a_cheaper_type() {
    // 40 × 6% of an A100 with 1,555 GB/s are 432% of an L40S with 864 GB/s, which takes six for
    // 80%; the fullest has seven tenants at 76%.
    // 5 × 21.957642 × 730 − 6 × 1.861 × 730 = 80 145.393 − 8 151.18.
    let machines = (0..5).map(|number: u32| {
        let machine = Machine::new(&format!("i-{number}"), "p4d.24xlarge")
            .cpu(flat(2.0))
            .tag("gpucost:workload", "chat")
            .tag("gpucost:kind", "serving");
        (0..8)
            .fold(machine, |machine, gpu| machine.gpu(gpu, flat(6.0)).vram(gpu, 1_400.0, 40_960.0))
    });
    let fleet = estate(machines.collect());
    assert_eq!(moved(&fleet, Risk::High), to("g6e.xlarge", 6, "71994.21"));
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn gpus_that_move_together_may_be_one_model() {
    // Eight GPUs with the same figure in every period: a model may span them.
    let fleet = service(true, None);
    let audit = at(&fleet, Risk::Medium);
    let workload = &sole(&audit).workload;
    assert!(workload.gpus_move_together() && workload.gpus_linked().is_none());
    for risk in [Risk::Low, Risk::Medium] {
        assert_eq!(act(&fleet, risk, ActionKind::Share), None, "{risk}");
        assert_eq!(moved(&fleet, risk), None, "{risk}");
    }
    // A declaration decides.
    let declared = service(true, Some("independent"));
    let action = act(&declared, Risk::Medium, ActionKind::Share).expect("shared");
    assert_eq!(action.monthly_savings().amount(), decimal("16029.08"));
}

/// Eight p3.8xlarge that train on one GPU each, in two zones.
fn experiments(gpus: u16) -> Estate {
    let machines = (0..8).map(|number: u32| {
        let mut machine = Machine::new(&format!("i-{number}"), "p3.8xlarge")
            .cpu(flat(4.0))
            .tag("gpucost:workload", "experiments")
            .tag("gpucost:precision", "fp64")
            .tag("gpucost:kind", "training");
        machine.instance.zone = Some(format!("us-east-1{}", ["a", "b"][number as usize % 2]));
        (0..4).fold(machine, |machine, gpu| {
            let (level, held) = if gpu < gpus { (65.0, 13_000.0) } else { (0.0, 3.0) };
            machine.gpu(gpu, flat(level)).vram(gpu, held, 16_384.0)
        })
    });
    estate(machines.collect())
}

#[test]
fn jobs_of_one_gpu_are_packed_on_the_machines_they_have() {
    // One V100 each of four: eight jobs fill two machines, 6 × 8 935.20 less. No card with
    // full-rate double precision is cheaper.
    let fleet = experiments(1);
    assert_eq!(moved(&fleet, Risk::Medium), to("p3.8xlarge", 2, "53611.20"));
    assert_eq!(moved(&fleet, Risk::Low), None);
    assert_more_risk_saves_no_less(&fleet);
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("packed");
    let caveats = action.caveats().join("\n");
    assert!(caveats.contains("2 machines instead of 8"), "{caveats}");
    // Two GPUs of a training job work as one.
    assert_eq!(moved(&experiments(2), Risk::Medium), None);
}
