//! Bundled prices of what is bought ahead: standard reserved instances, EC2
//! Instance Savings Plans, Capacity Blocks.

use super::families::{SavingsPlanRate, family};
use super::table::SortedTable;
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Instalments, OperatingSystem, PriceBasis, PriceKey,
    PriceOrigin, PriceQuote, Tenancy,
};
use jiff::civil::Date;
use std::sync::LazyLock;

const RESERVED_CSV: &str = include_str!("../../../../pricing-data/reserved.csv");
const CAPACITY_BLOCKS_CSV: &str = include_str!("../../../../pricing-data/capacity_blocks.csv");

/// The lists behind the two files.
const RESERVED_LIST: &str = "ec2-list-2026-05";
const RESERVED_LIST_DATE: &str = "2026-05-12";
/// What newer offers than those of the list come from.
const PRICE_LIST: &str = "aws-price-list";
const CAPACITY_BLOCK_LIST: &str = "capacity-blocks-price-page";

/// Sorted by type, region, system, tenancy, years and payment.
static RESERVED: LazyLock<SortedTable> = LazyLock::new(|| SortedTable::new(RESERVED_CSV));
/// Sorted by type and region.
static CAPACITY_BLOCKS: LazyLock<SortedTable> =
    LazyLock::new(|| SortedTable::new(CAPACITY_BLOCKS_CSV));

/// The list that a reserved instance of a day was read from.
fn reserved_list(date: &str) -> &'static str {
    if date > RESERVED_LIST_DATE { PRICE_LIST } else { RESERVED_LIST }
}

/// A price as a list of a day states it, without an upfront part.
pub fn observed_quote(rate: HourlyRate, date: Date, source: &str) -> PriceQuote {
    PriceQuote {
        rate,
        instalments: None,
        origin: PriceOrigin::Bundled,
        basis: PriceBasis::Observed,
        effective_date: date,
        seen_on: date,
        source: source.to_owned(),
    }
}

/// The bundled price of a standard reserved instance.
pub(super) fn reserved(key: &PriceKey, term: CommitmentTerm) -> Option<PriceQuote> {
    let years = term.years.to_string();
    let cells = RESERVED.row(&[
        &key.instance_type,
        &key.region,
        key.operating_system.name(),
        key.tenancy.name(),
        &years,
        term.payment.name(),
    ])?;
    let [currency, upfront, hourly, effective, basis, date] = cells.get(6..)?.try_into().ok()?;
    let rate = HourlyRate::new(effective.parse().ok()?, Currency::from_name(currency)?)?;
    let instalments = Instalments { upfront: upfront.parse().ok()?, hourly: hourly.parse().ok()? };
    Some(PriceQuote {
        instalments: Some(instalments),
        basis: PriceBasis::from_name(basis)?,
        ..observed_quote(rate, date.parse().ok()?, reserved_list(date))
    })
}

/// The bundled rate of an EC2 Instance Savings Plan: that of the standard
/// reserved instance of the same term and payment, where the family sells one.
/// A plan has no upfront part of its own that a rate could be split into.
pub(super) fn ec2_instance_savings_plan(
    key: &PriceKey,
    term: CommitmentTerm,
) -> Option<PriceQuote> {
    let linux = key.operating_system == OperatingSystem::Linux && key.tenancy == Tenancy::Shared;
    let follows = family(key.family())?.ec2_instance_savings_plan == SavingsPlanRate::Derived;
    let like = reserved(key, term).filter(|_| linux && follows)?;
    Some(PriceQuote {
        instalments: None,
        basis: PriceBasis::Derived,
        source: format!("{}: equals the standard reserved instance", like.source),
        ..like
    })
}

/// The bundled price of an hour in a Capacity Block.
pub(super) fn capacity_block(key: &PriceKey) -> Option<PriceQuote> {
    if key.operating_system != OperatingSystem::Linux || key.tenancy != Tenancy::Shared {
        return None;
    }
    let cells = CAPACITY_BLOCKS.row(&[&key.instance_type, &key.region])?;
    let [currency, _accelerators, hourly, date] = cells.get(2..)?.try_into().ok()?;
    let rate = HourlyRate::new(hourly.parse().ok()?, Currency::from_name(currency)?)?;
    Some(observed_quote(rate, date.parse().ok()?, CAPACITY_BLOCK_LIST))
}

