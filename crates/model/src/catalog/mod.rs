//! The catalog inside the binary: shapes, GPU specifications and prices, dated
//! and with their sources. Look-up only; `pricing-data/` says where every
//! figure is from.

mod accelerators;
mod commitments;
mod families;
mod hardware;
mod other_clouds;
mod prices;
mod table;
mod time_zones;

pub use accelerators::{
    ec2_type, has_form_of_type, is_accelerated, is_accelerated_category, leading_region,
    names_accelerated_type, names_accelerator,
};
pub use commitments::observed_quote;
pub use families::{FamilyFacts, SavingsPlanRate, family, family_names, zones};
pub use hardware::{
    BUSY_POWER_PERCENT, GpuSpec, MigProfile, cpu_baseline_percent, gpu_spec, has_full_rate_fp64,
    has_gpm, has_mig, known_shape, mig_compute_slices, mig_profiles, mig_profiles_of, network_gbps,
    shape, shapes, smaller_types, spec_of_card, whole_device_spec,
};
pub use other_clouds::{ListedOffer, PricedUnit, other_clouds};
pub use prices::{
    Prices, bundled_interruption_band, bundled_origins, bundled_quote, bundled_regions,
    bundled_storage_quote, fresher_than_bundled,
};
pub use time_zones::time_zone;
