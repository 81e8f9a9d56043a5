//! The bundled book against the newest public list of on-demand prices.

use crate::data::folder;
use gpucost::catalog::{bundled_quote, shape};
use gpucost::domain::{AcceleratorKind, PriceKey};
use rust_decimal::Decimal;

/// Compares every accelerated type of a list with the book: (compared, missing).
fn compare(list: &str) -> Option<(usize, Vec<String>)> {
    let path = folder(list, "prices")?.join(list);
    let mut compared = 0;
    let mut missing = Vec::new();
    for row in csv::Reader::from_path(path)
        .expect("the list opens")
        .records()
    {
        let row = row.expect("a whole row");
        let (name, region, price) = (&row[0], &row[1], &row[2]);
        let is_accelerated =
            shape(name).is_some_and(|shape| shape.accelerator != AcceleratorKind::Cpu);
        if !is_accelerated {
            continue;
        }
        let listed: Decimal = price.parse().expect("a price");
        match bundled_quote(&PriceKey::linux_on_demand(region, name)) {
            None => missing.push(format!("{name} {region}")),
            Some(quote) => {
                assert_eq!(quote.rate.amount(), listed.normalize(), "{name} {region}");
                compared += 1;
            }
        }
    }
    println!("{list}: {compared} compared, {} missing", missing.len());
    Some((compared, missing))
}

#[test]
fn every_accelerated_price_of_us_east_1_is_the_listed_one() {
    let Some((compared, missing)) = compare("aws_ondemand_karpenter_us-east-1_2026-07-20.csv")
    else {
        return;
    };
    assert_eq!(missing, Vec::<String>::new());
    assert!(compared >= 100, "{compared}");
}

#[test]
fn every_accelerated_price_of_the_gov_regions_is_the_listed_one() {
    let Some((compared, missing)) = compare("aws_ondemand_karpenter_us-gov_2026-07-20.csv") else {
        return;
    };
    assert_eq!(missing, Vec::<String>::new());
    assert!(compared >= 40, "{compared}");
}
