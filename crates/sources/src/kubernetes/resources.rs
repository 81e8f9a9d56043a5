//! What accelerators are asked for by, and what the labels of a node say of them.

use super::values::Amounts;
use crate::catalog::{mig_profiles, mig_profiles_of};
use crate::domain::{AcceleratorKind, DeviceUnit, GpuModel, GpuOffer, GpuShare, NodeDevices};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

pub(super) type Labels = BTreeMap<String, String>;

const SHARED: &str = ".shared";
const MIG: &str = "nvidia.com/mig-";
pub(super) const NVIDIA_GPU: &str = "nvidia.com/gpu";
/// Names of one and the same devices, the first of which counts them.
static NEURON: [&str; 3] =
    ["aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "aws.amazon.com/neuroncore"];

/// What kind of accelerator a resource stands for; `None` for anything else.
pub(super) fn kind_of(resource: &str) -> Option<AcceleratorKind> {
    match resource.strip_suffix(SHARED).unwrap_or(resource) {
        NVIDIA_GPU | "amd.com/gpu" | "gpu.intel.com/i915" | "gpu.intel.com/xe" => {
            Some(AcceleratorKind::Gpu)
        }
        "google.com/tpu" | "habana.ai/gaudi" => Some(AcceleratorKind::Inference),
        name if NEURON.contains(&name) => Some(AcceleratorKind::Neuron),
        name => slices_of(name.strip_prefix(MIG)?).map(|_| AcceleratorKind::Gpu),
    }
}

/// Where names of resources begin that stand for accelerators.
const OF_VENDORS: [&str; 6] = [
    "nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/", "aws.amazon.com/neuron",
    "google.com/tpu",
];
/// Names among them of network interfaces, and of the right to read counters: they take
/// nothing of an accelerator.
const OF_OTHERS: [&str; 3] =
    ["nvidia.com/hostdev", "gpu.intel.com/i915_monitoring", "gpu.intel.com/xe_monitoring"];

/// Whether a resource stands for accelerators, or for parts of them, in a way that is not
/// understood: cores and memory of HAMi, or a card that KubeVirt hands to a machine.
pub(super) fn is_foreign(resource: &str) -> bool {
    let is_of_vendor = OF_VENDORS.iter().any(|start| resource.starts_with(start));
    is_of_vendor && !OF_OTHERS.contains(&resource) && kind_of(resource).is_none()
}

/// The compute slices of a MIG profile such as `3g.20gb`.
pub(super) fn slices_of(profile: &str) -> Option<u8> {
    let (slices, _) = profile.split_once("g.")?;
    slices.parse().ok().filter(|slices| (1..=8).contains(slices))
}

pub(super) fn label<'a>(labels: &'a Labels, names: &[&str]) -> Option<&'a str> {
    let text = names.iter().find_map(|name| labels.get(*name));
    text.map(String::as_str).filter(|value| !value.is_empty())
}

fn number(labels: &Labels, names: &[&str]) -> Option<u32> {
    label(labels, names)?.parse().ok()
}

/// What labels say of the devices of a node.
#[derive(Debug)]
pub(super) struct Labelled {
    pub model: Option<GpuModel>,
    /// Memory of a whole device, MiB.
    pub vram_mib: Option<u64>,
    /// The name of the product without what sharing appends; for names of types.
    pub product: Option<String>,
    /// Physical devices.
    pub count: Option<u32>,
    /// The MIG profile that whole devices are offered as.
    single: Option<String>,
    mig: MigFacts,
}

/// How a card is divided.
#[derive(Debug, Clone, Copy)]
struct MigFacts {
    /// Compute slices of a card.
    of: u8,
    /// How many instances of the profile at hand fit on a card.
    most: u32,
}

