//! `gpucost pricing`: offers side by side; and `gpucost pricing status`: what prices there are, and
//! how old they are.

use crate::analysis::{AWS, Offer, SortBy};
use crate::catalog::{
    FamilyFacts, GpuSpec, PricedUnit, bundled_origins, family, gpu_spec, mig_profiles,
    network_gbps, shape, zones as zone_ids,
};
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, InterruptionBand, Money, PriceBasis, PriceOption,
    PriceQuote,
};
use crate::report::doc::{
    Column, Doc, Level, Record, Table, columns, doc_schema, gap_columns, rows,
};
use crate::report::reserved::{BASES, CURRENCIES, ORIGINS, PAYMENTS, TERMS};
use crate::report::shared::gaps::tally;
use crate::report::shared::text::{count, counted, joined, minute, price_with};
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::path::Path;

/// An offer, with the hours of a month.
struct PriceRow<'a>(&'a Offer, Decimal);

/// A commitment: its class or its plan, its term, its price.
struct Sold<'a>(&'static str, CommitmentTerm, &'a PriceQuote);

columns! {
    fn document<'a>(offers: &'a [Offer]) {
        opt word[CURRENCIES] "currency", "", Data, agreed(offers, Offer::currency).map(Currency::code), "null if the prices are in several.";
    }

    fn prices<'a>(row: PriceRow<'a>) {
        text "provider", "provider", Narrow(0), row.0.provider.clone(), "";
        opt text "region", "region", Narrow(0), row.0.region.clone(), "null if a provider quotes one price for all regions.";
        text "instance_type", "type", Narrow(0), row.0.instance_type.clone(), "";
        opt text "gpus", "gpu", Screen, gpus(row.0), "";
        opt text "gpu.model", "", Data, row.0.gpus.as_ref().map(|gpus| gpus.model.clone()), "";
        opt quantity "gpu.count", "", Data, row.0.gpus.as_ref().map(|gpus| gpus.count), "GPUs per machine; a part of one where the machine has a part.";
        opt count "gpu.vram_mib", "", Data, row.0.gpus.as_ref().and_then(|gpus| gpus.vram_mib), "Of each GPU.";
        opt count "vcpu", "", Data, row.0.vcpu, "";
        opt count "memory_mib", "", Data, row.0.memory_mib, "";
        word[PricedUnit::NAMES] "price_basis", "", Data, row.0.unit.name(), "What a price is for.";
        opt word[CURRENCIES] "currency", "", Data, row.0.currency().map(Currency::code), "";
        opt price[4] "on_demand_hourly", "hour", Narrow(0), row.0.hourly().map(HourlyRate::an_hour), "";
        opt whole "on_demand_monthly", "month", Narrow(2), row.0.hourly().map(|rate| Money::new(rate.amount() * row.1, rate.currency())), "For the hours of a month of the policy.";
        opt price[3] "on_demand_per_gpu_hourly", "gpu-h", Narrow(1), in_its_currency(row.0, row.0.per_gpu_hour()), "Per GPU and hour.";
        opt price[4] "on_demand_per_vram_gib_hourly", "gib-h", Narrow(3), in_its_currency(row.0, row.0.per_vram_gib_hour()), "Per GiB of VRAM and hour.";
        opt price[5] "on_demand_per_bf16_tflops_hourly", "tflops-h", Narrow(4), in_its_currency(row.0, row.0.per_bf16_tflops_hour()), "Per dense BF16 TFLOPS and hour.";
        opt date "on_demand_date", "", Data, row.0.on_demand.as_ref().map(seen_on), "The day on which the on-demand price was last seen.";
        opt price[4] "spot_hourly", "spot", Narrow(0), row.0.spot.as_ref().map(PriceQuote::an_hour), "";
        opt date "spot_date", "", Data, row.0.spot.as_ref().map(seen_on), "The day on which the spot price was last seen.";
        opt word[ORIGINS] "spot_origin", "", Data, row.0.spot.as_ref().map(|quote| quote.origin.name()), "";
        opt word[InterruptionBand::NAMES] "interruption_band", "interrupted", Wide, row.0.interruption.map(|(band, _)| band.name()), "How often spot instances were interrupted per month.";
        opt date "interruption_band_date", "", Data, row.0.interruption.map(|(_, date)| date), "";
        opt price[4] "commitment_1yr_hourly", "1 yr", Narrow(0), row.0.commitment_1yr.as_ref().map(PriceQuote::an_hour), "For one year, without upfront payment.";
        opt date "commitment_1yr_date", "", Data, row.0.commitment_1yr.as_ref().map(seen_on), "";
        opt price[4] "commitment_3yr_hourly", "3 yr", Wide, row.0.commitment_3yr.as_ref().map(PriceQuote::an_hour), "For three years, without upfront payment.";
        opt date "commitment_3yr_date", "", Data, row.0.commitment_3yr.as_ref().map(seen_on), "";
        rows[reserved] "reserved", "", Data, row.0.reserved.iter().map(|(term, quote)| Sold("standard", *term, quote)), "Reserved instances.";
        rows[plans] "savings_plans", "", Data, row.0.savings_plans.iter().filter_map(plan), "";
        opt price[4] "capacity_block_hourly", "block", Wide, row.0.capacity_block.as_ref().map(PriceQuote::an_hour), "In a Capacity Block.";
        opt date "capacity_block_date", "", Data, row.0.capacity_block.as_ref().map(seen_on), "";
        opt texts "zones", "zones", Wide, row.0.region.as_deref().and_then(|region| Some(zone_ids(&row.0.instance_type, region)?.to_vec())), "IDs of the zones that offer the type.";
        opt flag "launchable", "", Data, row.0.launchable, "Whether new instances can be launched.";
        opt date "effective_date", "", Data, stated(row.0).map(|quote| quote.effective_date), "The day from which the on-demand price is valid, or the first other price if that is missing.";
        opt date "seen_on", "seen", Wide, stated(row.0).map(seen_on), "The day on which that price was last seen.";
        opt text "source", "", Data, stated(row.0).map(|quote| quote.source.clone()), "The name of its source.";
        opt word[ORIGINS] "origin", "origin", Wide, stated(row.0).map(|quote| quote.origin.name()), "";
    }

    fn reserved<'a>(sold: Sold<'a>) {
        count[TERMS] "term_years", "", Data, sold.1.years, "";
        word[PAYMENTS] "payment", "", Data, sold.1.payment.name(), "";
        word[&["standard"]] "class", "", Data, sold.0, "";
        opt price "upfront", "", Data, sold.2.instalments.map(|paid| Money::new(paid.upfront, sold.2.rate.currency())), "Paid once.";
        opt price "hourly", "", Data, sold.2.instalments.map(|paid| Money::new(paid.hourly, sold.2.rate.currency())), "Paid in addition, every hour.";
        price "effective_hourly", "", Data, sold.2.an_hour(), "Both together, per hour of the term.";
        word[BASES] "basis", "", Data, sold.2.basis.name(), "Whether the price was listed, or computed from listed ones.";
        date "date", "", Data, seen_on(sold.2), "The day on which the price was last seen.";
        word[ORIGINS] "origin", "", Data, sold.2.origin.name(), "";
    }

    fn plans<'a>(sold: Sold<'a>) {
        word[&["ec2-instance", "compute"]] "plan", "", Data, sold.0, "";
        count[TERMS] "term_years", "", Data, sold.1.years, "";
        word[PAYMENTS] "payment", "", Data, sold.1.payment.name(), "";
        price "hourly", "", Data, sold.2.an_hour(), "With the upfront payment spread over the term.";
        word[BASES] "basis", "", Data, sold.2.basis.name(), "Whether the price was listed, or computed from listed ones.";
        date "date", "", Data, seen_on(sold.2), "The day on which the price was last seen.";
        word[ORIGINS] "origin", "", Data, sold.2.origin.name(), "";
    }
}

