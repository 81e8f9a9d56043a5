//! Which names are those of machines with accelerators, whether the catalog knows them or not: a
//! list of names is older than the newest of them. Beside them words that mark the value of an
//! attribute as an accelerator where the attribute names a machine: models of cards, and starts of
//! the names of types of other clouds.

use super::families::family_names;
use super::hardware::shape;
use crate::domain::{AcceleratorKind, Component};

/// Letters of the accelerated families of EC2, as far as AWS has named families so far.
const EC2_LETTERS: [&str; 8] = ["p", "g", "gr", "trn", "inf", "dl", "vt", "f"];

/// Accelerated machine series of Google Compute Engine (cloud.google.com/compute/docs/gpus
/// and cloud.google.com/tpu/docs).
const GOOGLE_SERIES: [&str; 12] =
    ["a2", "a3", "a4", "a4x", "ct4p", "ct5l", "ct5lp", "ct5p", "ct6e", "g2", "g4", "tpu7x"];

/// Starts of the sizes of AppStream and WorkSpaces that have a GPU.
const DESKTOP_STARTS: [&str; 2] = ["stream.graphics", "GRAPHICS"];

/// The environment of CodeBuild that has a GPU.
const CODEBUILD_GPU: &str = "LINUX_GPU_CONTAINER";

/// Whether a type of AWS carries an accelerator: by the catalog, else by its name.
pub fn is_accelerated(instance_type: &str) -> bool {
    let name = ec2_type(instance_type);
    if let Some(shape) = shape(name) {
        return shape.accelerator != AcceleratorKind::Cpu;
    }
    if DESKTOP_STARTS.iter().any(|start| name.starts_with(start)) {
        return true;
    }
    let (family, _) = name.split_once('.').unwrap_or((name, ""));
    if family_names().any(|known| known == family) {
        return true;
    }
    let series = family.trim_end_matches(|c: char| c != '-' && !c.is_ascii_digit());
    let letters: String = family.chars().take_while(char::is_ascii_lowercase).collect();
    let is_numbered = series.len() > letters.len();
    is_numbered && EC2_LETTERS.contains(&letters.as_str())
}

/// Whether a category of types of EC2, such as `p`, has accelerators.
pub fn is_accelerated_category(category: &str) -> bool {
    EC2_LETTERS.contains(&category)
}

/// The type of EC2 inside a type of SageMaker; any other type as it is.
pub fn ec2_type(instance_type: &str) -> &str {
    match Component::of_type(instance_type) {
        Some((inside, _)) => inside,
        None => instance_type.strip_prefix("ml.").unwrap_or(instance_type),
    }
}

/// Whether a text is the name of an accelerated type of AWS, Azure or Google and nothing
/// else: a family alone is too short to tell.
pub fn names_accelerated_type(text: &str) -> bool {
    let ec2 = text.strip_prefix("ml.").unwrap_or(text);
    (has_form_of_type(ec2) && is_accelerated(ec2))
        || text.starts_with("stream.graphics")
        || text.starts_with("nvidia-tesla-")
        || text == CODEBUILD_GPU
        || is_of_azure(text)
        || is_of_google(text)
}

/// Azure gives its accelerated sizes the letter N, such as `Standard_ND96isr_H100_v5`.
fn is_of_azure(text: &str) -> bool {
    const START: &str = "standard_n";
    let (Some(start), Some(rest)) = (text.get(..START.len()), text.get(START.len()..)) else {
        return false;
    };
    let mut rest = rest.chars();
    start.eq_ignore_ascii_case(START)
        && rest.next().is_some_and(|c| "CDGPV".contains(c.to_ascii_uppercase()))
        && rest.next().is_some_and(|c| c.is_ascii_alphanumeric())
}

