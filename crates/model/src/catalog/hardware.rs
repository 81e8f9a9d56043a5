//! Bundled shapes of instance types and specifications of GPUs.

use super::table::{Row, rows};
use crate::domain::{AcceleratorKind, Architecture, GpuModel, GpuOffer, GpuShare, InstanceShape};
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const SHAPES_CSV: &str = include_str!("../../../../pricing-data/shapes.csv");
const GPU_SPECS_CSV: &str = include_str!("../../../../pricing-data/gpu_specs.csv");
const MIG_PROFILES_CSV: &str = include_str!("../../../../pricing-data/mig_profiles.csv");

/// Figures of a GPU model with one memory size. Absent means that no source
/// states it. Throughput is dense, without sparsity.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct GpuSpec {
    #[serde(rename = "gpu_model", deserialize_with = "model")]
    pub model: GpuModel,
    /// Memory as AWS states it, MiB.
    pub memory_mib: u64,
    /// Memory as the driver reports it, MiB: what a model has to fit into.
    pub memory_mib_reported: Option<u64>,
    /// Memory bandwidth, GB/s.
    pub memory_bandwidth_gbps: Option<f64>,
    /// FP32 throughput without tensor cores, TFLOPS.
    pub fp32_tflops: Option<f64>,
    /// FP16 tensor throughput, TFLOPS.
    pub fp16_dense_tflops: Option<f64>,
    /// BF16 tensor throughput, TFLOPS.
    pub bf16_dense_tflops: Option<f64>,
    /// FP8 tensor throughput, TFLOPS.
    pub fp8_dense_tflops: Option<f64>,
    /// FP4 tensor throughput, TFLOPS.
    pub fp4_dense_tflops: Option<f64>,
    pub power_limit_w: Option<f64>,
    /// Draw with the driver loaded and no work, watts.
    pub idle_w: Option<f64>,
    /// CUDA compute capability, such as `8.0`.
    pub compute_capability: Option<String>,
    /// NVLink bandwidth, GB/s; zero on cards without.
    pub nvlink_gbps: Option<f64>,
    /// Highest temperature for sustained work, °C.
    pub max_operating_c: Option<f64>,
    /// Temperature at which the clock is throttled, °C.
    pub slowdown_c: Option<f64>,
}

/// Mean power above which a card certainly works, percent of its limit.
pub const BUSY_POWER_PERCENT: f64 = 60.0;
/// Share of the way from its idle draw to its limit in which a card does no work.
const RESTING_POWER_SHARE: f64 = 0.15;

impl GpuSpec {
    /// Watts up to which it does no work, to hundredths, so that a reader sees the figure that
    /// decides. `None` without its idle draw and limit.
    pub fn rests_up_to_watts(&self) -> Option<f64> {
        let (idle, limit) = (self.idle_w?, self.power_limit_w?);
        let watts = idle + RESTING_POWER_SHARE * (limit - idle);
        Some((watts * 100.0).round() / 100.0)
    }

    /// Idle draw as a percentage of the power limit.
    pub fn idle_power_percent(&self) -> Option<f64> {
        Some(self.idle_w? / self.power_limit_w? * 100.0)
    }
}

static SHAPES: LazyLock<BTreeMap<String, InstanceShape>> = LazyLock::new(|| {
    let shapes = rows(SHAPES_CSV).filter_map(|row| shape_of(&row));
    shapes.map(|shape| (shape.instance_type.clone(), shape)).collect()
});

static GPU_SPECS: LazyLock<Vec<GpuSpec>> = LazyLock::new(|| {
    let specs = csv::Reader::from_reader(GPU_SPECS_CSV.as_bytes()).into_deserialize();
    specs.filter_map(Result::ok).collect()
});

