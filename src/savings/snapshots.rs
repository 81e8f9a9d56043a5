//! What snapshots cost that keep the data of volumes which are released.

use crate::domain::{Currency, IdleStorageCosts, Money, counted};
use rust_decimal::Decimal;

/// What a GB in the standard tier costs per month in `PRICED_REGION`, in USD: the long-standing
/// list price, as the Amazon EBS User Guide states it in "Pricing and billing for archiving Amazon
/// EBS snapshots", read on 2026-11-23. Other regions have a price of their own.
const USD_PER_GB_MONTH: Decimal = Decimal::from_parts(5, 0, 0, false, 2);
const PRICED_REGION: &str = "us-east-1";

/// What takes away from the saving of releasing volumes: the snapshots of an image that keeps
/// their data are billed for the blocks that hold some, at most for the size of the volumes.
/// Absent without volumes.
pub fn snapshot_caveat(idle_storage: &IdleStorageCosts, region: &str) -> Option<String> {
    if idle_storage.volumes == 0 {
        return None;
    }
    if region != PRICED_REGION || idle_storage.volume_gib == 0 {
        return Some(format!(
            "saves at most this: snapshots that keep the data are billed for what the volumes \
             hold, and their price in {region} or the size is not known here"
        ));
    }
    let gib = idle_storage.volume_gib;
    let most = Money::new(USD_PER_GB_MONTH * Decimal::from(gib), Currency::Usd);
    let unknown = match idle_storage.volumes_of_unknown_size {
        0 => String::new(),
        number => format!(
            ", beside {} of unknown size",
            counted(number, "volume", "volumes")
        ),
    };
    Some(format!(
        "saves at most this: snapshots that keep the data cost up to {most} per month ({gib} GiB × \
         ${USD_PER_GB_MONTH}, list price of {PRICED_REGION}{unknown}), less where the volumes hold \
         less"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(volume_gib: u64, unknown: u64) -> IdleStorageCosts {
        IdleStorageCosts {
            volumes: u64::from(volume_gib > 0) + unknown,
            volume_gib,
            volumes_of_unknown_size: unknown,
            ..IdleStorageCosts::default()
        }
    }

    #[test]
    fn the_bound_is_the_size_at_the_list_price() {
        // 600 × 0.05.
        let said = snapshot_caveat(&stands(600, 0), "us-east-1");
        assert_eq!(
            said.as_deref(),
            Some(
                "saves at most this: snapshots that keep the data cost up to $30.00 per month (600 \
                 GiB × $0.05, list price of us-east-1), less where the volumes hold less"
            )
        );
        let said = snapshot_caveat(&stands(4_296, 2), "us-east-1").expect("volumes");
        assert!(
            said.contains("$214.80 per month (4296 GiB × $0.05"),
            "{said}"
        );
        assert!(
            said.contains(", beside 2 volumes of unknown size)"),
            "{said}"
        );
    }

    #[test]
    fn a_price_that_is_not_known_is_no_figure() {
        for (what, region) in [(stands(600, 0), "eu-west-1"), (stands(0, 1), "us-east-1")] {
            let said = snapshot_caveat(&what, region).expect("volumes");
            assert!(said.starts_with("saves at most this: "), "{said}");
            assert!(!said.contains('$'), "{said}");
        }
        assert_eq!(snapshot_caveat(&stands(0, 0), "us-east-1"), None);
    }
}
