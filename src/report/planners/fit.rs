//! `gpucost fit` in words.

use super::figures::{MIB_OF_GIB, basis, decimal, gib, missing, on_arm, rows, step};
use crate::domain::{OperatingSystem, shell_word};
use crate::planners::fit::{
    Candidate, ComputedMemory, Computes, Fit, MeasuredMemory, Refused, computed_memory,
};
use crate::planners::model::{Dtype, Model, parameters};
use crate::planners::roofline::{EFFICIENCY, Effort, LINKED_EFFICIENCY};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns};
use crate::report::shared::text::{count, counted, money, unit_price};
use std::collections::BTreeSet;

/// Tokens of the longest prompt among the measurements in `docs/planners/fit.md`.
const MEASURED_TOKENS: u64 = 5_000;

/// The types that hold a model, and what each costs; and, where memory was measured, the formula
/// beside it.
pub fn fit_answer(fit: &Fit, seen: Option<&MeasuredMemory>) -> Doc {
    let first = fit.candidates.first();
    let computed = |seen: &MeasuredMemory| computed_memory(&fit.ask, &seen.instance_type);
    let compared = seen.map(|seen| (seen, computed(seen)));
    let dtypes = fit.ask.dtypes.iter().map(|dtype| (*dtype, fit));
    Doc {
        name: "fit",
        headline: headline(fit),
        given: given(fit),
        steps: first.map_or_else(Vec::new, |one| steps(one, fit)),
        missing: unknown(fit, seen.filter(|seen| computed(seen).is_empty())),
        tables: rows! {
            types(fit);
            for (seen, computed) in compared => Table::of("measured_memory", "MEASURED MEMORY  of a GPU, beside the formula", ("way to hold the model", "ways to hold the model"), of_computed(), computed.into_iter().map(|computed| (computed, seen)));
            Table::of("dtypes", "TYPES OF NUMBERS  the same model in each", ("type of numbers", "types of numbers"), of_dtypes(), dtypes);
            Table::of("refused", "REFUSED", ("type", "types"), of_refused(), &fit.refused);
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

fn given(fit: &Fit) -> Vec<Given> {
    let (model, load, terms) = (&fit.ask.model, &fit.ask.load, &fit.ask.terms);
    let shape = model.shape_of.map(|name| format!("config.json of {name}"));
    let shape = shape.unwrap_or_else(|| "flags".to_owned());
    let active = match model.is_mixture() {
        true => &shape,
        false => "all of a dense model",
    };
    let rest = "the rest of the context, or half of it";
    let assumed = "assumed, see docs/planners/fit.md";
    let billions = |params: u64| Value::Number(params as f64 / 1e9, 2);
    let efficiency = |usual: f64| Value::Percent(terms.efficiency.unwrap_or(usual) * 100.0);
    // From its flag, without dashes, where that was passed, else from what stands last.
    let line = |key, name, value, flag: &str, otherwise: &str| {
        if fit.ask.flags.contains(flag) {
            basis(key, name, value, format!("--{flag}"))
        } else {
            basis(key, name, value, otherwise)
        }
    };
    rows! {
        line("params_billion", "parameters, billions", billions(model.params), "params", &shape);
        line("active_params_billion", "active parameters, billions", billions(model.active_params), "active-params", active);
        line("layers", "layers", Value::Count(model.layers.into()), "layers", &shape);
        line("heads", "heads of queries", Value::Count(model.heads.into()), "heads", &shape);
        line("kv_heads", "heads of keys and values", Value::Count(model.kv_heads.into()), "kv-heads", &shape);
        line("head_dim", "dimension of a head", Value::Count(model.head_dim.into()), "head-dim", &shape);
        line("context_tokens", "cache of a sequence, tokens", Value::Count(load.context_tokens), "context", "default");
        line("sequences", "sequences in flight", Value::Count(load.sequences.into()), "concurrency", "default");
        line("input_tokens", "tokens of a prompt", Value::Count(load.input_tokens), "input-tokens", rest);
        line("output_tokens", "tokens of an answer", Value::Count(load.output_tokens), "output-tokens", rest);
        line("kv_dtype", "numbers in the cache", Value::text(terms.kv_dtype.name()), "kv-dtype", "default");
        line("runtime_gib", "CUDA context and buffers, GiB per GPU", Value::Number(terms.runtime_mib / MIB_OF_GIB, 1), "runtime-gib", assumed);
        line("headroom", "headroom on memory, factor", Value::Number(terms.headroom, 2), "headroom", "vram_headroom of the policy");
        line("efficiency_percent", "efficiency on one GPU", efficiency(EFFICIENCY), "efficiency", assumed);
        line("linked_efficiency_percent", "efficiency on linked GPUs", efficiency(LINKED_EFFICIENCY), "efficiency", assumed);
        line("utilization_percent", "hours at this load", Value::Percent(terms.utilization * 100.0), "utilization", "default");
    }
}

fn steps(one: &Candidate, fit: &Fit) -> Vec<Step> {
    rows! {
        ..memory(one, fit);
        ..speed(one, fit);
        ..cost(one, fit);
    }
}

/// Weights, cache, and what each GPU needs.
fn memory(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let (model, load, terms) = (&fit.ask.model, &fit.ask.load, &fit.ask.terms);
    let weights = gib(model.weight_bytes(one.dtype));
    let billions = |count: u64| decimal(count as f64 / 1e9, 2);
    let (embedded, bytes) = (model.embedding_params, one.dtype.bytes());
    let of_weights = if one.dtype.is_quantized() {
        let quantized = billions(model.params - embedded);
        let (bytes, embedded) = (decimal(bytes, 3), billions(embedded));
        format!("{quantized} × 10⁹ × {bytes} + {embedded} × 10⁹ embeddings × 2 bytes")
    } else {
        format!(
            "{} × 10⁹ × {} bytes",
            billions(model.params),
            decimal(bytes, 0)
        )
    };
    let token = model.kv_bytes_per_token(terms.kv_dtype);
    let (layers, heads, dimension) = (model.layers, model.kv_heads, model.head_dim);
    let bytes = decimal(terms.kv_dtype.bytes(), 0);
    let sequences = one.pace.sequences;
    let cache = gib(sequences * load.context_tokens as f64 * token);
    let (runtime, needed) = (terms.runtime_mib / MIB_OF_GIB, one.needed_mib / MIB_OF_GIB);
    rows! {
        step("weights, GiB", of_weights, Value::Number(weights, 2));
        step("cache of a token, KiB", format!("2 × {layers} layers × {heads} heads × {dimension} × {bytes} bytes"), Value::Number(token / 1024.0, 1));
        step("cache of a copy, GiB", format!("{} × {} tokens × {} KiB", decimal(sequences, 0), count(load.context_tokens), decimal(token / 1024.0, 1)), Value::Number(cache, 2));
        step("needed on each GPU, GiB", format!("(({} + {}) / {} + {}) × {}", decimal(weights, 2), decimal(cache, 2), one.gpus_each, decimal(runtime, 2), decimal(terms.headroom, 2)), Value::Number(needed, 2));
    }
}

/// Prompts and tokens.
fn speed(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let (model, load, terms) = (&fit.ask.model, &fit.ask.load, &fit.ask.terms);
    let (pace, card) = (&one.pace, &one.card);
    let gpus = f64::from(one.gpus_each);
    let share = decimal(terms.efficiency_of(one.gpus_each) * 100.0, 1);
    let bound = |effort: Effort| {
        let reads = effort.bytes / (gpus * card.bytes_per_second);
        let (work, of_gpu) = if reads >= effort.operations / (gpus * card.flops) {
            let (work, of_gpu) = (effort.bytes / 1e9, card.bytes_per_second / 1e9);
            (
                format!("{} GB", decimal(work, 1)),
                format!("{} GB/s", decimal(of_gpu, 0)),
            )
        } else {
            let (work, of_gpu) = (effort.operations / 1e12, card.flops / 1e12);
            (
                format!("{} TFLOP", decimal(work, 1)),
                format!("{} TFLOPS", decimal(of_gpu, 0)),
            )
        };
        format!("{work} / ({} × {of_gpu} × {share}%)", one.gpus_each)
    };
    let sequences = decimal(pace.sequences, 0);
    let [input, output] = [load.input_tokens, load.output_tokens].map(count);
    let active = decimal(model.active_params as f64 / 1e9, 2);
    let (layers, heads, dimension) = (model.layers, model.heads, model.head_dim);
    let prompts = pace.sequences * load.input_tokens as f64;
    let of_weights = 2.0 * model.active_params as f64 * prompts;
    let of_attention = pace.prefill.operations - of_weights;
    let read = model.weight_bytes(one.dtype) * model.share_read(pace.sequences);
    let read = decimal(read / 1e9, 1);
    let cached = decimal(model.kv_bytes_per_token(terms.kv_dtype) / 1e3, 1);
    let answers = f64::from(load.sequences) * load.output_tokens as f64;
    let (first, each) = (pace.prefill_seconds, pace.step_seconds * 1e3);
    let all_copies = match load.sequences % one.copies {
        0 => format!(
            "{} / ({} s + {output} × {} ms)",
            decimal(answers, 0),
            decimal(first, 2),
            decimal(each, 2)
        ),
        uneven => format!(
            "{uneven} such copies, and {} with one sequence fewer",
            one.copies - uneven
        ),
    };
    rows! {
        step("weights on prompts, TFLOP", format!("2 × {active} × 10⁹ × {sequences} × {input} tokens"), Value::Number(of_weights / 1e12, 1));
        step("attention of prompts, TFLOP", format!("2 × {layers} layers × {heads} heads × {dimension} × {sequences} × {input}²"), Value::Number(of_attention / 1e12, 1));
        step("to the first tokens, s", bound(pace.prefill), Value::Number(first, 2));
        step("read for a token of each, GB", format!("{read} of weights + {sequences} × ({input} + {output} / 2) × {cached} KB"), Value::Number(pace.step.bytes / 1e9, 1));
        step("a token of each, ms", bound(pace.step), Value::Number(each, 2));
        step("output tokens per second", all_copies, Value::Number(one.tokens_per_second, 1));
    }
}

/// What a million tokens cost, and an hour of use where not every hour is used.
fn cost(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let terms = &fit.ask.terms;
    let hour = one
        .hourly()
        .map_or_else(|| "unknown".to_owned(), unit_price);
    let share = decimal(terms.utilization * 100.0, 1);
    let tokens = decimal(one.tokens_per_second, 1);
    rows! {
        step("a million output tokens", format!("{hour} / ({tokens} × 3,600 s × {share}%) × 10⁶"), Value::make_price(one.per_million(terms)));
        if terms.utilization < 1.0 => step("an hour of use", format!("{hour} / {share}%"), Value::make_price(one.hourly_of_use(terms)));
    }
}

columns! {
    /// Of each type of numbers and each number of GPUs that may hold a copy.
    fn of_computed<'a>(row: (ComputedMemory, &'a MeasuredMemory)) {
        text "measured_on", "measured on", Narrow(0), row.1.name.clone();
        text "instance_type", "type", Narrow(0), row.1.instance_type.clone();
        text "dtype", "dtype", Narrow(0), row.0.dtype.name().to_owned();
        count "gpus_of_a_copy", "GPUs of a copy", Narrow(0), row.0.gpus_each;
        number "measured_gib", "measured GiB", Narrow(0), row.1.peak_mib / MIB_OF_GIB;
        number "computed_gib", "computed GiB", Narrow(0), row.0.mib / MIB_OF_GIB;
        opt percent "difference_percent", "difference", Narrow(0), (row.1.peak_mib > 0.0).then(|| (row.0.mib / row.1.peak_mib - 1.0) * 100.0);
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

columns! {
    fn of_refused<'a>(row: &'a Refused) {
        text "instance_type", "type", Narrow(0), row.instance_type.clone();
        text "dtype", "dtype", Narrow(0), row.dtype.name().to_owned();
        text "reason", "reason", Narrow(0), row.reason.to_string();
    }
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
