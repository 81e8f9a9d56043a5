//! Reading every GPU price anew, for the user's own copy of the catalog: with an account, or from
//! the files that AWS publishes for everyone.

use super::prices::accelerated_types;
use super::run::GatherError;
use crate::aws::{self, AwsOptions, RegionClients, Session, region_names};
use crate::domain::{
    Cause, CauseKind, EstateSource, Gap, GapSubject, Gathered, HourlyRate, OperatingSystem,
    PriceBasis, PriceBook, PriceKey, PriceOption, PriceQuote, Tenancy, Window,
};
use crate::price_files::PriceFiles;
use crate::usage::Estate;
use crate::{Outcome, Quoted, WantedPrices};
use futures_util::{StreamExt, stream};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Spot prices are means over this long.
const SPOT_WINDOW: SignedDuration = SignedDuration::from_hours(24);
const PERIOD_SECONDS: u32 = 300;
const REGIONS_AT_ONCE: usize = 8;

/// What to read.
#[derive(Debug, Clone)]
pub struct RefreshOptions {
    pub aws: AwsOptions,
    /// The regions; `None` for every one that the account has enabled.
    pub regions: Option<Vec<String>>,
    /// Now.
    pub as_of: Timestamp,
}

/// What one interface knows about one region. A part is replaced as a whole or
/// stays as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// On-demand and reserved, from the price list.
    Listed,
    /// Spot, from its history.
    Spot,
    /// Savings plan rates.
    SavingsPlans,
}

impl Part {
    fn of(option: PriceOption) -> Option<Self> {
        match option {
            PriceOption::OnDemand | PriceOption::Reserved(_) => Some(Self::Listed),
            PriceOption::Spot => Some(Self::Spot),
            PriceOption::Ec2InstanceSavingsPlan(_) | PriceOption::ComputeSavingsPlan(_) => {
                Some(Self::SavingsPlans)
            }
            PriceOption::CapacityBlock => None,
        }
    }

    fn subject(self) -> GapSubject {
        match self {
            Self::Listed => GapSubject::LivePrices,
            Self::Spot => GapSubject::SpotPrices,
            Self::SavingsPlans => GapSubject::SavingsPlanRates,
        }
    }
}

type Answer = Outcome<Vec<Quoted>>;

/// Reads Linux prices of every accelerated type of the catalog, as an estate
/// without instances. What cannot be read keeps its `last` price, and is a gap.
///
/// # Errors
/// When there are no usable credentials, or no price list could be read at all.
pub async fn refresh_prices(
    options: &RefreshOptions,
    last: &PriceBook,
    progress: &dyn Fn(&str),
) -> Result<Estate, GatherError> {
    let window = window_before(options.as_of)?;
    progress("credentials");
    let session = Session::connect(&options.aws).await?;
    let Gathered { value: regions, mut gaps } =
        region_names(&session, options.regions.as_deref()).await?;
    progress(&format!("prices in {} regions", regions.len()));
    let types: Vec<String> = accelerated_types().collect();
    let answers: Vec<(String, Part, Answer)> = stream::iter(&regions)
        .map(|region| in_region(&session, session.in_region(region), &types, window))
        .buffered(REGIONS_AT_ONCE)
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .flatten()
        .collect();
    let prices = merged(last, answers, &mut gaps)?;
    Ok(Estate { api: session.usage(), ..estate_of((options.as_of, window), regions, prices, gaps) })
}

/// What spot prices are means over.
fn window_before(as_of: Timestamp) -> Result<Window, GatherError> {
    Window::before(as_of, SPOT_WINDOW, PERIOD_SECONDS).map_err(GatherError::Window)
}

/// An estate of prices alone.
fn estate_of(
    (as_of, window): (Timestamp, Window),
    regions: Vec<String>,
    prices: PriceBook,
    mut gaps: Vec<Gap>,
) -> Estate {
    gaps.sort();
    Estate {
        as_of,
        window,
        source: EstateSource::Aws,
        regions,
        period_seconds: PERIOD_SECONDS,
        prices,
        gaps,
        ..Estate::default()
    }
}

