//! `gpucost pricing`: find, compare, refresh.

use super::args::{DocFormat, OutputArgs, gpu_count, hourly_price};
use super::aws_args::AwsArgs;
use super::planning::{AnswerArgs, Planning};
use super::{
    ExitCode, Failure, Io, Outcome, audit, cache, choices, estate, flags, known_prices, live,
    output, refused,
};
use crate::analysis::{AWS, Offer, Question, SortBy, compare, providers, sold_elsewhere};
use crate::catalog::{Prices, bundled_regions};
use crate::config::SettingsFile;
use crate::domain::{PriceBook, counted, shown};
use crate::gather::{PublicRefresh, RefreshOptions, refresh_prices, refresh_public_prices};
use crate::report::{price_status_doc, pricing_doc};
use crate::sources::aws::Notice;
use crate::sources::files::{read_price_cache, write_price_cache};
use crate::usage::Estate;
use clap::Subcommand;
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::path::Path;

flags! {
    /// `gpucost pricing`.
    #[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
    pub(super) struct PricingArgs {
        action: Option<PricingAction> = command(subcommand);
        /// Instance types, such as p5.48xlarge [default: every GPU type]
        types: Vec<String> = arg(value_name = "TYPE");
        /// GPU model, memory or both: H100, A100:80GB, 24GB.., 24GB..48GB
        gpu: Option<String> = arg(long, value_name = "GPU", conflicts_with = "types");
        /// Number of GPUs per machine
        count: Option<Decimal> = arg(long, value_name = "N", value_parser = gpu_count, conflicts_with = "types");
        /// Comma-separated regions, with `*` as a wildcard, or `all`
        /// [default: us-east-1 and its equivalents]
        region: Option<String> = arg(long, value_name = "R[,R…]|all");
        /// Comma-separated providers, or `all` [default: aws]
        provider: Option<String> = arg(long, value_name = "P[,P…]|all");
        /// Operating system (AWS only)
        os: String = arg(long, value_name = "OS", default_value = "linux");
        /// Every accelerator, and not GPUs alone: Trainium, Inferentia, FPGAs, transcoders
        all: bool = arg(long, conflicts_with_all = ["types", "gpu"]);
        /// Price figure to sort by, cheapest first
        sort: SortBy = arg(long, value_parser = FIGURES, value_name = "FIGURE", default_value = "price");
        /// Only offers whose figure of `--sort` is at most this, in the currency of the offer
        max_price: Option<Decimal> = arg(long, value_name = "PRICE", value_parser = hourly_price, allow_negative_numbers = true);
        /// Maximum number of rows [default: 40 with `--format table`, otherwise all]
        limit: Option<usize> = arg(long, value_name = "N");
        answer: AnswerArgs = command(flatten);
    }

    /// `gpucost pricing refresh`.
    pub(super) struct RefreshArgs {
        /// Read the price files that AWS publishes for everyone, without an account; about 300 MB
        /// per region [default region: us-east-1]
        public: bool = arg(long, conflicts_with_all = ["profile", "deadline"]);
        aws: AwsArgs = command(flatten);
        out: OutputArgs = command(flatten);
    }

    /// `gpucost pricing status`.
    pub(super) struct StatusArgs {
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

/// What to do about prices.
#[derive(Debug, Subcommand)]
pub(super) enum PricingAction {
    /// Fetch the prices of every GPU type from AWS into the user's cache
    Refresh(Box<RefreshArgs>),
    /// Show the available prices and their age
    Status(Box<StatusArgs>),
}

choices! {
    FIGURES: SortBy {
        "price|on-demand" = Price, "On-demand price per hour";
        "spot" = Spot, "Spot price per hour";
        "gpu-hour" = GpuHour, "Price per GPU and hour";
        "vram" = Vram, "Price per GiB of VRAM and hour";
        "tflops" = Tflops, "Price per dense BF16 TFLOPS and hour";
    }
}

/// Rows that the narrow table shows unless asked for more.
const ROWS: usize = 40;
/// Regions of a type that are named where it is not sold in those that were asked for.
const REGIONS_NAMED: usize = 8;

pub(super) fn run(args: &PricingArgs, io: &mut Io<'_>) -> Outcome {
    match &args.action {
        Some(PricingAction::Refresh(args)) => refresh(args, io),
        Some(PricingAction::Status(args)) => status(args, io),
        None => look_up(args, io),
    }
}

fn look_up(args: &PricingArgs, io: &mut Io<'_>) -> Outcome {
    let planning = Planning::of(&args.answer, &[], io)?;
    let question = question(args, &planning.settings, io)?;
    let book = planning.book(None, args.answer.offline, io)?;
    let prices = planning.prices(&book);
    known_prices::refuse_unknown(&question, &prices)?;
    let mut offers = compare(&question, &prices);
    narrow(&mut offers, &question, args);
    let quotes = offers.iter().flat_map(|offer| offer.quotes());
    planning.age.check(quotes.map(|quote| quote.seen_on).min(), io.now)?;
    // The hint helps for these alone; the table dates the others.
    let quotes = offers.iter().flat_map(|offer| offer.refreshable_quotes());
    let priced = (quotes.map(|quote| quote.seen_on).min(), io.now);
    let offer_count = offers.len();
    let rows = match planning.format {
        DocFormat::Table => ROWS,
        _ => usize::MAX,
    };
    offers.truncate(args.limit.unwrap_or(rows));
    let hours = planning.settings.policy.hours_per_month;
    let doc = pricing_doc(&offers, offer_count, question.sort, hours);
    planning.print(&doc, Some(usize::MAX), priced, io)?;
    let places = sold_in(&question, &prices);
    for place in places.iter().filter(|_| offer_count > 0) {
        planning.say(&format!("note: no priced offer here: {place}"), io);
    }
    let cut = match offer_count - offers.len() {
        0 => String::new(),
        _ if planning.format.is_table() => String::new(),
        cut => format!("; {cut} omitted by `--limit`"),
    };
    let total = counted(offer_count, "offer", "offers");
    planning.say(&format!("{total}{cut}"), io);
    if offer_count == 0 {
        let wider = "widen `--region`, `--gpu`, `--count` or `--max-price`; `--region all` \
                     searches all regions";
        let hint = if places.is_empty() { wider.to_owned() } else { places.join("; ") };
        return Ok(output::complain("no priced offer matches", &hint, ExitCode::Nothing, io));
    }
    Ok(ExitCode::Done)
}

/// Leaves GPUs where no other accelerator is named, and what costs no more than is asked.
fn narrow(offers: &mut Vec<Offer>, question: &Question, args: &PricingArgs) {
    let names_model = question.gpu.as_ref().is_some_and(|gpu| gpu.model.is_some());
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
            more => format!(" and {}", counted(more, "more region", "more regions")),
        };
        format!("{name} is sold in {}{more}", named.join(", "))
    };
    sold_elsewhere(question, prices).into_iter().map(sold).collect()
}

