//! Prices that AWS publishes for everyone as files, read without an account: the price list of
//! EC2, a file of comma-separated values for each region, and the feed of the page of spot
//! prices. Capacity Blocks and rates of savings plans are in neither.

mod download;
mod offers;

use crate::domain::{
    Currency, FailureKind, HourlyRate, OperatingSystem, PriceKey, PriceOption, partition,
};
use crate::files::bounded;
use crate::{Outcome, Quoted, SourceError, observed};
use download::Downloads;
use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read};
use std::path::PathBuf;

const INDEX: &str = "price-files:regions";
const OFFERS: &str = "price-files:AmazonEC2";
const SPOT: &str = "price-files:spot";
const SPOT_HOST: &str = "https://website.spot.ec2.aws.a2z.com";

const NOT_READ: &str = "the file cannot be used";
const NO_FILES: &str = "the region has no public price files";

/// Bytes of a list of regions, and of the feed of spot prices; 3 MB in 2026.
const MOST_SMALL_BYTES: u64 = 64 << 20;
/// Bytes of a price list, packed; 300 MB unpacked in 2026.
const MOST_LIST_BYTES: u64 = 8 << 30;

/// Bytes of a list of regions, unpacked.
const MOST_INDEX_BYTES: u64 = 16 << 20;
/// Before the path of every price list.
const ROOT: &str = "/offers/v1.0/";
/// The same list in the two forms.
const AS_JSON: &str = "/index.json";
const AS_CSV: &str = "/index.csv";

/// Bytes of the feed of spot prices, unpacked.
const MOST_FEED_BYTES: u64 = 256 << 20;
const SPOT_SOURCE: &str = "AWS spot price page";

/// Old names of regions, which the feed still has.
const OLD_NAMES: [(&str, &str); 6] = [
    ("us-east", "us-east-1"),
    ("us-west", "us-west-1"),
    ("eu-ireland", "eu-west-1"),
    ("apac-sin", "ap-southeast-1"),
    ("apac-syd", "ap-southeast-2"),
    ("apac-tokyo", "ap-northeast-1"),
];

/// The edition of a region's price list that holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edition {
    region: String,
    url: String,
    version: String,
}

impl Edition {
    /// What quotes of it name as their source.
    pub fn source(&self) -> String {
        format!("AWS price list {}", self.version)
    }
}

/// The files, where they are published or at another address.
pub struct PriceFiles {
    downloads: Downloads,
    endpoint: Option<String>,
    /// By host and folder.
    indexes: BTreeMap<String, RegionIndex>,
    /// Instance types whose prices are read.
    types: BTreeSet<String>,
    read_on: Date,
}

impl PriceFiles {
    /// `endpoint` stands for every host. Files on their way are kept without a name in
    /// `folder`, which has room for one of them. `read_on` is today, in UTC.
    pub fn new(
        endpoint: Option<&str>,
        folder: PathBuf,
        types: BTreeSet<String>,
        read_on: Date,
    ) -> Self {
        Self {
            downloads: Downloads::new(folder),
            endpoint: endpoint.map(|url| url.trim_end_matches('/').to_owned()),
            indexes: BTreeMap::new(),
            types,
            read_on,
        }
    }

    /// Which price list holds in a region.
    ///
    /// # Errors
    /// When the list of regions cannot be read, or names no such region.
    pub async fn edition(&mut self, region: &str) -> Outcome<Edition> {
        let (host, folder) = match partition(region) {
            "aws" | "aws-us-gov" => ("https://pricing.us-east-1.amazonaws.com", "aws"),
            "aws-cn" => ("https://pricing.cn-north-1.amazonaws.com.cn", "cn"),
            _ => return Err(unlisted(region)),
        };
        let host = self.endpoint.as_deref().unwrap_or(host);
        let url = format!("{host}/offers/v1.0/{folder}/AmazonEC2/current/region_index.json");
        if !self.indexes.contains_key(&url) {
            let file = self.downloads.get((INDEX, url.as_str()), MOST_SMALL_BYTES, &|_| {}).await?;
            let index = json(file.text(), MOST_INDEX_BYTES).map_err(|why| unread(INDEX, why))?;
            self.indexes.insert(url.clone(), index);
        }
        let listed = self.indexes.get(&url).and_then(|index| index.list(region));
        let (path, version) = listed.ok_or_else(|| unlisted(region))?;
        Ok(Edition { region: region.to_owned(), url: format!("{host}{path}"), version })
    }