async fn in_region(
    session: &Session,
    clients: RegionClients,
    types: &[String],
    window: Window,
) -> Vec<(String, Part, Answer)> {
    let read_on = window.end.to_zoned(TimeZone::UTC).date();
    let region = clients.region.clone();
    let wanted = WantedPrices {
        region: region.clone(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        instance_types: types.to_vec(),
        in_use: BTreeSet::new(),
    };
    let (listed, spot, plans) = tokio::join!(
        aws::on_demand_prices(session, &wanted, read_on),
        aws::spot_prices(&clients, OperatingSystem::Linux, types, window),
        aws::savings_plan_rates(session, &region, types, read_on),
    );
    let quoted = |(key, quote, _)| (key, quote);
    let spot = spot.map(|zonal| over_zones(zonal.into_iter().map(quoted).collect()));
    let answers = [(Part::Listed, listed), (Part::Spot, spot), (Part::SavingsPlans, plans)];
    answers.map(|(part, answer)| (region.clone(), part, answer)).into()
}

/// One spot price a region: the median over its zones.
fn over_zones(zonal: Vec<Quoted>) -> Vec<Quoted> {
    let mut zones: BTreeMap<PriceKey, Vec<PriceQuote>> = BTreeMap::new();
    for (key, quote) in zonal {
        zones.entry(key.in_zone(None)).or_default().push(quote);
    }
    zones
        .into_iter()
        .filter_map(|(key, mut quotes)| {
            quotes.sort_by_key(|quote| quote.rate.amount());
            let upper = quotes.get(quotes.len() / 2)?;
            let lower = quotes.get((quotes.len() - 1) / 2)?;
            let median = (lower.rate.amount() + upper.rate.amount()) / Decimal::TWO;
            let quote = PriceQuote {
                rate: HourlyRate::new(median.round_dp(6).normalize(), upper.rate.currency())?,
                source: format!("{}, median over zones", upper.source),
                ..upper.clone()
            };
            Some((key, quote))
        })
        .collect()
}

/// The last catalog with every part replaced that was read anew.
fn merged(
    last: &PriceBook,
    answers: Vec<(String, Part, Answer)>,
    gaps: &mut Vec<Gap>,
) -> Result<PriceBook, GatherError> {
    let tried = answers.iter().filter(|(_, part, _)| *part == Part::Listed).count();
    let mut book = last.clone();
    let mut listed = 0;
    let mut first = None;
    for (region, part, answer) in answers {
        let is_of_part =
            |key: &PriceKey| key.region == region && Part::of(key.option) == Some(part);
        match answer {
            // Prices change; that all of a region end at once is a fault.
            Ok(found) if found.is_empty() && book.iter().any(|(key, _)| is_of_part(key)) => {
                gaps.push(Gap::of(part.subject(), &region, Cause::of(CauseKind::PricesEmpty, [])));
                listed += usize::from(part == Part::Listed);
            }
            Ok(found) => {
                book.retain(|key, _| !is_of_part(key));
                found.into_iter().for_each(|(key, quote)| book.insert(key, quote));
                listed += usize::from(part == Part::Listed);
            }
            Err(error) => {
                gaps.push(error.gap(part.subject(), region, "previous prices are kept"));
                if part == Part::Listed {
                    first.get_or_insert(error);
                }
            }
        }
    }
    match first {
        Some(first) if listed == 0 => Err(GatherError::EveryRegion { regions: tried, first }),
        _ => Ok(book),
    }
}

/// What to read without an account, and from where.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceError;
    use crate::domain::{Currency, FailureKind, PriceBasis, PriceOrigin};

    fn quote(amount: &str) -> PriceQuote {
        let date = jiff::civil::date(2026, 11, 1);
        PriceQuote {
            rate: HourlyRate::new(amount.parse().expect("a number"), Currency::Usd)
                .expect("positive"),
            instalments: None,
            origin: PriceOrigin::Api,
            basis: PriceBasis::Observed,
            effective_date: date,
            seen_on: date,
            source: "test".to_owned(),
        }
    }

    fn spot(zone: &str, amount: &str) -> (PriceKey, PriceQuote) {
        let key = PriceKey::linux_on_demand("us-east-1", "g5.xlarge")
            .with_option(PriceOption::Spot)
            .in_zone(Some(zone));
        (key, quote(amount))
    }

    fn denied() -> SourceError {
        SourceError {
            action: Some("pricing:GetProducts"),
            kind: FailureKind::Denied,
            code: "denied".to_owned(),
            said: String::new(),
            cause: None,
        }
    }

    #[test]
    fn a_region_has_the_median_of_its_zones() {
        let median = |zones: Vec<_>| over_zones(zones)[0].1.rate.amount().to_string();
        let odd = vec![spot("a", "0.9"), spot("b", "0.3"), spot("c", "0.5")];
        assert_eq!(median(odd), "0.5");
        let even = vec![spot("a", "0.4"), spot("b", "0.3")];
        assert_eq!(median(even), "0.35");
    }

    #[test]
    fn parts_are_replaced_whole_and_failures_keep_the_last() {
        let on_demand = |region: &str, name: &str| PriceKey::linux_on_demand(region, name);
        let mut last = PriceBook::default();
        last.insert(on_demand("us-east-1", "g5.xlarge"), quote("1"));
        last.insert(on_demand("us-east-1", "g9.gone"), quote("2"));
        last.insert(on_demand("eu-west-1", "g5.xlarge"), quote("3"));
        let spot_key = on_demand("us-east-1", "g5.xlarge").with_option(PriceOption::Spot);
        last.insert(spot_key.clone(), quote("4"));
        let elsewhere = on_demand("eu-west-1", "g5.xlarge").with_option(PriceOption::Spot);
        last.insert(elsewhere, quote("5"));
        let fresh = vec![(on_demand("us-east-1", "g5.xlarge"), quote("1.5"))];
        let answers = vec![
            ("us-east-1".to_owned(), Part::Listed, Ok(fresh)),
            ("us-east-1".to_owned(), Part::Spot, Err(denied())),
            ("us-east-1".to_owned(), Part::SavingsPlans, Ok(Vec::new())),
            ("eu-west-1".to_owned(), Part::Listed, Err(denied())),
            ("eu-west-1".to_owned(), Part::Spot, Ok(Vec::new())),
        ];
        let mut gaps = Vec::new();
        let book = merged(&last, answers, &mut gaps).expect("one region was read");
        let amounts: Vec<String> =
            book.iter().map(|(key, quote)| format!("{key} {}", quote.rate.amount())).collect();
        assert_eq!(
            amounts,
            [
                "g5.xlarge eu-west-1 linux shared on-demand 3",
                "g5.xlarge eu-west-1 linux shared spot 5",
                "g5.xlarge us-east-1 linux shared on-demand 1.5",
                "g5.xlarge us-east-1 linux shared spot 4",
            ]
        );
        // Nobody knew savings plans of us-east-1 before: their absence is not a gap.
        assert_eq!(gaps.len(), 3);
    }

    #[test]
    fn nothing_read_is_an_error() {
        let answers = vec![("us-east-1".to_owned(), Part::Listed, Err(denied()))];
        let read = merged(&PriceBook::default(), answers, &mut Vec::new());
        assert!(matches!(read, Err(GatherError::EveryRegion { regions: 1, .. })));
    }
}