impl Labelled {
    pub(super) fn of(labels: &Labels) -> Self {
        let product = label(labels, &["nvidia.com/gpu.product"]);
        let product = product.map(|name| name.strip_suffix("-SHARED").unwrap_or(name));
        let (product, profile) = match product.and_then(|name| name.split_once("-MIG-")) {
            Some((product, profile)) => (Some(product), Some(profile)),
            None => (product, None),
        };
        let is_single = label(labels, &["nvidia.com/mig.strategy"]) == Some("single");
        let of_gke = label(labels, &["cloud.google.com/gke-gpu-partition-size"]);
        let single = profile.filter(|_| is_single).or(of_gke);
        let single = single.filter(|profile| slices_of(profile).is_some());
        let model = product.map(model_of_product).or_else(|| {
            let other = label(
                labels,
                &[
                    "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name",
                    "eks.amazonaws.com/instance-gpu-name", "amd.com/gpu.product-name",
                ],
            );
            other.map(model_of_label)
        });
        let mig = mig_facts(model.as_ref(), product, single);
        // Under the strategy for a single profile these labels are of its instances.
        let is_of_slices = profile.is_some() && is_single;
        let memory = [
            "nvidia.com/gpu.memory", "karpenter.k8s.aws/instance-gpu-memory",
            "eks.amazonaws.com/instance-gpu-memory",
        ];
        let counted = number(labels, &["nvidia.com/gpu.count"])
            .map(|count| if is_of_slices { count.div_ceil(mig.most) } else { count });
        let stated = number(
            labels,
            &[
                "karpenter.k8s.aws/instance-gpu-count", "eks.amazonaws.com/instance-gpu-count",
                "cloud.google.com/gke-accelerator-count",
            ],
        );
        Self {
            vram_mib: number(labels, if is_of_slices { &memory[1..] } else { &memory[..] })
                .map(u64::from),
            product: product.map(str::to_owned),
            count: counted.or(stated).filter(|count| *count > 0),
            single: single.map(str::to_owned),
            model,
            mig,
        }
    }

