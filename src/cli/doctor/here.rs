//! What is on this host: GPUs, prices and their age, and a history where one is named.

use crate::catalog::bundled_origins;
use crate::cli::args::EstateArgs;
use crate::cli::price_age::PriceAge;
use crate::cli::{Io, Outcome, cache, estate};
use crate::config::SettingsFile;
use crate::domain::{counted, partition, safe, shell_word};
use crate::report::{Check, CheckArea, CheckStatus};
use crate::sources::GpuSource;
use crate::sources::files::{Records, read_price_cache};
use crate::sources::nvml::NvmlSource;
use crate::sources::store::{BucketAccess, Place};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::Path;

/// What the driver of NVIDIA makes when it is loaded.
pub(in crate::cli) const DRIVER_NODE: &str = "/dev/nvidiactl";

/// The GPUs of this host, as `gpucost profile` would sample them.
pub(super) fn host() -> Check {
    let (area, name) = (CheckArea::Host, "NVML");
    if !Path::new(DRIVER_NODE).exists() {
        return Check::skipped(area, name, "this host has no NVIDIA device");
    }
    match NvmlSource::open(None, None) {
        Ok(source) => {
            let gpus = counted(source.identities().len(), "GPU", "GPUs");
            let driver = source.driver_version().map(|version| format!(", driver {version}"));
            Check::ok(area, name, safe(&format!("{gpus}{}", driver.unwrap_or_default()))).unneeded()
        }
        Err(error) => {
            let said = safe(&error.to_string());
            Check::not(area, name, CheckStatus::Failed, said, error.hint()).unneeded()
        }
    }
}

/// How old prices are: of the cache where there is one, else of the bundled catalog.
pub(super) fn prices(args: &EstateArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Check> {
    let area = CheckArea::Prices;
    let refresh = "run `gpucost pricing refresh`; without an account, add `--public`";
    let path = cache::path(cache::PRICES, io).filter(|_| !args.offline);
    let (name, oldest) = match path.as_deref().map_or(Ok(None), read_price_cache) {
        Err(error) => {
            let said = safe(&error.to_string());
            return Ok(Check::not(area, "price cache", CheckStatus::Failed, said, refresh));
        }
        Ok(Some(cache)) => {
            ("price cache", cache.prices.iter().map(|(_, quote)| quote.seen_on).min())
        }
        Ok(None) => {
            let asked = estate::asked_regions(&args.aws, settings, io)?;
            let lists = bundled_origins(|region| match &asked {
                Some(asked) => asked.iter().any(|asked_region| asked_region == region),
                // Accounts of other partitions have other regions.
                None => partition(region) == "aws",
            });
            ("bundled prices", lists.keys().map(|(_, date)| *date).min())
        }
    };
    let Some(oldest) = oldest else {
        return Ok(Check::not(area, name, CheckStatus::Missing, "it is empty", refresh));
    };
    let days = io.now.to_zoned(TimeZone::UTC).date().duration_since(oldest).as_hours() / 24;
    let days = counted(days, "day", "days");
    let age = format!("the oldest is from {oldest}, {days} old");
    Ok(match PriceAge::of(args.max_price_age.as_deref(), settings)?.check(Some(oldest), io.now) {
        Ok(None) => Check::ok(area, name, age),
        // Worth a warning in an audit.
        Ok(Some(_)) => Check::not(area, name, CheckStatus::Missing, age, refresh).unneeded(),
        Err(_) => {
            let age = format!("{age}, which is more than `--max-price-age`");
            Check::not(area, name, CheckStatus::Missing, age, refresh)
        }
    })
}

/// Whether what is kept at the place of `--history` can be listed and read.
pub(super) async fn history(place: Place, access: BucketAccess, now: Timestamp) -> Check {
    let (area, name) = (CheckArea::History, place.to_string());
    if let Place::Folder(folder) = &place
        && !folder.is_dir()
    {
        let detail = "there is nothing yet";
        let fix = "an audit with `--history` creates it";
        return Check::not(area, name, CheckStatus::Missing, detail, fix).unneeded();
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let read = async { Records::open(&place, &access).await?.read(Some(today)).await };
    let word = shell_word(&place.word());
    match read.await {
        Ok(recorded) if recorded.problems.is_empty() => Check::ok(area, name, "it can be read"),
        Ok(recorded) => {
            let fix = format!("`gpucost history verify {word}` names each");
            let files = counted(recorded.problems.len(), "file", "files");
            Check::not(area, name, CheckStatus::Failed, format!("{files} cannot be used"), fix)
        }
        Err(error) => {
            let fix = match &place {
                Place::Folder(_) => "use a directory that can be listed".to_owned(),
                Place::Bucket(_) => format!(
                    "check the name of the bucket; `gpucost setup iam --history {word}` prints \
                     the permissions that it takes"
                ),
            };
            Check::not(area, name, CheckStatus::Failed, safe(&error.to_string()), fix)
        }
    }
}
