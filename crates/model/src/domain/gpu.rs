//! GPU models, and what an instance type offers of them and beside them.

use super::named::named_enum;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! gpu_models {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $(| $alias:literal)*;)+) => {
        /// An accelerator model. A model that gpucost does not know keeps its name.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum GpuModel {
            $($(#[$doc])* $variant,)+
            /// A model that this version does not know, by the name its source gave.
            Other(String),
        }

        impl GpuModel {
            /// Reads a model name as AWS or the bundled catalog writes it.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name $(| $alias)* => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }

            /// The model's usual name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Other(name) => name,
                }
            }
        }
    };
}

/// GPUs that one instance can have: three times the largest that is sold.
pub const MOST_GPUS: u16 = 256;

gpu_models! {
    /// Kepler, one of two dies on a board.
    K80 = "K80";
    /// Maxwell.
    M60 = "M60";
    /// Volta.
    V100 = "V100";
    /// Turing.
    T4 = "T4";
    /// Turing beside Graviton.
    T4g = "T4G" | "T4g";
    /// Ampere.
    A10g = "A10G";
    /// Ampere, 40 or 80 GB.
    A100 = "A100";
    /// Ada.
    L4 = "L4";
    /// Ada.
    L40s = "L40S";
    /// Hopper.
    H100 = "H100";
    /// Hopper.
    H200 = "H200";
    /// Blackwell.
    B200 = "B200";
    /// Blackwell Ultra.
    B300 = "B300";
    /// Grace Blackwell.
    Gb200 = "GB200";
    /// Blackwell, server edition.
    RtxPro6000 = "RTX PRO 6000" | "RTX PRO Server 6000";
    /// Blackwell, server edition.
    RtxPro4500 = "RTX PRO 4500" | "RTX PRO Server 4500";
    /// AMD, of g4ad.
    RadeonProV520 = "Radeon Pro V520";
    /// AWS.
    Trainium1 = "Trainium1" | "Trainium";
    /// AWS.
    Trainium2 = "Trainium2";
    /// AWS.
    Inferentia1 = "Inferentia1" | "Inferentia";
    /// AWS.
    Inferentia2 = "Inferentia2";
    /// Habana.
    GaudiHl205 = "Gaudi HL-205";
    /// Qualcomm.
    CloudAi100 = "Cloud AI 100" | "Qualcomm AI100";
    /// Xilinx media accelerator.
    AlveoU30 = "Alveo U30" | "U30";
}

impl GpuModel {
    /// Reads a product name as NVIDIA's driver gives it, such as
    /// `NVIDIA A100-SXM4-40GB` or `Tesla T4`.
    pub fn from_driver_name(name: &str) -> Self {
        let short = name.trim();
        let short = short.strip_prefix("NVIDIA ").unwrap_or(short);
        let short = short.strip_prefix("Tesla ").unwrap_or(short);
        let known = short
            .char_indices()
            .filter(|(_, c)| !c.is_ascii_alphanumeric())
            .map(|(at, _)| at)
            .chain([short.len()])
            .map(|end| Self::from_name(&short[..end]))
            .rfind(|model| !matches!(model, Self::Other(_)));
        known.unwrap_or_else(|| Self::Other(short.to_owned()))
    }

    /// Who makes it, and so whose driver and libraries it needs; `None` for a
    /// model that this version does not know.
    pub fn vendor(&self) -> Option<&'static str> {
        Some(match self {
            Self::Other(name) if name.starts_with("Virtex") => "Xilinx",
            Self::Other(_) => return None,
            Self::RadeonProV520 => "AMD",
            Self::Trainium1 | Self::Trainium2 | Self::Inferentia1 | Self::Inferentia2 => "AWS",
            Self::GaudiHl205 => "Habana",
            Self::CloudAi100 => "Qualcomm",
            Self::AlveoU30 => "Xilinx",
            _ => "NVIDIA",
        })
    }
}

impl fmt::Display for GpuModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much of the hardware an instance type offers: whole devices, or a
/// fraction of one (EC2 reports g6f.large as zero GPUs with partition 0.125).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GpuShare {
    /// One or more whole devices.
    Whole(u16),
    /// A part of one device, between 0 and 1.
    Fraction(Decimal),
}

impl GpuShare {
    /// Reads a count such as `8` or `0.125`; `None` when it is neither a whole
    /// number of devices up to [`MOST_GPUS`] nor a fraction of one.
    pub fn from_count(count: Decimal) -> Option<Self> {
        if count <= Decimal::ZERO {
            None
        } else if count < Decimal::ONE {
            Some(Self::Fraction(count))
        } else if count.fract().is_zero() {
            let devices = count.to_u16()?;
            (devices <= MOST_GPUS).then_some(Self::Whole(devices))
        } else {
            None
        }
    }

    /// The count as a number: 8, or 0.125.
    pub fn count(self) -> Decimal {
        match self {
            Self::Whole(devices) => Decimal::from(devices),
            Self::Fraction(fraction) => fraction,
        }
    }

    /// How many devices the guest sees: a fraction shows up as one.
    pub fn visible_devices(self) -> u16 {
        match self {
            Self::Whole(devices) => devices,
            Self::Fraction(_) => 1,
        }
    }
}

impl fmt::Display for GpuShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count().normalize())
    }
}

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
pub fn family_of(instance_type: &str) -> &str {
    instance_type.split_once('.').map_or(instance_type, |(family, _)| family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_names_the_board_and_not_only_the_gpu() {
        for (name, model) in [
            ("NVIDIA A10G", GpuModel::A10g),
            ("Tesla T4", GpuModel::T4),
            ("NVIDIA T4G", GpuModel::T4g),
            ("NVIDIA A100-SXM4-40GB", GpuModel::A100),
            ("NVIDIA H100 80GB HBM3", GpuModel::H100),
            ("NVIDIA L40S", GpuModel::L40s),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", GpuModel::RtxPro6000),
            // A V100S is another card, and a 4090 is none of a cloud's.
            ("Tesla V100S-PCIE-32GB", GpuModel::Other("V100S-PCIE-32GB".to_owned())),
            ("NVIDIA GeForce RTX 4090", GpuModel::Other("GeForce RTX 4090".to_owned())),
        ] {
            assert_eq!(GpuModel::from_driver_name(name), model, "{name}");
        }
    }

    #[test]
    fn counts_are_whole_or_a_fraction_of_one() {
        let read = |text: &str| GpuShare::from_count(text.parse().expect("a decimal"));
        assert_eq!(read("8"), Some(GpuShare::Whole(8)));
        assert_eq!(read("0.125").map(GpuShare::visible_devices), Some(1));
        assert_eq!(read("0"), None);
        assert_eq!(read("1.5"), None);
        assert_eq!(read("-1"), None);
    }

    #[test]
    fn an_unknown_model_keeps_its_name() {
        assert_eq!(GpuModel::from_name("Z9").name(), "Z9");
        assert_eq!(GpuModel::from_name("Trainium"), GpuModel::Trainium1);
    }
}
