//! `gpucost fit` in words.

mod given;
mod measured;
mod steps;

use super::figures::{MIB_OF_GIB, gib, on_arm};
use crate::domain::{OperatingSystem, shell_word};
use crate::planners::fit::{Candidate, Computes, Fit, MeasuredMemory, Refused};
use crate::planners::model::{Dtype, Model, parameters};
use crate::report::doc::{Doc, Head, Missing, Table, Value, column, detail};
use crate::report::shared::text::{count, counted, money};
use std::collections::BTreeSet;

/// A column that some tables show.
type NewColumn = fn(&'static str, &'static str) -> Head;

/// Tokens of the longest prompt among the measurements in `docs/planners/fit.md`.
const MEASURED_TOKENS: u64 = 5_000;

/// The types that hold a model, and what each costs; and, where memory was measured, the formula
/// beside it.
pub fn fit_answer(fit: &Fit, seen: Option<&MeasuredMemory>) -> Doc {
    let first = fit.candidates.first();
    let compared = seen.map(|seen| measured::sheet(fit, seen));
    let sheets = [types(fit)].into_iter().chain(compared);
    Doc {
        name: "fit",
        headline: headline(fit),
        given: given::given(fit),
        steps: first.map_or_else(Vec::new, |one| steps::steps(one, fit)),
        tables: sheets.chain([dtypes(fit), refused(fit)]).collect(),
        caveats: caveats(fit, seen.is_some()),
        missing: missing(fit, seen),
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

fn types(fit: &Fit) -> Table {
    // Both are the same where every hour is used.
    let (hour, hour_of_use): (NewColumn, NewColumn) = if fit.ask.terms.utilization < 1.0 {
        (detail, column)
    } else {
        (column, detail)
    };
    let columns = vec![
        column("instance_type", "type"),
        column("dtype", "dtype"),
        column("gpus", "GPUs"),
        column("layout", "layout"),
        detail("gpu_memory_needed_gib", "GiB needed"),
        detail("gpu_memory_gib", "GiB per GPU"),
        detail("most_sequences", "sequences"),
        detail("computes_in", "computes in"),
        detail("token_ms", "ms per token"),
        detail("first_tokens_seconds", "s to first tokens"),
        column("output_tokens_per_second", "tokens/s"),
        column("cost_monthly", "month"),
        hour("cost_hourly", "hour"),
        hour_of_use("cost_per_hour_of_use", "hour of use"),
        column("cost_per_million_output_tokens", "1M tokens"),
        detail("price_origin", "origin"),
        detail("price_date", "price date"),
    ];
    let rows = fit.candidates.iter().map(|one| row(one, fit)).collect();
    Table {
        key: "types",
        title: "TYPES  that hold the model; layout: copies × GPUs of a copy".to_owned(),
        noun: ("type", "types"),
        columns,
        rows,
        ..Table::default()
    }
}

fn row(one: &Candidate, fit: &Fit) -> Vec<Value> {
    let terms = &fit.ask.terms;
    let computes = match one.card.computes {
        Computes::AsStored => one.dtype.name(),
        Computes::In16Bits => "16 bits",
    };
    let price = one.price.as_ref();
    vec![
        Value::text(one.instance_type.as_str()),
        Value::text(one.dtype.name()),
        Value::text(format!("{} × {}", one.card.gpus, one.card.model)),
        Value::text(format!("{} × {}", one.copies, one.gpus_each)),
        Value::Number(one.needed_mib / MIB_OF_GIB, 1),
        Value::Number(one.card.usable_mib as f64 / MIB_OF_GIB, 1),
        Value::Count(one.holds),
        Value::text(computes),
        Value::Number(one.pace.step_seconds * 1e3, 1),
        Value::Number(one.pace.prefill_seconds, 2),
        Value::Number(one.tokens_per_second, 0),
        Value::of(one.monthly(terms), Value::Money),
        Value::of(one.hourly(), Value::Price),
        Value::of(one.hourly_of_use(terms), Value::Price),
        Value::of(one.per_million(terms), Value::Price),
        Value::of(price, |quote| Value::text(quote.origin.to_string())),
        Value::of(price, |quote| Value::text(quote.seen_on.to_string())),
    ]
}

fn dtypes(fit: &Fit) -> Table {
    let columns: Vec<Head> = vec![
        column("dtype", "dtype"),
        column("weights_gib", "weights GiB"),
        column("cache_gib", "cache GiB"),
        column("types", "types"),
        column("cheapest_type", "cheapest"),
        column("cheapest_cost_monthly", "month"),
        column("least_per_million_type", "cheapest tokens"),
        column("least_cost_per_million_output_tokens", "1M tokens"),
    ];
    Table {
        key: "dtypes",
        title: "TYPES OF NUMBERS  the same model in each".to_owned(),
        noun: ("type of numbers", "types of numbers"),
        columns,
        rows: fit
            .ask
            .dtypes
            .iter()
            .map(|one| in_dtype(*one, fit))
            .collect(),
        ..Table::default()
    }
}

fn in_dtype(dtype: Dtype, fit: &Fit) -> Vec<Value> {
    let (model, load, terms) = (&fit.ask.model, &fit.ask.load, &fit.ask.terms);
    let tokens = load.context_tokens as f64 * f64::from(load.sequences);
    let cache = tokens * model.kv_bytes_per_token(terms.kv_dtype);
    let cheapest = fit.of(dtype).find(|one| one.price.is_some());
    let least = fit.least_per_million(dtype);
    let name = |one: &Candidate| Value::text(one.instance_type.as_str());
    vec![
        Value::text(dtype.name()),
        Value::Number(gib(model.weight_bytes(dtype)), 1),
        Value::Number(gib(cache), 1),
        Value::Count(fit.of(dtype).count() as u64),
        Value::of(cheapest, name),
        Value::of(cheapest.and_then(|one| one.monthly(terms)), Value::Money),
        Value::of(least, name),
        Value::of(least.and_then(|one| one.per_million(terms)), Value::Price),
    ]
}

fn refused(fit: &Fit) -> Table {
    let row = |one: &Refused| {
        vec![
            Value::text(one.instance_type.as_str()),
            Value::text(one.dtype.name()),
            Value::text(one.reason.to_string()),
        ]
    };
    Table {
        key: "refused",
        title: "REFUSED".to_owned(),
        noun: ("type", "types"),
        columns: vec![
            column("instance_type", "type"),
            column("dtype", "dtype"),
            column("reason", "reason"),
        ],
        rows: fit.refused.iter().map(row).collect(),
        ..Table::default()
    }
}

fn caveats(fit: &Fit, is_measured: bool) -> Vec<String> {
    let mut caveats = Vec::new();
    if is_measured {
        caveats.push(measured::CAVEAT.to_owned());
    }
    if fit.ask.terms.efficiency.is_none() {
        caveats.push(
            "Speed is computed from data sheets and an assumed efficiency. Of 70 published \
             measurements, half are within 11.4% of it and 64 within 50%; with hundreds of \
             sequences on linked GPUs, it was up to 3.2 times too high."
                .to_owned(),
        );
        if fit.ask.load.input_tokens > MEASURED_TOKENS {
            caveats.push(format!(
                "The longest prompt of these measurements has {} tokens: the speed of longer ones \
                 was compared with none.",
                count(MEASURED_TOKENS)
            ));
        }
    }
    if fit.ask.dtypes.iter().any(|dtype| dtype.is_quantized()) {
        caveats.push(
            "Quantization changes the answers of a model. Its quality is yours to judge: only \
             memory, speed and cost are compared."
                .to_owned(),
        );
    }
    let in_16_bits: BTreeSet<String> = fit
        .candidates
        .iter()
        .filter(|one| one.card.computes == Computes::In16Bits)
        .map(|one| format!("{} on {}", one.dtype, one.card.model))
        .collect();
    if !in_16_bits.is_empty() {
        let cards: Vec<String> = in_16_bits.into_iter().collect();
        caveats.push(format!(
            "Weights only, computed in 16 bits: {}.",
            cards.join(", ")
        ));
    }
    let types = fit.candidates.iter().map(|one| one.instance_type.as_str());
    caveats.extend(on_arm(types));
    caveats.push(
        "A type is paid as a whole and for every hour of the month, however many of its GPUs \
         work."
            .to_owned(),
    );
    caveats
}

fn missing(fit: &Fit, seen: Option<&MeasuredMemory>) -> Vec<Missing> {
    let mut missing = Vec::new();
    missing.extend(seen.and_then(|seen| measured::missing(fit, seen)));
    if fit.ask.terms.efficiency.is_none() {
        missing.push(Missing {
            what: "efficiency of your serving engine".to_owned(),
            remedy: "measure its output tokens per second at this load on one of the types, \
                     multiply the assumed efficiency by measured over computed, and pass \
                     `--efficiency`"
                .to_owned(),
        });
    }
    let unpriced = fit.candidates.iter().filter(|one| one.price.is_none());
    let names: BTreeSet<&str> = unpriced.map(|one| one.instance_type.as_str()).collect();
    missing.extend(names.into_iter().map(|name| Missing {
        what: format!("on-demand price of {name} in {}", fit.ask.region),
        remedy: format!("run `gpucost pricing {} --region all`", shell_word(name)),
    }));
    missing
}

fn next(fit: &Fit) -> Vec<String> {
    let Some(one) = fit.candidates.iter().find(|one| one.price.is_some()) else {
        return Vec::new();
    };
    let (name, region) = (shell_word(&one.instance_type), shell_word(&fit.ask.region));
    let os = match fit.ask.operating_system {
        OperatingSystem::Linux => String::new(),
        other => format!(" --os {other}"),
    };
    let mut next = vec![format!("gpucost pricing {name} --region all{os}")];
    if one.has_commitment {
        next.push(format!(
            "gpucost reserved --type {name} --region {region}{os}"
        ));
    }
    next
}
