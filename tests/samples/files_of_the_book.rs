//! The files of the catalog are what the program takes them for: sorted, every key
//! once, every amount above zero, every day a day, one currency to a region.

use crate::samples::data::{Line, book};
use gpucost::domain::Currency;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::path::Path;

/// A file with what holds for its columns. All of `amounts` are above zero where
/// they are not empty, and so are `quantities`, of which some may be zero.
struct File {
    name: &'static str,
    key: &'static [&'static str],
    amounts: &'static [&'static str],
    quantities: &'static [&'static str],
    dates: &'static [&'static str],
    /// Columns of the key that count up as numbers and not as text.
    numeric: &'static [&'static str],
}

const OFFER: &[&str] = &["instance_type", "region", "operating_system", "tenancy"];

const FILES: [File; 10] = [
    File {
        name: "capacity_blocks.csv",
        key: &["instance_type", "region"],
        amounts: &["hourly", "accelerators"],
        quantities: &[],
        dates: &["date"],
        numeric: &[],
    },
    File {
        name: "families.csv",
        key: &["family"],
        amounts: &[],
        quantities: &[],
        dates: &["date"],
        numeric: &[],
    },
    File {
        name: "gpu_specs.csv",
        key: &["gpu_model", "memory_mib"],
        amounts: &["memory_mib_reported", "memory_bandwidth_gbps", "power_limit_w"],
        quantities: &["mig_slices", "nvlink_gbps"],
        dates: &[],
        numeric: &["memory_mib"],
    },
    File {
        name: "mig_profiles.csv",
        key: &["gpu_model", "gpu_memory_mib", "profile"],
        amounts: &["compute_slices", "memory_slices", "memory_mib", "max_instances"],
        quantities: &[],
        dates: &[],
        // Profiles of one GPU stand from small to large.
        numeric: &["gpu_memory_mib", "profile"],
    },
    File {
        name: "other_clouds.csv",
        key: &["provider", "region", "instance_type", "gpu_model", "gpu_count", "gpu_memory_mib"],
        amounts: &["on_demand", "spot", "commitment_1yr", "commitment_3yr", "gpu_count"],
        quantities: &[],
        dates: &["date"],
        numeric: &[],
    },
    File {
        name: "prices.csv",
        key: OFFER,
        amounts: &["on_demand", "spot_average"],
        quantities: &[],
        dates: &["on_demand_date", "spot_average_date", "interruption_band_date"],
        numeric: &[],
    },
    File {
        name: "reserved.csv",
        key: &["instance_type", "region", "operating_system", "tenancy", "term_years", "payment"],
        amounts: &["effective_hourly"],
        quantities: &["upfront", "hourly"],
        dates: &["date"],
        numeric: &[],
    },
    File {
        name: "shapes.csv",
        key: &["instance_type"],
        amounts: &["vcpu", "memory_mib", "gpu_count", "gpu_memory_mib"],
        quantities: &["local_storage_gb"],
        dates: &["snapshot_date"],
        numeric: &[],
    },
    File {
        name: "storage.csv",
        key: &["resource", "region"],
        amounts: &["price"],
        quantities: &[],
        dates: &["date"],
        numeric: &[],
    },
    File {
        name: "zones.csv",
        key: &["instance_type", "region"],
        amounts: &[],
        quantities: &[],
        dates: &[],
        numeric: &[],
    },
];

fn key_of(line: &Line, columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| line.get(name).to_owned()).collect()
}

/// The key up to the first column that does not sort as text.
fn text_key(file: &File) -> &'static [&'static str] {
    let length = file.key.iter().take_while(|name| !file.numeric.contains(name)).count();
    &file.key[..length]
}

#[test]
fn every_file_is_checked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pricing-data");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder opens")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".csv"))
        .collect();
    let checked: BTreeSet<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
    assert_eq!(there, checked);
}

#[test]
fn lines_are_sorted_and_every_key_stands_once() {
    for file in &FILES {
        let lines = book(file.name);
        assert!(!lines.is_empty(), "{}", file.name);
        let mut seen = BTreeSet::new();
        for line in &lines {
            let key = key_of(line, file.key);
            assert!(seen.insert(key.clone()), "{}: {key:?} twice", file.name);
            assert!(!key[0].is_empty(), "{}: {key:?}", file.name);
        }
        let sorted: Vec<_> = lines.iter().map(|line| key_of(line, text_key(file))).collect();
        assert!(sorted.is_sorted(), "{}", file.name);
    }
}