    /// On-demand and standard reserved prices of the types in a price list, dated with
    /// the day on which it was published; `count` gets how many bytes are there so far.
    ///
    /// # Errors
    /// When it cannot be read to its end, has other columns or another currency, or an invalid
    /// price.
    pub async fn offers(&self, edition: &Edition, count: &dyn Fn(u64)) -> Outcome<Vec<Quoted>> {
        let asked = (OFFERS, edition.url.as_str());
        let file = self.downloads.get(asked, MOST_LIST_BYTES, count).await?;
        let list = offers::PriceList {
            region: &edition.region,
            types: &self.types,
            source: &edition.source(),
            read_on: self.read_on,
        };
        list.read(file.text()).map_err(|why| unread(OFFERS, why))
    }

    /// Spot prices of the types by region, dated with the day on which the server says
    /// that the feed changed.
    ///
    /// # Errors
    /// When the feed cannot be read.
    pub async fn spot(&self) -> Outcome<BTreeMap<String, Vec<Quoted>>> {
        let host = self.endpoint.as_deref().unwrap_or(SPOT_HOST);
        let url = format!("{host}/spot.json");
        let file = self.downloads.get((SPOT, url.as_str()), MOST_SMALL_BYTES, &|_| {}).await?;
        let seen_on = file.changed_on.unwrap_or(self.read_on).min(self.read_on);
        spot_prices(file.text(), &self.types, seen_on).map_err(|why| unread(SPOT, why))
    }
}

fn unread(action: &'static str, why: String) -> SourceError {
    SourceError::own(action, FailureKind::Unsupported, NOT_READ, why)
}

fn unlisted(region: &str) -> SourceError {
    SourceError::own(INDEX, FailureKind::WrongAddress, NO_FILES, region.to_owned())
}

/// Reads a document of at most so many bytes.
///
/// # Errors
/// Why it is not one of its kind.
fn json<T: DeserializeOwned>(text: impl Read, most_bytes: u64) -> Result<T, String> {
    let text = BufReader::new(bounded(text, most_bytes));
    serde_json::from_reader(text).map_err(|error| error.to_string())
}

/// The list of regions: where the price list of each is now.
#[derive(Debug, Deserialize)]
struct RegionIndex {
    regions: BTreeMap<String, Listed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    current_version_url: String,
}

