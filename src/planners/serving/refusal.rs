//! Why a type cannot serve a model.

use crate::domain::GpuModel;
use crate::planners::model::Dtype;

const MIB_OF_GIB: f64 = 1024.0;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServingRefusal {
    #[error("only NVIDIA GPUs are computed")]
    Vendor,
    #[error("the {fact} of {model} is unknown")]
    Unknown { fact: &'static str, model: GpuModel },
    #[error("{model} does not run {dtype}")]
    Dtype { model: GpuModel, dtype: Dtype },
    #[error(
        "needs {:.1} GiB on each GPU, has {:.1}; holds {holds} sequences",
        needed_mib / MIB_OF_GIB,
        *usable_mib as f64 / MIB_OF_GIB
    )]
    Memory {
        /// Of each GPU, with headroom.
        needed_mib: f64,
        /// Of each GPU, as its driver reports it.
        usable_mib: u64,
        gpus: u16,
        /// Sequences that all copies on it hold.
        holds: u64,
        /// Whether the weights without any sequence fit.
        weights_fit: bool,
    },
    #[error("{gpus} GPUs would hold it, but {model} has no NVLink")]
    NotLinked { gpus: u16, model: GpuModel },
    #[error("{gpus} GPUs would hold it, but do not divide {kv_heads} heads of keys and values")]
    Heads { gpus: u16, kv_heads: u32 },
}
