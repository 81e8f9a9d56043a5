//! `gpucost fit` in words.

mod given;
mod measured;
mod steps;

use super::figures::{MIB_OF_GIB, gib, missing, on_arm, rows};
use crate::domain::{OperatingSystem, shell_word};
use crate::planners::fit::{Candidate, Computes, Fit, MeasuredMemory, Refused};
use crate::planners::model::{Dtype, Model, parameters};
use crate::report::doc::{Doc, Missing, Table, columns};
use crate::report::shared::text::{count, counted, money};
use std::collections::BTreeSet;

/// Tokens of the longest prompt among the measurements in `docs/planners/fit.md`.
const MEASURED_TOKENS: u64 = 5_000;

/// The types that hold a model, and what each costs; and, where memory was measured, the formula
/// beside it.
pub fn fit_answer(fit: &Fit, seen: Option<&MeasuredMemory>) -> Doc {
    let first = fit.candidates.first();
    let compared = seen.map(|seen| measured::table(fit, seen));
    let uncomputed = seen.filter(|_| compared.as_ref().is_some_and(|table| table.rows.is_empty()));
    Doc {
        name: "fit",
        headline: headline(fit),
        given: given::given(fit),
        steps: first.map_or_else(Vec::new, |one| steps::steps(one, fit)),
        missing: unknown(fit, uncomputed),
        tables: rows! {
            types(fit);
            ..compared;
            dtypes(fit);
            refused(fit);
        },
        caveats: caveats(fit, seen.is_some()),
        next: next(fit),
        ..Doc::default()
    }
}

fn model_name(model: &Model) -> String {
    let size = || format!("a model of {} parameters", parameters(model.params));
    model.name.map_or_else(size, str::to_owned)
}

fn headline(fit: &Fit) -> String {
    let load = &fit.ask.load;
    let sequences = u64::from(load.sequences);
    let served = format!(
        "{} with {} of {} tokens",
        model_name(&fit.ask.model),
        counted(sequences, "sequence", "sequences"),
        count(load.context_tokens)
    );
    let Some(one) = fit.candidates.first() else {
        return served;
    };
    let held = format!("{served} fits on {} in {}", one.instance_type, one.dtype);
    let terms = &fit.ask.terms;
    match (one.monthly(terms), one.per_million(terms)) {
        (Some(month), Some(million)) => format!(
            "{held} for {} per month, about {} per million output tokens",
            money(month),
            money(million)
        ),
        _ => format!("{held}; no price is known"),
    }
}

columns! {
    fn of_types<'a>(row: (&'a Candidate, &'a Fit)) {
        text "instance_type", "type", Narrow(0), row.0.instance_type.clone();
        text "dtype", "dtype", Narrow(0), row.0.dtype.name().to_owned();
        text "gpus", "GPUs", Narrow(0), format!("{} × {}", row.0.card.gpus, row.0.card.model);
        text "layout", "layout", Narrow(0), format!("{} × {}", row.0.copies, row.0.gpus_each);
        number "gpu_memory_needed_gib", "GiB needed", Wide, row.0.needed_mib / MIB_OF_GIB;
        number "gpu_memory_gib", "GiB per GPU", Wide, row.0.card.usable_mib as f64 / MIB_OF_GIB;
        count "most_sequences", "sequences", Wide, row.0.holds;
        text "computes_in", "computes in", Wide, computes_in(row.0).to_owned();
        number "token_ms", "ms per token", Wide, row.0.pace.step_seconds * 1e3;
        number[2] "first_tokens_seconds", "s to first tokens", Wide, row.0.pace.prefill_seconds;
        number[0] "output_tokens_per_second", "tokens/s", Narrow(0), row.0.tokens_per_second;
        opt money "cost_monthly", "month", Narrow(0), row.0.monthly(&row.1.ask.terms);
        opt price "cost_hourly", "hour", Narrow(0), row.0.hourly();
        opt price "cost_per_hour_of_use", "hour of use", Narrow(0), row.0.hourly_of_use(&row.1.ask.terms);
        opt price "cost_per_million_output_tokens", "1M tokens", Narrow(0), row.0.per_million(&row.1.ask.terms);
        opt text "price_origin", "origin", Wide, row.0.price.as_ref().map(|quote| quote.origin.to_string());
        opt date "price_date", "price date", Wide, row.0.price.as_ref().map(|quote| quote.seen_on);
    }
}

fn computes_in(one: &Candidate) -> &'static str {
    match one.card.computes {
        Computes::AsStored => one.dtype.name(),
        Computes::In16Bits => "16 bits",
    }
}

fn types(fit: &Fit) -> Table {
    let rows = fit.candidates.iter().map(|one| (one, fit));
    let title = "TYPES  that hold the model; layout: copies × GPUs of a copy";
    // Both prices are the same where every hour is used.
    let is_in_part = fit.ask.terms.utilization < 1.0;
    Table::of("types", title, ("type", "types"), of_types(), rows)
        .wide_unless(!is_in_part, &["cost_hourly"])
        .wide_unless(is_in_part, &["cost_per_hour_of_use"])
}

