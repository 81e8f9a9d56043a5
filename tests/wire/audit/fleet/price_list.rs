//! The prices that the account's price list and spot market answer. All differ
//! from the bundled catalog's, so that figures show which were used.

use super::super::days::{Days, PERIODS};
use crate::wire::loopback::{Loopback, Price};

const VIRGINIA: &str = "us-east-1";
const IRELAND: &str = "eu-west-1";
const OREGON: &str = "us-west-2";

/// Region, type, USD per hour. A one-year reservation is 37% less. Missing on
/// purpose: `g6f.large`, which the bundled catalog has at 0.202, and `g99.xlarge`,
/// which nobody has.
const LINUX: &[(&str, &str, &str)] = &[
    (VIRGINIA, "g4dn.xlarge", "0.50"),
    (VIRGINIA, "g4dn.12xlarge", "4.00"),
    (VIRGINIA, "g5.xlarge", "1.10"),
    (VIRGINIA, "g5.12xlarge", "5.60"),
    (VIRGINIA, "p4d.24xlarge", "22.00"),
    (IRELAND, "g4dn.xlarge", "0.60"),
    (IRELAND, "g5.xlarge", "1.20"),
    (OREGON, "g4dn.xlarge", "0.48"),
    (OREGON, "g5.xlarge", "1.05"),
    (OREGON, "p4d.24xlarge", "21.00"),
    (OREGON, "p5.48xlarge", "50.00"),
];

/// Publishes everything.
pub fn publish(loopback: &Loopback, days: Days) {
    for (region, instance_type, hourly) in LINUX {
        loopback.put_price(Price::linux(instance_type, region, hourly));
    }
    loopback.put_price(Price {
        operating_system: "Windows",
        operation: "RunInstances:0002",
        ..Price::linux("g4dn.xlarge", VIRGINIA, "0.75")
    });
    // No io2: what has no price in Ireland has none in the bundled catalog either.
    loopback.put_storage_price(IRELAND, "gp2", "0.11");
    loopback.put_storage_price(IRELAND, "gp3", "0.09");
    loopback.put_public_ipv4_price(IRELAND, "0.006");
    let spot = |zone: &str, changes: &[(i64, &str)]| {
        loopback.put_spot_prices(IRELAND, zone, "g5.xlarge", "Linux/UNIX", changes);
    };
    // Half the window at 0.40, carried in from before it, half at 0.60.
    spot("eu-west-1a", &[(days.at(-500), "0.40"), (days.at(PERIODS / 2), "0.60")]);
    // One price for weeks.
    spot("eu-west-1b", &[(days.at(-5_000), "0.30"), (days.at(-4_000), "0.45")]);
}
