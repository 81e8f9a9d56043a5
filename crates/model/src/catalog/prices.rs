//! Bundled prices, and the lookup that prefers what was gathered.

use super::commitments::{self, observed_quote};
use super::table::{SortedTable, rows};
use crate::domain::{
    Currency, HourlyRate, InterruptionBand, Money, NoPrice, OperatingSystem, PriceBasis, PriceBook,
    PriceKey, PriceOption, PriceOrigin, PriceQuote, Provider, SpotHistory, StorageQuote,
    StorageResource, Tenancy,
};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const PRICES_CSV: &str = include_str!("../../../../pricing-data/prices.csv");
const STORAGE_CSV: &str = include_str!("../../../../pricing-data/storage.csv");

/// The list that spot averages were read from, with its day, and what newer ones come from.
const SPOT_LIST: &str = "ec2-list-2026-05";
const SPOT_LIST_DATE: &str = "2026-05-12";
const SPOT_PAGE: &str = "aws-spot-page";

/// The column of the region in the key of `prices.csv`: type, region, system and tenancy.
const REGION: usize = 1;
/// Columns after the key.
const CURRENCY: usize = 4;
const ON_DEMAND: usize = 5;
const ON_DEMAND_DATE: usize = 6;
const ON_DEMAND_ORIGIN: usize = 7;
const SPOT_AVERAGE: usize = 8;
const SPOT_AVERAGE_DATE: usize = 9;
const INTERRUPTION_BAND: usize = 10;
const INTERRUPTION_BAND_DATE: usize = 11;

static PRICES: LazyLock<SortedTable> = LazyLock::new(|| SortedTable::new(PRICES_CSV));

/// The list that spot averages of a day were read from.
fn spot_list(date: &str) -> &'static str {
    if date > SPOT_LIST_DATE { SPOT_PAGE } else { SPOT_LIST }
}

fn cells(
    region: &str,
    instance_type: &str,
    operating_system: OperatingSystem,
    tenancy: Tenancy,
) -> Option<Vec<&'static str>> {
    PRICES.row(&[instance_type, region, operating_system.name(), tenancy.name()])
}

/// The bundled price of a key; the catalog has none for one zone alone, and those of
/// other providers are for comparison only.
pub fn bundled_quote(key: &PriceKey) -> Option<PriceQuote> {
    if key.zone.is_some() || key.provider != Provider::Aws {
        return None;
    }
    let (amount, date) = match key.option {
        PriceOption::OnDemand => (ON_DEMAND, ON_DEMAND_DATE),
        PriceOption::Spot => (SPOT_AVERAGE, SPOT_AVERAGE_DATE),
        PriceOption::Reserved(term) => return commitments::reserved(key, term),
        PriceOption::Ec2InstanceSavingsPlan(term) => {
            return commitments::ec2_instance_savings_plan(key, term);
        }
        PriceOption::ComputeSavingsPlan(_) => return None,
        PriceOption::CapacityBlock => return commitments::capacity_block(key),
    };
    let cells = cells(&key.region, &key.instance_type, key.operating_system, key.tenancy)?;
    let currency = Currency::from_name(cells.get(CURRENCY)?)?;
    let source = match key.option {
        PriceOption::Spot => spot_list(cells.get(date)?),
        _ => *cells.get(ON_DEMAND_ORIGIN)?,
    };
    let date: Date = cells.get(date)?.parse().ok()?;
    let rate = HourlyRate::new(cells.get(amount)?.parse().ok()?, currency)?;
    Some(observed_quote(rate, date, source))
}

/// How often spot instances of a type were interrupted, and when that was seen.
pub fn bundled_interruption_band(key: &PriceKey) -> Option<(InterruptionBand, Date)> {
    if key.provider != Provider::Aws {
        return None;
    }
    let cells = cells(&key.region, &key.instance_type, key.operating_system, key.tenancy)?;
    let band = InterruptionBand::from_name(cells.get(INTERRUPTION_BAND)?)?;
    let date = cells.get(INTERRUPTION_BAND_DATE)?.parse().ok()?;
    Some((band, date))
}

