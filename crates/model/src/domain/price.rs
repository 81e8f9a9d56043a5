//! Prices, each with where it came from and since when it holds.

use super::gpu::family_of;
use super::named::named_enum;
use super::{
    HourlyRate, Instance, Money, OperatingSystem, Provider, PurchaseOption, SpotHistory, Tenancy,
};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::fmt;

named_enum! {
    /// How a reserved instance is paid for.
    PaymentOption {
        NoUpfront = "no-upfront",
        /// Half up front.
        PartialUpfront = "partial-upfront",
        AllUpfront = "all-upfront",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitmentTerm {
    /// Years, 1 or 3.
    pub years: u8,
    pub payment: PaymentOption,
}

impl CommitmentTerm {
    /// Every term that is sold, shortest first.
    pub const ALL: [Self; 6] = [
        Self::new(1, PaymentOption::NoUpfront),
        Self::new(1, PaymentOption::PartialUpfront),
        Self::new(1, PaymentOption::AllUpfront),
        Self::new(3, PaymentOption::NoUpfront),
        Self::new(3, PaymentOption::PartialUpfront),
        Self::new(3, PaymentOption::AllUpfront),
    ];

    const fn new(years: u8, payment: PaymentOption) -> Self {
        Self { years, payment }
    }

    pub const ONE_YEAR_NO_UPFRONT: Self = Self::ALL[0];
    pub const THREE_YEARS_NO_UPFRONT: Self = Self::ALL[3];

    /// Hours of the term: 8 760 a year.
    pub fn hours(self) -> u32 {
        8_760 * u32::from(self.years)
    }

    /// Reads what `Display` writes.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|term| term.to_string() == name)
    }
}

impl fmt::Display for CommitmentTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}yr-{}", self.years, self.payment)
    }
}

/// The offer that a price belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PriceOption {
    /// List price by the hour.
    OnDemand,
    /// Spot: a mean over time and zones.
    Spot,
    /// Standard reserved instance: effective rate per hour of the term.
    Reserved(CommitmentTerm),
    /// Savings plan for one family in one region: rate per hour.
    Ec2InstanceSavingsPlan(CommitmentTerm),
    /// Savings plan for any compute: rate per hour.
    ComputeSavingsPlan(CommitmentTerm),
    /// Capacity Block, paid for ahead: rate per hour of the block.
    CapacityBlock,
}

const RESERVED: &str = "reserved-";
const EC2_INSTANCE_SAVINGS_PLAN: &str = "ec2-instance-savings-plan-";
const COMPUTE_SAVINGS_PLAN: &str = "compute-savings-plan-";

impl fmt::Display for PriceOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnDemand => f.write_str("on-demand"),
            Self::Spot => f.write_str("spot"),
            Self::Reserved(term) => write!(f, "{RESERVED}{term}"),
            Self::Ec2InstanceSavingsPlan(term) => write!(f, "{EC2_INSTANCE_SAVINGS_PLAN}{term}"),
            Self::ComputeSavingsPlan(term) => write!(f, "{COMPUTE_SAVINGS_PLAN}{term}"),
            Self::CapacityBlock => f.write_str("capacity-block"),
        }
    }
}

impl PriceOption {
    /// Every offer.
    pub fn all() -> impl Iterator<Item = Self> {
        let promises = [Self::Reserved, Self::Ec2InstanceSavingsPlan, Self::ComputeSavingsPlan];
        let promised = promises.into_iter().flat_map(|promise| CommitmentTerm::ALL.map(promise));
        [Self::OnDemand, Self::Spot, Self::CapacityBlock].into_iter().chain(promised)
    }

    /// Reads what `Display` writes.
    pub fn from_name(name: &str) -> Option<Self> {
        let commitment = |prefix: &str| CommitmentTerm::from_name(name.strip_prefix(prefix)?);
        match name {
            "on-demand" => Some(Self::OnDemand),
            "spot" => Some(Self::Spot),
            "capacity-block" => Some(Self::CapacityBlock),
            _ => commitment(RESERVED)
                .map(Self::Reserved)
                .or_else(|| commitment(EC2_INSTANCE_SAVINGS_PLAN).map(Self::Ec2InstanceSavingsPlan))
                .or_else(|| commitment(COMPUTE_SAVINGS_PLAN).map(Self::ComputeSavingsPlan)),
        }
    }
}

