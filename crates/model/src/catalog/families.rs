//! Facts about instance families, and the zones that offer a type.

use super::table::{Row, rows};
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const FAMILIES_CSV: &str = include_str!("../../../../pricing-data/families.csv");
const ZONES_CSV: &str = include_str!("../../../../pricing-data/zones.csv");

/// Where the rate of an EC2 Instance Savings Plan is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavingsPlanRate {
    /// It equals the standard reserved instance of the same term and payment.
    Derived,
    /// No source states it, and there is no reserved instance to derive it from.
    Unknown,
}

/// What AWS sells of a family. Absent means that no source states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyFacts {
    /// The family, such as `p4d`.
    pub family: String,
    pub launchable: Option<bool>,
    /// Whether standard reserved instances of one year are sold.
    pub reserved_1yr: Option<bool>,
    /// Whether standard reserved instances of three years are sold.
    pub reserved_3yr: Option<bool>,
    /// Where the rate of its savings plan is from.
    pub ec2_instance_savings_plan: SavingsPlanRate,
    /// Whether Capacity Blocks are sold.
    pub capacity_block: Option<bool>,
    /// Whether regional Linux reserved instances of one size cover another.
    pub size_flexible: Option<bool>,
    /// When this was seen.
    pub date: Date,
    /// What else is to be known.
    pub note: Option<String>,
}

static FAMILIES: LazyLock<BTreeMap<String, FamilyFacts>> = LazyLock::new(|| {
    let families = rows(FAMILIES_CSV).filter_map(|row| facts(&row));
    families.map(|facts| (facts.family.clone(), facts)).collect()
});

static ZONES: LazyLock<BTreeMap<(String, String), Vec<String>>> = LazyLock::new(|| {
    rows(ZONES_CSV)
        .filter_map(|row| {
            let key = (row.get("instance_type")?.to_owned(), row.get("region")?.to_owned());
            let zones = row.get("zone_ids")?.split(' ').map(str::to_owned).collect();
            Some((key, zones))
        })
        .collect()
});

fn facts(row: &Row) -> Option<FamilyFacts> {
    Some(FamilyFacts {
        family: row.get("family")?.to_owned(),
        launchable: row.parsed("launchable"),
        reserved_1yr: row.parsed("reserved_1yr"),
        reserved_3yr: row.parsed("reserved_3yr"),
        ec2_instance_savings_plan: match row.get("ec2_instance_savings_plan")? {
            "derived" => SavingsPlanRate::Derived,
            _ => SavingsPlanRate::Unknown,
        },
        capacity_block: row.parsed("capacity_block"),
        size_flexible: row.parsed("size_flexible"),
        date: row.parsed("date")?,
        note: row.get("note").map(str::to_owned),
    })
}

/// The facts about an accelerated family; `None` for one the catalog does not know.
pub fn family(name: &str) -> Option<&'static FamilyFacts> {
    FAMILIES.get(name)
}

/// Names of the accelerated families, in order.
pub fn family_names() -> impl Iterator<Item = &'static str> {
    FAMILIES.keys().map(String::as_str)
}

/// Identifiers of the zones that offer a type, in order; absent where no source
/// lists them.
pub fn zones(instance_type: &str, region: &str) -> Option<&'static [String]> {
    ZONES.get(&(instance_type.to_owned(), region.to_owned())).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::shapes;
    use crate::domain::AcceleratorKind;

    #[test]
    fn every_row_is_read_and_every_accelerated_family_has_one() {
        assert_eq!(FAMILIES.len(), FAMILIES_CSV.lines().count() - 1);
        assert_eq!(ZONES.len(), ZONES_CSV.lines().count() - 1);
        for shape in shapes().filter(|shape| shape.accelerator != AcceleratorKind::Cpu) {
            assert!(family(shape.family()).is_some(), "{}", shape.family());
        }
    }

    #[test]
    fn what_is_not_sold_is_a_fact() {
        let p3 = family("p3").expect("known");
        assert_eq!(p3.launchable, Some(false));
        assert_eq!(p3.reserved_1yr, Some(false));
        let p5 = family("p5").expect("known");
        assert_eq!(p5.launchable, Some(true));
        assert_eq!((p5.reserved_1yr, p5.reserved_3yr), (Some(false), Some(true)));
        let size_flexible = |name| family(name).and_then(|facts| facts.size_flexible);
        for name in ["p2", "p3", "p3dn", "p4d", "trn1"] {
            assert_eq!(size_flexible(name), Some(true), "{name}");
        }
        for name in [
            "g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "p5", "p5e", "p5en",
            "p6-b200", "p6-b300", "inf1", "inf2",
        ] {
            assert_eq!(size_flexible(name), Some(false), "{name}");
        }
        // No source says it of a family without any reservation.
        assert_eq!(size_flexible("g7e"), None);
    }

    #[test]
    fn zones_of_a_type() {
        let ids = zones("dl2q.24xlarge", "us-west-2").expect("offered");
        assert_eq!(ids, ["usw2-az4"]);
        assert_eq!(zones("dl2q.24xlarge", "us-east-1"), None);
    }
}
