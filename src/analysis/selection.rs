//! The types of the catalog with their prices, for the planner that selects among them.

use super::{AWS, GpuFilter, Offer, Question, SpotJob, assess_type, compare};
use crate::catalog::{Prices, shape, shapes};
use crate::domain::{AcceleratorKind, InstanceShape, Policy, PriceKey, Risk};
use crate::planners::select::{OfferedType, Selection, Wanted, select};
use crate::savings::Checkpointing;
use std::collections::BTreeSet;

/// Selects among the types of a question, or every type of the catalog, in its regions; its GPU
/// says which accelerators answer.
pub fn select_types(
    question: &Question,
    wanted: Wanted,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Selection {
    let every = Question {
        instance_types: Vec::new(),
        gpu: None,
        count: None,
        providers: BTreeSet::from([AWS.to_owned()]),
        ..question.clone()
    };
    let mut offers = compare(&every, prices);
    if wanted.vcpu_without_gpu.is_some() {
        let cpu = shapes().filter(|shape| shape.accelerator == AcceleratorKind::Cpu);
        let cpu = Question {
            instance_types: cpu.map(|shape| shape.instance_type.clone()).collect(),
            ..every
        };
        offers.extend(compare(&cpu, prices));
    }
    let sold: BTreeSet<&str> = offers.iter().map(|offer| offer.instance_type.as_str()).collect();
    let named = |shape: &InstanceShape| question.instance_types.contains(&shape.instance_type);
    let unsold: Vec<&InstanceShape> = shapes()
        .filter(|shape| wanted.vcpu_without_gpu.is_some() || !is_cpu(shape) || named(shape))
        .filter(|shape| !sold.contains(shape.instance_type.as_str()))
        .collect();
    let filter = question.gpu.as_ref();
    let mut offered: Vec<OfferedType> =
        unsold.into_iter().map(|shape| unpriced(shape, filter)).collect();
    for offer in offers {
        let Some(shape) = shape(&offer.instance_type) else { continue };
        let spot_suits = wanted.restartable && suits(&offer, question, &wanted, prices, policy);
        offered.push(OfferedType {
            region: offer.region,
            on_demand: offer.on_demand,
            spot: offer.spot,
            interruption: offer.interruption.map(|(band, _)| band),
            spot_suits,
            reserved_1yr: offer.commitment_1yr,
            reserved_3yr: offer.commitment_3yr,
            capacity_block: offer.capacity_block,
            ..unpriced(shape, filter)
        });
    }
    offered.retain(|offer| question.instance_types.is_empty() || named(offer.shape));
    select(wanted, offered)
}

fn is_cpu(shape: &InstanceShape) -> bool {
    shape.accelerator == AcceleratorKind::Cpu
}

fn unpriced(shape: &'static InstanceShape, filter: Option<&GpuFilter>) -> OfferedType {
    let is_asked = filter.is_none_or(|filter| {
        let gpu = shape.gpu.as_ref();
        gpu.is_some_and(|gpu| filter.matches(gpu.model.name(), gpu.vram_mib))
    });
    OfferedType {
        shape,
        region: None,
        is_asked,
        on_demand: None,
        spot: None,
        interruption: None,
        spot_suits: false,
        reserved_1yr: None,
        reserved_3yr: None,
        capacity_block: None,
    }
}

/// Whether one such job may go to the spot market of a region and saves by it, at the
/// risk that an audit accepts by default.
fn suits(
    offer: &Offer,
    question: &Question,
    wanted: &Wanted,
    prices: &Prices<'_>,
    policy: &Policy,
) -> bool {
    let Some(region) = &offer.region else { return false };
    let key = PriceKey {
        operating_system: question.operating_system,
        ..PriceKey::linux_on_demand(region, &offer.instance_type)
    };
    let job = SpotJob {
        kind: wanted.kind,
        restartable: wanted.restartable,
        nodes: 1,
        checkpointing: Checkpointing::default(),
        accepted: Risk::Medium,
    };
    assess_type(&key, job, prices, policy).eligibility.is_ok()
}