/// The list and the date of every price.
pub(super) fn lists() -> impl Iterator<Item = (&'static str, &'static str)> {
    let dates = |table: &'static SortedTable| {
        table.rows(&[]).iter().filter_map(|row| row.rsplit(',').next())
    };
    dates(&RESERVED)
        .map(|date| (reserved_list(date), date))
        .chain(dates(&CAPACITY_BLOCKS).map(|date| (CAPACITY_BLOCK_LIST, date)))
}

/// Regions in which the catalog has a Capacity Block price of a type, or of any.
pub(super) fn capacity_block_regions(
    instance_type: Option<&str>,
) -> impl Iterator<Item = &'static str> + use<> {
    CAPACITY_BLOCKS.rows(instance_type.as_slice()).iter().filter_map(|row| row.split(',').nth(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::bundled_quote;
    use crate::domain::PriceOption;
    use rust_decimal::Decimal;

    fn quote(instance_type: &str, option: PriceOption) -> Option<PriceQuote> {
        bundled_quote(&PriceKey::linux_on_demand("us-east-1", instance_type).with_option(option))
    }

    #[test]
    fn files_are_sorted_and_every_row_is_complete() {
        for (table, cells) in [(&RESERVED, 12), (&CAPACITY_BLOCKS, 6)] {
            let keys: Vec<Vec<&str>> =
                table.rows(&[]).iter().map(|row| row.split(',').collect()).collect();
            assert!(keys.is_sorted());
            assert!(keys.iter().all(|row| row.len() == cells));
        }
        assert!(!RESERVED_CSV.contains('"') && !CAPACITY_BLOCKS_CSV.contains('"'));
    }

    #[test]
    fn reserved_prices_of_a_p4d_are_the_published_ones() {
        let rates: Vec<String> = CommitmentTerm::ALL
            .into_iter()
            .map(|term| {
                let quote = quote("p4d.24xlarge", PriceOption::Reserved(term)).expect("sold");
                quote.rate.amount().round_dp(3).to_string()
            })
            .collect();
        let published = ["13.921", "13.258", "12.993", "9.374", "8.680", "8.159"];
        assert_eq!(rates, published);
    }

    #[test]
    fn instalments_make_up_the_effective_price() {
        let mut checked = 0;
        for row in RESERVED.rows(&[]) {
            let cells: Vec<&str> = row.split(',').collect();
            let number = |index: usize| cells[index].parse::<Decimal>().expect("a number");
            let hours = Decimal::from(8_760) * number(4);
            let effective = number(7) / hours + number(8);
            // A cent over a term, and the rounding of six decimals.
            assert!((effective - number(9)).abs() <= Decimal::new(2, 6), "{row}");
            checked += 1;
        }
        assert!(checked > 5_000);
    }

    #[test]
    fn a_savings_plan_follows_the_reserved_instance_where_one_is_sold() {
        let term = CommitmentTerm::ONE_YEAR_NO_UPFRONT;
        let plan = quote("p4d.24xlarge", PriceOption::Ec2InstanceSavingsPlan(term)).expect("known");
        assert_eq!(plan.rate.amount().to_string(), "13.921094");
        assert_eq!(plan.basis, PriceBasis::Derived);
        assert_eq!(quote("p3.8xlarge", PriceOption::Ec2InstanceSavingsPlan(term)), None);
        assert_eq!(quote("p4d.24xlarge", PriceOption::ComputeSavingsPlan(term)), None);
    }

    #[test]
    fn a_capacity_block_has_a_price_of_its_own() {
        let block = quote("p5.48xlarge", PriceOption::CapacityBlock).expect("sold");
        assert_eq!(block.rate.amount().to_string(), "41.528");
        assert_eq!(block.seen_on, jiff::civil::date(2026, 7, 22));
        assert_eq!(quote("g5.xlarge", PriceOption::CapacityBlock), None);
    }
}