fn shape_of(row: &Row) -> Option<InstanceShape> {
    let share = row.parsed::<Decimal>("gpu_count").and_then(GpuShare::from_count);
    let gpu = match (row.get("gpu_model"), share) {
        (Some(model), Some(share)) => Some(GpuOffer {
            model: GpuModel::from_name(model),
            share,
            vram_mib: row.parsed("gpu_memory_mib"),
        }),
        _ => None,
    };
    let local_storage = row.parsed::<Decimal>("local_storage_gb").filter(|size| !size.is_zero());
    Some(InstanceShape {
        instance_type: row.get("instance_type")?.to_owned(),
        accelerator: AcceleratorKind::from_name(row.get("accelerator")?)?,
        gpu,
        vcpu: row.parsed("vcpu")?,
        memory_mib: row.parsed("memory_mib")?,
        architecture: row.get("architecture").and_then(Architecture::from_name),
        local_storage_gb: local_storage.and_then(|size| u64::try_from(size.trunc()).ok()),
        efa: row.parsed("efa"),
    })
}

fn model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<GpuModel, D::Error> {
    String::deserialize(deserializer).map(|name| GpuModel::from_name(&name))
}

/// What a type offers; `None` for a type that the catalog does not know.
pub fn shape(instance_type: &str) -> Option<&'static InstanceShape> {
    SHAPES.get(instance_type)
}

static NETWORK_GBPS: LazyLock<BTreeMap<String, Decimal>> = LazyLock::new(|| {
    let known =
        |row: Row| Some((row.get("instance_type")?.to_owned(), row.parsed("network_gbps")?));
    rows(SHAPES_CSV).filter_map(known).collect()
});

/// Network bandwidth of a type that lasts, Gbit/s.
pub fn network_gbps(instance_type: &str) -> Option<Decimal> {
    NETWORK_GBPS.get(instance_type).copied()
}

/// Families whose CPU runs at a share of its speed and spends credits above it.
const BURSTABLE_FAMILIES: [&str; 3] = ["t3", "t3a", "t4g"];
/// Share of each vCPU that a size of them has at all times, percent (Amazon EC2 User Guide,
/// "Key concepts for burstable performance instances").
const CPU_BASELINES: [(&str, u8); 7] = [
    ("nano", 5),
    ("micro", 10),
    ("small", 20),
    ("medium", 20),
    ("large", 30),
    ("xlarge", 40),
    ("2xlarge", 40),
];

/// Share of each vCPU that a burstable type has at all times, percent; `None` for a type
/// whose vCPUs are its own.
pub fn cpu_baseline_percent(instance_type: &str) -> Option<u8> {
    let (family, size) = instance_type.split_once('.')?;
    let (_, percent) = CPU_BASELINES.iter().find(|(name, _)| *name == size)?;
    BURSTABLE_FAMILIES.contains(&family).then_some(*percent)
}

/// Data center GPUs whose double precision runs at half of single precision or more;
/// on the others it is a thirty-second or a sixty-fourth (NVIDIA's data sheets).
const FULL_RATE_FP64: [GpuModel; 5] =
    [GpuModel::V100, GpuModel::A100, GpuModel::H100, GpuModel::H200, GpuModel::B200];

/// Whether a GPU computes double precision at full rate.
pub fn has_full_rate_fp64(model: &GpuModel) -> bool {
    FULL_RATE_FP64.contains(model)
}

/// Every type of the catalog in order of name.
pub fn shapes() -> impl Iterator<Item = &'static InstanceShape> {
    SHAPES.values()
}

/// Specification of whole devices of an offer; `None` when the catalog has none.
/// A fraction of a device has no figures of its own.
pub fn gpu_spec(offer: &GpuOffer) -> Option<&'static GpuSpec> {
    if matches!(offer.share, GpuShare::Fraction(_)) {
        return None;
    }
    GPU_SPECS
        .iter()
        .find(|spec| spec.model == offer.model && Some(spec.memory_mib) == offer.vram_mib)
}

/// Specification of one whole device of an offer, also where it sells a part of
/// one: throughput and bandwidth are shared by the parts.
pub fn whole_device_spec(offer: &GpuOffer) -> Option<&'static GpuSpec> {
    match offer.share {
        GpuShare::Whole(_) => gpu_spec(offer),
        GpuShare::Fraction(_) => {
            let mut of_model = GPU_SPECS.iter().filter(|spec| spec.model == offer.model);
            of_model.next().filter(|_| of_model.next().is_none())
        }
    }
}

/// How far the memory that a driver reports may be from that of a specification: the
/// nearest two sizes of one model are a third apart.
const MEMORY_WITHIN: f64 = 0.10;
/// Words of product names whose cards compute at another rate than those without.
const FORMS: [&str; 2] = ["PCIe", "NVL"];