    /// What one unit of a resource is on a node that so much is known of.
    pub(super) fn unit(
        &self,
        resource: &str,
        labels: &Labels,
        capacity: &Amounts,
        physical: Option<Decimal>,
    ) -> DeviceUnit {
        let plain = resource.strip_suffix(SHARED).unwrap_or(resource);
        let offered = |name: &str| capacity.get(name).map_or(0, |amount| amount.in_units(1));
        let is_renamed = plain == resource && offered(&format!("{plain}{SHARED}")) > 0;
        let mut names = vec![format!("{plain}.replicas")];
        if plain == NVIDIA_GPU {
            names.push("cloud.google.com/gke-max-shared-clients-per-gpu".to_owned());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let is_off = label(labels, &[&format!("{plain}.sharing-strategy")]) == Some("none");
        let replicas = number(labels, &names).filter(|_| !is_renamed && !is_off);
        let replicas = replicas.filter(|replicas| *replicas > 1);
        let profile = match plain.strip_prefix(MIG) {
            None if plain == NVIDIA_GPU => self.single.as_deref(),
            profile => profile,
        };
        if let Some((profile, slices)) = profile.and_then(|name| Some((name, slices_of(name)?))) {
            return DeviceUnit::Slice {
                profile: profile.to_owned(),
                slices,
                of: self.mig.of.max(slices),
                replicas: replicas.unwrap_or(1),
            };
        }
        if plain == NEURON[2] {
            let devices = NEURON[..2].iter().map(|name| offered(name));
            let devices = Decimal::from(devices.max().unwrap_or_default());
            return parts(offered(plain), devices).unwrap_or(DeviceUnit::Whole);
        }
        // Whatever divides them, more than there are is a part of one.
        match (replicas, physical) {
            (Some(per_device), _) => DeviceUnit::Replica { per_device },
            (None, Some(devices)) if !is_renamed => {
                parts(offered(resource), devices).unwrap_or(DeviceUnit::Whole)
            }
            _ => DeviceUnit::Whole,
        }
    }
}

/// The unit of so many devices that are more by a whole factor than the physical ones,
/// which may be a part of one.
fn parts(offered: u64, physical: Decimal) -> Option<DeviceUnit> {
    let factor = Decimal::from(offered).checked_div(physical)?;
    let is_multiple = factor > Decimal::ONE && factor.fract().is_zero();
    Some(DeviceUnit::Replica { per_device: u32::try_from(factor).ok().filter(|_| is_multiple)? })
}

/// Whether a node offers the devices of a resource under another name as well.
pub(super) fn is_second_name(resource: &str, capacity: &Amounts) -> bool {
    let place = NEURON.iter().position(|name| *name == resource);
    let earlier = place.map_or(&[][..], |place| &NEURON[..place]);
    let is_offered =
        |name: &&str| capacity.get(*name).is_some_and(|quantity| quantity.in_units(1) > 0);
    earlier.iter().any(is_offered)
}

/// What one unit is that no node offers, by the name alone.
pub(super) fn unit_by_name(resource: &str) -> DeviceUnit {
    Labelled::of(&Labels::new()).unit(resource, &Labels::new(), &Amounts::new(), None)
}

/// Physical devices that what a node offers amounts to, rounded up.
pub(super) fn offered_devices(devices: &BTreeMap<String, NodeDevices>) -> Option<Decimal> {
    let has_whole = devices.values().any(|node_devices| node_devices.unit == DeviceUnit::Whole);
    let is_slice =
        |node_devices: &NodeDevices| matches!(node_devices.unit, DeviceUnit::Slice { .. });
    if has_whole && devices.values().any(is_slice) {
        // The whole ones may be what was offered before the same cards were divided.
        return None;
    }
    let offered = devices.values();
    let offered: Decimal =
        offered.map(|node_devices| node_devices.unit.physical(node_devices.capacity)).sum();
    Some(offered.round_dp(6).ceil()).filter(|count| *count > Decimal::ZERO)
}

/// A product as its driver names it, in the form of a label: `NVIDIA-A100-SXM4-40GB`.
pub(super) fn model_of_product(product: &str) -> GpuModel {
    GpuModel::from_driver_name(&product.replace(['-', '_'], " "))
}

/// A model as clouds write it in labels: `nvidia-tesla-t4`, `a10g`.
fn model_of_label(name: &str) -> GpuModel {
    let name = name.strip_prefix("nvidia-").unwrap_or(name);
    model_of_product(&name.strip_prefix("tesla-").unwrap_or(name).to_ascii_uppercase())
}

/// Compute slices of a card that can be divided.
pub(super) fn slices_of_card(model: Option<&GpuModel>) -> u8 {
    match model.map(GpuModel::name) {
        Some("A30" | "RTX PRO 6000") => 4,
        Some("RTX PRO 4500") => 2,
        _ => 7,
    }
}

fn mig_facts(model: Option<&GpuModel>, product: Option<&str>, profile: Option<&str>) -> MigFacts {
    let of_model = slices_of_card(model);
    let slices = profile.and_then(slices_of).unwrap_or(1);
    let by_compute = MigFacts { of: of_model, most: u32::from(of_model / slices).max(1) };
    // Profiles with more memory than compute are fewer; the memory is in some names. Labels write
    // the plus of `1g.10gb+me` as a dot.
    let listed = || {
        let (model, name) = (model?, profile?.replace('+', "."));
        let mut words = product.unwrap_or_default().split('-');
        let gigabytes = words.find_map(|word| word.strip_suffix("GB")?.parse::<u64>().ok());
        let offer = |gigabytes: u64| GpuOffer {
            model: model.clone(),
            share: GpuShare::Whole(1),
            vram_mib: gigabytes.checked_mul(1_024),
        };
        let profiles = gigabytes.map(|gigabytes| mig_profiles(&offer(gigabytes)));
        let profiles = profiles.filter(|profiles| !profiles.is_empty());
        let profiles = profiles.unwrap_or_else(|| mig_profiles_of(model));
        let mut own =
            profiles.iter().filter(|mig_profile| mig_profile.name.replace('+', ".") == name);
        let most = own.next()?.max_instances;
        own.all(|other| other.max_instances == most).then_some(())?;
        Some(MigFacts {
            of: profiles.iter().map(|mig_profile| mig_profile.compute_slices).max()?,
            most: u32::from(most).max(1),
        })
    };
    listed().unwrap_or(by_compute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn amounts(pairs: &[(&str, &str)]) -> Amounts {
        let text = serde_json::to_string(&labels(pairs)).expect("JSON");
        serde_json::from_str(&text).expect("quantities")
    }

    #[test]
    fn models_are_known_by_every_spelling() {
        for (label, model) in [
            ("nvidia-tesla-t4", GpuModel::T4),
            ("nvidia-l4", GpuModel::L4),
            ("nvidia-h100-80gb", GpuModel::H100),
            ("nvidia-a100-80gb", GpuModel::A100),
            ("a10g", GpuModel::A10g),
        ] {
            assert_eq!(model_of_label(label), model, "{label}");
        }
        assert_eq!(model_of_product("NVIDIA-A100-SXM4-40GB"), GpuModel::A100);
        let pro = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition";
        assert_eq!(model_of_product(pro), GpuModel::RtxPro6000);
    }

    #[test]
    fn replicas_are_of_one_device_whether_they_are_renamed_or_not() {
        let labels = labels(&[
            ("nvidia.com/gpu.count", "8"),
            ("nvidia.com/gpu.product", "Tesla-T4-SHARED"),
            ("nvidia.com/gpu.replicas", "10"),
            ("nvidia.com/gpu.sharing-strategy", "time-slicing"),
        ]);
        let known = Labelled::of(&labels);
        assert_eq!((known.count, known.product.as_deref()), (Some(8), Some("Tesla-T4")));
        let replica = DeviceUnit::Replica { per_device: 10 };
        let capacity = amounts(&[("nvidia.com/gpu", "80")]);
        let unit = known.unit(NVIDIA_GPU, &labels, &capacity, Some(Decimal::from(8)));
        assert_eq!(unit, replica);
        let capacity = amounts(&[("nvidia.com/gpu", "0"), ("nvidia.com/gpu.shared", "80")]);
        let unit = known.unit("nvidia.com/gpu.shared", &labels, &capacity, None);
        assert_eq!(unit, replica);
        assert_eq!(known.unit(NVIDIA_GPU, &labels, &capacity, None), DeviceUnit::Whole);
    }

    #[test]
    fn instances_are_shared_by_a_strategy_of_their_own() {
        let instance = "nvidia.com/mig-1g.10gb";
        let unit = |strategy: &str| {
            let labels = labels(&[
                ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),
                ("nvidia.com/gpu.sharing-strategy", "none"),
                ("nvidia.com/mig-1g.10gb.replicas", "2"),
                ("nvidia.com/mig-1g.10gb.sharing-strategy", strategy),
            ]);
            Labelled::of(&labels).unit(instance, &labels, &Amounts::new(), None)
        };
        // Fourteen halves of a seventh are a card.
        assert_eq!(unit("time-slicing").physical(14), Decimal::ONE);
        assert_eq!(unit("none").physical(7), Decimal::ONE);
    }

    #[test]
    fn more_devices_than_there_are_are_parts_of_them() {
        let known = Labelled::of(&Labels::new());
        let unit = |offered: &str, physical: &str| {
            let capacity = amounts(&[("nvidia.com/gpu", offered)]);
            let physical = Some(physical.parse().expect("a number"));
            known.unit(NVIDIA_GPU, &Labels::new(), &capacity, physical)
        };
        let replica = |per_device| DeviceUnit::Replica { per_device };
        assert_eq!(unit("8", "8"), DeviceUnit::Whole);
        assert_eq!(unit("32", "8"), replica(4));
        // One is broken.
        assert_eq!(unit("7", "8"), DeviceUnit::Whole);
        assert_eq!(unit("12", "8"), DeviceUnit::Whole);
        // What a g6f.large has of an L4 is one device to its driver.
        assert_eq!(unit("1", "0.125"), replica(8));
        assert_eq!(unit("1", "0"), DeviceUnit::Whole);
    }

    #[test]
    fn one_profile_on_every_card_hides_how_many_cards_there_are() {
        let node = |product: &str, count: &str| {
            labels(&[
                ("nvidia.com/mig.strategy", "single"),
                ("nvidia.com/gpu.product", product),
                ("nvidia.com/gpu.count", count),
                ("nvidia.com/gpu.memory", "4864"),
            ])
        };
        for (product, count, cards) in [
            ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "7", 1),
            ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "16", 8),
            // A quarter of the memory with a seventh of the compute: four on a card.
            ("NVIDIA-A100-SXM4-40GB-MIG-1g.10gb", "32", 8),
            ("NVIDIA-A30-MIG-2g.12gb", "4", 2),
            // No memory in the name; as many as a card has of the profile, and one of `+me`.
            ("NVIDIA-H200-MIG-1g.35gb", "32", 8),
            ("NVIDIA-B200-MIG-1g.45gb", "32", 8),
            ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me", "8", 8),
            ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition-MIG-1g.24gb.gfx", "8", 2),
        ] {
            let labels = node(product, count);
            let known = Labelled::of(&labels);
            assert_eq!(known.count, Some(cards), "{product}");
            assert_eq!(known.vram_mib, None, "{product}");
        }
        let labels = node("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "2");
        let unit = Labelled::of(&labels).unit(NVIDIA_GPU, &labels, &Amounts::new(), None);
        let half =
            DeviceUnit::Slice { profile: "3g.20gb".to_owned(), slices: 3, of: 7, replicas: 1 };
        assert_eq!(unit, half);
        // Not divided after all.
        let labels = node("NVIDIA-A100-SXM4-40GB", "8");
        assert_eq!(Labelled::of(&labels).count, Some(8));
    }