#[test]
fn amounts_are_above_zero_and_days_are_days() {
    for file in &FILES {
        for line in book(file.name) {
            let place = || format!("{}: {:?}", file.name, key_of(&line, file.key));
            for column in file.amounts {
                let amount = line.amount(column);
                assert!(amount.is_none_or(|amount| amount > Decimal::ZERO), "{} {column}", place());
            }
            for column in file.quantities {
                let amount = line.amount(column);
                assert!(
                    amount.is_none_or(|amount| amount >= Decimal::ZERO),
                    "{} {column}",
                    place()
                );
            }
            for column in file.dates {
                let date = line.get(column);
                let day: Option<Date> = date.parse().ok();
                // Prices of volumes hardly ever change; those of instances do.
                let first = if file.name == "storage.csv" { 2021 } else { 2024 };
                let known = jiff::civil::date(first, 1, 1)..jiff::civil::date(2027, 1, 1);
                assert!(
                    date.is_empty() || day.is_some_and(|day| known.contains(&day)),
                    "{} {column}: {date}",
                    place()
                );
            }
        }
    }
}

#[test]
fn a_region_has_one_currency() {
    for file in ["prices.csv", "reserved.csv", "capacity_blocks.csv", "storage.csv"] {
        for line in book(file) {
            let expected = if line.get("region").starts_with("cn-") { "CNY" } else { "USD" };
            assert_eq!(line.get("currency"), expected, "{file}: {}", line.get("region"));
            assert_eq!(Currency::of_region(line.get("region")).code(), expected);
        }
    }
    let mut currencies = BTreeSet::new();
    for line in book("other_clouds.csv") {
        let currency = Currency::from_name(line.get("currency"));
        assert!(currency.is_some(), "{}", line.get("currency"));
        currencies.insert((line.get("provider").to_owned(), currency));
    }
    let providers: BTreeSet<&String> = currencies.iter().map(|(provider, _)| provider).collect();
    assert_eq!(providers.len(), currencies.len(), "one currency to a provider");
}

/// Only the long-standing prices of one region have no date.
#[test]
fn storage_prices_have_an_origin_and_a_date() {
    for line in book("storage.csv") {
        let is_undated = line.get("date").is_empty();
        let place = format!("{} {}", line.get("resource"), line.get("region"));
        assert_eq!(is_undated, line.get("region") == "us-east-1", "{place}");
        assert_eq!(is_undated, line.get("basis") == "long-standing-list-price", "{place}");
        let unit = match line.get("resource") {
            "public-ipv4" => "hour",
            _ => "gib-month",
        };
        assert_eq!(line.get("unit"), unit, "{place}");
    }
}

/// A price stands with its date and list or not at all.
#[test]
fn prices_are_dated_and_dates_are_of_prices() {
    for line in book("prices.csv") {
        let place = key_of(&line, OFFER);
        let is_empty = |column: &str| line.get(column).is_empty();
        let all_or_none = |columns: &[&str]| {
            assert!(
                columns.iter().all(|name| is_empty(name) == is_empty(columns[0])),
                "{place:?}: {columns:?}"
            );
        };
        all_or_none(&["on_demand", "on_demand_date", "on_demand_origin"]);
        all_or_none(&["spot_average", "spot_average_date"]);
        all_or_none(&["interruption_band", "interruption_band_date"]);
    }
}

/// EC2 states spot prices with four decimals at most, so an average that equals
/// an on-demand price of more was copied from there.
#[test]
fn no_spot_average_is_an_on_demand_price() {
    let mut looked_at = 0;
    for line in book("prices.csv") {
        let (Some(on_demand), Some(spot)) = (line.amount("on_demand"), line.amount("spot_average"))
        else {
            continue;
        };
        let is_linux = line.get("operating_system") == "linux";
        if is_linux && on_demand.scale() > 4 {
            looked_at += 1;
            assert_ne!(spot, on_demand, "{:?}", key_of(&line, OFFER));
        }
        // At most on-demand, but for the fourth decimal.
        assert!(spot <= on_demand + Decimal::new(5, 5), "{:?}", key_of(&line, OFFER));
    }
    assert!(looked_at > 1_000, "{looked_at}");
}