impl RegionIndex {
    /// The path of a region's list as comma-separated values, and its version; `None` where
    /// the region is not listed, or its path is not one of a price list.
    fn list(&self, region: &str) -> Option<(String, String)> {
        let path = &self.regions.get(region)?.current_version_url;
        let folder = path.strip_suffix(AS_JSON)?;
        let parts = folder.strip_prefix(ROOT)?;
        let is_plain = |part: &str| {
            let mut characters = part.chars();
            !part.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        if !parts.split('/').all(is_plain) {
            return None;
        }
        let mut parts = parts.rsplit('/');
        let (last, version) = (parts.next()?, parts.next()?);
        (last == region).then(|| (format!("{folder}{AS_CSV}"), version.to_owned()))
    }
}

/// The feed of the page of spot prices: one price of each type, region and system, in dollars.
#[derive(Deserialize)]
struct Feed {
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    rate: String,
    regions: Vec<Region>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    region: String,
    instance_types: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    sizes: Vec<Size>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Size {
    size: String,
    value_columns: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    name: String,
    prices: BTreeMap<String, String>,
}

/// Prices of some types by region. A type without a price in a region has `N/A*` there.
///
/// # Errors
/// Why it is not such a feed.
fn spot_prices(
    text: impl Read,
    types: &BTreeSet<String>,
    seen_on: Date,
) -> Result<BTreeMap<String, Vec<Quoted>>, String> {
    let feed: Feed = json(text, MOST_FEED_BYTES)?;
    if feed.config.rate != "perhr" {
        return Err("its prices are not by the hour".to_owned());
    }
    let mut by_region: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for listed in feed.config.regions {
        let old = OLD_NAMES.iter().find(|(old, _)| *old == listed.region);
        let region = old.map_or(listed.region.as_str(), |(_, name)| name);
        let sizes = listed.instance_types.iter().flat_map(|group| &group.sizes);
        let prices = sizes.filter(|size| types.contains(&size.size)).flat_map(|size| {
            let values = size.value_columns.iter();
            values.filter_map(move |value| spot_price(region, &size.size, value, seen_on))
        });
        by_region.entry(region.to_owned()).or_default().extend(prices.collect::<Vec<_>>());
    }
    Ok(by_region)
}

fn spot_price(region: &str, instance_type: &str, value: &Value, seen_on: Date) -> Option<Quoted> {
    let operating_system = match value.name.as_str() {
        "linux" => OperatingSystem::Linux,
        "mswin" => OperatingSystem::Windows,
        _ => return None,
    };
    let amount: Decimal = value.prices.get(Currency::Usd.code())?.parse().ok()?;
    // Where another currency is billed, a price in dollars is not one that is paid.
    let currency =
        Some(Currency::of_region(region)).filter(|currency| *currency == Currency::Usd)?;
    let key = PriceKey {
        operating_system,
        option: PriceOption::Spot,
        ..PriceKey::linux_on_demand(region, instance_type)
    };
    let rate = HourlyRate::new(amount.normalize(), currency)?;
    Some((key, observed(rate, None, (seen_on, seen_on), SPOT_SOURCE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn index(text: impl Read) -> Result<RegionIndex, String> {
        json(text, MOST_INDEX_BYTES)
    }

    fn path(url: &str) -> Option<(String, String)> {
        let text = format!(
            r#"{{"formatVersion": "v1.0", "publicationDate": "2026-11-18T20:59:55Z",
            "regions": {{"eu-west-1": {{"regionCode": "eu-west-1", "currentVersionUrl": "{url}"}}}}}}"#
        );
        index(text.as_bytes()).expect("a list").list("eu-west-1")
    }

    #[test]
    fn the_list_of_a_region_is_on_the_same_host() {
        let list = "/offers/v1.0/aws/AmazonEC2/20261118205955/eu-west-1/index";
        assert_eq!(
            path(&format!("{list}.json")),
            Some((format!("{list}.csv"), "20261118205955".to_owned()))
        );
        for elsewhere in [
            "",
            "https://elsewhere.example/offers/v1.0/aws/AmazonEC2/1/eu-west-1/index.json",
            "//elsewhere.example/offers/v1.0/aws/AmazonEC2/1/eu-west-1/index.json",
            "/offers/v1.0/../../eu-west-1/index.json",
            "/offers/v1.0/aws/AmazonEC2/1/us-east-1/index.json",
            "/offers/v1.0/aws/AmazonEC2/1?x=/eu-west-1/index.json",
            "/offers/v1.0/aws/AmazonEC2/1/eu-west-1/index.csv",
        ] {
            assert_eq!(path(elsewhere), None, "{elsewhere}");
        }
    }

    /// A text that unpacks to far more than it has on its way.
    #[test]
    fn a_list_has_an_end() {
        let start: &[u8] = b"{\"regions\": {}, \"more\": \"";
        let error = index(start.chain(std::io::repeat(b'x'))).expect_err("it has no end");
        assert!(error.contains("larger than 16 MiB"), "{error}");
    }

    #[test]
    fn a_page_for_browsers_is_not_a_list() {
        for text in ["", "<html></html>", "[]", "{}", r#"{"regions": []}"#] {
            assert!(index(text.as_bytes()).is_err(), "{text}");
        }
    }

    fn prices(text: &str) -> Result<Vec<String>, String> {
        let types = BTreeSet::from(["g5.xlarge".to_owned()]);
        let prices = spot_prices(text.as_bytes(), &types, date(2026, 11, 18))?;
        let quotes = prices.into_values().flatten();
        Ok(quotes
            .map(|(key, quote)| format!("{key} {} {}", quote.rate.amount(), quote.seen_on))
            .collect())
    }

    const FEED: &str = r#"{"vers": 0.01, "config": {"rate": "perhr",
        "valueColumns": ["linux", "mswin"], "currencies": ["USD"], "regions": [
        {"region": "us-east", "instanceTypes": [{"type": "gpuInstanceCurrentGen", "sizes": [
            {"size": "g5.xlarge", "valueColumns": [
                {"name": "linux", "prices": {"USD": "0.4210"}},
                {"name": "mswin", "prices": {"USD": "N/A*"}}]},
            {"size": "m5.large", "valueColumns": [
                {"name": "linux", "prices": {"USD": "0.0410"}}]}]}]},
        {"region": "eu-west-1", "instanceTypes": [{"type": "gpuInstanceCurrentGen", "sizes": [
            {"size": "g5.xlarge", "valueColumns": [
                {"name": "linux", "prices": {"USD": "-1"}},
                {"name": "mswin", "prices": {"USD": "0.9"}}]}]}]}]}}"#;

    #[test]
    fn prices_of_what_is_wanted_are_found_under_both_names_of_a_region() {
        let prices = prices(FEED).expect("a feed");
        let expected = [
            "g5.xlarge eu-west-1 windows shared spot 0.9 2026-11-18",
            "g5.xlarge us-east-1 linux shared spot 0.421 2026-11-18",
        ];
        assert_eq!(prices, expected);
    }

    #[test]
    fn another_unit_or_another_file_is_refused() {
        let monthly = FEED.replace("perhr", "permonth");
        for text in ["", "<html></html>", "{}", &FEED[..200], monthly.as_str()] {
            assert!(prices(text).is_err(), "{text}");
        }
    }
}
