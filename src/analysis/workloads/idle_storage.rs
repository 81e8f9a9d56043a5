//! What a stopped instance still costs: volumes and addresses.

use crate::catalog::Prices;
use crate::domain::{
    Currency, IdleStorageCosts, Instance, Money, Policy, Provider, StorageQuote, StorageResource,
    counted,
};
use rust_decimal::Decimal;

/// Volumes and addresses of stopped instances, priced where a price is known.
pub(in crate::analysis) fn idle_storage_costs(
    instances: &[&Instance],
    prices: &Prices<'_>,
    policy: &Policy,
) -> IdleStorageCosts {
    // Storage of AWS is the only one that has prices.
    let price = |instance: &Instance, resource| {
        let of_aws = instance.id.provider() == Provider::Aws;
        of_aws.then(|| prices.get_storage(&instance.region, resource))?
    };
    let mut costs = IdleStorageCosts::default();
    let sum = |costs: &IdleStorageCosts| costs.monthly.map_or(Decimal::ZERO, Money::amount);
    for instance in instances {
        let before = sum(&costs);
        costs.volumes += instance.volumes.len() as u64;
        costs.addresses += instance.addresses.len() as u64;
        for volume in &instance.volumes {
            match volume.size_gib {
                Some(size) => costs.volume_gib += size,
                None => costs.volumes_of_unknown_size += 1,
            }
            let label = format!(
                "{} {}",
                volume
                    .size_gib
                    .map_or("unknown size".to_owned(), |size| counted(size, "GiB", "GiB")),
                volume.volume_type.as_deref().unwrap_or("unknown type"),
            );
            let resource = volume.volume_type.as_deref().and_then(StorageResource::from_name);
            let quote = resource.and_then(|resource| Some((resource, price(instance, resource)?)));
            match (volume.size_gib, quote) {
                (Some(size), Some((resource, quote))) => {
                    let units = Decimal::from(size);
                    add(&mut costs, &label, "GiB-month", units, resource, quote);
                    costs.priced_volumes += 1;
                    costs.priced_volume_gib += size;
                }
                _ => costs.unpriced.push(format!("{label} ({})", volume.id)),
            }
        }
        for address in &instance.addresses {
            let label = format!("public address {}", address.id);
            let resource = StorageResource::PublicIpv4;
            match price(instance, resource) {
                Some(quote) => {
                    let units = policy.hours_per_month;
                    add(&mut costs, &label, "hour", units, resource, quote);
                }
                None => costs.unpriced.push(label),
            }
        }
        costs.by_instance.push(sum(&costs) - before);
    }
    costs.monthly = if costs.volumes + costs.addresses == 0 {
        // Nothing attached costs nothing, which is known and not absent.
        instances.first().map(|instance| Money::zero(Currency::of_region(&instance.region)))
    } else {
        costs.monthly.map(Money::rounded)
    };
    costs
}

fn add(
    costs: &mut IdleStorageCosts,
    label: &str,
    unit: &str,
    units: Decimal,
    resource: StorageResource,
    quote: StorageQuote,
) {
    let price = quote.unit_price;
    let monthly = Money::new(price.amount() * units, price.currency());
    let sum = match costs.monthly {
        None => Ok(monthly),
        Some(sum) => sum.checked_add(monthly),
    };
    match sum {
        Ok(sum) => {
            costs.monthly = Some(sum);
            let dated = quote.effective_date.map_or(String::new(), |date| format!(" as of {date}"));
            costs.priced.push(format!(
                "{label}: {units} × {}{}/{unit} = {}{}/month ({}{dated})",
                price.currency().sign(),
                price.amount().normalize(),
                price.currency().sign(),
                monthly.rounded().amount(),
                quote.source
            ));
            costs.quotes.insert(resource, quote);
        }
        Err(mismatch) => costs.unpriced.push(format!("{label}: {mismatch}")),
    }
}
