//! `gpucost pricing`: find, compare, refresh.

use super::args::DocFormat;
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::pricing_args::{PricingAction, PricingArgs, RefreshArgs, SortChoice, StatusArgs};
use super::{Io, audit, estate, live, output, planner, price_cache};
use crate::analysis::{
    AWS, GpuFilter, Offer, Question, SortBy, compare, providers, sold_elsewhere, types_with_gpu,
    unknown_names,
};
use crate::catalog::{Prices, bundled_region_names};
use crate::config::SettingsFile;
use crate::domain::{OperatingSystem, PriceBook, shown};
use crate::gather::{PublicRefresh, RefreshOptions, refresh_prices, refresh_public_prices};
use crate::report::text::counted;
use crate::report::{price_status_doc, pricing_doc};
use crate::sources::aws::Notice;
use crate::sources::files::{read_price_cache, write_price_cache};
use crate::usage::Estate;
use std::collections::BTreeSet;
use std::path::Path;

/// The region whose prices stand for AWS when none is named.
pub(super) const HOME_REGION: &str = "us-east-1";
/// Rows that the narrow table shows unless asked for more.
const ROWS: usize = 40;
/// Regions of a type that are named where it is not sold in those that were asked for.
const REGIONS_NAMED: usize = 8;

pub(super) fn run(args: &PricingArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(PricingAction::Refresh(args)) => refresh(args, io),
        Some(PricingAction::Status(args)) => status(args, io),
        None => look_up(args, io),
    }
}

fn look_up(args: &PricingArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let age = PriceAge::of(args.max_price_age.as_deref(), &settings)?;
    let question = question(args, &settings, io)?;
    let book = book(args.offline, &settings, io)?;
    let policy = &settings.policy;
    let prices = Prices::new(&book, &policy.discount_percent);
    refuse_unknown(&question, &prices)?;
    let mut offers = compare(&question, &prices);
    narrow(&mut offers, &question, args);
    let quotes = offers.iter().flat_map(|offer| offer.quotes());
    age.check(quotes.map(|quote| quote.seen_on).min(), io.now)?;
    // The hint helps for these alone; the table dates the others.
    let quotes = offers.iter().flat_map(|offer| offer.refreshable_quotes());
    let warning = age.check(quotes.map(|quote| quote.seen_on).min(), io.now)?;
    let found = offers.len();
    let rows = if format == DocFormat::Table {
        ROWS
    } else {
        usize::MAX
    };
    offers.truncate(args.limit.unwrap_or(rows));
    let doc = pricing_doc(&offers, found, question.sort, policy.hours_per_month);
    planner::print_whole(&doc, format, &args.out, io)?;
    output::warn(warning, &args.out, io);
    let places = sold_in(&question, &prices);
    for place in places.iter().filter(|_| found > 0) {
        let note = format!("note: no priced offer here: {place}");
        output::say(&note, &args.out, io);
    }
    let cut = if offers.len() < found && !format.is_table() {
        format!("; {} omitted by `--limit`", found - offers.len())
    } else {
        String::new()
    };
    output::say(
        &format!("{}{cut}", counted(found as u64, "offer", "offers")),
        &args.out,
        io,
    );
    if found == 0 {
        let wider = "widen `--region`, `--gpu`, `--count` or `--max-price`; `--region all` \
                     searches all regions";
        let hint = if places.is_empty() {
            wider.to_owned()
        } else {
            places.join("; ")
        };
        output::complain("no priced offer matches", &hint, io);
        return Ok(ExitCode::Nothing);
    }
    Ok(ExitCode::Done)
}

/// Leaves GPUs where no other accelerator is named, and what costs no more than is asked.
fn narrow(offers: &mut Vec<Offer>, question: &Question, args: &PricingArgs) {
    let names_model = question
        .gpu
        .as_ref()
        .is_some_and(|gpu| gpu.model().is_some());
    if !args.all && !names_model && question.instance_types.is_empty() {
        offers.retain(Offer::is_of_gpus);
    }
    if let Some(most) = args.max_price {
        let figure = |offer: &Offer| offer.sort_figure(question.sort);
        offers.retain(|offer| figure(offer).is_some_and(|figure| figure <= most));
    }
}

