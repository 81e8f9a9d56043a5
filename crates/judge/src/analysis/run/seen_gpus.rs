//! Whether the GPUs that a run names can be those of an instance type.

use crate::catalog::gpu_spec;
use crate::domain::{GpuIdentity, GpuModel, GpuOffer, InstanceShape, safe, separated};

/// Whose driver all readings come from.
const VENDOR: &str = "NVIDIA";
/// How far two drivers differ in the memory that they report of a GPU.
const REPORTED_WITHIN: f64 = 0.03;
/// The same where only what AWS states is known, of which a driver takes its part.
const STATED_WITHIN: f64 = 0.10;
/// What error correction leaves of the memory of a card that has none of its own
/// for it.
const LEFT_BY_ECC: f64 = 15.0 / 16.0;
/// Characters of a model's name that a sentence has.
const MOST_OF_A_NAME: usize = 60;

/// What speaks against a run having been taken on a type, each with both figures;
/// empty when nothing does. A run that names fewer GPUs may still be of it.
pub fn contradictions(gpus: &[GpuIdentity], shape: &InstanceShape) -> Vec<String> {
    let Some(offer) = &shape.gpu else { return Vec::new() };
    let name = &shape.instance_type;
    let mut reasons = Vec::new();
    if let Some(seen) = another_model(gpus, offer) {
        reasons.push(format!("{seen} was detected, but {name} has {}", offer.model));
    }
    if let Some((seen, expected)) = another_memory(gpus, offer) {
        reasons.push(format!(
            "a GPU with {} MiB was detected, but GPUs of {name} have {} MiB",
            separated(&format!("{seen:.0}")),
            separated(&expected.to_string())
        ));
    }
    let seen = whole(gpus).count();
    let devices = offer.share.visible_devices();
    if seen > usize::from(devices) {
        reasons.push(format!("{seen} GPUs were detected, but {name} has {devices}"));
    }
    reasons
}

/// How many GPUs of a type a run names, and how many there are, when it does not
/// name them all.
pub fn unnamed_gpus(gpus: &[GpuIdentity], shape: &InstanceShape) -> Option<(usize, u16)> {
    let devices = shape.gpu.as_ref()?.share.visible_devices();
    let seen = whole(gpus).count();
    (1..usize::from(devices)).contains(&seen).then_some((seen, devices))
}

fn whole(gpus: &[GpuIdentity]) -> impl Iterator<Item = &GpuIdentity> {
    gpus.iter().filter(|gpu| gpu.mig.is_none())
}

/// A model that was seen and that the type does not have.
fn another_model(gpus: &[GpuIdentity], offer: &GpuOffer) -> Option<String> {
    if let Some(seen) = gpus.iter().filter_map(model).find(|seen| *seen != offer.model) {
        let start: String = seen.name().chars().take(MOST_OF_A_NAME).collect();
        return Some(safe(&start));
    }
    let vendor = offer.model.vendor();
    let is_another = vendor.is_some_and(|vendor| vendor != VENDOR);
    (is_another && !gpus.is_empty()).then(|| format!("an {VENDOR} GPU"))
}

/// The model of a GPU, where its name is one: a driver that does not know a card
/// says `Graphics Device`, and a log may have any words.
fn model(gpu: &GpuIdentity) -> Option<GpuModel> {
    let model = GpuModel::from_driver_name(gpu.name.as_deref()?);
    let is_model = match &model {
        GpuModel::Other(name) => {
            let name = name.to_ascii_lowercase();
            let is_word = name.starts_with("gpu") || name.starts_with("grid");
            !is_word && name.contains(|c: char| c.is_ascii_digit())
        }
        _ => true,
    };
    is_model.then_some(model)
}

