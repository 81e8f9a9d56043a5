//! `gpucost pricing` for people.

use crate::analysis::{AWS, Offer, OfferedGpus, SortBy};
use crate::catalog::{PricedUnit, family, gpu_spec, mig_profiles, network_gbps, shape, zones};
use crate::domain::{Money, PriceBasis, PriceQuote};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, columns_left_out};
use crate::report::shared::text::{ABSENT, count, counted, fit, money, wrap};
use rust_decimal::{Decimal, RoundingStrategy};
use std::collections::BTreeSet;

/// Lines of explanation are wrapped to this many columns at most.
const PROSE_WIDTH: usize = 100;
/// Columns of figures per unit with their units.
const PER_UNIT: [(&str, &str); 3] = [
    ("GPU-H", "GPU"),
    ("GIB-H", "GiB of VRAM"),
    ("TFLOPS-H", "dense BF16 TFLOPS"),
];
/// Which columns make room for the others, the first one first.
const SPARE: [&str; 4] = ["TFLOPS-H", "GIB-H", "MONTH", "GPU-H"];

/// How to lay out a comparison.
#[derive(Debug, Clone, Copy)]
pub struct PricingStyle {
    /// How the table is drawn; a wide one has every option with its date.
    pub table: TableStyle,
    /// Rows to show at most.
    pub limit: usize,
    /// What offers are sorted by: its column is not left out.
    pub sort: SortBy,
    pub hours_per_month: Decimal,
}

impl PricingStyle {
    fn prose(self) -> usize {
        self.table.width.min(PROSE_WIDTH)
    }

    /// The column of what offers are sorted by.
    fn sorted(self) -> &'static str {
        match self.sort {
            SortBy::Price => "HOUR",
            SortBy::Spot => "SPOT",
            SortBy::GpuHour => "GPU-H",
            SortBy::Vram => "GIB-H",
            SortBy::Tflops => "TFLOPS-H",
        }
    }
}

pub fn pricing_table(offers: &[Offer], style: PricingStyle) -> String {
    if offers.is_empty() {
        return "no priced offers\n".to_owned();
    }
    let shown = &offers[..offers.len().min(style.limit)];
    let mut lines = Vec::new();
    if let Some(name) = single_aws_type(offers) {
        lines.extend(card(name, style.prose()));
        lines.push(String::new());
    }
    let columns = Columns::of(shown, style);
    lines.push(columns.title(shown, style.prose()));
    lines.push(String::new());
    let table = columns.table(shown, style.sorted());
    lines.extend(table.lines_in(style.table, 0));
    if let [only] = offers {
        lines.extend(commitments(only, style.prose()));
    }
    lines.push(String::new());
    if shown.len() < offers.len() {
        lines.push(format!(
            "{} of {}; use `--limit {}` to show all",
            count(shown.len() as u64),
            counted(offers.len() as u64, "offer", "offers"),
            offers.len()
        ));
    }
    let left_out = table.left_out(style.table, 0);
    lines.extend(columns.legend(shown, &left_out, style.prose()));
    if let Some(text) = columns_left_out(&left_out, style.table) {
        lines.extend(wrap(&text, style.prose()));
    }
    lines.join("\n") + "\n"
}

fn single_aws_type(offers: &[Offer]) -> Option<&str> {
    let first = offers.first()?;
    let same = |offer: &Offer| offer.provider == AWS && offer.instance_type == first.instance_type;
    offers
        .iter()
        .all(same)
        .then_some(first.instance_type.as_str())
}

