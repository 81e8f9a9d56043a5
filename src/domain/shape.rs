//! What an instance type offers.

use super::named::named_enum;
use super::{GpuModel, GpuShare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    /// What kind of accelerator a type carries.
    AcceleratorKind {
        /// A GPU that NVIDIA's or AMD's drivers report on.
        Gpu = "gpu",
        /// Trainium or Inferentia.
        Neuron = "neuron",
        /// Another inference or training chip.
        Inference = "inference",
        /// A media transcoder.
        Media = "media",
        /// A programmable gate array.
        Fpga = "fpga",
        /// None: a CPU type.
        Cpu = "cpu",
    }
}

named_enum! {
    /// CPU instruction set, as EC2 names it.
    Architecture {
        X86_64 = "x86_64",
        Arm64 = "arm64",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a GPU with `model`, `count` and `vram_mib`")]
pub struct GpuOffer {
    /// Model of every device.
    pub model: GpuModel,
    /// As text: a whole number up to 256, or a fraction of one GPU such as 0.125.
    #[serde(rename = "count")]
    pub share: GpuShare,
    /// Of each visible device, in MiB; for a fraction, that of the partition.
    pub vram_mib: Option<u64>,
}

/// What an instance type offers, apart from its price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a shape object")]
pub struct InstanceShape {
    /// The type, such as `p4d.24xlarge`.
    pub instance_type: String,
    pub accelerator: AcceleratorKind,
    /// Its accelerators; absent on CPU types and where no source states them.
    pub gpu: Option<GpuOffer>,
    pub vcpu: u32,
    /// Host memory in MiB.
    pub memory_mib: u64,
    /// CPU instruction set; absent when no source states it.
    pub architecture: Option<Architecture>,
    /// Instance store in GB; absent for types without disks.
    pub local_storage_gb: Option<u64>,
    /// Whether it offers an Elastic Fabric Adapter; absent when unknown.
    pub efa: Option<bool>,
}

impl InstanceShape {
    /// The family, such as `p4d` of `p4d.24xlarge`.
    pub fn family(&self) -> &str {
        family_of(&self.instance_type)
    }
}

/// The family of a type, such as `p4d` of `p4d.24xlarge`.
pub(crate) fn family_of(instance_type: &str) -> &str {
    instance_type.split_once('.').map_or(instance_type, |(family, _)| family)
}