/// The first of `total` offers, in their order.
pub fn pricing_doc(offers: &[Offer], total: usize, sort: SortBy, hours_per_month: Decimal) -> Doc {
    let rows = offers.iter().map(|offer| PriceRow(offer, hours_per_month));
    let columns = shown_columns(offers, sort);
    let mut table = Table::of("prices", "OFFERS", ("offer", "offers"), columns, rows);
    table.notes = notes(offers, total);
    Doc {
        name: "pricing",
        headline: headline(offers, total),
        record: Record::of(document(), &offers),
        tables: vec![table],
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of [`pricing_doc`].
    pricing_schema: "pricing", [pricing_doc(&[], 0, SortBy::Price, Decimal::ZERO)],
    "Offers, sorted as requested; docs/json.md has the promises of every document. Prices are per hour, with at most six decimals. Keys may be added within a schema_version."
}

/// The columns of offers: what all have in common is in the headline, and what they are sorted by
/// stays on a narrow screen.
fn shown_columns<'a>(offers: &[Offer], sort: SortBy) -> Vec<Column<PriceRow<'a>>> {
    let sorted = match sort {
        SortBy::Price => "on_demand_hourly",
        SortBy::Spot => "spot_hourly",
        SortBy::GpuHour => "on_demand_per_gpu_hourly",
        SortBy::Vram => "on_demand_per_vram_gib_hourly",
        SortBy::Tflops => "on_demand_per_bf16_tflops_hourly",
    };
    let is_block = |offer: &Offer| offer.on_demand.is_none() && offer.capacity_block.is_some();
    let mut columns = prices();
    for column in &mut columns {
        column.head.level = match column.head.path.as_ref() {
            "provider" if agreed(offers, |offer| Some(&offer.provider)).is_some() => Level::Data,
            "region" if agreed(offers, |offer| Some(&offer.region)).is_some() => Level::Data,
            "capacity_block_hourly" if offers.iter().any(is_block) => Level::Narrow(0),
            path if path == sorted => Level::Narrow(0),
            _ => column.head.level,
        };
    }
    if single_aws_type(offers).is_some() {
        columns.retain(|column| column.head.path != "gpus");
    }
    columns
}

/// What offers have in common, of those that have it.
fn agreed<'a, T: PartialEq>(
    offers: &'a [Offer],
    part: impl FnMut(&'a Offer) -> Option<T>,
) -> Option<T> {
    let mut parts = offers.iter().filter_map(part);
    let first = parts.next()?;
    parts.all(|part| part == first).then_some(first)
}

fn single_aws_type(offers: &[Offer]) -> Option<&str> {
    let provider = agreed(offers, |offer| Some(&offer.provider))?;
    (provider == AWS).then_some(agreed(offers, |offer| Some(offer.instance_type.as_str()))?)
}

fn headline(offers: &[Offer], total: usize) -> String {
    if total == 0 {
        return "no priced offers".to_owned();
    }
    let region = agreed(offers, |offer| Some(&offer.region)).and_then(Option::as_ref);
    let common = [agreed(offers, |offer| Some(&offer.provider)), region].into_iter().flatten();
    common.fold("GPU prices per hour".to_owned(), |text, name| format!("{text}, {name}"))
}

fn notes(offers: &[Offer], total: usize) -> Vec<String> {
    let all_offers = counted(total, "offer", "offers");
    let only = offers.first().filter(|_| offers.len() == 1);
    rows! {
        if offers.len() < total => format!("{} of {all_offers}; use `--limit {total}` to show all", count(offers.len() as u64));
        ..only.into_iter().flat_map(|only| [1, 3].map(|years| terms(only, years))).flatten();
        ..dates(offers);
        if !offers.is_empty() => "GPU-H, GIB-H and TFLOPS-H: on-demand per GPU, GiB of VRAM and dense BF16 TFLOPS; YR: commitment, no upfront payment".to_owned();
        if offers.iter().any(|offer| offer.unit == PricedUnit::Gpu) => "clouds with per-GPU prices are shown for one GPU".to_owned();
        if offers.iter().any(|offer| offer.provider != AWS) => "list prices of other clouds, for comparison only".to_owned();
        ..single_aws_type(offers).into_iter().flat_map(card);
    }
}

/// The reserved instances of one length.
fn terms(offer: &Offer, years: u8) -> Option<String> {
    let sold = offer.reserved.iter().filter(|(term, _)| term.years == years);
    let prices = sold.map(|(term, quote)| {
        let basis = if quote.basis == PriceBasis::Derived { " (calculated)" } else { "" };
        format!("{} {}{basis}", price_with(quote.an_hour(), 4), term.payment)
    });
    let (prices, length) = (joined(prices, ", "), counted(years, "year", "years"));
    (!prices.is_empty())
        .then(|| format!("reserved for {length}, upfront spread over the term: {prices}"))
}

/// A quote of an offer.
type QuoteOf = fn(&Offer) -> Option<&PriceQuote>;

/// How old the prices of each option are, and where they are from.
fn dates(offers: &[Offer]) -> Option<String> {
    let options: [(&str, QuoteOf); 5] = [
        ("on-demand", |offer| offer.on_demand.as_ref()),
        ("spot", |offer| offer.spot.as_ref()),
        ("1 year", |offer| offer.commitment_1yr.as_ref()),
        ("3 years", |offer| offer.commitment_3yr.as_ref()),
        ("Capacity Block", |offer| offer.capacity_block.as_ref()),
    ];
    let dated = options.iter().filter_map(|(name, option)| {
        let quotes = || offers.iter().filter_map(option);
        let (oldest, newest) = (quotes().map(seen_on).min()?, quotes().map(seen_on).max()?);
        let origins = quotes().map(|quote| quote.origin.name()).collect::<BTreeSet<_>>();
        let to = if oldest == newest { String::new() } else { format!(" to {newest}") };
        Some(format!("{name} dated {oldest}{to} ({})", joined(origins, ", ")))
    });
    Some(joined(dated, " · ")).filter(|dated| !dated.is_empty())
}

/// What one type is, beside its prices.
fn card(name: &str) -> Vec<String> {
    let Some(shape) = shape(name) else {
        return vec![format!("{name}: no specification available")];
    };
    let gpu = shape.gpu.as_ref();
    let efa = if shape.efa == Some(true) { " with EFA" } else { "" };
    let spec = gpu.and_then(gpu_spec);
    let disks = shape.local_storage_gb.map(|size| format!("{} GB local disks", count(size)));
    let facts: Vec<String> = rows! {
        for gpu in gpu => format!("{} × {}", gpu.share, gpu.model);
        for vram_mib in gpu.and_then(|gpu| gpu.vram_mib) => format!("{} MiB VRAM each", count(vram_mib));
        format!("{} vCPU", shape.vcpu);
        format!("{} GiB memory", count(shape.memory_mib / 1024));
        for known in shape.architecture => known.name().to_owned();
        for network in network_gbps(name) => format!("{} Gbit/s network{efa}", network.normalize());
        disks.unwrap_or_else(|| "no local disks".to_owned());
    };
    let profiles = gpu.into_iter().flat_map(mig_profiles);
    let profiles = profiles.filter(|profile| !profile.name.contains('+'));
    let profiles = profiles.map(|profile| format!("{} × {}", profile.max_instances, profile.name));
    let profiles = joined(profiles, ", ");
    rows! {
        format!("{name}: {}", facts.join(", "));
        for spec in spec => format!("one {}: {}", spec.model, figures(spec).join(", "));
        if !profiles.is_empty() => format!("MIG maximum: {profiles}");
        ..family(shape.family()).into_iter().flat_map(sold_of_family);
    }
}

/// What a data sheet says of one GPU.
fn figures(spec: &GpuSpec) -> Vec<String> {
    rows! {
        for bandwidth in spec.memory_bandwidth_gbps => format!("{bandwidth} GB/s");
        for tflops in spec.bf16_dense_tflops => format!("{tflops} dense BF16 TFLOPS");
        for tflops in spec.fp8_dense_tflops => format!("{tflops} dense FP8 TFLOPS");
        for watts in spec.power_limit_w => format!("{watts} W");
        for capability in &spec.compute_capability => format!("compute capability {capability}");
        for celsius in spec.max_operating_c => format!("{celsius} °C maximum");
    }
}

/// What is not sold of a family, and what its reserved instances apply to.
fn sold_of_family(facts: &FamilyFacts) -> Vec<String> {
    let family = &facts.family;
    let sold = [facts.reserved_1yr, facts.reserved_3yr];
    let unsold = match sold.map(|sold| sold == Some(false)) {
        [true, true] => Some("1 year or 3 years"),
        [true, false] => Some("1 year"),
        [false, true] => Some("3 years"),
        [false, false] => None,
    };
    let covers = facts.size_flexible.filter(|_| sold.contains(&Some(true)));
    rows! {
        if facts.launchable == Some(false) => format!("{family}: no longer available for launch");
        for terms in unsold => format!("{family}: no standard reserved instances for {terms}");
        for is_flexible in covers => format!("{family}: regional Linux reserved instances {}", if is_flexible { "apply partially or fully to other sizes of the family" } else { "apply to this size only" });
    }
}

fn gpus(offer: &Offer) -> Option<String> {
    let gpus = offer.gpus.as_ref()?;
    let size = gpus.vram_mib.map_or_else(String::new, |mib| format!(" {}G", (mib + 512) / 1024));
    Some(format!("{} × {}{size}", gpus.count, gpus.model))
}

/// The on-demand price, or the first other one.
fn stated(offer: &Offer) -> Option<&PriceQuote> {
    offer.on_demand.as_ref().or_else(|| offer.quotes().next())
}

fn seen_on(quote: &PriceQuote) -> Date {
    quote.seen_on
}

fn in_its_currency(offer: &Offer, amount: Option<Decimal>) -> Option<Money> {
    Some(Money::new(amount?, offer.currency()?))
}

fn plan((option, quote): &(PriceOption, PriceQuote)) -> Option<Sold<'_>> {
    match option {
        PriceOption::Ec2InstanceSavingsPlan(term) => Some(Sold("ec2-instance", *term, quote)),
        PriceOption::ComputeSavingsPlan(term) => Some(Sold("compute", *term, quote)),
        _ => None,
    }
}

