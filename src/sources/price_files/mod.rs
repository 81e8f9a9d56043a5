//! Prices that AWS publishes for everyone as files, read without an account: the price list of
//! EC2, a file of comma-separated values for each region, and the feed of the page of spot
//! prices. Capacity Blocks and rates of savings plans are in neither.

mod download;
mod index;
mod offers;
mod spot_feed;

use crate::domain::{FailureKind, partition};
use crate::sources::{Outcome, Quoted, SourceError};
use download::Downloads;
use index::RegionIndex;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
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
            let index = index::read(file.text()).map_err(|why| unread(INDEX, why))?;
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
        spot_feed::read(file.text(), &self.types, seen_on).map_err(|why| unread(SPOT, why))
    }
}

fn unread(action: &'static str, why: String) -> SourceError {
    SourceError::own(action, FailureKind::Unsupported, NOT_READ, why)
}

fn unlisted(region: &str) -> SourceError {
    SourceError::own(INDEX, FailureKind::WrongAddress, NO_FILES, region.to_owned())
}