columns! {
    fn of_dtypes<'a>(row: (Dtype, &'a Fit)) {
        text "dtype", "dtype", Narrow(0), row.0.name().to_owned();
        number "weights_gib", "weights GiB", Narrow(0), gib(row.1.ask.model.weight_bytes(row.0));
        number "cache_gib", "cache GiB", Narrow(0), gib(cache_bytes(row.1));
        count "types", "types", Narrow(0), row.1.of(row.0).count();
        opt text "cheapest_type", "cheapest", Narrow(0), cheapest(row).map(|one| one.instance_type.clone());
        opt money "cheapest_cost_monthly", "month", Narrow(0), cheapest(row).and_then(|one| one.monthly(&row.1.ask.terms));
        opt text "least_per_million_type", "cheapest tokens", Narrow(0), row.1.least_per_million(row.0).map(|one| one.instance_type.clone());
        opt price "least_cost_per_million_output_tokens", "1M tokens", Narrow(0), row.1.least_per_million(row.0).and_then(|one| one.per_million(&row.1.ask.terms));
    }
}

/// Of the cache of all sequences.
fn cache_bytes(fit: &Fit) -> f64 {
    let load = &fit.ask.load;
    let tokens = load.context_tokens as f64 * f64::from(load.sequences);
    tokens * fit.ask.model.kv_bytes_per_token(fit.ask.terms.kv_dtype)
}

fn cheapest<'a>((dtype, fit): &(Dtype, &'a Fit)) -> Option<&'a Candidate> {
    fit.of(*dtype).find(|one| one.price.is_some())
}

fn dtypes(fit: &Fit) -> Table {
    Table::of(
        "dtypes",
        "TYPES OF NUMBERS  the same model in each",
        ("type of numbers", "types of numbers"),
        of_dtypes(),
        fit.ask.dtypes.iter().map(|dtype| (*dtype, fit)),
    )
}

columns! {
    fn of_refused<'a>(row: &'a Refused) {
        text "instance_type", "type", Narrow(0), row.instance_type.clone();
        text "dtype", "dtype", Narrow(0), row.dtype.name().to_owned();
        text "reason", "reason", Narrow(0), row.reason.to_string();
    }
}

fn refused(fit: &Fit) -> Table {
    let noun = ("type", "types");
    Table::of("refused", "REFUSED", noun, of_refused(), &fit.refused)
}

fn caveats(fit: &Fit, is_measured: bool) -> Vec<String> {
    let is_assumed = fit.ask.terms.efficiency.is_none();
    let is_long = fit.ask.load.input_tokens > MEASURED_TOKENS;
    let in_16_bits = fit.candidates.iter();
    let in_16_bits = in_16_bits.filter(|one| one.card.computes == Computes::In16Bits);
    let cards: BTreeSet<String> = in_16_bits
        .map(|one| format!("{} on {}", one.dtype, one.card.model))
        .collect();
    let cards = cards.into_iter().collect::<Vec<_>>().join(", ");
    rows! {
        if is_measured => "Measured is the fullest GPU at its peak, computed is one copy of the model without headroom. An engine that reserves its cache ahead, such as vLLM, holds what it may hold.".to_owned();
        if is_assumed => "Speed is computed from data sheets and an assumed efficiency. Of 70 published measurements, half are within 11.4% of it and 64 within 50%; with hundreds of sequences on linked GPUs, it was up to 3.2 times too high.".to_owned();
        if is_assumed && is_long => format!("The longest prompt of these measurements has {} tokens: the speed of longer ones was compared with none.", count(MEASURED_TOKENS));
        if fit.ask.dtypes.iter().any(|dtype| dtype.is_quantized()) => "Quantization changes the answers of a model. Its quality is yours to judge: only memory, speed and cost are compared.".to_owned();
        if !cards.is_empty() => format!("Weights only, computed in 16 bits: {cards}.");
        ..on_arm(fit.candidates.iter().map(|one| one.instance_type.as_str()));
        "A type is paid as a whole and for every hour of the month, however many of its GPUs work.".to_owned();
    }
}

/// What to measure; `uncomputed` is memory on a type for which nothing is computed.
fn unknown(fit: &Fit, uncomputed: Option<&MeasuredMemory>) -> Vec<Missing> {
    let unpriced = fit.candidates.iter().filter(|one| one.price.is_none());
    let unpriced: BTreeSet<&str> = unpriced.map(|one| one.instance_type.as_str()).collect();
    rows! {
        for seen in uncomputed => missing(format!("memory on {} by the formula", seen.instance_type), "measure on a type with NVIDIA GPUs: only these are computed");
        if fit.ask.terms.efficiency.is_none() => missing("efficiency of your serving engine", "measure its output tokens per second at this load on one of the types, multiply the assumed efficiency by measured over computed, and pass `--efficiency`");
        for name in unpriced => missing(format!("on-demand price of {name} in {}", fit.ask.region), format!("run `gpucost pricing {} --region all`", shell_word(name)));
    }
}

fn next(fit: &Fit) -> Vec<String> {
    let first = fit.candidates.iter().find(|one| one.price.is_some());
    let os = match fit.ask.operating_system {
        OperatingSystem::Linux => String::new(),
        other => format!(" --os {other}"),
    };
    let name = |one: &Candidate| shell_word(&one.instance_type);
    let region = shell_word(&fit.ask.region);
    rows! {
        for one in first => format!("gpucost pricing {} --region all{os}", name(one));
        for one in first.filter(|one| one.has_commitment) => format!("gpucost reserved --type {} --region {region}{os}", name(one));
    }
}
