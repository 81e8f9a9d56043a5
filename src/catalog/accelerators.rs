//! Which names are those of machines with accelerators, whether the catalog knows them or
//! not.

use super::families::family_names;
use super::hardware::shape;
use super::newer::has_form_of_type;
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
}