/// A machine type or a sole-tenant node of Google, alone or at the end of its URL.
fn is_of_google(text: &str) -> bool {
    let (_, name) = text.rsplit_once("machineTypes/").unwrap_or(("", text));
    let parts: Vec<&str> = name.split('-').collect();
    // A node for one tenant has two sizes, such as `g2-node-96-384`.
    let is_node = parts.contains(&"node");
    let mut words = parts.iter().filter(|part| **part != "node").peekable();
    let is_number = |part: &&&str| part.starts_with(|c: char| c.is_ascii_digit());
    let is_series = words.next().is_some_and(|series| GOOGLE_SERIES.contains(series));
    let class = words.next_if(|word| !is_number(word));
    let is_class = class.map_or(is_node, |class| {
        ["custom", "standard"].contains(class) || class.ends_with("gpu") || class.ends_with("tpu")
    });
    let sizes = words.take_while(is_number).count();
    is_series && is_class && sizes > usize::from(is_node)
}

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

/// Words, each list with its origin.
const WORDS: &[(Form, &[&str], &str)] = &[
    (
        Beside,
        &["A10", "A16", "A30", "A40", "H20", "K80", "L4", "L40", "T4"],
        "NVIDIA data center GPUs",
    ),
    (
        Word,
        &[
            "A10G", "A100", "A800", "B200", "B300", "GB200", "GB300", "GH200", "H100", "H200",
            "H800", "L40S", "P100", "V100",
        ],
        "NVIDIA data center GPUs",
    ),
    (
        Word,
        &["MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI325X", "MI355X"],
        "AMD Instinct accelerators",
    ),
    (Word, &["nvidia"], "Google Compute Engine, Vertex AI, Azure Lab Services"),
    (Beside, &["gpu"], "DigitalOcean, Lambda, Lightsail, Linode, Nebius, Scaleway"),
    (Start, &["GPU_NV"], "instance families of Snowflake"),
    (
        Start,
        &["GPU_SMALL", "GPU_MEDIUM", "GPU_LARGE", "MULTIGPU_MEDIUM"],
        "serving workloads of Databricks",
    ),
    (Start, &["HardwareAccelerated"], "pools of Azure Synapse"),
    (Start, &["NVASv", "NVSv"], "dedicated hosts of Azure"),
    (Start, &["BM.GPU", "VM.GPU"], "shapes of Oracle Cloud"),
    (Start, &["ecs.ebmgn", "ecs.gn", "ecs.sgn", "ecs.vgn"], "families of Alibaba Cloud ECS"),
    (Start, &["gx2", "gx3"], "profiles of IBM Cloud VPC"),
    (Start, &["gpua", "gpu2.", "gpu3."], "types of Exoscale"),
    (Start, &["ecs.pni"], "families of Volcengine"),
    (Start, &["GN10", "GN7", "GN8"], "families of Tencent Cloud"),
    (Start, &["p2s.", "p2v.", "pi2."], "flavors of Huawei Cloud"),
    (Start, &["RENDER-S"], "types of Scaleway instances"),
    (Start, &["vcg-"], "plans of Vultr Cloud GPU"),
    (Start, &["t1-45", "t1-90", "t1-180", "t2-45", "t2-90", "t2-180"], "flavors of OVHcloud"),
];

