//! What is found in a gathered catalog: the price of that very key, of the
//! region where a zone has none of its own, or no price at all.

use gpucost::catalog::{Prices, bundled_quote};
use gpucost::domain::{
    CommitmentTerm, Currency, HourlyRate, OperatingSystem, PriceBasis, PriceBook, PriceKey,
    PriceOption, PriceOrigin, PriceQuote, Tenancy,
};
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

static NO_DISCOUNT: BTreeMap<String, Decimal> = BTreeMap::new();

/// The last is in the bundled catalog, the others differ from it by little.
const TYPES: [&str; 3] = ["g5.xlarg", "g5.xlargee", "g5.xlarge"];
const REGIONS: [&str; 3] = ["us-east-1", "us-east-11", "cn-north-1"];
const ZONES: [Option<&str>; 3] = [None, Some("us-east-1a"), Some("us-east-1b")];
const OPTIONS: [PriceOption; 6] = [
    PriceOption::OnDemand,
    PriceOption::Spot,
    PriceOption::Reserved(CommitmentTerm::ONE_YEAR_NO_UPFRONT),
    PriceOption::Ec2InstanceSavingsPlan(CommitmentTerm::ONE_YEAR_NO_UPFRONT),
    PriceOption::ComputeSavingsPlan(CommitmentTerm::ONE_YEAR_NO_UPFRONT),
    PriceOption::CapacityBlock,
];

/// Every key over the names above.
fn keys() -> Vec<PriceKey> {
    let mut keys = Vec::new();
    for name in TYPES {
        for region in REGIONS {
            for zone in ZONES {
                for system in OperatingSystem::ALL {
                    for tenancy in Tenancy::ALL {
                        keys.extend(OPTIONS.map(|option| PriceKey {
                            operating_system: *system,
                            tenancy: *tenancy,
                            option,
                            zone: zone.map(str::to_owned),
                            ..PriceKey::linux_on_demand(region, name)
                        }));
                    }
                }
            }
        }
    }
    keys
}

/// A quote whose amount no other draft has.
fn quote(number: usize, key: &PriceKey, origin: PriceOrigin) -> PriceQuote {
    let amount = Decimal::new(100_000 + i64::try_from(number).expect("small"), 3);
    let date = jiff::civil::date(2026, 11, 1);
    PriceQuote {
        rate: HourlyRate::new(amount, Currency::of_region(&key.region)).expect("a price"),
        instalments: None,
        origin,
        basis: PriceBasis::Observed,
        effective_date: date,
        seen_on: date,
        source: format!("draft {number}"),
    }
}

/// What a key must be answered with, by going through everything there is.
fn expected(key: &PriceKey, drafts: &BTreeMap<PriceKey, PriceQuote>) -> Option<PriceQuote> {
    let region_wide = PriceKey { zone: None, ..key.clone() };
    let mut best: Option<&PriceQuote> = None;
    for (place, quote) in drafts {
        let is_own = place == key;
        let is_better = best.is_none_or(|best| quote.origin > best.origin)
            || is_own && best.is_some_and(|best| quote.origin == best.origin);
        if (is_own || *place == region_wide) && is_better {
            best = Some(quote);
        }
    }
    best.cloned().or_else(|| bundled_quote(&region_wide))
}

#[test]
fn a_users_own_spot_price_outranks_what_a_zone_is_quoted_at() {
    let region = PriceKey::linux_on_demand("us-east-1", "g5.xlarge").with_option(PriceOption::Spot);
    let zone = region.in_zone(Some("us-east-1a"));
    let (api, own) = (quote(1, &zone, PriceOrigin::Api), quote(2, &region, PriceOrigin::User));
    let mut gathered = PriceBook::default();
    gathered.insert(zone.clone(), api.clone());
    assert_eq!(Prices::new(&gathered, &NO_DISCOUNT).get(&zone), Ok(api));
    gathered.insert(region.clone(), own.clone());
    assert_eq!(Prices::new(&gathered, &NO_DISCOUNT).find(&zone), Ok((region, own)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_key_is_answered_with_the_price_of_another(
        drawn in prop::collection::btree_map(
            0..keys().len(),
            prop::sample::select(PriceOrigin::ALL.to_vec()),
            0..200,
        )
    ) {
        let every_key = keys();
        let mut drafts = BTreeMap::new();
        for (number, (index, origin)) in drawn.into_iter().enumerate() {
            let key = every_key[index].clone();
            let quote = quote(number, &key, origin);
            drafts.insert(key, quote);
        }
        let mut gathered = PriceBook::default();
        for (key, quote) in &drafts {
            gathered.insert(key.clone(), quote.clone());
        }
        let prices = Prices::new(&gathered, &NO_DISCOUNT);
        for key in &every_key {
            prop_assert_eq!(prices.get(key).ok(), expected(key, &drafts), "{}", key);
        }
    }

    #[test]
    fn a_better_origin_wins_in_whatever_order_quotes_come(
        drawn in prop::collection::vec(
            (0..4_usize, prop::sample::select(PriceOrigin::ALL.to_vec())),
            1..30,
        )
    ) {
        let every_key = keys();
        let mut gathered = PriceBook::default();
        let mut best: BTreeMap<usize, PriceQuote> = BTreeMap::new();
        for (number, (index, origin)) in drawn.into_iter().enumerate() {
            let quote = quote(number, &every_key[index], origin);
            gathered.insert(every_key[index].clone(), quote.clone());
            let known = best.entry(index).or_insert_with(|| quote.clone());
            if known.origin <= quote.origin {
                *known = quote;
            }
        }
        for (index, quote) in best {
            prop_assert_eq!(gathered.get(&every_key[index]), Ok(&quote));
        }
    }
}