/// What a price is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PriceKey {
    pub provider: Provider,
    pub region: String,
    pub instance_type: String,
    pub operating_system: OperatingSystem,
    pub tenancy: Tenancy,
    /// The offer.
    pub option: PriceOption,
    /// The availability zone, for spot prices of one zone only.
    pub zone: Option<String>,
}

impl PriceKey {
    /// The Linux, shared, on-demand key of a type in a region of AWS.
    pub fn linux_on_demand(region: &str, instance_type: &str) -> Self {
        Self {
            provider: Provider::Aws,
            region: region.to_owned(),
            instance_type: instance_type.to_owned(),
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            option: PriceOption::OnDemand,
            zone: None,
        }
    }

    /// The family of the type, such as `p4d`.
    pub fn family(&self) -> &str {
        family_of(&self.instance_type)
    }

    /// The same type, region, system and tenancy under another offer.
    pub fn with_option(&self, option: PriceOption) -> Self {
        Self { option, zone: None, ..self.clone() }
    }

    pub fn in_zone(&self, zone: Option<&str>) -> Self {
        Self { zone: zone.map(str::to_owned), ..self.clone() }
    }

    /// Another type in the same region under the same system and tenancy.
    pub fn with_type(&self, instance_type: &str) -> Self {
        Self { instance_type: instance_type.to_owned(), ..self.clone() }
    }
}

impl fmt::Display for PriceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.provider != Provider::Aws {
            write!(f, "{} ", self.provider)?;
        }
        write!(
            f,
            "{} {} {} {} {}",
            self.instance_type,
            self.zone.as_ref().unwrap_or(&self.region),
            self.operating_system,
            self.tenancy,
            self.option
        )
    }
}

impl Instance {
    /// The key of the price that it is billed by; `None` for what is paid ahead
    /// (Capacity Blocks, scheduled instances) and has no hourly price.
    pub fn price_key(&self) -> Option<PriceKey> {
        let (option, zone) = match self.purchase_option() {
            PurchaseOption::OnDemand => (PriceOption::OnDemand, None),
            PurchaseOption::Spot => (PriceOption::Spot, self.zone.clone()),
            _ => return None,
        };
        Some(self.key_of(option, zone))
    }

    /// The key of an hour in its Capacity Block; `None` for what runs in none.
    pub fn block_key(&self) -> Option<PriceKey> {
        (self.purchase_option() == PurchaseOption::CapacityBlock)
            .then(|| self.key_of(PriceOption::CapacityBlock, None))
    }

    fn key_of(&self, option: PriceOption, zone: Option<String>) -> PriceKey {
        PriceKey {
            provider: self.id.provider(),
            region: self.region.clone(),
            instance_type: self.instance_type.clone(),
            operating_system: self.operating_system,
            tenancy: self.tenancy,
            option,
            zone,
        }
    }
}

named_enum! {
    /// Where a price came from; later ones are preferred.
    PriceOrigin {
        /// The catalog inside the binary.
        Bundled = "bundled",
        /// The user's cache of an earlier refresh.
        Cache = "cache",
        /// The provider's API in this run.
        Api = "api",
        /// The user's own negotiated price.
        User = "user",
    }
}

named_enum! {
    /// Whether a price was read as it stands, or follows from one that was.
    PriceBasis {
        /// A source states it.
        Observed = "observed",
        /// It follows from a stated one by a rule that the catalog documents.
        Derived = "derived",
    }
}

/// How a commitment is paid, in the currency of its rate:
/// `effective_hourly = upfront / hours of the term + hourly`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instalments {
    pub upfront: Decimal,
    /// Every hour of the term, used or not.
    pub hourly: Decimal,
}

impl Instalments {
    /// The effective price of an hour of a term, to six decimals.
    pub fn effective_hourly(self, term: CommitmentTerm) -> Decimal {
        (self.upfront / Decimal::from(term.hours()) + self.hourly).round_dp(6)
    }
}

