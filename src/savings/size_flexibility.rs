//! Which reserved instances cover other sizes of their family, and how sizes are
//! counted then.

use crate::catalog::family;
use crate::domain::{OperatingSystem, PriceKey, Tenancy};
use rust_decimal::Decimal;

/// Whether regional reserved instances for this key cover other sizes of the
/// family: Linux on shared hardware, and a family that the catalog knows as
/// flexible. One that it does not know counts as not flexible, and so does any
/// reserved instance that holds for one zone.
pub fn covers_other_sizes(key: &PriceKey) -> bool {
    key.zone.is_none()
        && key.operating_system == OperatingSystem::Linux
        && key.tenancy == Tenancy::Shared
        && family(key.family()).and_then(|facts| facts.size_flexible) == Some(true)
}

/// Normalized units of a type, by which reserved instances of one size cover
/// another: 8 for an xlarge, 8 times as many for each of the `n` of an
/// `n`xlarge. `None` for sizes that are not counted so, such as metal.
pub fn normalized_units(instance_type: &str) -> Option<Decimal> {
    let (_, size) = instance_type.split_once('.')?;
    Some(match size {
        "nano" => Decimal::new(25, 2),
        "micro" => Decimal::new(5, 1),
        "small" => Decimal::ONE,
        "medium" => Decimal::TWO,
        "large" => Decimal::from(4),
        "xlarge" => Decimal::from(8),
        multiple => {
            let times: u32 = multiple.strip_suffix("xlarge")?.parse().ok()?;
            Decimal::from(times.checked_mul(8)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(instance_type: &str) -> PriceKey {
        PriceKey::linux_on_demand("us-east-1", instance_type)
    }

    #[test]
    fn flexible_are_regional_linux_instances_of_some_families() {
        assert!(covers_other_sizes(&key("p4d.24xlarge")));
        assert!(covers_other_sizes(&key("vt1.6xlarge")));
        // The families that AWS excepts, and one that is not known.
        for family in [
            "g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "p5", "inf1", "inf2",
            "z9",
        ] {
            assert!(!covers_other_sizes(&key(&format!("{family}.4xlarge"))), "{family}");
        }
        let p4d = key("p4d.24xlarge");
        assert!(!covers_other_sizes(&p4d.in_zone(Some("us-east-1a"))));
        for operating_system in
            [OperatingSystem::Windows, OperatingSystem::Rhel, OperatingSystem::Sles]
        {
            assert!(!covers_other_sizes(&PriceKey { operating_system, ..p4d.clone() }));
        }
        assert!(!covers_other_sizes(&PriceKey { tenancy: Tenancy::Dedicated, ..p4d }));
    }

    #[test]
    fn units_are_those_of_the_published_table() {
        for (name, units) in [
            ("t3.nano", "0.25"),
            ("t3.micro", "0.5"),
            ("t3.small", "1"),
            ("m5.medium", "2"),
            ("m5.large", "4"),
            ("g5.xlarge", "8"),
            ("trn1.2xlarge", "16"),
            ("vt1.3xlarge", "24"),
            ("p4d.24xlarge", "192"),
            ("trn1.32xlarge", "256"),
        ] {
            assert_eq!(normalized_units(name), units.parse().ok(), "{name}");
        }
        for name in ["g4dn.metal", "xlarge", "g5.", "g5.bigxlarge", "g5.-1xlarge"] {
            assert_eq!(normalized_units(name), None, "{name}");
        }
    }
}