/// Where each type is sold that is not sold in the regions that were asked for.
fn sold_in(question: &Question, prices: &Prices<'_>) -> Vec<String> {
    let sold = |(name, regions): (String, Vec<String>)| {
        let named = &regions[..regions.len().min(REGIONS_NAMED)];
        let more = match regions.len() - named.len() {
            0 => String::new(),
            more => format!(
                " and {}",
                counted(more as u64, "more region", "more regions")
            ),
        };
        format!("{name} is sold in {}{more}", named.join(", "))
    };
    sold_elsewhere(question, prices)
        .into_iter()
        .map(sold)
        .collect()
}

fn question(args: &PricingArgs, settings: &SettingsFile, io: &Io<'_>) -> Result<Question, Failure> {
    let list = |names: &str| -> Vec<String> {
        names
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect()
    };
    let gpu = args.gpu.as_deref().map(GpuFilter::parse).transpose();
    let gpu = gpu.map_err(|message| {
        Failure::input(message)
            .with_hint("use `--gpu MODEL`, `--gpu MODEL:SIZE` or a range of sizes")
    })?;
    let asked: BTreeSet<String> = args
        .provider
        .as_deref()
        .map(list)
        .unwrap_or_default()
        .into_iter()
        .collect();
    Ok(Question {
        instance_types: args.types.clone(),
        gpu,
        count: args.count,
        regions: args.region.as_deref().map(list).unwrap_or_default(),
        home_region: home_region(settings, io),
        providers: if asked.contains("all") {
            providers()
        } else if asked.is_empty() {
            BTreeSet::from([AWS.to_owned()])
        } else {
            asked
        },
        operating_system: operating_system(&args.os)?,
        sort: match args.sort {
            SortChoice::Price => SortBy::Price,
            SortChoice::Spot => SortBy::Spot,
            SortChoice::GpuHour => SortBy::GpuHour,
            SortChoice::Vram => SortBy::Vram,
            SortChoice::Tflops => SortBy::Tflops,
        },
    })
}

/// The region that stands for AWS when a command names none: the one that is
/// set, where it is a single one.
pub(super) fn home_region(settings: &SettingsFile, io: &Io<'_>) -> String {
    let named = settings.region.as_ref().or(io.variable("GPUCOST_REGION"));
    named
        .filter(|name| !name.contains(',') && *name != "all")
        .map_or_else(|| HOME_REGION.to_owned(), String::clone)
}