fn question(args: &PricingArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Question> {
    let list = |names: &str| -> Vec<String> {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let asked: BTreeSet<String> = args.provider.iter().flat_map(|names| list(names)).collect();
    Ok(Question {
        instance_types: args.types.clone(),
        gpu: known_prices::gpu_filter(args.gpu.as_deref())?,
        count: args.count,
        regions: args.region.as_deref().map(list).unwrap_or_default(),
        home_region: known_prices::home_region(settings, io),
        providers: if asked.contains("all") {
            providers()
        } else if asked.is_empty() {
            BTreeSet::from([AWS.to_owned()])
        } else {
            asked
        },
        operating_system: known_prices::operating_system(&args.os)?,
        sort: args.sort,
    })
}

fn refresh(args: &RefreshArgs, io: &mut Io<'_>) -> Outcome {
    let settings = estate::settings(&args.out, io)?;
    let path = cache::path(cache::PRICES, io)
        .ok_or_else(refused!("no cache directory available";
        "set GPUCOST_CACHE_DIR"))?;
    // A cache that cannot be read is replaced by what is read now.
    let last = read_price_cache(&path).ok().flatten();
    let last = last.map(|estate| estate.prices).unwrap_or_default();
    let estate = if args.public {
        public_prices(args, &settings, &path, &last, io)?
    } else {
        let options = RefreshOptions {
            aws: args.aws.options(&settings, io),
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
    output::print_rows(&doc, DocFormat::Table, Some(usize::MAX), &args.out, io)?;
    let regions = counted(estate.regions.len(), "region", "regions");
    let gaps = counted(estate.gaps.len(), "gap", "gaps");
    output::say(&format!("refreshed {regions}; {gaps}"), &args.out, io);
    Ok(ExitCode::Done)
}

/// Prices of the files that AWS publishes for everyone.
fn public_prices(
    args: &RefreshArgs,
    settings: &SettingsFile,
    path: &Path,
    last: &PriceBook,
    io: &Io<'_>,
) -> Outcome<Estate> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::write(&shown(folder), error)
            .with_hint("set GPUCOST_CACHE_DIR to a writable directory")
    })?;
    let usual = io.variable("AWS_ENDPOINT_URL");
    let every = || bundled_regions(None).into_iter().map(str::to_owned);
    let options = PublicRefresh {
        endpoint_url: args.aws.endpoint_url.as_ref().or(usual).cloned(),
        regions: match estate::asked_regions(&args.aws, settings, io)? {
            Some(regions) => regions,
            None if estate::asks_every_region(&args.aws, settings, io) => every().collect(),
            // The file of a region is too large to be read without having been asked for.
            None => vec![known_prices::HOME_REGION.to_owned()],
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

fn status(args: &StatusArgs, io: &mut Io<'_>) -> Outcome {
    let format = audit::format(args.format, &estate::settings(&args.out, io)?, io)?;
    let path = cache::path(cache::PRICES, io).unwrap_or_default();
    let cache = read_price_cache(&path).map_err(Failure::hinted(cache::PRICE_HINT))?;
    let doc = price_status_doc(&path, cache.as_ref(), io.now);
    output::print_rows(&doc, format, Some(usize::MAX), &args.out, io)
}