/// Every region in which the catalog knows a type, or any, under any offer, in order, and
/// beside them the local zones that have prices of their own.
pub fn bundled_regions(instance_type: Option<&str>) -> Vec<&'static str> {
    let listed =
        PRICES.rows(instance_type.as_slice()).iter().filter_map(|row| row.split(',').nth(1));
    let regions: BTreeSet<&str> =
        listed.chain(commitments::capacity_block_regions(instance_type)).collect();
    regions.into_iter().collect()
}

/// The lists behind the bundled prices, with their dates and how many prices are
/// from each: on-demand, spot, reserved and Capacity Block.
pub fn bundled_origins(is_wanted: impl Fn(&str) -> bool) -> BTreeMap<(String, Date), u64> {
    let mut lists = BTreeMap::new();
    let mut note = |source: &str, date: &str| {
        if let Ok(date) = date.parse() {
            *lists.entry((source.to_owned(), date)).or_insert(0) += 1;
        }
    };
    for row in PRICES.rows(&[]) {
        let cells: Vec<&str> = row.split(',').collect();
        if !is_wanted(cells[REGION]) {
            continue;
        }
        note(cells[ON_DEMAND_ORIGIN], cells[ON_DEMAND_DATE]);
        let spot_date = cells[SPOT_AVERAGE_DATE];
        note(spot_list(spot_date), spot_date);
    }
    for (source, date) in commitments::lists() {
        note(source, date);
    }
    lists
}

/// The bundled price of a storage resource; the long-standing list prices of us-east-1
/// are undated, and marked so.
pub fn bundled_storage_quote(region: &str, resource: StorageResource) -> Option<StorageQuote> {
    let row = rows(STORAGE_CSV).find(|row| {
        row.get("resource") == Some(resource.name()) && row.get("region") == Some(region)
    })?;
    Some(StorageQuote {
        unit_price: Money::new(row.parsed("price")?, Currency::from_name(row.get("currency")?)?),
        origin: PriceOrigin::Bundled,
        effective_date: row.parsed("date"),
        source: row.get("basis")?.to_owned(),
    })
}

/// The quotes of a user's cache that are not older than the bundled ones of the
/// same key.
pub fn fresher_than_bundled(mut cache: PriceBook) -> PriceBook {
    cache.retain(|key, quote| {
        bundled_quote(key).is_none_or(|bundled| bundled.seen_on <= quote.seen_on)
    });
    cache
}

/// Prices of one audit: what was gathered first, the bundled catalog behind it,
/// less what the user's own terms take off.
#[derive(Debug, Clone, Copy)]
pub struct Prices<'a> {
    gathered: &'a PriceBook,
    discount_percent: &'a BTreeMap<String, Decimal>,
}

impl<'a> Prices<'a> {
    /// Looks up in what was gathered, then in the bundled catalog.
    /// `discount_percent` is the discount on on-demand list prices by family.
    pub fn new(gathered: &'a PriceBook, discount_percent: &'a BTreeMap<String, Decimal>) -> Self {
        Self { gathered, discount_percent }
    }

    /// The price of a key; of a zone without its own spot price, the region's,
    /// and of any zone where the region's is of a better origin.
    ///
    /// # Errors
    /// [`NoPrice`] when neither source states it.
    pub fn get(&self, key: &PriceKey) -> Result<PriceQuote, NoPrice> {
        self.find(key).map(|(_, quote)| quote)
    }

    /// The price of a key, with what it is a price of: the zone, or the whole
    /// region.
    ///
    /// # Errors
    /// [`NoPrice`] when neither source states it.
    pub fn find(&self, key: &PriceKey) -> Result<(PriceKey, PriceQuote), NoPrice> {
        let region_wide = key.in_zone(None);
        let of_zone = self.gathered.get(key).ok();
        let of_region = self.gathered.get(&region_wide).ok();
        if let Some(quote) = of_zone
            && of_region.is_none_or(|of_region| of_region.origin <= quote.origin)
        {
            return Ok((key.clone(), self.discounted(key, quote.clone())));
        }
        let quote = of_region.cloned().or_else(|| bundled_quote(&region_wide));
        let quote = self.discounted(key, quote.ok_or_else(|| NoPrice(key.clone()))?);
        Ok((region_wide, quote))
    }

