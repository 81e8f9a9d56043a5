//! What is bought ahead, against the public lists: standard reserved instances,
//! the ratios of their payments, Capacity Blocks.

use crate::samples::data::{Line, Tally, book, lines};
use gpucost::catalog::{bundled_quote, family};
use gpucost::domain::{
    CommitmentTerm, Instalments, PaymentOption, PriceBasis, PriceKey, PriceOption,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

const HOURS_PER_YEAR: i64 = 8_760;

fn fraction(of: i64, by: i64) -> Decimal {
    Decimal::from(of) / Decimal::from(by)
}

/// What part of the price without upfront a payment costs, as AWS's lists have
/// it: 0.952381 and 0.933333 over one year, 0.925926 and 0.87037 over three.
fn share_of_no_upfront(term: CommitmentTerm) -> Decimal {
    match (term.years, term.payment) {
        (_, PaymentOption::NoUpfront) => Decimal::ONE,
        (1, PaymentOption::PartialUpfront) => fraction(20, 21),
        (1, PaymentOption::AllUpfront) => fraction(14, 15),
        (_, PaymentOption::PartialUpfront) => fraction(25, 27),
        (_, PaymentOption::AllUpfront) => fraction(47, 54),
    }
}

/// An upfront fee is in whole dollars: how far that may move an hour.
fn half_a_dollar(term: CommitmentTerm) -> Decimal {
    Decimal::new(5, 1) / Decimal::from(HOURS_PER_YEAR * i64::from(term.years))
}

fn reserved(line: &Line, term: CommitmentTerm) -> PriceKey {
    PriceKey::linux_on_demand(line.get("region"), line.get("instance_type"))
        .with_option(PriceOption::Reserved(term))
}

fn term_named(years: &str, payment: &str) -> CommitmentTerm {
    let payment = payment.to_lowercase().replace(' ', "-");
    CommitmentTerm::from_name(&format!("{years}yr-{payment}")).expect("a term")
}

fn linux_rows_of_the_book() -> usize {
    book("reserved.csv").iter().filter(|line| line.get("operating_system") == "linux").count()
}

#[test]
fn every_reserved_price_of_an_accelerated_type_is_the_listed_one() {
    let list = "aws_reserved_standard_linux.csv";
    let Some(listed) = lines(list) else { return };
    let mut tally = Tally::of(list);
    for line in &listed {
        let accelerated = family(line.get("instance_type").split('.').next().unwrap_or_default());
        if accelerated.is_none() {
            continue;
        }
        let term = term_named(line.get("term_years"), line.get("payment"));
        let key = reserved(line, term);
        let basis = match line.get("basis").split(' ').next() {
            Some("observed") => PriceBasis::Observed,
            _ => PriceBasis::Derived,
        };
        let paid = Instalments {
            upfront: line.amount("upfront_usd").expect("an amount"),
            hourly: line.amount("recurring_hourly").expect("an amount"),
        };
        let effective = line.amount("effective_hourly").expect("a price");
        let quote = bundled_quote(&key);
        let known = quote.map(|quote| (quote.rate.amount(), quote.instalments, quote.basis));
        tally.compare(&key.to_string(), (effective, Some(paid), basis), known);
    }
    assert_eq!(
        tally.complete(),
        linux_rows_of_the_book(),
        "the book has no other reserved price for Linux"
    );
}

#[test]
fn reserved_prices_agree_with_the_joined_list() {
    let list = "aws_accel_prices_joined.csv";
    let Some(listed) = lines(list) else { return };
    let mut tally = Tally::of(&format!("{list}, reserved"));
    for line in &listed {
        for term in CommitmentTerm::ALL {
            let payment = term.payment.name().replace('-', "_");
            let key = reserved(line, term);
            let quote = bundled_quote(&key);
            match line.amount(&format!("ri_std_{}y_{payment}", term.years)) {
                Some(price) => {
                    let known = quote.map(|quote| quote.rate.amount());
                    tally.compare(&key.to_string(), price, known);
                }
                None => assert_eq!(quote, None, "{key}"),
            }
        }
    }
    assert_eq!(tally.complete(), linux_rows_of_the_book());
}

#[test]
fn capacity_blocks_have_the_prices_of_the_newest_date() {
    let list = "aws_capacity_blocks_prices.csv";
    let Some(listed) = lines(list) else { return };
    let newest = listed.iter().map(|line| line.get("snapshot_date")).max().expect("not empty");
    let mut tally = Tally::of(&format!("{list}, {newest}"));
    let place = |line: &Line| format!("{} {}", line.get("instance_type"), line.get("region"));
    let mut sold = BTreeSet::new();
    for line in &listed {
        if line.get("snapshot_date") != newest {
            continue;
        }
        sold.insert(place(line));
        let key = PriceKey::linux_on_demand(line.get("region"), line.get("instance_type"))
            .with_option(PriceOption::CapacityBlock);
        let price = line.amount("hourly_usd").expect("a price");
        let quote = bundled_quote(&key);
        let known = quote.map(|quote| (quote.rate.amount(), quote.seen_on.to_string()));
        tally.compare(&key.to_string(), (price, newest.to_owned()), known);
    }
    tally.complete();
    let in_book: BTreeSet<String> = book("capacity_blocks.csv").iter().map(place).collect();
    assert_eq!(in_book, sold);
}

#[test]
fn the_full_list_of_terms_of_one_type_has_the_ratios_that_are_used() {
    let list = "aws_ri_terms_sample_x2iedn.csv";
    let Some(listed) = lines(list) else { return };
    let mut compared = 0;
    for line in &listed {
        for term in CommitmentTerm::ALL {
            let cell = |payment: &str| {
                line.amount(&format!("yrTerm{}Standard.{payment}", term.years)).expect("a price")
            };
            let payment = match term.payment {
                PaymentOption::NoUpfront => continue,
                PaymentOption::PartialUpfront => "partialUpfront",
                PaymentOption::AllUpfront => "allUpfront",
            };
            let expected = cell("noUpfront") * share_of_no_upfront(term);
            let away = (cell(payment) - expected).abs();
            // The price without upfront has five decimals.
            let rounding = half_a_dollar(term) + Decimal::new(1, 5);
            assert!(away <= rounding, "{} {term}: {away}", line.get("region"));
            compared += 1;
        }
    }
    println!("{list}: {compared} ratios compared");
    assert_eq!(compared, 25 * 4);
}

/// Needs no list: the rows of the catalog among themselves.
#[test]
fn payments_of_one_offer_stand_in_the_ratios_that_are_used() {
    let mut offers: BTreeMap<(String, String, String), BTreeMap<String, Line>> = BTreeMap::new();
    for line in book("reserved.csv") {
        if line.get("operating_system") == "linux" {
            let cell = |column: &str| line.get(column).to_owned();
            let offer = (cell("instance_type"), cell("region"), cell("term_years"));
            let payment = cell("payment");
            offers.entry(offer).or_default().insert(payment, line);
        }
    }
    let mut compared = 0;
    for ((name, region, years), payments) in &offers {
        let price = |payment: &str| payments[payment].amount("effective_hourly").expect("a price");
        let no_upfront = price("no-upfront");
        let is_listed = payments["no-upfront"].get("basis") == "observed";
        for payment in ["partial-upfront", "all-upfront"] {
            let term = term_named(years, payment);
            let share = share_of_no_upfront(term);
            let away = (price(payment) - no_upfront * share).abs();
            // Six decimals; of two listed prices, one has three and the other
            // is made from whole dollars.
            let rounding = if is_listed && payment == "all-upfront" {
                Decimal::new(5, 4) * share + half_a_dollar(term)
            } else {
                Decimal::new(1, 6)
            };
            assert!(away <= rounding, "{name} {region} {term}: {away}");
            compared += 1;
        }
    }
    println!("reserved.csv: {compared} ratios compared");
    assert_eq!(compared, offers.len() * 2);
    assert!(compared > 3_000, "{compared}");
}

#[test]
fn the_derived_rates_of_a_p4d_are_the_published_ones() {
    let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
    let on_demand = bundled_quote(&key).expect("priced");
    assert_eq!(on_demand.rate.amount().to_string(), "21.957642");
    for (term, published) in CommitmentTerm::ALL
        .into_iter()
        .zip(["13.921", "13.258", "12.993", "9.374", "8.680", "8.159"])
    {
        for option in [PriceOption::Reserved(term), PriceOption::Ec2InstanceSavingsPlan(term)] {
            let quote = bundled_quote(&key.with_option(option)).expect("priced");
            let shown = quote.rate.amount().round_dp(3).to_string();
            assert_eq!(shown, published, "{option}");
        }
    }
}