    #[test]
    fn neuron_cores_are_parts_of_devices_that_are_counted_once() {
        let capacity =
            amounts(&[("aws.amazon.com/neuron", "16"), ("aws.amazon.com/neuroncore", "32")]);
        let known = Labelled::of(&Labels::new());
        let core = known.unit("aws.amazon.com/neuroncore", &Labels::new(), &capacity, None);
        assert_eq!(core, DeviceUnit::Replica { per_device: 2 });
        assert!(is_second_name("aws.amazon.com/neuroncore", &capacity));
        assert!(!is_second_name("aws.amazon.com/neuron", &capacity));
        assert!(!is_second_name("nvidia.com/gpu", &capacity));
    }

    #[test]
    fn a_resource_is_an_accelerator_by_its_name() {
        for (name, kind) in [
            ("nvidia.com/gpu", Some(AcceleratorKind::Gpu)),
            ("nvidia.com/mig-1g.5gb.shared", Some(AcceleratorKind::Gpu)),
            ("aws.amazon.com/neuroncore", Some(AcceleratorKind::Neuron)),
            ("google.com/tpu", Some(AcceleratorKind::Inference)),
            ("cpu", None),
            ("nvidia.com/mig-all", None),
            ("nvidia.com/mig-99g.5gb", None),
            ("nvidia.com/gpumem", None),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
        for (name, expected) in [
            ("nvidia.com/gpumem", true),
            ("nvidia.com/gpucores", true),
            ("nvidia.com/GH100_H100_SXM5_80GB", true),
            ("nvidia.com/mig-99g.5gb", true),
            ("amd.com/gpu_sharing", true),
            ("gpu.intel.com/millicores", true),
            ("habana.ai/gaudi_next", true),
            ("aws.amazon.com/neuronx", true),
            ("google.com/tpu-slice", true),
            ("nvidia.com/gpu", false),
            ("nvidia.com/mig-1g.5gb.shared", false),
            ("aws.amazon.com/neuroncore", false),
            ("nvidia.com/hostdev", false),
            ("gpu.intel.com/i915_monitoring", false),
            ("vpc.amazonaws.com/efa", false),
            ("cpu", false),
        ] {
            assert_eq!(is_foreign(name), expected, "{name}");
        }
        let slice = unit_by_name("nvidia.com/mig-1g.5gb");
        assert_eq!(slice.physical(7), Decimal::ONE);
    }
}
