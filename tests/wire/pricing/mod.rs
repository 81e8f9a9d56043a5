//! `gpucost pricing`: refreshing the user's price cache from a loopback AWS,
//! and what the cache then answers.
//!
//! Amounts are worked out by hand from what is published; the cache is read
//! without the crate, as the gzip-compressed JSON that it is.

mod bad_days;
mod broken_cache;
mod money;
mod pages;
mod public;
mod status;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rust_decimal::Decimal;
use serde_json::Value;
use tempfile::TempDir;

use crate::wire::audit::command::{Gpucost, Run};
use crate::wire::loopback::{Loopback, PlanRate, Price};

const VIRGINIA: &str = "us-east-1";
const IRELAND: &str = "eu-west-1";
/// Calls for the price list of one region: 103 accelerated types, 40 at once.
const LISTS_A_REGION: usize = 3;

/// A user's cache folder.
pub struct Cache(TempDir);

impl Cache {
    /// Without a cache in it.
    fn none() -> Self {
        Self(tempfile::tempdir().expect("a scratch folder can be made"))
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self) -> PathBuf {
        self.folder().join("prices.json.gz")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.file()).expect("the cache is there")
    }

    /// The names of all that lies in the folder.
    fn names(&self) -> Vec<String> {
        let entries = self.folder().read_dir().expect("our own folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            let name = entry.expect("our own folder").file_name();
            name.into_string().expect("a plain name")
        };
        entries.map(name).collect()
    }

    pub fn document(&self) -> Value {
        let mut text = String::new();
        GzDecoder::new(&self.bytes()[..]).read_to_string(&mut text).expect("the cache is whole");
        serde_json::from_str(&text).expect("the cache is JSON")
    }

    /// Puts another document in its place.
    pub fn replace(&self, document: &Value) {
        std::fs::write(self.file(), compressed(&document.to_string())).expect("our own folder");
    }

    /// Every price: what it is for, and the amount with its currency.
    fn prices(&self) -> Prices {
        let document = self.document();
        let prices = document["prices"].as_array().expect("a list of prices");
        let by_key: Prices = prices.iter().map(price).collect();
        assert_eq!(by_key.len(), prices.len(), "no price");
        by_key
    }

    /// `gpucost` with this cache.
    fn command(&self, arguments: &[&str]) -> Gpucost {
        Gpucost::new(arguments).cache_in(self.folder())
    }

    /// `gpucost pricing refresh`, not started yet.
    fn refresh_command(&self, loopback: &Loopback, regions: &str) -> Gpucost {
        self.command(&["pricing", "refresh", "--region", regions])
            .at(&loopback.url())
            .with_credentials()
    }

    fn refresh(&self, loopback: &Loopback, regions: &str) -> Run {
        self.refresh_command(loopback, regions).run()
    }

    /// A cache of one refresh that went well.
    pub fn refreshed(loopback: &Loopback, regions: &str) -> Self {
        let cache = Self::none();
        let run = cache.refresh(loopback, regions);
        assert_eq!(run.code, 0, "{}", run.stderr);
        cache
    }

    /// The rows of `gpucost pricing TYPE --format json` in a region.
    fn look_up(&self, instance_type: &str, region: &str) -> Value {
        let run = self
            .command(&["pricing", instance_type, "--region", region])
            .args(&["--format", "json"])
            .run();
        let mut document = run.json(0);
        document["prices"].take()
    }
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

type Prices = BTreeMap<String, (Decimal, String)>;

/// `region type option`, with the zone, system and tenancy where they are not the
/// usual ones.
fn price(wire: &Value) -> (String, (Decimal, String)) {
    let text = |field: &str| wire[field].as_str().unwrap_or_default().to_owned();
    let mut name = format!("{} {} {}", text("region"), text("instance_type"), text("option"));
    for (field, usual) in [("zone", ""), ("operating_system", "linux"), ("tenancy", "shared")] {
        if text(field) != usual {
            name.push_str(&format!(" {}", text(field)));
        }
    }
    (name, (decimal(&text("hourly")), text("currency")))
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is not a decimal number"))
}

/// Expected prices in dollars.
fn dollars(prices: &[(&str, &str)]) -> Prices {
    prices
        .iter()
        .map(|(name, amount)| ((*name).to_owned(), (decimal(amount), "USD".to_owned())))
        .collect()
}

/// One type in each of two regions: on-demand, a reserved term (63% of it),
/// spot, and the rate of a plan.
fn publish(loopback: &Loopback) {
    for (region, zone, hourly, spot, plan) in [
        (VIRGINIA, "us-east-1a", "1.10", "0.40", "0.80"),
        (IRELAND, "eu-west-1a", "1.20", "0.50", "0.90"),
    ] {
        loopback.put_price(Price::linux("g5.xlarge", region, hourly));
        loopback.put_spot_prices(region, zone, "g5.xlarge", "Linux/UNIX", &[(0, spot)]);
        loopback.put_plan_rate(PlanRate {
            plan: "Compute",
            years: 1,
            payment: "No Upfront",
            instance_type: "g5.xlarge",
            region,
            hourly: plan,
        });
    }
}

/// What [`publish`] publishes in Virginia. 1.10 × 0.63 = 0.693.
const IN_VIRGINIA: [(&str, &str); 4] = [
    ("us-east-1 g5.xlarge on-demand", "1.10"),
    ("us-east-1 g5.xlarge reserved-1yr-no-upfront", "0.693"),
    ("us-east-1 g5.xlarge spot", "0.40"),
    ("us-east-1 g5.xlarge compute-savings-plan-1yr-no-upfront", "0.80"),
];
/// And in Ireland. 1.20 × 0.63 = 0.756.
const IN_IRELAND: [(&str, &str); 4] = [
    ("eu-west-1 g5.xlarge on-demand", "1.20"),
    ("eu-west-1 g5.xlarge reserved-1yr-no-upfront", "0.756"),
    ("eu-west-1 g5.xlarge spot", "0.50"),
    ("eu-west-1 g5.xlarge compute-savings-plan-1yr-no-upfront", "0.90"),
];