    /// What was gathered of a key in single zones, by zone; nothing where the
    /// region's price is of a better origin.
    pub fn by_zone(&self, key: &PriceKey) -> Vec<(PriceKey, PriceQuote)> {
        let of_region = self.gathered.get(&key.in_zone(None)).ok();
        self.gathered
            .by_zone(key)
            .filter(|(_, quote)| of_region.is_none_or(|region| region.origin <= quote.origin))
            .map(|(key, quote)| (key.clone(), quote.clone()))
            .collect()
    }

    /// What the spot price of a zone did over the window, where that was gathered.
    pub fn spot_history(&self, key: &PriceKey) -> Option<&'a SpotHistory> {
        self.gathered.spot_history(key)
    }

    /// A price that the user states is net already.
    fn discounted(&self, key: &PriceKey, list: PriceQuote) -> PriceQuote {
        let percent = self.discount_percent.get(key.family());
        let percent = percent.filter(|_| key.provider == Provider::Aws);
        let (PriceOption::OnDemand, Some(percent)) = (key.option, percent) else { return list };
        let net = list.rate.amount() * (Decimal::ONE_HUNDRED - percent) / Decimal::ONE_HUNDRED;
        match HourlyRate::new(net.round_dp(6).normalize(), list.rate.currency()) {
            Some(rate) if list.origin != PriceOrigin::User => PriceQuote {
                rate,
                origin: PriceOrigin::User,
                basis: PriceBasis::Derived,
                source: format!("{} less {percent}%", list.source),
                ..list
            },
            _ => list,
        }
    }

    /// Every region that the catalog knows or of which a price was gathered.
    pub fn regions(&self) -> BTreeSet<&'a str> {
        let mut regions: BTreeSet<&'a str> = bundled_regions(None).into_iter().collect();
        regions.extend(self.gathered_of_aws().map(|key| key.region.as_str()));
        regions
    }

    /// Regions for which a price of a type was gathered.
    pub fn gathered_regions_of(&self, instance_type: &str) -> BTreeSet<&'a str> {
        let keys = self.gathered_of_aws().filter(|key| key.instance_type == instance_type);
        keys.map(|key| key.region.as_str()).collect()
    }

    fn gathered_of_aws(&self) -> impl Iterator<Item = &'a PriceKey> {
        self.gathered.iter().map(|(key, _)| key).filter(|key| key.provider == Provider::Aws)
    }

    /// The price of a storage resource in a region.
    pub fn get_storage(&self, region: &str, resource: StorageResource) -> Option<StorageQuote> {
        let gathered = self.gathered.get_storage(region, resource).cloned();
        gathered.or_else(|| bundled_storage_quote(region, resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CommitmentTerm;

    fn amount(region: &str, instance_type: &str, option: PriceOption) -> Option<String> {
        let key = PriceKey::linux_on_demand(region, instance_type).with_option(option);
        bundled_quote(&key).map(|quote| quote.rate.amount().to_string())
    }

    #[test]
    fn the_catalog_is_sorted_unquoted_and_every_row_is_complete() {
        assert!(!PRICES_CSV.contains('"'));
        let rows: Vec<Vec<&str>> =
            PRICES.rows(&[]).iter().map(|row| row.split(',').collect()).collect();
        assert!(rows.is_sorted_by(|left, right| left[..4] < right[..4]));
        assert!(rows.iter().all(|row| row.len() == 12));
        for row in rows {
            assert!(OperatingSystem::from_name(row[2]).is_some(), "{row:?}");
            assert!(Tenancy::from_name(row[3]).is_some(), "{row:?}");
            assert!(Currency::from_name(row[4]).is_some(), "{row:?}");
            let band = row[INTERRUPTION_BAND];
            assert!(band.is_empty() || InterruptionBand::from_name(band).is_some());
        }
    }

    #[test]
    fn published_prices_are_found() {
        let us = |name, option| amount("us-east-1", name, option);
        assert_eq!(us("p4d.24xlarge", PriceOption::OnDemand).as_deref(), Some("21.957642"));
        assert_eq!(us("p3.8xlarge", PriceOption::OnDemand).as_deref(), Some("12.24"));
        let one_year = PriceOption::Reserved(CommitmentTerm::ONE_YEAR_NO_UPFRONT);
        assert_eq!(us("p3.8xlarge", one_year), None, "p3 sells no commitment");
        let (gathered, no_discount) = (PriceBook::default(), BTreeMap::new());
        let prices = Prices::new(&gathered, &no_discount);
        let sold = |region, name| {
            let key = PriceKey::linux_on_demand(region, name);
            let options = CommitmentTerm::ALL.into_iter().flat_map(|term| {
                [
                    PriceOption::Reserved(term),
                    PriceOption::Ec2InstanceSavingsPlan(term),
                    PriceOption::ComputeSavingsPlan(term),
                ]
            });
            let mut keys = options.map(|option| key.with_option(option));
            keys.any(|key| prices.get(&key).is_ok())
        };
        assert!(sold("us-east-1", "g5.xlarge") && sold("us-east-1", "p5.48xlarge"));
        assert!(!sold("us-east-1", "p3.8xlarge") && !sold("us-east-1", "p5en.48xlarge"));
        assert!(!sold("cn-north-1", "g5.xlarge"));
    }

    #[test]
    fn systems_and_tenancies_have_their_own_prices() {
        let linux = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
        let priced = |operating_system, tenancy| {
            let key = PriceKey { operating_system, tenancy, ..linux.clone() };
            bundled_quote(&key).map(|quote| quote.rate.amount().to_string())
        };
        use OperatingSystem::{Linux, Rhel, Sles, UbuntuPro, Windows};
        let shared = |system| priced(system, Tenancy::Shared);
        assert_eq!(shared(Rhel).as_deref(), Some("22.994442"));
        assert_eq!(shared(Sles).as_deref(), Some("22.082642"));
        assert_eq!(shared(UbuntuPro).as_deref(), Some("22.125642"));
        assert_eq!(shared(Windows), None, "a p4d is not offered with Windows");
        assert_eq!(priced(Linux, Tenancy::Dedicated), None, "no source has it");
        assert_eq!(priced(Linux, Tenancy::Host), None);
    }

    #[test]
    fn unknown_means_unpriced() {
        assert_eq!(amount("us-east-1", "z9.large", PriceOption::OnDemand), None);
        assert_eq!(amount("mars-1", "p4d.24xlarge", PriceOption::OnDemand), None);
        let mut licensed = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        licensed.operating_system = OperatingSystem::OtherLicensed;
        assert_eq!(bundled_quote(&licensed), None);
        let zonal = PriceKey::linux_on_demand("us-east-1", "g5.xlarge").in_zone(Some("us-east-1a"));
        assert_eq!(bundled_quote(&zonal), None);
    }

    #[test]
    fn china_is_in_yuan() {
        let key = PriceKey::linux_on_demand("cn-north-1", "p3.8xlarge");
        let quote = bundled_quote(&key).expect("known");
        assert_eq!(quote.rate.currency(), Currency::Cny);
        assert_eq!(quote.rate.amount(), Decimal::new(144_314, 3));
        assert_eq!(quote.effective_date, jiff::civil::date(2024, 11, 6));
    }

    #[test]
    fn storage_has_prices_where_a_source_states_them() {
        use StorageResource::{Gp2, Gp3, Io1, Io2, PublicIpv4, Sc1, St1};
        let known = |region, resource| {
            let quote = bundled_storage_quote(region, resource)?;
            let price = quote.unit_price.amount().to_string();
            Some((price, quote.effective_date, quote.source))
        };
        let of = |price: &str, date: Option<Date>, source: &str| {
            Some((price.to_owned(), date, source.to_owned()))
        };
        let page = Some(jiff::civil::date(2021, 7, 14));
        let listed = |month, day| Some(jiff::civil::date(2026, month, day));
        for (region, resource, expected) in [
            ("us-east-1", Gp3, of("0.08", None, "long-standing-list-price")),
            ("eu-west-1", Gp3, of("0.088", page, "ebs-price-page")),
            ("eu-west-1", Gp2, of("0.11", page, "ebs-price-page")),
            ("sa-east-1", St1, of("0.086", page, "ebs-price-page")),
            ("eu-north-1", Sc1, of("0.01596", page, "ebs-price-page")),
            ("us-west-2", Io2, of("0.125", page, "ebs-price-page")),
            ("us-west-2", Gp3, of("0.08", listed(10, 4), "aws-price-list")),
            ("ap-northeast-1", Io2, of("0.142", listed(9, 10), "aws-price-list")),
            (
                "il-central-1",
                PublicIpv4,
                of("0.005", Some(jiff::civil::date(2024, 2, 1)), "public-ipv4-charge"),
            ),
            // No source states them.
            ("eu-west-1", Io2, None),
            ("us-east-1", Io1, None),
            ("il-central-1", Gp3, None),
            ("us-gov-west-1", PublicIpv4, None),
            ("cn-north-1", Gp3, None),
        ] {
            assert_eq!(known(region, resource), expected, "{region} {resource:?}");
        }
    }

    #[test]
    fn regions_of_a_type_are_those_of_any_offer() {
        let regions = bundled_regions(Some("p5e.48xlarge"));
        assert!(regions.contains(&"us-east-2"), "sold by Capacity Block only");
        assert!(regions.is_sorted());
        assert!(bundled_regions(Some("z9.large")).is_empty());
    }

    #[test]
    fn interruptions_are_dated() {
        let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
        let (_, date) = bundled_interruption_band(&key).expect("known");
        assert_eq!(date, jiff::civil::date(2025, 6, 28));
        let unknown = PriceKey::linux_on_demand("us-east-1", "g6f.large");
        assert_eq!(bundled_interruption_band(&unknown), None);
    }

    #[test]
    fn a_discount_comes_off_list_prices_only() {
        let terms = BTreeMap::from([("p4d".to_owned(), Decimal::from(20))]);
        let mut gathered = PriceBook::default();
        let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
        let net = Prices::new(&gathered, &terms).get(&key).expect("priced");
        // 21.957642 × 0.8 = 17.5661136.
        assert_eq!(net.rate.amount().to_string(), "17.566114");
        assert_eq!(net.origin, PriceOrigin::User);
        assert_eq!(net.source, "karpenter-2026-07-20 less 20%");
        let spot = key.with_option(PriceOption::Spot);
        let spot = Prices::new(&gathered, &terms).get(&spot).expect("priced");
        assert_eq!(spot.rate.amount().to_string(), "14.091725");
        let own = PriceQuote {
            rate: HourlyRate::new(Decimal::from(15), Currency::Usd).expect("positive"),
            ..net
        };
        gathered.insert(key.clone(), own.clone());
        assert_eq!(Prices::new(&gathered, &terms).get(&key), Ok(own));
    }

    #[test]
    fn an_old_cache_yields_to_the_bundled_catalog() {
        let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
        let bundled = bundled_quote(&key).expect("priced");
        let cached_on = |seen_on| {
            let mut cache = PriceBook::default();
            let quote = PriceQuote { seen_on, origin: PriceOrigin::Cache, ..bundled.clone() };
            cache.insert(key.clone(), quote);
            fresher_than_bundled(cache)
        };
        assert!(cached_on(jiff::civil::date(2026, 7, 19)).get(&key).is_err());
        assert!(cached_on(jiff::civil::date(2026, 7, 20)).get(&key).is_ok());
    }
}
