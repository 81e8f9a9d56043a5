//! Whether the GPUs of a type hold a language model, and how fast they serve it.

mod layout;

pub use layout::{
    Card, Computes, Layout, Load, ServedModel, ServingRefusal, ServingTerms, with_fewer,
};

use self::layout::Layouts;
use super::model::Dtype;
use crate::catalog::shape;

/// Memory that GPUs were seen to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMemory {
    /// The workload, or the file of samples.
    pub name: String,
    /// In lower case.
    pub instance_type: String,
    /// Largest use of one GPU.
    pub peak_mib: f64,
}

/// Memory that one GPU takes by the formula: weights, cache and runtime, without headroom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComputedMemory {
    pub dtype: Dtype,
    /// GPUs that hold one copy.
    pub gpus_each: u16,
    pub mib: f64,
}

/// What each GPU of a type takes of each of these models, by how many GPUs may hold a copy,
/// whether it fits or not. Empty for a type without NVIDIA GPUs.
pub fn computed_memory(models: &[ServedModel], instance_type: &str) -> Vec<ComputedMemory> {
    let mut computed = Vec::new();
    let Some(instance) = shape(instance_type) else { return computed };
    for served in models {
        let Ok(card) = Card::of(instance, served.dtype) else { continue };
        let layouts = Layouts { served, card: &card };
        for gpus_each in layouts.groups() {
            if layouts.obstacle(gpus_each).is_none() {
                let (_, most) = layouts.shares(gpus_each);
                let mib = layouts.needed_mib(gpus_each, most) / served.terms.headroom;
                computed.push(ComputedMemory { dtype: served.dtype, gpus_each, mib });
            }
        }
    }
    computed
}

#[cfg(test)]
mod tests;