/// What one type is, beside its prices.
fn card(name: &str, width: usize) -> Vec<String> {
    let Some(shape) = shape(name) else {
        return vec![format!("{name}: no specification available")];
    };
    let mut facts = Vec::new();
    if let Some(gpu) = &shape.gpu {
        facts.push(format!("{} × {}", gpu.share, gpu.model));
        facts.extend(
            gpu.vram_mib
                .map(|mib| format!("{} MiB VRAM each", count(mib))),
        );
    }
    facts.push(format!("{} vCPU", shape.vcpu));
    facts.push(format!("{} GiB memory", count(shape.memory_mib / 1024)));
    facts.extend(shape.architecture.map(|known| known.name().to_owned()));
    if let Some(network) = network_gbps(name) {
        let efa = if shape.efa == Some(true) {
            " with EFA"
        } else {
            ""
        };
        facts.push(format!("{} Gbit/s network{efa}", network.normalize()));
    }
    facts.push(match shape.local_storage_gb {
        Some(size) => format!("{} GB local disks", count(size)),
        None => "no local disks".to_owned(),
    });
    let mut lines = wrap(&format!("{name}: {}", facts.join(", ")), width);
    if let Some(spec) = shape.gpu.as_ref().and_then(gpu_spec) {
        let figure = |value: Option<f64>, unit: &str| value.map(|value| format!("{value} {unit}"));
        let facts: Vec<String> = [
            figure(spec.memory_bandwidth_gbps, "GB/s"),
            figure(spec.bf16_dense_tflops, "dense BF16 TFLOPS"),
            figure(spec.fp8_dense_tflops, "dense FP8 TFLOPS"),
            figure(spec.power_limit_w, "W"),
            spec.compute_capability
                .as_ref()
                .map(|capability| format!("compute capability {capability}")),
            figure(spec.max_operating_c, "°C maximum"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = format!("one {}: {}", spec.model, facts.join(", "));
        lines.extend(wrap(&text, width));
    }
    let profiles: Vec<String> = shape
        .gpu
        .iter()
        .flat_map(mig_profiles)
        .filter(|profile| !profile.name.contains('+'))
        .map(|profile| format!("{} × {}", profile.max_instances, profile.name))
        .collect();
    if !profiles.is_empty() {
        let text = format!("MIG maximum: {}", profiles.join(", "));
        lines.extend(wrap(&text, width));
    }
    if let Some(facts) = family(shape.family()) {
        if facts.launchable == Some(false) {
            lines.push(format!("{}: no longer available for launch", facts.family));
        }
        let unsold: Vec<&str> = [
            (facts.reserved_1yr, "1 year"),
            (facts.reserved_3yr, "3 years"),
        ]
        .into_iter()
        .filter_map(|(sold, term)| (sold == Some(false)).then_some(term))
        .collect();
        if !unsold.is_empty() {
            lines.push(format!(
                "{}: no standard reserved instances for {}",
                facts.family,
                unsold.join(" or ")
            ));
        }
        let sells = [facts.reserved_1yr, facts.reserved_3yr].contains(&Some(true));
        if let (true, Some(flexible)) = (sells, facts.size_flexible) {
            let covers = if flexible {
                "apply partially or fully to other sizes of the family"
            } else {
                "apply to this size only"
            };
            let text = format!(
                "{}: regional Linux reserved instances {covers}",
                facts.family
            );
            lines.extend(wrap(&text, width));
        }
    }
    lines
}

/// Every reserved instance that is sold of an offer, a line for each length.
fn commitments(offer: &Offer, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for years in [1, 3] {
        let terms: Vec<String> = offer
            .reserved
            .iter()
            .filter(|(term, _)| term.years == years)
            .map(|(term, quote)| {
                let sign = quote.rate.currency().sign();
                let rate = rounded(quote.rate.amount(), 4);
                let basis = match quote.basis {
                    PriceBasis::Observed => "",
                    PriceBasis::Derived => " (derived)",
                };
                format!("{sign}{rate} {}{basis}", term.payment)
            })
            .collect();
        if !terms.is_empty() {
            let length = counted(u64::from(years), "year", "years");
            let text = format!(
                "reserved for {length}, upfront spread over the term: {}",
                terms.join(", ")
            );
            lines.extend(wrap(&text, width));
        }
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// Which columns a set of offers needs.
struct Columns {
    provider: bool,
    region: bool,
    gpu: bool,
    block: bool,
    wide: bool,
    hours_per_month: Decimal,
}

impl Columns {
    fn of(offers: &[Offer], style: PricingStyle) -> Self {
        Self {
            provider: differ(offers, |offer| Some(offer.provider.as_str())),
            region: differ(offers, |offer| offer.region.as_deref()),
            // One machine is described above the table.
            gpu: single_aws_type(offers).is_none(),
            block: style.table.wide
                || offers
                    .iter()
                    .any(|offer| offer.on_demand.is_none() && offer.capacity_block.is_some()),
            wide: style.table.wide,
            hours_per_month: style.hours_per_month,
        }
    }

    /// What all rows have in common.
    fn title(&self, offers: &[Offer], width: usize) -> String {
        let mut parts = vec!["GPU prices per hour".to_owned()];
        if !self.provider {
            parts.extend(offers.first().map(|offer| offer.provider.clone()));
        }
        if !self.region {
            parts.extend(offers.first().and_then(|offer| offer.region.clone()));
        }
        fit(&parts.join(", "), width)
    }

    /// A row for each offer; `sorted` is the column of what they are sorted by.
    fn table(&self, offers: &[Offer], sorted: &str) -> PlainTable {
        let header = self.header();
        let texts = 1 + [self.provider, self.region, self.gpu]
            .into_iter()
            .map(usize::from)
            .sum::<usize>();
        let numbers = if self.wide {
            header.len() - 3
        } else {
            header.len()
        };
        let spare = SPARE.iter().filter(|title| **title != sorted);
        let spare = spare.filter_map(|title| header.iter().position(|one| one == title));
        let spare: Vec<usize> = spare.collect();
        let mut table = PlainTable::new(&header, texts..numbers).whole(&spare);
        for offer in offers {
            table.row(self.row(offer));
        }
        table
    }

    fn header(&self) -> Vec<&'static str> {
        let mut header = Vec::new();
        if self.provider {
            header.push("PROVIDER");
        }
        header.push("TYPE");
        if self.region {
            header.push("REGION");
        }
        if self.gpu {
            header.push("GPU");
        }
        header.extend([
            "HOUR", "MONTH", "GPU-H", "GIB-H", "TFLOPS-H", "SPOT", "1 YR",
        ]);
        if self.wide {
            header.push("3 YR");
        }
        if self.block {
            header.push("BLOCK");
        }
        if self.wide {
            header.extend(["INTERRUPTED", "OF", "ZONES"]);
        }
        header
    }

    fn row(&self, offer: &Offer) -> Vec<String> {
        let mut row = Vec::new();
        if self.provider {
            row.push(fit(&offer.provider, 14));
        }
        row.push(fit(&offer.instance_type, 24));
        if self.region {
            row.push(
                offer
                    .region
                    .as_deref()
                    .map_or_else(absent, |region| fit(region, 18)),
            );
        }
        if self.gpu {
            row.push(offer.gpus.as_ref().map_or_else(absent, gpus));
        }
        let sign = |amount: Decimal, decimals: u32| {
            let currency = offer.currency().map_or("", |currency| currency.sign());
            format!("{currency}{}", rounded(amount, decimals))
        };
        let rate = |quote: &Option<PriceQuote>| {
            quote
                .as_ref()
                .map_or_else(absent, |quote| sign(quote.rate.amount(), 4))
        };
        row.push(rate(&offer.on_demand));
        row.push(self.month(offer));
        row.push(offer.per_gpu_hour().map_or_else(absent, |x| sign(x, 3)));
        row.push(
            offer
                .per_vram_gib_hour()
                .map_or_else(absent, |x| sign(x, 4)),
        );
        row.push(
            offer
                .per_bf16_tflops_hour()
                .map_or_else(absent, |x| sign(x, 5)),
        );
        row.push(rate(&offer.spot));
        row.push(rate(&offer.commitment_1yr));
        if self.wide {
            row.push(rate(&offer.commitment_3yr));
        }
        if self.block {
            row.push(rate(&offer.capacity_block));
        }
        if self.wide {
            row.push(
                offer
                    .interruption
                    .map_or_else(absent, |(band, _)| band.name().to_owned()),
            );
            row.push(dates(offer));
            row.push(zone_ids(offer));
        }
        row
    }

    fn month(&self, offer: &Offer) -> String {
        offer.hourly().map_or_else(absent, |rate| {
            let month = rate.amount() * self.hours_per_month;
            let whole = month.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
            let text = money(Money::new(whole, rate.currency()));
            text.trim_end_matches(".00").to_owned()
        })
    }

    /// What the columns that are shown mean, and how old each of them is.
    fn legend(&self, offers: &[Offer], left_out: &[String], width: usize) -> Vec<String> {
        let mut parts = Vec::new();
        let column = |name: &str, quotes: Vec<&PriceQuote>| {
            let oldest = quotes.iter().map(|quote| quote.seen_on).min()?;
            let newest = quotes.iter().map(|quote| quote.seen_on).max()?;
            let origins: BTreeSet<&str> = quotes.iter().map(|quote| quote.origin.name()).collect();
            let origins: Vec<&str> = origins.into_iter().collect();
            let when = if oldest == newest {
                oldest.to_string()
            } else {
                format!("{oldest} to {newest}")
            };
            Some(format!("{name} dated {when} ({})", origins.join(", ")))
        };
        let of = |pick: fn(&Offer) -> &Option<PriceQuote>| -> Vec<&PriceQuote> {
            offers
                .iter()
                .filter_map(|offer| pick(offer).as_ref())
                .collect()
        };
        parts.extend(column("on-demand", of(|offer| &offer.on_demand)));
        parts.extend(column("spot", of(|offer| &offer.spot)));
        parts.extend(column("1 year", of(|offer| &offer.commitment_1yr)));
        if self.wide {
            parts.extend(column("3 years", of(|offer| &offer.commitment_3yr)));
        }
        if self.block {
            parts.extend(column("Capacity Block", of(|offer| &offer.capacity_block)));
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let mut lines = wrap(&parts.join(" · "), width);
        let (titles, units): (Vec<&str>, Vec<&str>) = PER_UNIT
            .iter()
            .filter(|(title, _)| !left_out.iter().any(|one| one == title))
            .copied()
            .unzip();
        let per_unit = if titles.is_empty() {
            String::new()
        } else {
            format!("{}: on-demand per {}; ", listed(&titles), listed(&units))
        };
        let text = format!("{per_unit}YR: commitment, no upfront payment");
        lines.extend(wrap(&text, width));
        if offers.iter().any(|offer| offer.unit == PricedUnit::Gpu) {
            lines.push("clouds with per-GPU prices are shown for one GPU".to_owned());
        }
        if offers.iter().any(|offer| offer.provider != AWS) {
            lines.push("list prices of other clouds, for comparison only".to_owned());
        }
        lines
    }
}

/// Words in a sentence: the last one after `and`.
fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

fn absent() -> String {
    ABSENT.to_owned()
}

fn gpus(gpus: &OfferedGpus) -> String {
    let size = gpus
        .vram_mib
        .map_or_else(String::new, |mib| format!(" {}G", (mib + 512) / 1024));
    fit(&format!("{} × {}{size}", gpus.count, gpus.model), 24)
}

fn rounded(amount: Decimal, decimals: u32) -> String {
    let amount = amount.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    format!("{amount:.*}", decimals as usize)
}

/// Dates of the prices, once where they agree.
fn dates(offer: &Offer) -> String {
    let dates: BTreeSet<String> = offer
        .quotes()
        .map(|quote| quote.seen_on.to_string())
        .collect();
    dates.into_iter().collect::<Vec<_>>().join(" ")
}

fn zone_ids(offer: &Offer) -> String {
    offer
        .region
        .as_deref()
        .and_then(|region| zones(&offer.instance_type, region))
        .map_or_else(absent, |zones| zones.join(" "))
}

fn differ<'a>(offers: &'a [Offer], part: impl Fn(&'a Offer) -> Option<&'a str>) -> bool {
    offers.iter().map(part).collect::<BTreeSet<_>>().len() > 1
}
