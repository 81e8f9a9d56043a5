//! Bundled shapes of instance types and specifications of GPUs.

use crate::domain::{AcceleratorKind, Architecture, GpuModel, GpuOffer, GpuShare, InstanceShape};
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const SHAPES_CSV: &str = include_str!("../../pricing-data/shapes.csv");
const GPU_SPECS_CSV: &str = include_str!("../../pricing-data/gpu_specs.csv");

/// Figures of a GPU model with one memory size. Absent means that no source
/// states it.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuSpec {
    /// The model.
    pub model: GpuModel,
    /// Memory as AWS states it, MiB.
    pub memory_mib: u64,
    /// Memory as the driver reports it, MiB: what a model has to fit into.
    pub memory_mib_reported: Option<u64>,
    /// Power limit, watts.
    pub power_limit_w: Option<f64>,
    /// Draw with the driver loaded and no work, watts.
    pub idle_w: Option<f64>,
}

impl GpuSpec {
    /// Idle draw as a percentage of the power limit.
    pub fn idle_power_percent(&self) -> Option<f64> {
        Some(self.idle_w? / self.power_limit_w? * 100.0)
    }
}

static SHAPES: LazyLock<BTreeMap<String, InstanceShape>> = LazyLock::new(|| {
    rows(SHAPES_CSV)
        .filter_map(|row| shape_of(&row))
        .map(|shape| (shape.instance_type.clone(), shape))
        .collect()
});

static GPU_SPECS: LazyLock<Vec<GpuSpec>> = LazyLock::new(|| {
    rows(GPU_SPECS_CSV)
        .filter_map(|row| spec_of(&row))
        .collect()
});

/// One row by column name; an empty cell is absent.
struct Row {
    header: csv::StringRecord,
    record: csv::StringRecord,
}

impl Row {
    fn get(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|name| name == column)?;
        self.record.get(index).filter(|cell| !cell.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        self.get(column)?.parse().ok()
    }
}

fn rows(text: &'static str) -> impl Iterator<Item = Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().cloned().unwrap_or_default();
    reader
        .into_records()
        .filter_map(Result::ok)
        .map(move |record| Row {
            header: header.clone(),
            record,
        })
}

fn shape_of(row: &Row) -> Option<InstanceShape> {
    let share = row
        .number::<Decimal>("gpu_count")
        .and_then(GpuShare::from_count);
    let gpu = match (row.get("gpu_model"), share) {
        (Some(model), Some(share)) => Some(GpuOffer {
            model: GpuModel::from_name(model),
            share,
            vram_mib: row.number("gpu_memory_mib"),
        }),
        _ => None,
    };
    Some(InstanceShape {
        instance_type: row.get("instance_type")?.to_owned(),
        accelerator: AcceleratorKind::from_name(row.get("accelerator")?)?,
        gpu,
        vcpu: row.number("vcpu")?,
        memory_mib: row.number("memory_mib")?,
        architecture: row.get("architecture").and_then(Architecture::from_name),
        local_storage_gb: row
            .number::<Decimal>("local_storage_gb")
            .filter(|size| !size.is_zero())
            .and_then(|size| u64::try_from(size.trunc()).ok()),
        efa: row.number("efa"),
    })
}

fn spec_of(row: &Row) -> Option<GpuSpec> {
    Some(GpuSpec {
        model: GpuModel::from_name(row.get("gpu_model")?),
        memory_mib: row.number("memory_mib")?,
        memory_mib_reported: row.number("memory_mib_reported"),
        power_limit_w: row.number("power_limit_w"),
        idle_w: row.number("idle_w"),
    })
}

/// What a type offers; `None` for a type that the book does not know.
pub fn shape(instance_type: &str) -> Option<&'static InstanceShape> {
    SHAPES.get(instance_type)
}

/// Every type of the book in order of name.
pub fn shapes() -> impl Iterator<Item = &'static InstanceShape> {
    SHAPES.values()
}

/// Specification of whole devices of an offer; `None` when the book has none.
/// A fraction of a device has no figures of its own.
pub fn gpu_spec(offer: &GpuOffer) -> Option<&'static GpuSpec> {
    if matches!(offer.share, GpuShare::Fraction(_)) {
        return None;
    }
    GPU_SPECS
        .iter()
        .find(|spec| spec.model == offer.model && Some(spec.memory_mib) == offer.vram_mib)
}

/// What a type offers: as it was gathered, else as the book knows it.
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
        let (Some(offer), Some(other)) = (&today.gpu, &candidate.gpu) else {
            return false;
        };
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
    fn every_row_of_the_book_is_read() {
        let lines = |text: &str| text.lines().count() - 1;
        assert_eq!(SHAPES.len(), lines(SHAPES_CSV));
        assert_eq!(GPU_SPECS.len(), lines(GPU_SPECS_CSV));
    }

    #[test]
    fn no_row_has_a_model_that_is_not_a_name_of_the_book() {
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
    fn fractional_gpus_are_fractions() {
        let offer = shape("g6f.large")
            .and_then(|s| s.gpu.clone())
            .expect("known");
        assert_eq!(offer.share.count().to_string(), "0.125");
        assert_eq!(offer.vram_mib, Some(2861));
        assert_eq!(gpu_spec(&offer), None);
    }

    #[test]
    fn an_a100_of_forty_gigabytes_idles_at_an_eighth_of_its_limit() {
        let offer = shape("p4d.24xlarge")
            .and_then(|s| s.gpu.clone())
            .expect("known");
        let percent = gpu_spec(&offer)
            .and_then(GpuSpec::idle_power_percent)
            .expect("known");
        assert!((percent - 49.68 / 400.0 * 100.0).abs() < 1e-9);
    }

    #[test]
    fn smaller_types_have_the_same_gpu_and_more_of_nothing() {
        let smaller = |name: &str| -> Vec<&str> {
            smaller_types(shape(name).expect("known"))
                .map(|s| s.instance_type.as_str())
                .collect()
        };
        assert_eq!(smaller("p3.16xlarge"), ["p3.2xlarge", "p3.8xlarge"]);
        assert_eq!(smaller("p3.8xlarge"), ["p3.2xlarge"]);
        assert_eq!(smaller("g5.4xlarge"), ["g5.2xlarge", "g5.xlarge"]);
        // One GPU is fewer than four, however many vCPUs come with it.
        assert!(smaller("g5.12xlarge").contains(&"g5.16xlarge"));
        assert_eq!(smaller("g5.xlarge"), [""; 0]);
    }
}
