//! What AWS still sells of a type, for planners that say what to launch.

use super::exit::{Outcome, hint, refusal};
use crate::catalog::{Prices, shape, shapes};
use crate::domain::{CommitmentTerm, GpuOffer, GpuShare, InstanceShape, PriceKey, PriceOption};
use crate::savings::is_launchable;

/// Fails for a type of which AWS launches no new instances.
pub(super) fn check_launchable(key: &PriceKey, prices: &Prices<'_>) -> Outcome<()> {
    if is_launchable(key) {
        return Ok(());
    }
    let hint = hint! { nearest_launchable(key, prices);
        Some(nearest) => "the nearest type that it launches is {nearest}: measure the demand there, and pass it with `--demand FILE --type {nearest}`";
        None => "`gpucost pricing` lists types that it launches";
    };
    let name = &key.instance_type;
    Err(
        refusal!("AWS launches no new instances of {name}, so that nothing can start one"; "{hint}"),
    )
}

/// The launched type with as many GPUs and at least as much memory on each: the least of it,
/// then the lowest price on demand.
fn nearest_launchable(key: &PriceKey, prices: &Prices<'_>) -> Option<String> {
    let today = shape(&key.instance_type)?.gpu.as_ref()?;
    let like = shapes().filter_map(|other| {
        let vram_mib = vram_if_like(today, other)?;
        let other_key = key.with_type(&other.instance_type);
        let quote = prices.get(&other_key).ok().filter(|_| is_launchable(&other_key))?;
        Some((vram_mib, quote.rate.amount(), &other.instance_type))
    });
    let (_, _, name) = like.min()?;
    Some(name.clone())
}

fn vram_if_like(today: &GpuOffer, other: &InstanceShape) -> Option<u64> {
    let offer = other.gpu.as_ref()?;
    let is_like = matches!(offer.share, GpuShare::Whole(_))
        && offer.share.visible_devices() == today.share.visible_devices()
        && offer.model.vendor() == today.model.vendor();
    offer.vram_mib.filter(|mib| is_like && Some(*mib) >= today.vram_mib)
}

/// Whether `gpucost reserved` has a commitment to compare.
pub(super) fn has_commitments(key: &PriceKey, prices: &Prices<'_>) -> bool {
    CommitmentTerm::ALL.into_iter().any(|term| {
        let options = [
            PriceOption::Reserved(term),
            PriceOption::Ec2InstanceSavingsPlan(term),
            PriceOption::ComputeSavingsPlan(term),
        ];
        let mut options = options.into_iter();
        options.any(|option| prices.get(&key.with_option(option)).is_ok())
    })
}