/// Memory of a GPU that was seen, and what it would be on the type, in MiB.
fn another_memory(gpus: &[GpuIdentity], offer: &GpuOffer) -> Option<(f64, u64)> {
    let reported = gpu_spec(offer).and_then(|spec| spec.memory_mib_reported);
    let within = if reported.is_some() { REPORTED_WITHIN } else { STATED_WITHIN };
    let expected = reported.or(offer.vram_mib).filter(|mib| *mib > 0)?;
    let fits = |mib: f64| (mib / expected as f64 - 1.0).abs() <= within;
    whole(gpus).find_map(|gpu| {
        let seen = gpu.vram_total_mib.filter(|mib| *mib > 0.0)?;
        let is_named = model(gpu).as_ref() == Some(&offer.model);
        // It can be switched on and off.
        let with_ecc = is_named && (fits(seen * LEFT_BY_ECC) || fits(seen / LEFT_BY_ECC));
        (!fits(seen) && !with_ecc).then_some((seen, expected))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::shape;

    fn gpu(name: &str, vram_total_mib: f64) -> GpuIdentity {
        GpuIdentity {
            index: 0,
            mig: None,
            uuid: None,
            name: (!name.is_empty()).then(|| name.to_owned()),
            vram_total_mib: Some(vram_total_mib),
            power_limit_w: None,
            power_default_limit_w: None,
            pcie_max_bytes_per_second: None,
            is_mig_enabled: None,
        }
    }

    fn found(gpus: &[GpuIdentity], instance_type: &str) -> Vec<String> {
        contradictions(gpus, shape(instance_type).expect("it is in the catalog"))
    }

    #[test]
    fn a_gpu_of_the_type_contradicts_nothing() {
        for (name, mib, instance_type) in [
            ("NVIDIA A10G", 23_028.0, "g5.xlarge"),
            // Another driver, and error correction switched off.
            ("NVIDIA A10G", 22_731.0, "g5.xlarge"),
            ("NVIDIA A10G", 24_564.0, "g5.xlarge"),
            ("Tesla T4", 15_109.0, "g4dn.xlarge"),
            ("Tesla V100-SXM2-16GB", 16_160.0, "p3.2xlarge"),
            // An eighth, whose memory only AWS states.
            ("NVIDIA L4-3Q", 3_072.0, "g6f.large"),
            ("Graphics Device", 23_028.0, "g5.xlarge"),
            ("GPU 0", 23_028.0, "g5.xlarge"),
            ("", 23_028.0, "g5.xlarge"),
        ] {
            let none = Vec::<String>::new();
            assert_eq!(found(&[gpu(name, mib)], instance_type), none, "{name}");
        }
        let unknown = GpuIdentity { vram_total_mib: None, ..gpu("", 1.0) };
        assert_eq!(found(&[unknown], "g5.xlarge"), Vec::<String>::new());
    }

    #[test]
    fn what_contradicts_a_type_is_named_with_both_figures() {
        let a10g = [gpu("NVIDIA A10G", 23_028.0)];
        assert_eq!(
            found(&a10g, "p3.2xlarge"),
            [
                "A10G was detected, but p3.2xlarge has V100",
                "a GPU with 23,028 MiB was detected, but GPUs of p3.2xlarge have 16,160 MiB"
            ]
        );
        for (name, mib, instance_type, reason) in [
            (
                "NVIDIA A100-SXM4-80GB",
                81_920.0,
                "p4d.24xlarge",
                "a GPU with 81,920 MiB was detected, but GPUs of p4d.24xlarge have 40,960 MiB",
            ),
            // A card of no cloud, with and without its name.
            (
                "NVIDIA GeForce RTX 4090", 23_028.0, "g5.xlarge",
                "GeForce RTX 4090 was detected, but g5.xlarge has A10G",
            ),
            (
                "",
                24_564.0,
                "g5.xlarge",
                "a GPU with 24,564 MiB was detected, but GPUs of g5.xlarge have 23,028 MiB",
            ),
            (
                "",
                8_192.0,
                "g4ad.xlarge",
                "an NVIDIA GPU was detected, but g4ad.xlarge has Radeon Pro V520",
            ),
        ] {
            assert_eq!(found(&[gpu(name, mib)], instance_type), [reason], "{name}");
        }
        let two = [(); 2].map(|()| gpu("NVIDIA A10G", 23_028.0));
        assert_eq!(found(&two, "g5.xlarge"), ["2 GPUs were detected, but g5.xlarge has 1"]);
    }

    #[test]
    fn fewer_gpus_are_reported_and_no_contradiction() {
        let one_gpu = [gpu("NVIDIA A10G", 23_028.0)];
        let four = shape("g5.12xlarge").expect("it is in the catalog");
        assert_eq!(contradictions(&one_gpu, four), Vec::<String>::new());
        assert_eq!(unnamed_gpus(&one_gpu, four), Some((1, 4)));
        let four_gpus = [(); 4].map(|()| gpu("NVIDIA A10G", 23_028.0));
        assert_eq!(unnamed_gpus(&four_gpus, four), None);
        assert_eq!(unnamed_gpus(&[], four), None);
    }
}
