//! List prices of other clouds, for comparison only: nothing that an audit
//! says rests on them.

use super::table::{Row, rows};
use crate::domain::{Currency, GpuModel, HourlyRate, named_enum};
use jiff::civil::Date;
use rust_decimal::Decimal;

const OTHER_CLOUDS_CSV: &str = include_str!("../../../../pricing-data/other_clouds.csv");

named_enum! {
    /// What a price of another cloud buys.
    #[derive(Default)]
    PricedUnit {
        /// A whole machine.
        #[default]
        Machine = "machine",
        /// One GPU, with whatever machine comes with it.
        Gpu = "gpu",
    }
}

/// One row of another cloud's price list. Absent means that the list does not
/// say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedOffer {
    /// The provider, such as `gcp`.
    pub provider: String,
    /// The region, in the provider's words.
    pub region: Option<String>,
    /// The machine, in the provider's words.
    pub instance_type: String,
    pub gpu_model: GpuModel,
    /// GPUs, or the part of one.
    pub gpu_count: Decimal,
    /// Memory of one whole GPU, MiB.
    pub vram_mib: Option<u64>,
    pub vcpu: Option<u32>,
    /// Host memory, MiB.
    pub memory_mib: Option<u64>,
    pub on_demand: Option<HourlyRate>,
    /// Interruptible, per hour.
    pub spot: Option<HourlyRate>,
    /// Committed for a year, effective per hour.
    pub commitment_1yr: Option<HourlyRate>,
    /// Committed for three years, effective per hour.
    pub commitment_3yr: Option<HourlyRate>,
    pub unit: PricedUnit,
    /// When the list was read.
    pub date: Date,
    /// The list.
    pub source: String,
}

fn listed(row: &Row) -> Option<ListedOffer> {
    let currency = Currency::from_name(row.get("currency")?)?;
    let rate = |column: &str| HourlyRate::new(row.parsed(column)?, currency);
    Some(ListedOffer {
        provider: row.get("provider")?.to_owned(),
        region: row.get("region").map(str::to_owned),
        instance_type: row.get("instance_type").unwrap_or_default().to_owned(),
        gpu_model: GpuModel::from_name(row.get("gpu_model")?),
        gpu_count: row.parsed("gpu_count")?,
        vram_mib: row.parsed("gpu_memory_mib"),
        vcpu: row.parsed("vcpu"),
        memory_mib: row.parsed("memory_mib"),
        on_demand: rate("on_demand"),
        spot: rate("spot"),
        commitment_1yr: rate("commitment_1yr"),
        commitment_3yr: rate("commitment_3yr"),
        unit: PricedUnit::from_name(row.get("price_basis")?)?,
        date: row.parsed("date")?,
        source: row.get("origin")?.to_owned(),
    })
}

/// Every offer of other clouds, in order of provider, region and machine.
pub fn other_clouds() -> impl Iterator<Item = ListedOffer> {
    rows(OTHER_CLOUDS_CSV).filter_map(|row| listed(&row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_priced() {
        let offers: Vec<ListedOffer> = other_clouds().collect();
        assert_eq!(offers.len(), rows(OTHER_CLOUDS_CSV).count());
        for offer in &offers {
            assert!(offer.on_demand.is_some() || offer.spot.is_some(), "{offer:?}");
            assert!(offer.gpu_count > Decimal::ZERO, "{offer:?}");
        }
        let providers: std::collections::BTreeSet<&str> =
            offers.iter().map(|offer| offer.provider.as_str()).collect();
        for known in ["azure", "coreweave", "gcp", "lambda", "runpod"] {
            assert!(providers.contains(known), "{known}");
        }
    }
}
