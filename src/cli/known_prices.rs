//! Prices that are known without an estate: which there are, under which names, what AWS still
//! sells of a type, and how old a price may be.

use super::args::EstateArgs;
use super::{Failure, Io, Outcome, cache, did_you_mean, estate, hint, refusal, refused};
use crate::analysis::{GpuFilter, Question, providers, types_with_gpu, unknown_names};
use crate::catalog::{Prices, shape, shapes};
use crate::config::{SettingsFile, parse_duration};
use crate::domain::{
    CommitmentTerm, GpuShare, OperatingSystem, PriceBook, PriceKey, PriceOption, counted,
    nearest_names,
};
use crate::savings::is_launchable;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The region whose prices stand for AWS when none is named.
pub(super) const HOME_REGION: &str = "us-east-1";

/// The region that stands for AWS when a command names none: the one that is
/// set, where it is a single one.
pub(super) fn home_region(settings: &SettingsFile, io: &Io<'_>) -> String {
    settings
        .region
        .as_ref()
        .or(io.variable("GPUCOST_REGION"))
        .filter(|name| !name.contains(',') && *name != "all")
        .map_or_else(|| HOME_REGION.to_owned(), String::clone)
}

/// The one region of a command whose costs in two regions are two answers: the one that is
/// named, else [`home_region`].
pub(super) fn region(named: Option<&str>, settings: &SettingsFile, io: &Io<'_>) -> Outcome<String> {
    match named.map(str::trim) {
        Some(named) if is_several(named) => Err(refusal!(
            "`--region {named}` is more than one region";
            "run it once for each region; `gpucost pricing --region all` compares prices")),
        Some(named) => Ok(named.to_owned()),
        None => Ok(home_region(settings, io)),
    }
}