/// Specification of a card by the name that its driver gives, such as `NVIDIA H100 PCIe`,
/// and the memory that it reports. `None` where the catalog does not have this very form.
pub fn spec_of_card(product_name: &str, memory_mib: f64) -> Option<&'static GpuSpec> {
    let words: Vec<&str> = product_name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let named = |word: &str| words.iter().any(|part| part.eq_ignore_ascii_case(word));
    let has_memory = |spec: &GpuSpec| {
        let stated = spec.memory_mib_reported.unwrap_or(spec.memory_mib) as f64;
        (memory_mib - stated).abs() <= stated * MEMORY_WITHIN
    };
    let is_card = |spec: &&GpuSpec| {
        let model = spec.model.name();
        let of_model = |word: &str| model.split(' ').any(|part| part == word);
        let has_forms = FORMS.into_iter().all(|form| named(form) == of_model(form));
        has_forms && model.split(' ').all(named) && has_memory(spec)
    };
    GPU_SPECS.iter().find(is_card)
}

/// MIG profile of a card: how it can be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigProfile {
    /// NVIDIA's name, such as `3g.20gb`.
    pub name: String,
    /// Slices of compute, of seven (four on small cards).
    pub compute_slices: u8,
    pub memory_slices: u8,
    /// Memory that the driver reports for it, MiB.
    pub memory_mib: Option<u64>,
    /// How many fit on one card.
    pub max_instances: u8,
    /// Memory slices at which it may begin.
    pub placement_starts: Vec<u8>,
    /// Memory slices that it occupies.
    pub placement_size: u8,
}

fn mig_profile(row: &Row) -> Option<MigProfile> {
    let starts = row.get("placement_starts")?.split(' ').map(str::parse);
    Some(MigProfile {
        name: row.get("profile")?.to_owned(),
        compute_slices: row.parsed("compute_slices")?,
        memory_slices: row.parsed("memory_slices")?,
        memory_mib: row.parsed("memory_mib"),
        max_instances: row.parsed("max_instances")?,
        placement_starts: starts.collect::<Result<_, _>>().ok()?,
        placement_size: row.parsed("placement_size")?,
    })
}

/// The MIG profiles of the cards of an offer, in order of the catalog; empty for
/// cards without MIG.
pub fn mig_profiles(offer: &GpuOffer) -> Vec<MigProfile> {
    let of_memory = |row: &Row| row.parsed("gpu_memory_mib") == offer.vram_mib;
    mig_rows(&offer.model).filter(of_memory).filter_map(|row| mig_profile(&row)).collect()
}

/// The profiles of a model with any memory.
pub fn mig_profiles_of(model: &GpuModel) -> Vec<MigProfile> {
    mig_rows(model).filter_map(|row| mig_profile(&row)).collect()
}

fn mig_rows(model: &GpuModel) -> impl Iterator<Item = Row> {
    rows(MIG_PROFILES_CSV).filter(|row| row.get("gpu_model") == Some(model.name()))
}

/// Whether a card can be divided into MIG instances, by the name that its driver
/// gives, such as `NVIDIA A100-SXM4-40GB`.
pub fn has_mig(product_name: &str) -> bool {
    mig_compute_slices(product_name).is_some()
}

/// Compute slices of a whole card with MIG, by the name that its driver gives; `None` of a
/// card that has no MIG or is not listed.
pub fn mig_compute_slices(product_name: &str) -> Option<u8> {
    let words: Vec<&str> = product_name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_card = |row: &Row| {
        let model = row.get("gpu_model");
        model.is_some_and(|model| model.split(' ').all(|word| words.contains(&word)))
    };
    rows(MIG_PROFILES_CSV).filter(is_card).filter_map(|row| row.parsed("compute_slices")).max()
}

/// Whether a card, by the name that the driver gives it, counts what its
/// multiprocessors do (GPM: Hopper and newer); `None` of a model that the catalog
/// does not have.
pub fn has_gpm(product_name: &str) -> Option<bool> {
    let model = GpuModel::from_driver_name(product_name);
    let spec = GPU_SPECS.iter().find(|spec| spec.model == model)?;
    let (major, _) = spec.compute_capability.as_ref()?.split_once('.')?;
    Some(major.parse::<u32>().ok()? >= 9)
}

