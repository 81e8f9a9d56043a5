//! No target is smaller than what was seen of the work.

use super::config;
use super::draft::{estate_of, fleet};
use gpucost::analysis::audit;
use gpucost::catalog::{family, gpu_spec, network_gbps, shape};
use gpucost::domain::{ActionKind, GpuShare, InstanceShape, Policy, Risk, Workload};
use gpucost::savings::Spread;
use proptest::prelude::*;
use rust_decimal::prelude::ToPrimitive;

/// Memory of one device of a type as its driver reports it, MiB.
fn card_mib(instance_type: &str) -> Option<f64> {
    let offer = shape(instance_type)?.gpu.as_ref()?;
    let mib = match offer.share {
        GpuShare::Fraction(_) => offer.vram_mib,
        GpuShare::Whole(_) => gpu_spec(offer)?.memory_mib_reported.or(offer.vram_mib),
    };
    Some(mib? as f64)
}

fn busiest(workload: &Workload) -> Option<(f64, f64)> {
    let peaks: Option<Vec<f64>> =
        workload.usage.iter().map(|usage| Some(usage.network?.busiest_gbps())).collect();
    let peaks = peaks?;
    Some((peaks.iter().sum(), peaks.iter().copied().fold(0.0, f64::max)))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_target_is_too_small((boxes, bought) in fleet(), risk in 0..3_usize) {
        let risk = [Risk::Low, Risk::Medium, Risk::High][risk];
        let audit = audit(&estate_of(&boxes, &bought), &Policy::default(), risk);
        for workload in &audit.workloads {
            for action in &workload.actions {
                let Some(to) = action.target() else { continue };
                let part = &workload.working().expect("what moves works").workload;
                let mut is_whole = true;
                let (name, count) = (to.instance_type.as_str(), to.count as usize);
                let facts = family(name.split_once('.').expect("a type").0);
                prop_assert!(facts.is_none_or(|facts| facts.launchable != Some(false)
                    || name == part.key.instance_type), "{name} is retired");
                prop_assert!(count >= part.zones().len(), "{count} in {:?}", part.zones());
                if action.kind() == ActionKind::Rightsize {
                    let vram = part.vram().expect("measured");
                    let headroom = if vram.is_reserved { 1.0 } else { 1.2 };
                    let needed = vram.peak_mib * headroom;
                    let model = |shape: Option<&InstanceShape>| {
                        Some(shape?.gpu.as_ref()?.model.clone())
                    };
                    let is_same = model(shape(name)) == model(part.shape.as_ref());
                    let moved = workload.proposals.rightsize().expect("the move");
                    let chosen = moved.suitable.first().expect("the type");
                    prop_assert_eq!((&chosen.shape.instance_type, chosen.count), (&to.instance_type, to.count));
                    let (spread, per_gpu) = (chosen.spread, f64::from(chosen.per_gpu));
                    // What ran on a card runs on as many of the same.
                    let is_alone = spread != Spread::Replicas && !chosen.shares_gpus();
                    let is_kept = is_same && is_alone;
                    if let Some(card) = card_mib(name) {
                        prop_assert!(is_kept || card >= needed * per_gpu, "{name}: {card} for {needed}");
                    }
                    if spread == Spread::Replicas {
                        prop_assert!(count >= 2 && action.risk() >= Risk::Medium);
                        prop_assert_eq!(part.declared_kind().name(), "serving");
                    }
                    if chosen.shares_gpus() {
                        prop_assert_eq!(action.risk(), Risk::High);
                    }
                    is_whole = spread != Spread::Tenants;
                }
                if let Some((sum, most)) = busiest(part) {
                    // A tenant takes its part of the traffic along.
                    let most = if is_whole { most } else { 0.0 };
                    let needed = 1.2 * most.max(sum / count as f64);
                    let link = network_gbps(name).and_then(|gbps| gbps.to_f64()).expect("known");
                    prop_assert!(link >= needed - 1e-9, "{name}: {link} for {needed}");
                }
            }
        }
    }
}