/// A price with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceQuote {
    /// Money per hour; of a commitment, effective over its term.
    pub rate: HourlyRate,
    /// How a commitment is paid; absent for other offers.
    pub instalments: Option<Instalments>,
    pub origin: PriceOrigin,
    /// Read, or derived from what was read.
    pub basis: PriceBasis,
    /// Since when it holds, or when it was seen.
    pub effective_date: Date,
    /// When the source last stated it: what makes a price old.
    pub seen_on: Date,
    /// The list or interface it was read from.
    pub source: String,
}

impl PriceQuote {
    /// What one hour costs.
    pub fn an_hour(&self) -> Money {
        self.rate.an_hour()
    }
}

named_enum! {
    /// How often AWS took spot instances of a type back, as a share of all of
    /// them over a month.
    InterruptionBand {
        /// Fewer than one in twenty.
        UnderFive = "<5%",
        /// Up to one in ten.
        FiveToTen = "5-10%",
        /// Up to three in twenty.
        TenToFifteen = "10-15%",
        /// Up to one in five.
        FifteenToTwenty = "15-20%",
        /// Without an upper edge.
        OverTwenty = ">20%",
    }
}

/// There is no price for a key: the answer is "unpriced", never a guess.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no price for {0}")]
pub struct NoPrice(pub PriceKey);

named_enum! {
    /// Something beside compute that costs while an instance is stopped.
    StorageResource {
        /// General purpose SSD, second generation, per GiB-month.
        Gp2 = "gp2",
        /// General purpose SSD, third generation, per GiB-month.
        Gp3 = "gp3",
        /// Provisioned IOPS SSD, first generation, per GiB-month.
        Io1 = "io1",
        /// Provisioned IOPS SSD, per GiB-month.
        Io2 = "io2",
        /// Throughput-optimized disk, per GiB-month.
        St1 = "st1",
        /// Cold disk, per GiB-month.
        Sc1 = "sc1",
        /// Magnetic disk, per GiB-month.
        Standard = "standard",
        /// A public IPv4 address, per hour.
        PublicIpv4 = "public-ipv4",
    }
}

/// A price of a storage resource: per GiB-month for volumes, per hour for an
/// address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageQuote {
    pub unit_price: Money,
    pub origin: PriceOrigin,
    /// Since when it holds; absent for long-standing list prices.
    pub effective_date: Option<Date>,
    /// The list or interface it was read from.
    pub source: String,
}

/// Prices of one audit, found by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceBook {
    quotes: BTreeMap<PriceKey, PriceQuote>,
    storage: BTreeMap<(String, StorageResource), StorageQuote>,
    spot_history: BTreeMap<PriceKey, SpotHistory>,
}

impl PriceBook {
    /// Adds a quote unless one of a better origin is there already.
    pub fn insert(&mut self, key: PriceKey, quote: PriceQuote) {
        if self.quotes.get(&key).is_none_or(|present| present.origin <= quote.origin) {
            self.quotes.insert(key, quote);
        }
    }

    /// Adds a storage price of a region unless a better one is there already.
    pub fn insert_storage(&mut self, region: &str, resource: StorageResource, quote: StorageQuote) {
        let key = (region.to_owned(), resource);
        if self.storage.get(&key).is_none_or(|present| present.origin <= quote.origin) {
            self.storage.insert(key, quote);
        }
    }

    /// The price of a key.
    ///
    /// # Errors
    /// [`NoPrice`] when no source states it: never another region's, never
    /// zero, never on-demand in place of spot.
    pub fn get(&self, key: &PriceKey) -> Result<&PriceQuote, NoPrice> {
        self.quotes.get(key).ok_or_else(|| NoPrice(key.clone()))
    }

    /// The prices of a key in single zones, by zone.
    pub fn by_zone(&self, key: &PriceKey) -> impl Iterator<Item = (&PriceKey, &PriceQuote)> {
        let region_wide = key.in_zone(None);
        self.quotes
            .range(region_wide.clone()..)
            .take_while(move |(other, _)| other.in_zone(None) == region_wide)
            .filter(|(other, _)| other.zone.is_some())
    }