/// The cache, if there is one, where it is, and the day.
struct Cache<'a>(Option<&'a Estate>, &'a Path, Date);

/// Prices of one list and day: from where, their list, when they were seen, how many, and today.
type List = (&'static str, String, Date, u64, Date);

columns! {
    fn status_document<'a>(row: Cache<'a>) {
        opt record[cache] "cache", "", Wide, row.0.map(|estate| (estate, row.2)), "null without refreshed prices.";
        text "cache_path", "", Data, row.1.display().to_string(), "";
    }

    fn cache<'a>(row: (&'a Estate, Date)) {
        time "refreshed_at", "", Data, row.0.as_of, "";
        opt count "age_days", "", Data, age_days(day(row.0.as_of), row.1), "In days; null if it is from the future.";
        texts "regions", "", Data, regions(row.0), "Those that it has prices for.";
        count "instance_types", "", Data, instance_types(row.0), "Number of types.";
        rows[gap_columns] "gaps", "", Data, row.0.gaps.iter(), "What the last refresh could not read.";
    }

    fn lists(list: List) {
        word[&["cache", "bundled"]] "origin", "origin", Narrow(0), list.0, "";
        count "prices", "prices", Narrow(0), list.3, "Number of prices.";
        date "date", "date", Narrow(0), list.2, "The day on which its prices were last seen.";
        opt count "age_days", "days", Narrow(0), age_days(list.2, list.4), "In days; null if it is from the future.";
        text "source", "list", Narrow(0), list.1.clone(), "";
    }
}