/// What a type offers: as it was gathered, else as the catalog knows it.
pub fn known_shape<'a>(
    gathered: &'a BTreeMap<String, InstanceShape>,
    instance_type: &str,
) -> Option<&'a InstanceShape> {
    gathered.get(instance_type).or_else(|| shape(instance_type))
}

/// Other types with whole devices of the same model and memory that are smaller:
/// fewer devices, or as many and neither more vCPUs nor more host memory. In
/// order of name.
pub fn smaller_types(today: &InstanceShape) -> impl Iterator<Item = &'static InstanceShape> {
    shapes().filter(|candidate| {
        let (Some(offer), Some(other)) = (&today.gpu, &candidate.gpu) else { return false };
        let no_larger = other.share == offer.share
            && candidate.vcpu <= today.vcpu
            && candidate.memory_mib <= today.memory_mib;
        candidate.instance_type != today.instance_type
            && other.model == offer.model
            && other.vram_mib == offer.vram_mib
            && matches!(other.share, GpuShare::Whole(_))
            && (other.share.count() < offer.share.count() || no_larger)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_catalog_is_read() {
        let lines = |text: &str| text.lines().count() - 1;
        assert_eq!(SHAPES.len(), lines(SHAPES_CSV));
        assert_eq!(GPU_SPECS.len(), lines(GPU_SPECS_CSV));
    }

    #[test]
    fn no_row_has_a_model_that_is_not_a_name_of_the_catalog() {
        let unknown: Vec<_> = shapes()
            .filter_map(|shape| match &shape.gpu.as_ref()?.model {
                GpuModel::Other(name) => Some(name.as_str()),
                _ => None,
            })
            .filter(|name| !name.starts_with("Virtex"))
            .collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }

    #[test]
    fn every_burstable_type_has_a_baseline_and_no_other() {
        for shape in shapes() {
            let name = &shape.instance_type;
            let is_burstable = name.starts_with('t') && !name.starts_with("trn");
            assert_eq!(cpu_baseline_percent(name).is_some(), is_burstable, "{name}");
        }
        assert_eq!(cpu_baseline_percent("t3.nano"), Some(5));
        assert_eq!(cpu_baseline_percent("t3.2xlarge"), Some(40));
        assert_eq!(cpu_baseline_percent("t4g.large"), Some(30));
    }

    #[test]
    fn fractional_gpus_are_fractions() {
        let offer = shape("g6f.large").and_then(|s| s.gpu.clone()).expect("known");
        assert_eq!(offer.share.count().to_string(), "0.125");
        assert_eq!(offer.vram_mib, Some(2861));
        assert_eq!(gpu_spec(&offer), None);
    }

    #[test]
    fn an_a100_of_forty_gigabytes_idles_at_an_eighth_of_its_limit() {
        let offer = shape("p4d.24xlarge").and_then(|s| s.gpu.clone()).expect("known");
        let percent = gpu_spec(&offer).and_then(GpuSpec::idle_power_percent).expect("known");
        assert!((percent - 49.68 / 400.0 * 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_eighth_of_an_l4_has_the_figures_of_the_whole_one() {
        let offer = shape("g6f.large").and_then(|s| s.gpu.clone()).expect("known");
        let spec = whole_device_spec(&offer).expect("one L4 is in the catalog");
        assert_eq!(spec.memory_mib, 22_888);
        let ambiguous = GpuOffer { model: GpuModel::A100, ..offer };
        assert_eq!(whole_device_spec(&ambiguous), None, "40 or 80 GB");
    }

    #[test]
    fn a_card_is_found_by_its_very_form() {
        let bf16 = |name: &str, memory_mib: f64| {
            spec_of_card(name, memory_mib).and_then(|spec| spec.bf16_dense_tflops)
        };
        // Names and memory as nvidia-smi reports them; rates from NVIDIA's data sheets.
        for (name, memory_mib, tflops) in [
            ("NVIDIA A10G", 23_028.0, Some(70.0)),
            ("NVIDIA A100-SXM4-40GB", 40_960.0, Some(312.0)),
            ("NVIDIA A100-SXM4-80GB", 81_920.0, Some(312.0)),
            ("NVIDIA H100 80GB HBM3", 81_559.0, Some(989.0)),
            ("NVIDIA H100 PCIe", 81_559.0, Some(756.0)),
            ("NVIDIA H100 NVL", 95_830.0, Some(835.0)),
            ("NVIDIA H200", 143_771.0, Some(989.0)),
            // Slower than an H200 by another name, and not in the catalog.
            ("NVIDIA H200 NVL", 143_771.0, None),
            ("NVIDIA A100-SXM4-80GB", 20_000.0, None),
            ("Tesla T4", 15_360.0, None),
            ("Graphics Device", 40_960.0, None),
            ("", f64::NAN, None),
        ] {
            assert_eq!(bf16(name, memory_mib), tflops, "{name}");
        }
        let t4 = spec_of_card("Tesla T4", 15_360.0).expect("in the catalog");
        assert_eq!(t4.fp16_dense_tflops, Some(65.0));
    }

    #[test]
    fn mig_profiles_follow_their_placement_rules() {
        assert!(rows(MIG_PROFILES_CSV).all(|row| mig_profile(&row).is_some()));
        let profiles = |name: &str| {
            let offer = shape(name).and_then(|s| s.gpu.clone()).expect("known");
            mig_profiles(&offer)
        };
        let a100 = profiles("p4d.24xlarge");
        let half = a100.iter().find(|p| p.name == "3g.20gb").expect("a half");
        assert_eq!((half.compute_slices, half.max_instances), (3, 2));
        assert_eq!((half.placement_size, &half.placement_starts[..]), (4, &[0, 4][..]));
        // Drivers differ; the smallest figure counts.
        let memory: Vec<_> =
            a100.iter().map(|profile| (profile.name.as_str(), profile.memory_mib)).collect();
        assert_eq!(
            memory,
            [
                ("1g.5gb", Some(4_864)),
                ("1g.5gb+me", Some(4_864)),
                ("1g.10gb", Some(9_856)),
                ("2g.10gb", Some(9_856)),
                ("3g.20gb", Some(19_968)),
                ("4g.20gb", Some(19_968)),
                ("7g.40gb", Some(40_192)),
            ]
        );
        assert!(profiles("g5.xlarge").is_empty(), "an A10G has no MIG");
    }

    #[test]
    fn a_card_with_mig_is_known_by_the_name_of_its_driver() {
        for name in ["NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200"] {
            assert!(has_mig(name), "{name}");
        }
        for name in ["NVIDIA A10G", "Tesla T4", "NVIDIA L40S", "Tesla V100-SXM2-16GB", ""] {
            assert!(!has_mig(name), "{name}");
        }
    }

    #[test]
    fn small_cards_have_four_compute_slices() {
        for (name, slices) in
            [("NVIDIA A100-SXM4-40GB", Some(7)), ("NVIDIA A30", Some(4)), ("NVIDIA A10G", None)]
        {
            assert_eq!(mig_compute_slices(name), slices, "{name}");
        }
    }

    #[test]
    fn counters_of_the_multiprocessors_came_with_hopper() {
        for (name, has) in [
            ("NVIDIA H100 80GB HBM3", Some(true)),
            ("NVIDIA L4", Some(false)),
            ("NVIDIA A100-SXM4-40GB", Some(false)),
            ("Tesla V100-SXM2-16GB", Some(false)),
            ("NVIDIA Z9", None),
        ] {
            assert_eq!(has_gpm(name), has, "{name}");
        }
    }

    #[test]
    fn smaller_types_have_the_same_gpu_and_more_of_nothing() {
        let smaller = |name: &str| -> Vec<&str> {
            smaller_types(shape(name).expect("known")).map(|s| s.instance_type.as_str()).collect()
        };
        assert_eq!(smaller("p3.16xlarge"), ["p3.2xlarge", "p3.8xlarge"]);
        assert_eq!(smaller("p3.8xlarge"), ["p3.2xlarge"]);
        assert_eq!(smaller("g5.4xlarge"), ["g5.2xlarge", "g5.xlarge"]);
        // One GPU is fewer than four, however many vCPUs come with it.
        assert!(smaller("g5.12xlarge").contains(&"g5.16xlarge"));
        assert_eq!(smaller("g5.xlarge"), [""; 0]);
    }
}