    /// Takes over every price of another collection.
    pub fn add(&mut self, other: &Self) {
        let entries = other.quotes.iter();
        self.quotes.extend(entries.map(|(key, quote)| (key.clone(), quote.clone())));
        let entries = other.spot_history.iter();
        self.spot_history.extend(entries.map(|(key, history)| (key.clone(), history.clone())));
        for (region, resource, quote) in other.iter_storage() {
            self.insert_storage(region, resource, quote.clone());
        }
    }

    /// Takes over the prices that are not there yet.
    pub fn add_missing(&mut self, other: Self) {
        for (key, quote) in other.quotes {
            self.quotes.entry(key).or_insert(quote);
        }
        for (key, history) in other.spot_history {
            self.spot_history.entry(key).or_insert(history);
        }
        for (key, quote) in other.storage {
            self.storage.entry(key).or_insert(quote);
        }
    }

    /// Adds what the spot price of a zone did over the window.
    pub fn insert_spot_history(&mut self, key: PriceKey, history: SpotHistory) {
        self.spot_history.insert(key, history);
    }

    /// What the spot price of a zone did over the window, where that was gathered.
    pub fn spot_history(&self, key: &PriceKey) -> Option<&SpotHistory> {
        self.spot_history.get(key)
    }

    /// The price of a storage resource in a region.
    pub fn get_storage(&self, region: &str, resource: StorageResource) -> Option<&StorageQuote> {
        self.storage.get(&(region.to_owned(), resource))
    }

    /// Says anew where every quote came from.
    pub fn set_origin(&mut self, origin: PriceOrigin) {
        for quote in self.quotes.values_mut() {
            quote.origin = origin;
        }
    }

    /// Keeps the quotes that pass.
    pub fn retain(&mut self, keep: impl Fn(&PriceKey, &PriceQuote) -> bool) {
        self.quotes.retain(|key, quote| keep(key, quote));
    }

    /// Every quote in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&PriceKey, &PriceQuote)> {
        self.quotes.iter()
    }

    /// Every storage quote in order of region and resource.
    pub fn iter_storage(&self) -> impl Iterator<Item = (&str, StorageResource, &StorageQuote)> {
        self.storage.iter().map(|((region, resource), quote)| (region.as_str(), *resource, quote))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn quote(amount: i64, origin: PriceOrigin) -> PriceQuote {
        PriceQuote {
            rate: HourlyRate::new(Decimal::from(amount), Currency::Usd).expect("positive"),
            instalments: None,
            origin,
            basis: PriceBasis::Observed,
            effective_date: jiff::civil::date(2026, 7, 20),
            seen_on: jiff::civil::date(2026, 7, 20),
            source: "test".to_owned(),
        }
    }

    #[test]
    fn a_better_origin_stays() {
        let key = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        let mut book = PriceBook::default();
        book.insert(key.clone(), quote(2, PriceOrigin::Api));
        book.insert(key.clone(), quote(1, PriceOrigin::Bundled));
        assert_eq!(book.get(&key), Ok(&quote(2, PriceOrigin::Api)));
    }

    #[test]
    fn another_region_is_unpriced() {
        let mut book = PriceBook::default();
        let key = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        book.insert(key, quote(1, PriceOrigin::Bundled));
        let elsewhere = PriceKey::linux_on_demand("eu-west-1", "g5.xlarge");
        assert_eq!(book.get(&elsewhere), Err(NoPrice(elsewhere.clone())));
    }

    #[test]
    fn option_names_round_trip() {
        for name in [
            "on-demand", "spot", "reserved-1yr-no-upfront", "reserved-3yr-all-upfront",
            "ec2-instance-savings-plan-1yr-partial-upfront", "compute-savings-plan-3yr-no-upfront",
            "capacity-block",
        ] {
            let option = PriceOption::from_name(name).expect("known");
            assert_eq!(option.to_string(), name);
        }
        for unknown in ["reserved-1yr", "reserved-2yr-no-upfront", "savings-plan"] {
            assert_eq!(PriceOption::from_name(unknown), None, "{unknown}");
        }
    }
}
