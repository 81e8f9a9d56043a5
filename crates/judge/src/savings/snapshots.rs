//! What releasing idle storage saves, net of the snapshots that keep its data.

use crate::domain::{Currency, IdleStorageCosts, Money, counted};
use rust_decimal::Decimal;

/// What a GB in the standard tier costs per month in `PRICED_REGION`, in USD: the long-standing
/// list price, as the Amazon EBS User Guide states it in "Pricing and billing for archiving Amazon
/// EBS snapshots", read on 2026-11-23. Other regions have a price of their own.
const USD_PER_GB_MONTH: Decimal = Decimal::from_parts(5, 0, 0, false, 2);
const PRICED_REGION: &str = "us-east-1";

/// What the release of volumes and addresses saves per month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// What ends, less the most that snapshots of all volumes can cost where that is known.
    pub saved: Money,
    /// What of that comes in any case: nothing where the snapshots have no known price.
    pub certain: Money,
    /// The most that snapshots can cost, as far as `saved` is net of it; absent without volumes
    /// and where it is not known.
    pub snapshots: Option<Money>,
    /// The bound in words; absent as `snapshots` is.
    pub bound: Option<String>,
    /// What takes away from the saving, or adds to it.
    pub caveat: Option<String>,
}

/// What releasing idle storage saves; `None` where nothing has a price.
///
/// Whoever releases a volume may keep its data in a snapshot, which is billed for the blocks
/// that hold some, at most for the size of the volume. What a release costs it pays: that bound
/// is taken off its saving. Volumes without a price are in neither.
pub fn released(idle_storage: &IdleStorageCosts, region: &str) -> Option<Released> {
    let monthly = idle_storage.monthly?;
    let gross =
        Released { saved: monthly, certain: monthly, snapshots: None, bound: None, caveat: None };
    if idle_storage.volumes == 0 {
        return Some(gross);
    }
    if region != PRICED_REGION || monthly.currency() != Currency::Usd {
        return Some(Released {
            certain: Money::zero(monthly.currency()),
            caveat: Some(format!(
                "saves at most this: snapshots that keep the data are billed for what the volumes \
                 hold, and their price in {region} is not known here"
            )),
            ..gross
        });
    }
    let unpriced = idle_storage.volumes - idle_storage.priced_volumes;
    let beside = match unpriced {
        0 => String::new(),
        number => format!(
            "{} without a price not included, neither in the cost nor in snapshots",
            counted(number, "volume", "volumes")
        ),
    };
    if idle_storage.priced_volumes == 0 {
        return Some(Released { caveat: Some(beside), ..gross });
    }
    let gib = idle_storage.priced_volume_gib;
    let most = Money::new(USD_PER_GB_MONTH * Decimal::from(gib), Currency::Usd).rounded();
    let saved = (monthly.amount() - most.amount()).max(Decimal::ZERO);
    let saved = Money::new(saved, monthly.currency());
    let bound = format!(
        "{} × ${USD_PER_GB_MONTH} = {most}/month (list price of {PRICED_REGION})",
        counted(gib, "GiB", "GiB")
    );
    let beside = match beside.as_str() {
        "" => beside,
        _ => format!("; {beside}"),
    };
    let caveat = if saved.amount().is_zero() {
        format!(
            "saves only where less is kept or the volumes hold less: snapshots that keep all data \
             cost up to {most} per month{beside}"
        )
    } else {
        format!("net of {most} per month for snapshots that keep all data{beside}")
    };
    Some(Released {
        saved,
        certain: saved,
        snapshots: Some(most),
        caveat: Some(caveat),
        bound: Some(bound),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(amount: &str) -> Money {
        Money::new(amount.parse().expect("a number"), Currency::Usd)
    }

    /// Volumes with a price and so many without, which cost so much together.
    fn stands(monthly: &str, gib: u64, unpriced: u64) -> IdleStorageCosts {
        let priced_volumes = u64::from(gib > 0);
        IdleStorageCosts {
            monthly: Some(usd(monthly)),
            volumes: priced_volumes + unpriced,
            volume_gib: gib,
            priced_volumes,
            priced_volume_gib: gib,
            volumes_of_unknown_size: unpriced,
            ..IdleStorageCosts::default()
        }
    }

    #[test]
    fn the_saving_is_net_of_all_data_in_snapshots() {
        // 4,296 GiB at 0.08 are 343.68; in snapshots at 0.05 they are 214.80, and 128.88 is
        // left: 4,296 × 0.03.
        let saving = released(&stands("343.68", 4_296, 0), "us-east-1").expect("a price");
        assert_eq!(saving.saved, usd("128.88"));
        assert_eq!(saving.certain, usd("128.88"));
        assert_eq!(saving.snapshots, Some(usd("214.80")));
        assert_eq!(
            saving.bound.as_deref(),
            Some("4,296 GiB × $0.05 = $214.80/month (list price of us-east-1)")
        );
        assert_eq!(
            saving.caveat.as_deref(),
            Some("net of $214.80 per month for snapshots that keep all data")
        );
    }

    #[test]
    fn volumes_without_a_price_are_on_neither_side() {
        let saving = released(&stands("48.00", 600, 2), "us-east-1").expect("a price");
        assert_eq!(saving.saved, usd("18.00"));
        let caveat = saving.caveat.expect("volumes");
        assert!(
            caveat.ends_with(
                "; 2 volumes without a price not included, neither in the cost nor in snapshots"
            ),
            "{caveat}"
        );
        // An address beside them has a price.
        let saving = released(&stands("3.65", 0, 1), "us-east-1").expect("a price");
        assert_eq!((saving.saved, saving.certain), (usd("3.65"), usd("3.65")));
        assert_eq!(saving.snapshots, None);
    }

    #[test]
    fn a_snapshot_that_costs_more_than_its_volume_leaves_no_saving() {
        // 1,000 GiB of sc1 at 0.015 are 15.00, and 50.00 in snapshots.
        let saving = released(&stands("15.00", 1_000, 0), "us-east-1").expect("a price");
        assert_eq!((saving.saved, saving.certain), (usd("0"), usd("0")));
        let caveat = saving.caveat.expect("volumes");
        assert!(
            caveat.starts_with("saves only where less is kept") && caveat.contains("$50.00"),
            "{caveat}"
        );
    }

    #[test]
    fn without_a_price_of_snapshots_nothing_is_certain() {
        let saving = released(&stands("52.80", 600, 0), "eu-west-1").expect("a price");
        assert_eq!((saving.saved, saving.certain), (usd("52.80"), usd("0")));
        assert_eq!((saving.snapshots, saving.bound), (None, None));
        let caveat = saving.caveat.expect("volumes");
        assert!(caveat.starts_with("saves at most this: "), "{caveat}");
        assert!(!caveat.contains('$'), "{caveat}");
    }

    #[test]
    fn addresses_leave_no_snapshots() {
        let address = IdleStorageCosts {
            monthly: Some(usd("3.65")),
            addresses: 1,
            ..IdleStorageCosts::default()
        };
        let saving = released(&address, "eu-west-1").expect("a price");
        assert_eq!((saving.saved, saving.certain), (usd("3.65"), usd("3.65")));
        assert_eq!(saving.caveat, None);
        assert_eq!(released(&IdleStorageCosts::default(), "us-east-1"), None);
    }
}