/// Whether the value of an attribute that names a machine or a card has an accelerated one
/// of any cloud, such as `NC24-A100` or `ecs.gn7i-c8g1.2xlarge`.
pub fn names_accelerator(value: &str) -> bool {
    let words = || value.split(|c: char| !c.is_ascii_alphanumeric());
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let mut patterns =
        WORDS.iter().flat_map(|(form, words, _)| words.iter().map(move |word| (form, word)));
    patterns.any(|(form, pattern)| {
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

/// Whether a name has the form of an instance type's, such as `p9.48xlarge`.
pub fn has_form_of_type(name: &str) -> bool {
    const SIZES: &[&str] = &["nano", "micro", "small", "medium", "large"];
    let Some((family, size)) = name.split_once('.') else { return false };
    let multiple = size.strip_suffix("xlarge");
    let of_metal = size.strip_prefix("metal");
    let is_size = SIZES.contains(&size)
        || multiple.is_some_and(|times| times.is_empty() || times.parse::<u8>().is_ok())
        || of_metal.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    is_size && family.contains(|c: char| c.is_ascii_digit()) && family.split('-').all(is_lower_word)
}

/// The region that a name of that form begins with: `us-east-1` of itself and of
/// the local zone `us-east-1-atl-1`.
pub fn leading_region(name: &str) -> Option<&str> {
    const DIRECTIONS: &[&str] = &[
        "central", "east", "north", "northeast", "northwest", "south", "southeast", "southwest",
        "west",
    ];
    let parts: Vec<&str> = name.split('-').collect();
    let direction = parts.iter().position(|part| DIRECTIONS.contains(part))?;
    let is_number = |part: &&str| part.parse::<u8>().is_ok();
    let is_region = direction > 0
        && parts.get(direction + 1).is_some_and(is_number)
        && parts.iter().all(|part| is_lower_word(part));
    let end = parts.get(..direction + 2)?.join("-").len();
    is_region.then_some(&name[..end])
}

fn is_lower_word(text: &str) -> bool {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !text.is_empty() && text.bytes().all(is_lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_accelerated_by_the_catalog_or_by_their_name() {
        for name in [
            "g5.xlarge", "p4d.24xlarge", "trn1.2xlarge", "p9.metal", "g7e.48xlarge", "p3",
            "ml.g5.xlarge", "ml.p9.48xlarge-hosting", "stream.graphics.g4dn.xlarge",
            "GRAPHICSPRO_G4DN",
        ] {
            assert!(is_accelerated(name), "{name}");
        }
        for name in [
            "m5.large", "t3.nano", "c7g.xlarge", "", "p", "gold.large", "x1e.32xlarge",
            "ml.m5.xlarge", "stream.standard.large", "POWERPRO", "optimal",
        ] {
            assert!(!is_accelerated(name), "{name}");
        }
    }

    #[test]
    fn whole_names_of_three_clouds_are_recognized() {
        for name in [
            "p4d.24xlarge", "p7.48xlarge", "ml.p4d.24xlarge", "stream.graphics.g4dn.xlarge",
            "LINUX_GPU_CONTAINER", "Standard_NC6s_v3", "standard_nd96isr_h100_v5", "a2-highgpu-1g",
            "g2-standard-4", "zones/us-central1-a/machineTypes/a3-megagpu-8g", "ct5lp-hightpu-4t",
            "g2-node-96-384", "a2-highgpu-node-96-680",
        ] {
            assert!(names_accelerated_type(name), "{name}");
        }
        for name in [
            "", "p3", "m5.large", "the p4d.24xlarge", "Standard_D4s_v5", "Standard_N",
            "standard_né", "e2-standard-4", "g2-node-1", "a2-cluster", "n1-standard-8",
        ] {
            assert!(!names_accelerated_type(name), "{name}");
        }
    }

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

    #[test]
    fn types_are_recognized_by_their_form() {
        for name in ["p9.48xlarge", "x9-b400.metal-96xl", "g5g.metal", "t4g.nano"] {
            assert!(has_form_of_type(name), "{name}");
        }
        for name in ["p9", "p9.48xlarg", "P9.48xlarge", "p9-48xlarge", "huge.large"] {
            assert!(!has_form_of_type(name), "{name}");
        }
    }

    #[test]
    fn regions_are_recognized_by_their_form() {
        for (name, region) in [
            ("us-east-1", Some("us-east-1")),
            ("us-east-1-atl-1", Some("us-east-1")),
            ("eusc-de-east-1", Some("eusc-de-east-1")),
            ("us-esat-1", None),
            ("us-east", None),
            ("east-1", None),
            ("US-EAST-1", None),
        ] {
            assert_eq!(leading_region(name), region);
        }
    }
}
