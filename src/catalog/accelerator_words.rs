//! Words that mark the value of an attribute as an accelerator where the attribute names a
//! machine: models of cards, and starts of the names of types of other clouds.

/// Where a word stands in a value, in any case of its letters.
enum Form {
    /// At its start.
    Start,
    /// Anywhere, as a whole word.
    Word,
    /// As a whole word beside another that has a digit: alone it may be anything.
    Beside,
}

use Form::{Beside, Start, Word};

/// Words, each with its origin.
#[rustfmt::skip]
const WORDS: &[(Form, &str, &str)] = &[
    (Beside, "A10", "NVIDIA data center GPUs"),
    (Word, "A10G", "NVIDIA data center GPUs"),
    (Word, "A100", "NVIDIA data center GPUs"),
    (Beside, "A16", "NVIDIA data center GPUs"),
    (Beside, "A30", "NVIDIA data center GPUs"),
    (Beside, "A40", "NVIDIA data center GPUs"),
    (Word, "A800", "NVIDIA data center GPUs"),
    (Word, "B200", "NVIDIA data center GPUs"),
    (Word, "B300", "NVIDIA data center GPUs"),
    (Word, "GB200", "NVIDIA data center GPUs"),
    (Word, "GB300", "NVIDIA data center GPUs"),
    (Word, "GH200", "NVIDIA data center GPUs"),
    (Word, "H100", "NVIDIA data center GPUs"),
    (Beside, "H20", "NVIDIA data center GPUs"),
    (Word, "H200", "NVIDIA data center GPUs"),
    (Word, "H800", "NVIDIA data center GPUs"),
    (Beside, "K80", "NVIDIA data center GPUs"),
    (Beside, "L4", "NVIDIA data center GPUs"),
    (Beside, "L40", "NVIDIA data center GPUs"),
    (Word, "L40S", "NVIDIA data center GPUs"),
    (Word, "P100", "NVIDIA data center GPUs"),
    (Beside, "T4", "NVIDIA data center GPUs"),
    (Word, "V100", "NVIDIA data center GPUs"),
    (Word, "MI210", "AMD Instinct accelerators"),
    (Word, "MI250", "AMD Instinct accelerators"),
    (Word, "MI250X", "AMD Instinct accelerators"),
    (Word, "MI300A", "AMD Instinct accelerators"),
    (Word, "MI300X", "AMD Instinct accelerators"),
    (Word, "MI325X", "AMD Instinct accelerators"),
    (Word, "MI355X", "AMD Instinct accelerators"),
    (Word, "nvidia", "Google Compute Engine, Vertex AI, Azure Lab Services"),
    (Beside, "gpu", "DigitalOcean, Lambda, Lightsail, Linode, Nebius, Scaleway"),
    (Start, "GPU_NV", "instance families of Snowflake"),
    (Start, "GPU_SMALL", "serving workloads of Databricks"),
    (Start, "GPU_MEDIUM", "serving workloads of Databricks"),
    (Start, "GPU_LARGE", "serving workloads of Databricks"),
    (Start, "MULTIGPU_MEDIUM", "serving workloads of Databricks"),
    (Start, "HardwareAccelerated", "pools of Azure Synapse"),
    (Start, "NVASv", "dedicated hosts of Azure"),
    (Start, "NVSv", "dedicated hosts of Azure"),
    (Start, "BM.GPU", "shapes of Oracle Cloud"),
    (Start, "VM.GPU", "shapes of Oracle Cloud"),
    (Start, "ecs.ebmgn", "families of Alibaba Cloud ECS"),
    (Start, "ecs.gn", "families of Alibaba Cloud ECS"),
    (Start, "ecs.sgn", "families of Alibaba Cloud ECS"),
    (Start, "ecs.vgn", "families of Alibaba Cloud ECS"),
    (Start, "gx2", "profiles of IBM Cloud VPC"),
    (Start, "gx3", "profiles of IBM Cloud VPC"),
    (Start, "gpua", "types of Exoscale"),
    (Start, "gpu2.", "types of Exoscale"),
    (Start, "gpu3.", "types of Exoscale"),
    (Start, "ecs.pni", "families of Volcengine"),
    (Start, "GN10", "families of Tencent Cloud"),
    (Start, "GN7", "families of Tencent Cloud"),
    (Start, "GN8", "families of Tencent Cloud"),
    (Start, "p2s.", "flavors of Huawei Cloud"),
    (Start, "p2v.", "flavors of Huawei Cloud"),
    (Start, "pi2.", "flavors of Huawei Cloud"),
    (Start, "RENDER-S", "types of Scaleway instances"),
    (Start, "vcg-", "plans of Vultr Cloud GPU"),
    (Start, "t1-45", "flavors of OVHcloud"),
    (Start, "t1-90", "flavors of OVHcloud"),
    (Start, "t1-180", "flavors of OVHcloud"),
    (Start, "t2-45", "flavors of OVHcloud"),
    (Start, "t2-90", "flavors of OVHcloud"),
    (Start, "t2-180", "flavors of OVHcloud"),
];

/// Whether the value of an attribute that names a machine or a card has an accelerated one
/// of any cloud, such as `NC24-A100` or `ecs.gn7i-c8g1.2xlarge`.
pub fn names_accelerator(value: &str) -> bool {
    let words = || value.split(|c: char| !c.is_ascii_alphanumeric());
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    WORDS.iter().any(|(form, pattern, _)| {
        let is_pattern = |word: &&str| word.eq_ignore_ascii_case(pattern);
        match form {
            Start => value.get(..pattern.len()).as_ref().is_some_and(is_pattern),
            Word => words().any(|word| is_pattern(&word)),
            Beside => {
                words().any(|word| is_pattern(&word))
                    && words().any(|word| !is_pattern(&word) && has_digit(word))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accelerators_of_any_cloud_are_recognized_by_their_words() {
        for value in [
            "H100-1-80G", "L4-1-24G", "NC24-A100", "a10g", "Classic_Nvidia_Small", "GPU_NV_S",
            "gpua5000.small", "Consumption-GPU-NC8as-T4", "ecs.gn7i-c8g1.2xlarge", "GPU_LARGE",
            "gpu-standard-v3", "HardwareAcceleratedGPU", "NVASv4-Type1", "g1-gpu-rtx6000-1",
            "gpu_nvidia_xl_1_0", "gx3-16x80x1l4", "nvidia-tesla-t4", "V100", "VM.GPU3.1",
        ] {
            assert!(names_accelerator(value), "{value}");
        }
        for value in [
            "", "L4", "gpu", "gpu_utilization", "Standard_A10", "D4", "cx21", "t2.micro",
            "ecs.g7.large", "s-1vcpu-1gb", "gü",
        ] {
            assert!(!names_accelerator(value), "{value}");
        }
    }
}