/// The one region of a command whose costs in two regions are two answers: the one that is
/// named, else [`home_region`].
pub(super) fn one_region(
    named: Option<&str>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<String, Failure> {
    match named.map(str::trim) {
        Some(named) if named == "all" || named.contains([',', '*']) => Err(Failure::input(
            format!("`--region {named}` is more than one region"),
        )
        .with_hint("run it once for each region; `gpucost pricing --region all` compares prices")),
        Some(named) => Ok(named.to_owned()),
        None => Ok(home_region(settings, io)),
    }
}

/// The operating system of `--os`.
pub(super) fn operating_system(name: &str) -> Result<OperatingSystem, Failure> {
    OperatingSystem::from_name(name).ok_or_else(|| {
        Failure::input(format!(
            "`{name}` is not an operating system in the price catalog"
        ))
        .with_hint("valid values: linux, windows, rhel, sles, ubuntu-pro")
    })
}

/// Refuses names that neither the catalog nor what was gathered knows.
pub(super) fn refuse_unknown(question: &Question, prices: &Prices<'_>) -> Result<(), Failure> {
    let Some(unknown) = unknown_names(question, prices).into_iter().next() else {
        return Ok(());
    };
    Err(not_in_the_catalog(
        unknown.what,
        &unknown.name,
        &unknown.nearest,
    ))
}

/// A name that is not known, with the nearest that are known.
pub(super) fn not_in_the_catalog(what: &str, name: &str, nearest: &[String]) -> Failure {
    let failure = Failure::input(format!("no {what} `{name}` in the price catalog"));
    let of_gpu = match what {
        "instance type" => types_with_gpu(name),
        _ => Vec::new(),
    };
    if !of_gpu.is_empty() {
        failure.with_hint(format!("types with this GPU: {}", of_gpu.join(", ")))
    } else if nearest.is_empty() && what == "provider" {
        let known: Vec<String> = providers().into_iter().collect();
        failure.with_hint(format!("valid values: {}", known.join(", ")))
    } else if nearest.is_empty() {
        failure.with_hint("see docs/pricing.md for the coverage of the price catalog")
    } else {
        failure.with_hint(format!("did you mean {}?", nearest.join(", ")))
    }
}

/// The user's own prices, then the cache, over the bundled catalog.
pub(super) fn book(
    offline: bool,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<PriceBook, Failure> {
    let mut book = if offline {
        PriceBook::default()
    } else {
        price_cache::load(io)
            .map_err(|error| {
                let hint = format!(
                    "{}, or pass `--offline` to run without it",
                    price_cache::HINT
                );
                Failure::new(ExitCode::Input, error).with_hint(hint)
            })?
            .map(|estate| estate.prices)
            .unwrap_or_default()
    };
    estate::add_own_prices(&mut book, settings, false)?;
    Ok(book)
}

fn refresh(args: &RefreshArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let path = price_cache::path(io).ok_or_else(|| {
        Failure::input("no cache directory available").with_hint("set GPUCOST_CACHE_DIR")
    })?;
    // A cache that cannot be read is replaced by what is read now.
    let last = read_price_cache(&path).ok().flatten();
    let last = last.map(|estate| estate.prices).unwrap_or_default();
    let estate = if args.public {
        public_prices(args, &settings, &path, &last, io)?
    } else {
        let options = RefreshOptions {
            aws: estate::aws_options(&args.aws, &settings, io),
            regions: estate::asked_regions(&args.aws, &settings, io)?,
            as_of: io.now,
        };
        live::wait_for(&args.out, &options.aws.notice, io, async |progress| {
            refresh_prices(&options, &last, progress).await
        })?
    };
    write_price_cache(&path, &estate).map_err(|error| {
        Failure::write(&shown(&path), error)
            .with_hint("set GPUCOST_CACHE_DIR to a writable directory with free space")
    })?;
    let doc = price_status_doc(&path, Some(&estate), io.now);
    planner::print_whole(&doc, DocFormat::Table, &args.out, io)?;
    output::say(
        &format!(
            "refreshed {}; {}",
            counted(estate.regions.len() as u64, "region", "regions"),
            counted(estate.gaps.len() as u64, "gap", "gaps"),
        ),
        &args.out,
        io,
    );
    Ok(ExitCode::Done)
}

/// Prices of the files that AWS publishes for everyone.
fn public_prices(
    args: &RefreshArgs,
    settings: &SettingsFile,
    path: &Path,
    last: &PriceBook,
    io: &Io<'_>,
) -> Result<Estate, Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::write(&shown(folder), error)
            .with_hint("set GPUCOST_CACHE_DIR to a writable directory")
    })?;
    let every = || bundled_region_names().into_iter().map(str::to_owned);
    let options = PublicRefresh {
        endpoint_url: args
            .aws
            .endpoint_url
            .clone()
            .or_else(|| io.variable("AWS_ENDPOINT_URL").cloned()),
        regions: match estate::asked_regions(&args.aws, settings, io)? {
            Some(regions) => regions,
            None if estate::asks_every_region(&args.aws, settings, io) => every().collect(),
            // The file of a region is too large to be read without having been asked for.
            None => vec![HOME_REGION.to_owned()],
        },
        folder: folder.to_owned(),
        as_of: io.now,
    };
    // Regions that were read stay read when the rest is interrupted. What is wrong with
    // writing shows at the end.
    let keep = |estate: &Estate| drop(write_price_cache(path, estate));
    live::wait_for(&args.out, &Notice::default(), io, async |progress| {
        refresh_public_prices(&options, last, progress, &keep).await
    })
}

fn status(args: &StatusArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let path = price_cache::path(io).unwrap_or_default();
    let cache = read_price_cache(&path)
        .map_err(|error| Failure::new(ExitCode::Input, error).with_hint(price_cache::HINT))?;
    let doc = price_status_doc(&path, cache.as_ref(), io.now);
    planner::print_whole(&doc, format, &args.out, io)
}
