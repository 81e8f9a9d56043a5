//! The bundled catalog against the public lists that it was made from: on-demand by
//! region and system, spot averages, interruptions, zones.

use crate::samples::data::{Line, Tally, book, lines};
use gpucost::catalog::{bundled_interruption_band, bundled_quote, shape, zones};
use gpucost::domain::{
    AcceleratorKind, Currency, OperatingSystem, PriceKey, PriceOption, PriceQuote,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// The systems of the list of all systems that the catalog has, by their names there.
const SYSTEMS: [(&str, OperatingSystem); 5] = [
    ("linux", OperatingSystem::Linux),
    ("mswin", OperatingSystem::Windows),
    ("rhel", OperatingSystem::Rhel),
    ("sles", OperatingSystem::Sles),
    ("ubuntu", OperatingSystem::UbuntuPro),
];

fn is_accelerated(name: &str) -> bool {
    shape(name).is_some_and(|shape| shape.accelerator != AcceleratorKind::Cpu)
}

fn key_of(line: &Line, operating_system: OperatingSystem) -> PriceKey {
    PriceKey {
        operating_system,
        ..PriceKey::linux_on_demand(line.get("region"), line.get("instance_type"))
    }
}

fn amount(quote: PriceQuote) -> Decimal {
    quote.rate.amount()
}

/// Compares every accelerated type of a list of on-demand prices with the catalog.
fn compare(list: &str) -> Option<usize> {
    let mut tally = Tally::of(list);
    for line in lines(list)? {
        if !is_accelerated(line.get("instance_type")) {
            continue;
        }
        let key = key_of(&line, OperatingSystem::Linux);
        let listed = line.amount("on_demand").expect("a price");
        let currency = Currency::from_name(line.get("currency")).expect("a currency");
        tally.compare(
            &key.to_string(),
            (listed, currency),
            bundled_quote(&key).map(|quote| (quote.rate.amount(), quote.rate.currency())),
        );
    }
    Some(tally.complete())
}

#[test]
fn every_accelerated_price_of_us_east_1_is_the_listed_one() {
    if let Some(compared) = compare("aws_ondemand_karpenter_us-east-1_2026-07-20.csv") {
        assert!(compared >= 100, "{compared}");
    }
}

#[test]
fn every_accelerated_price_of_the_gov_regions_is_the_listed_one() {
    if let Some(compared) = compare("aws_ondemand_karpenter_us-gov_2026-07-20.csv") {
        assert!(compared >= 40, "{compared}");
    }
}

#[test]
fn every_accelerated_price_of_china_is_the_listed_one() {
    let list = "aws_ondemand_karpenter_cn_2024-11-06.csv";
    if let Some(compared) = compare(list) {
        let in_book =
            book("prices.csv").iter().filter(|line| line.get("region").starts_with("cn-")).count();
        assert_eq!(compared, in_book, "the book has no other price of China");
    }
}

/// The list of every system: on-demand and spot of the same date. Where a
/// licensed system costs no more than Linux on the list, the list is wrong, and
/// the catalog has nothing; no other price may be missing.
#[test]
fn every_system_has_the_listed_prices_or_none() {
    let list = "aws_prices_accel_all_os_2026-05.csv";
    let Some(listed) = lines(list) else { return };
    let place = |line: &Line| (line.get("instance_type").to_owned(), line.get("region").to_owned());
    let linux: BTreeMap<_, _> = listed
        .iter()
        .filter(|line| line.get("os") == "linux")
        .map(|line| (place(line), line.amount("on_demand")))
        .collect();
    let (mut on_demand, mut spot) =
        (Tally::of(&format!("{list}, on-demand")), Tally::of(&format!("{list}, spot")));
    let mut not_above_linux = BTreeSet::new();
    for line in &listed {
        let Some((_, system)) = SYSTEMS.iter().find(|(name, _)| *name == line.get("os")) else {
            continue;
        };
        let key = key_of(line, *system);
        let spot_key = key.with_option(PriceOption::Spot);
        let price = line.amount("on_demand");
        let above = linux.get(&place(line)).is_some_and(|linux| linux.is_some() && price > *linux);
        if *system != OperatingSystem::Linux && !above {
            assert_eq!(bundled_quote(&key), None, "{key}");
            assert_eq!(bundled_quote(&spot_key), None, "{spot_key}");
            not_above_linux.insert(key.to_string());
            continue;
        }
        if let Some(price) = price {
            on_demand.compare(&key.to_string(), price, bundled_quote(&key).map(amount));
        }
        match line.amount("spot_avg") {
            Some(price) => {
                let quote = bundled_quote(&spot_key);
                spot.compare(&spot_key.to_string(), price, quote.map(amount));
            }
            None => assert_eq!(bundled_quote(&spot_key), None, "{spot_key}"),
        }
    }
    println!("{list}: {} not above Linux, left out", not_above_linux.len());
    assert!(on_demand.complete() >= 5_000);
    assert!(spot.complete() >= 4_000);
    assert!(not_above_linux.len() <= 20, "{not_above_linux:?}");
}

#[test]
fn spot_averages_of_linux_are_the_listed_ones() {
    let list = "aws_prices_linux_all_2026-05.csv";
    let Some(listed) = lines(list) else { return };
    let mut tally = Tally::of(&format!("{list}, spot"));
    let in_book: BTreeSet<(String, String)> = book("prices.csv")
        .iter()
        .filter(|line| line.get("operating_system") == "linux")
        .map(|line| {
            let cell = |column| line.get(column).to_owned();
            (cell("instance_type"), cell("region"))
        })
        .collect();
    for line in &listed {
        let place = (line.get("instance_type").to_owned(), line.get("region").to_owned());
        if !in_book.contains(&place) {
            continue;
        }
        let key = key_of(line, OperatingSystem::Linux).with_option(PriceOption::Spot);
        let quote = bundled_quote(&key);
        match line.amount("spot_avg") {
            Some(price) => tally.compare(&key.to_string(), price, quote.map(amount)),
            None => assert_eq!(quote, None, "{key}"),
        }
    }
    let spot_cells = book("prices.csv")
        .iter()
        .filter(|line| line.get("operating_system") == "linux")
        .filter(|line| line.amount("spot_average").is_some())
        .count();
    assert_eq!(tally.complete(), spot_cells, "the book has no other spot average");
}

#[test]
fn interruption_bands_are_those_of_the_spot_advisor() {
    let list = "aws_spot_advisor_2025-06-28.csv";
    let Some(listed) = lines(list) else { return };
    let mut tally = Tally::of(list);
    for line in &listed {
        let system = OperatingSystem::from_name(&line.get("os").to_lowercase()).expect("a system");
        let key = key_of(line, system);
        if !is_accelerated(&key.instance_type) {
            assert_eq!(bundled_interruption_band(&key), None, "{key}");
            continue;
        }
        let band = bundled_interruption_band(&key);
        let named = band.map(|(band, date)| (band.name().to_owned(), date));
        let expected = (line.get("interruption_label").to_owned(), jiff::civil::date(2025, 6, 28));
        tally.compare(&key.to_string(), expected, named);
    }
    let in_book =
        book("prices.csv").iter().filter(|line| !line.get("interruption_band").is_empty()).count();
    assert_eq!(tally.complete(), in_book, "the book has no other band");
}

#[test]
fn zones_are_those_of_the_list_of_offerings() {
    let list = "aws_accel_offerings_by_az.csv";
    let Some(listed) = lines(list) else { return };
    let mut tally = Tally::of(list);
    let mut offered: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in &listed {
        let cell = |column| line.get(column).to_owned();
        let place = (cell("instance_type"), cell("region"));
        offered.entry(place).or_default().insert(cell("az_id"));
    }
    for ((name, region), ids) in &offered {
        let ids: Vec<String> = ids.iter().cloned().collect();
        let known = zones(name, region).map(<[String]>::to_vec);
        tally.compare(&format!("{name} {region}"), ids, known);
    }
    assert_eq!(tally.complete(), book("zones.csv").len());
}