/// The region that is named, else [`home_region`]; fails with `what` where that is several.
pub(super) fn only_region(
    named: Option<&String>,
    what: &str,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<String> {
    let named = named.map(|named| named.trim().to_owned());
    let region = named.unwrap_or_else(|| home_region(settings, io));
    if is_several(&region) {
        return Err(refusal!("{what}"; "pass one, such as `--region us-east-1`"));
    }
    Ok(region)
}

/// Whether the text of `--region` is about more than one.
pub(super) fn is_several(named: &str) -> bool {
    named == "all" || named.contains([',', '*'])
}

/// Fails for a region of which no price is known, with the nearest.
pub(super) fn check_region(region: &str, prices: &Prices<'_>) -> Outcome<()> {
    let regions = prices.regions();
    if regions.contains(region) {
        return Ok(());
    }
    Err(not_in_the_catalog("region", region, &nearest_names(region, regions.into_iter())))
}

/// What the price on demand of a type in a region is known under; both must be known.
pub(super) fn key_of(
    name: &str,
    region: &str,
    operating_system: OperatingSystem,
    prices: &Prices<'_>,
) -> Outcome<PriceKey> {
    let question = Question {
        operating_system,
        ..Question::of_aws(vec![name.to_owned()], vec![region.to_owned()])
    };
    refuse_unknown(&question, prices)?;
    Ok(PriceKey { operating_system, ..PriceKey::linux_on_demand(region, &name.to_lowercase()) })
}

/// The GPUs that `--gpu` asks for.
pub(super) fn gpu_filter(gpu: Option<&str>) -> Outcome<Option<GpuFilter>> {
    let filter = gpu.map(GpuFilter::parse).transpose().map_err(anyhow::Error::msg);
    filter.map_err(Failure::hinted("use `--gpu MODEL`, `--gpu MODEL:SIZE` or a range of sizes"))
}

/// The operating system of `--os`.
pub(super) fn operating_system(name: &str) -> Outcome<OperatingSystem> {
    OperatingSystem::from_name(name).ok_or_else(refused!(
        "`{name}` is not an operating system in the price catalog";
        "valid values: linux, windows, rhel, sles, ubuntu-pro"))
}

/// Refuses names that neither the catalog nor what was gathered knows.
pub(super) fn refuse_unknown(question: &Question, prices: &Prices<'_>) -> Outcome<()> {
    let Some(unknown) = unknown_names(question, prices).into_iter().next() else { return Ok(()) };
    Err(not_in_the_catalog(unknown.what, &unknown.name, &unknown.nearest))
}

/// A name that is not known, with the nearest that are known.
pub(super) fn not_in_the_catalog(what: &str, name: &str, nearest: &[String]) -> Failure {
    let of_gpu = if what == "instance type" { types_with_gpu(name) } else { Vec::new() };
    let hint = if !of_gpu.is_empty() {
        format!("types with this GPU: {}", of_gpu.join(", "))
    } else if nearest.is_empty() && what == "provider" {
        format!("valid values: {}", Vec::from_iter(providers()).join(", "))
    } else {
        did_you_mean(nearest, "see docs/pricing.md for the coverage of the price catalog")
    };
    Failure::input(format!("no {what} `{name}` in the price catalog")).with_hint(hint)
}

/// The user's own prices, then the cache, over the bundled catalog.
pub(super) fn book(offline: bool, settings: &SettingsFile, io: &Io<'_>) -> Outcome<PriceBook> {
    let mut book = if offline {
        PriceBook::default()
    } else {
        let hint = format!("{}, or pass `--offline` to run without it", cache::PRICE_HINT);
        cache::load_prices(io).map_err(Failure::hinted(hint))?
    };
    estate::add_own_prices(&mut book, settings, false)?;
    Ok(book)
}

/// Fails for a type of which AWS launches no new instances.
pub(super) fn check_launchable(key: &PriceKey, prices: &Prices<'_>) -> Outcome<()> {
    if is_launchable(key) {
        return Ok(());
    }
    let hint = hint! { nearest_launchable(key, prices);
        Some(nearest) => "the nearest type that it launches is {nearest}: measure the demand there, and pass it with `--demand FILE --type {nearest}`";
        None => "`gpucost pricing` lists types that it launches";
    };
    let name = &key.instance_type;
    Err(
        refusal!("AWS launches no new instances of {name}, so that nothing can start one"; "{hint}"),
    )
}

/// The launched type with as many GPUs and at least as much memory on each: the least of it,
/// then the lowest price on demand.
fn nearest_launchable(key: &PriceKey, prices: &Prices<'_>) -> Option<String> {
    let today = shape(&key.instance_type)?.gpu.as_ref()?;
    let like = shapes().filter_map(|other| {
        let offer = other.gpu.as_ref()?;
        let is_like = matches!(offer.share, GpuShare::Whole(_))
            && offer.share.visible_devices() == today.share.visible_devices()
            && offer.model.vendor() == today.model.vendor();
        let vram_mib = offer.vram_mib.filter(|mib| is_like && Some(*mib) >= today.vram_mib)?;
        let other_key = key.with_type(&other.instance_type);
        let quote = prices.get(&other_key).ok().filter(|_| is_launchable(&other_key))?;
        Some((vram_mib, quote.rate.amount(), &other.instance_type))
    });
    let (_, _, name) = like.min()?;
    Some(name.clone())
}

/// Whether `gpucost reserved` has a commitment to compare.
pub(super) fn has_commitments(key: &PriceKey, prices: &Prices<'_>) -> bool {
    CommitmentTerm::ALL.into_iter().any(|term| {
        let options = [
            PriceOption::Reserved(term),
            PriceOption::Ec2InstanceSavingsPlan(term),
            PriceOption::ComputeSavingsPlan(term),
        ];
        let mut options = options.into_iter();
        options.any(|option| prices.get(&key.with_option(option)).is_ok())
    })
}

/// Prices older than this are worth a warning.
const WORTH_A_WARNING: SignedDuration = SignedDuration::from_hours(90 * 24);

/// What age is warned of, and what age is refused.
pub(super) struct PriceAge {
    refused: Option<SignedDuration>,
    warned: bool,
}

impl PriceAge {
    /// From `--max-price-age`, else the settings file.
    pub(super) fn of(flag: Option<&str>, settings: &SettingsFile) -> Outcome<Self> {
        let refused = match flag {
            Some(text) => {
                let limit = parse_duration(text).map_err(anyhow::Error::msg);
                let hint = "use a duration, such as `--max-price-age 90d`";
                Some(limit.map_err(Failure::hinted(hint))?)
            }
            None => settings.prices.max_age,
        };
        Ok(Self { refused, warned: true })
    }

    /// The same for an estate. The prices of a demo are old by design.
    pub(super) fn of_estate(args: &EstateArgs, settings: &SettingsFile) -> Outcome<Self> {
        Ok(Self {
            warned: args.demo.is_none(),
            ..Self::of(args.max_price_age.as_deref(), settings)?
        })
    }

    /// What to warn of, given the oldest day that a price was read on and the
    /// instant that is evaluated.
    ///
    /// # Errors
    /// When it is older than accepted.
    pub(super) fn check(&self, oldest: Option<Date>, as_of: Timestamp) -> Outcome<Option<String>> {
        let Some(oldest) = oldest else { return Ok(None) };
        let age = as_of.to_zoned(TimeZone::UTC).date().duration_since(oldest);
        let days = counted(age.as_hours() / 24, "day", "days");
        if let Some(limit) = self.refused.filter(|limit| age > *limit) {
            return Err(refusal!(
                "the oldest price is from {oldest}, {days} old; `--max-price-age` allows {}",
                counted(limit.as_hours() / 24, "day", "days");
                "{HINT}"));
        }
        Ok((self.warned && age > WORTH_A_WARNING).then(|| {
            format!("warning: the oldest price is from {oldest}, {days} old\nhint: {HINT}")
        }))
    }
}

const HINT: &str = "run `gpucost pricing refresh` with an AWS account, or `gpucost pricing \
                    refresh --public` without one, to read today's prices";