/// The prices of the bundled catalog and of a cache, as of now.
pub fn price_status_doc(path: &Path, estate: Option<&Estate>, now: Timestamp) -> Doc {
    let today = day(now);
    let cached = estate.into_iter().flat_map(|estate| estate.prices.iter());
    let cached = tally(cached.map(|(_, quote)| (quote.source.clone(), quote.seen_on)));
    let rows = [("cache", cached), ("bundled", bundled_origins(|_| true))];
    let rows = rows.into_iter().flat_map(|(origin, lists)| {
        lists.into_iter().map(move |((source, date), prices)| (origin, source, date, prices, today))
    });
    let mut table = Table::of("lists", "LISTS", ("list", "lists"), lists(), rows);
    table.notes.push(format!("cache: {}", path.display()));
    table.notes.extend(estate.into_iter().flat_map(|estate| &estate.gaps).map(|gap| {
        format!("not read: {} of {}: {}; hint: {}", gap.what, gap.place, gap.reason, gap.hint)
    }));
    Doc {
        name: "pricing status",
        headline: status_headline(estate, today),
        record: Record::of(status_document(), &Cache(estate, path, today)),
        tables: vec![table],
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of [`price_status_doc`].
    price_status_schema: "pricing-status", [price_status_doc(Path::new(""), None, Timestamp::UNIX_EPOCH)],
    "The prices there are, and how old they are; docs/json.md has the promises of every document. Keys may be added within a schema version."
}

fn status_headline(estate: Option<&Estate>, today: Date) -> String {
    let Some(estate) = estate else {
        return "no cache; run `gpucost pricing refresh` to create one".to_owned();
    };
    let age = age_days(day(estate.as_of), today)
        .map_or_else(|| "from the future".to_owned(), |days| counted(days, "day old", "days old"));
    let types = counted(instance_types(estate), "type", "types");
    let regions = counted(regions(estate).len(), "region", "regions");
    format!("cache from {} ({age}): {types}, {regions}", minute(estate.as_of))
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

fn age_days(date: Date, today: Date) -> Option<u64> {
    u64::try_from(today.duration_since(date).as_hours() / 24).ok()
}

/// Those that it has a price of, of the last refresh or of an earlier one.
fn regions(estate: &Estate) -> Vec<String> {
    let regions = estate.prices.iter().map(|(key, _)| key.region.clone());
    regions.collect::<BTreeSet<_>>().into_iter().collect()
}

fn instance_types(estate: &Estate) -> u64 {
    let types = estate.prices.iter().map(|(key, _)| key.instance_type.as_str());
    types.collect::<BTreeSet<_>>().len() as u64
}
