//! The same for those without an account: from the files that AWS publishes for everyone.

use super::prices::accelerated_types;
use super::refresh::{Answer, Part, estate_of, merged, window_before};
use super::run::GatherError;
use crate::domain::{PriceBasis, PriceBook, PriceKey, PriceOption, PriceQuote};
use crate::sources::price_files::PriceFiles;
use crate::sources::{Outcome, Quoted};
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What to read, and from where.
#[derive(Debug, Clone)]
pub struct PublicRefresh {
    /// Another address for every file.
    pub endpoint_url: Option<String>,
    /// The regions, one after the other.
    pub regions: Vec<String>,
    /// Where a file is kept until it is read, without a name. It has room for one.
    pub folder: PathBuf,
    /// Now.
    pub as_of: Timestamp,
}

/// Reads prices of every accelerated type of the catalog, as an estate without instances. A
/// region whose price list is the one that `last` has is not read again. What cannot be read
/// keeps its `last` price, and is a gap. `keep` gets what is known after each region.
///
/// # Errors
/// When no price list could be read at all.
pub async fn refresh_public_prices(
    options: &PublicRefresh,
    last: &PriceBook,
    progress: &dyn Fn(&str),
    keep: &dyn Fn(&Estate),
) -> Result<Estate, GatherError> {
    let times = (options.as_of, window_before(options.as_of)?);
    let read_on = options.as_of.to_zoned(TimeZone::UTC).date();
    let endpoint = options.endpoint_url.as_deref();
    let types = accelerated_types().collect();
    let mut files = PriceFiles::new(endpoint, options.folder.clone(), types, read_on);
    progress("spot prices");
    let mut spot = files.spot().await;
    let mut prices = last.clone();
    let (mut gaps, mut read, mut first) = (Vec::new(), Vec::new(), None);
    for region in &options.regions {
        let mut answers = vec![(region.clone(), Part::Spot, spot_of(&mut spot, region))];
        match list_of(&mut files, region, &prices, progress).await {
            Ok(None) => {}
            Ok(Some(listed)) => {
                if !has_observed_plans(&prices, region) {
                    let plans = listed.iter().filter_map(plan_like).collect();
                    answers.push((region.clone(), Part::SavingsPlans, Ok(plans)));
                }
                answers.push((region.clone(), Part::Listed, Ok(listed)));
            }
            Err(error) => answers.push((region.clone(), Part::Listed, Err(error))),
        }
        match merged(&prices, answers, &mut gaps) {
            Ok(book) => {
                prices = book;
                read.push(region.clone());
                keep(&estate_of(times, read.clone(), prices.clone(), gaps.clone()));
            }
            Err(GatherError::EveryRegion { first: error, .. }) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(first) if read.is_empty() => {
            Err(GatherError::EveryRegion { regions: options.regions.len(), first })
        }
        _ => {
            read.sort();
            Ok(estate_of(times, read, prices, gaps))
        }
    }
}

/// The price list of a region; `None` where it is the one that is known.
async fn list_of(
    files: &mut PriceFiles,
    region: &str,
    known: &PriceBook,
    progress: &dyn Fn(&str),
) -> Outcome<Option<Vec<Quoted>>> {
    progress(&format!("prices in {region}"));
    let edition = files.edition(region).await?;
    let source = edition.source();
    let is_known = |(key, quote): (&PriceKey, &PriceQuote)| {
        key.region == region && key.option == PriceOption::OnDemand && quote.source == source
    };
    if known.iter().any(is_known) {
        return Ok(None);
    }
    let count = |bytes: u64| progress(&format!("prices in {region}: {} MiB", bytes >> 20));
    files.offers(&edition, &count).await.map(Some)
}

/// Spot prices of a region. That the feed cannot be read is said of each.
fn spot_of(spot: &mut Outcome<BTreeMap<String, Vec<Quoted>>>, region: &str) -> Answer {
    match spot {
        Ok(found) => Ok(found.remove(region).unwrap_or_default()),
        Err(error) => Err(error.clone()),
    }
}

fn has_observed_plans(prices: &PriceBook, region: &str) -> bool {
    prices.iter().any(|(key, quote)| {
        key.region == region
            && Part::of(key.option) == Some(Part::SavingsPlans)
            && quote.basis == PriceBasis::Observed
    })
}

/// The rate of an EC2 Instance Savings Plan, which is in none of the files: that of the
/// standard reserved instance of the same term and payment, as in the bundled catalog.
fn plan_like((key, quote): &Quoted) -> Option<Quoted> {
    let PriceOption::Reserved(term) = key.option else { return None };
    let linux = PriceKey::linux_on_demand(&key.region, &key.instance_type);
    let plan = key.with_option(PriceOption::Ec2InstanceSavingsPlan(term));
    let quote = PriceQuote {
        instalments: None,
        basis: PriceBasis::Derived,
        source: format!("{}: equals the standard reserved instance", quote.source),
        ..quote.clone()
    };
    (key.with_option(PriceOption::OnDemand) == linux).then_some((plan, quote))
}
