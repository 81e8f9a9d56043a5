//! What a language model takes of the GPUs that `select` found for it, in words.

use super::{MIB_OF_GIB, decimal, gib, on_arm};
use crate::domain::Money;
use crate::planners::model::parameters;
use crate::planners::roofline::{EFFICIENCY, Effort, LINKED_EFFICIENCY};
use crate::planners::select::{SelectedType, Selection, Wanted};
use crate::planners::serving::{
    ComputedMemory, Computes, Layout, MeasuredMemory, ServedModel, computed_memory,
};
use crate::report::doc::{Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{count, counted, joined, unit_price};
use std::collections::BTreeSet;

/// Tokens of the longest prompt among the measurements in `docs/planners/select.md`.
const MEASURED_TOKENS: u64 = 5_000;

/// The model, and what of it is served at a time.
pub(super) fn served(served_model: &ServedModel) -> String {
    let (model, load) = (&served_model.model, &served_model.load);
    let size = || format!("a model of {} parameters", parameters(model.params));
    let name = model.name.map_or_else(size, str::to_owned);
    let sequences = counted(load.sequences, "sequence", "sequences");
    let (tokens, dtype) = (count(load.context_tokens), served_model.dtype);
    format!("{name} with {sequences} of {tokens} tokens in {dtype}")
}

/// What of the answer is about the model; empty without one.
pub(super) fn given(wanted: &Wanted) -> Vec<Given> {
    let Some(served_model) = wanted.model() else { return Vec::new() };
    let (model, load, terms) = (&served_model.model, &served_model.load, &served_model.terms);
    let billions = |params: u64| Value::Number(params as f64 / 1e9, 2);
    let efficiency = |usual: f64| Value::Percent(terms.efficiency.unwrap_or(usual) * 100.0);
    let dtypes: Vec<&str> = wanted.models.iter().map(|variant| variant.dtype.name()).collect();
    let line = |key, name, value| {
        Given::new(key, name, value, wanted.sources.get(key).cloned().unwrap_or_default())
    };
    rows! {
        line("params_billion", "parameters, billions", billions(model.params));
        line("active_params_billion", "active parameters, billions", billions(model.active_params));
        line("layers", "layers", Value::Count(model.layers.into()));
        line("heads", "heads of queries", Value::Count(model.heads.into()));
        line("kv_heads", "heads of keys and values", Value::Count(model.kv_heads.into()));
        line("head_dim", "dimension of a head", Value::Count(model.head_dim.into()));
        line("dtype", "numbers of the weights", Value::text(dtypes.join(", ")));
        line("context_tokens", "cache of a sequence, tokens", Value::Count(load.context_tokens));
        line("sequences", "sequences in flight", Value::Count(load.sequences.into()));
        line("input_tokens", "tokens of a prompt", Value::Count(load.input_tokens));
        line("output_tokens", "tokens of an answer", Value::Count(load.output_tokens));
        line("kv_dtype", "numbers in the cache", Value::text(terms.kv_dtype.name()));
        line("runtime_gib", "CUDA context and buffers, GiB per GPU", Value::Number(terms.runtime_mib / MIB_OF_GIB, 1));
        line("headroom", "headroom on memory, factor", Value::Number(terms.headroom, 2));
        line("efficiency_percent", "efficiency on one GPU", efficiency(EFFICIENCY));
        line("linked_efficiency_percent", "efficiency on linked GPUs", efficiency(LINKED_EFFICIENCY));
        line("utilization_percent", "hours at this load", Value::Percent(terms.utilization * 100.0));
    }
}

/// How the cheapest type holds the model, how fast it serves it, and what that costs.
pub(super) fn steps(best: &SelectedType, wanted: &Wanted) -> Vec<Step> {
    let Some((served, held)) = wanted.model().zip(best.layout.as_ref()) else { return Vec::new() };
    // Where the preferred type of numbers fits nowhere, the first row is in another.
    let mut models = wanted.models.iter();
    let served = models.find(|variant| variant.dtype == held.dtype).unwrap_or(served);
    rows! {
        ..memory(served, held);
        ..speed(served, held);
        ..cost(best, served, held);
    }
}

/// Weights, cache, and what each GPU needs.
fn memory(served: &ServedModel, layout: &Layout) -> Vec<Step> {
    let (model, load, terms) = (&served.model, &served.load, &served.terms);
    let weights = gib(model.weight_bytes(layout.dtype));
    let billions = |count: u64| decimal(count as f64 / 1e9, 2);
    let (embedded, bytes) = (model.embedding_params, layout.dtype.bytes());
    let of_weights = if layout.dtype.is_quantized() {
        let quantized = billions(model.params - embedded);
        let (bytes, embedded) = (decimal(bytes, 3), billions(embedded));
        format!("{quantized} × 10⁹ × {bytes} + {embedded} × 10⁹ embeddings × 2 bytes")
    } else {
        format!("{} × 10⁹ × {} bytes", billions(model.params), decimal(bytes, 0))
    };
    let token = model.kv_bytes_per_token(terms.kv_dtype);
    let (layers, heads, dimension) = (model.layers, model.kv_heads, model.head_dim);
    let bytes = decimal(terms.kv_dtype.bytes(), 0);
    let sequences = layout.pace.sequences;
    let cache = gib(sequences * load.context_tokens as f64 * token);
    let (runtime, needed) = (terms.runtime_mib / MIB_OF_GIB, layout.needed_mib / MIB_OF_GIB);
    rows! {
        Step::new("weights, GiB", of_weights, Value::Number(weights, 2));
        Step::new("cache of a token, KiB", format!("2 × {layers} layers × {heads} heads × {dimension} × {bytes} bytes"), Value::Number(token / 1024.0, 1));
        Step::new("cache of a copy, GiB", format!("{} × {} tokens × {} KiB", decimal(sequences, 0), count(load.context_tokens), decimal(token / 1024.0, 1)), Value::Number(cache, 2));
        Step::new("needed on each GPU, GiB", format!("(({} + {}) / {} + {}) × {}", decimal(weights, 2), decimal(cache, 2), layout.gpus_each, decimal(runtime, 2), decimal(terms.headroom, 2)), Value::Number(needed, 2));
    }
}

/// Prompts and tokens.
fn speed(served: &ServedModel, layout: &Layout) -> Vec<Step> {
    let (model, load, terms) = (&served.model, &served.load, &served.terms);
    let (pace, card) = (&layout.pace, &layout.card);
    let gpus = f64::from(layout.gpus_each);
    let share = decimal(terms.efficiency_of(layout.gpus_each) * 100.0, 1);
    let bound = |effort: Effort| {
        let reads = effort.bytes / (gpus * card.bytes_per_second);
        let (work, unit, of_gpu, speed) = if reads >= effort.operations / (gpus * card.flops) {
            (effort.bytes / 1e9, "GB", card.bytes_per_second / 1e9, "GB/s")
        } else {
            (effort.operations / 1e12, "TFLOP", card.flops / 1e12, "TFLOPS")
        };
        let (work, of_gpu) = (decimal(work, 1), decimal(of_gpu, 0));
        format!("{work} {unit} / ({} × {of_gpu} {speed} × {share}%)", layout.gpus_each)
    };
    let sequences = decimal(pace.sequences, 0);
    let [input, output] = [load.input_tokens, load.output_tokens].map(count);
    let active = decimal(model.active_params as f64 / 1e9, 2);
    let (layers, heads, dimension) = (model.layers, model.heads, model.head_dim);
    let prompts = pace.sequences * load.input_tokens as f64;
    let of_weights = 2.0 * model.active_params as f64 * prompts;
    let of_attention = pace.prefill.operations - of_weights;
    let read = model.weight_bytes(layout.dtype) * model.share_read(pace.sequences) / 1e9;
    let read = decimal(read, 1);
    let cached = decimal(model.kv_bytes_per_token(terms.kv_dtype) / 1e3, 1);
    let answers = f64::from(load.sequences) * load.output_tokens as f64;
    let (first, each) = (pace.prefill_seconds, pace.step_seconds * 1e3);
    let all_copies = match load.sequences % layout.copies {
        0 => {
            let (answers, s, ms) = (decimal(answers, 0), decimal(first, 2), decimal(each, 2));
            format!("{answers} / ({s} s + {output} × {ms} ms)")
        }
        uneven => {
            format!("{uneven} such copies, and {} with one sequence fewer", layout.copies - uneven)
        }
    };
    rows! {
        Step::new("weights on prompts, TFLOP", format!("2 × {active} × 10⁹ × {sequences} × {input} tokens"), Value::Number(of_weights / 1e12, 1));
        Step::new("attention of prompts, TFLOP", format!("2 × {layers} layers × {heads} heads × {dimension} × {sequences} × {input}²"), Value::Number(of_attention / 1e12, 1));
        Step::new("to the first tokens, s", bound(pace.prefill), Value::Number(first, 2));
        Step::new("read for a token of each, GB", format!("{read} of weights + {sequences} × ({input} + {output} / 2) × {cached} KB"), Value::Number(pace.step.bytes / 1e9, 1));
        Step::new("a token of each, ms", bound(pace.step), Value::Number(each, 2));
        Step::new("output tokens per second", all_copies, Value::Number(layout.tokens_per_second, 1));
    }
}

/// What a million tokens cost, and an hour of use where not every hour is used.
fn cost(best: &SelectedType, served: &ServedModel, layout: &Layout) -> Vec<Step> {
    let (terms, rate) = (&served.terms, best.rate);
    let hour = unit_price(rate.an_hour());
    let share = decimal(terms.utilization * 100.0, 1);
    let tokens = decimal(layout.tokens_per_second, 1);
    rows! {
        Step::new("a million output tokens", format!("{hour} / ({tokens} × 3,600 s × {share}%) × 10⁶"), Value::make_price(layout.per_million(rate, terms)));
        if terms.utilization < 1.0 => Step::new("an hour of use", format!("{hour} / {share}%"), Value::make_price(terms.hourly_of_use(rate)));
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

    fn of_dtypes<'a>(row: (&'a ServedModel, &'a Selection)) {
        text "dtype", "dtype", Narrow(0), row.0.dtype.name().to_owned();
        number "weights_gib", "weights GiB", Narrow(0), gib(row.0.model.weight_bytes(row.0.dtype));
        number "cache_gib", "cache GiB", Narrow(0), gib(row.0.load.context_tokens as f64 * f64::from(row.0.load.sequences) * row.0.model.kv_bytes_per_token(row.0.terms.kv_dtype));
        count "types", "types", Narrow(0), row.1.of(row.0.dtype).count();
        opt text "cheapest_type", "cheapest", Narrow(0), cheapest(*row).map(name);
        opt money "cheapest_monthly_cost", "month", Narrow(0), cheapest(*row).map(|selected| selected.monthly);
        opt text "least_per_million_type", "cheapest tokens", Narrow(0), least(*row).map(name);
        opt price "least_cost_per_million_output_tokens", "1M tokens", Narrow(0), least(*row).and_then(|selected| per_million(selected, row.1));
    }
}

fn name(selected: &SelectedType) -> String {
    selected.offered.shape.instance_type.clone()
}

fn cheapest<'a>((served, selection): (&ServedModel, &'a Selection)) -> Option<&'a SelectedType> {
    selection.of(served.dtype).next()
}

/// The type whose tokens cost least.
fn least<'a>((served, selection): (&ServedModel, &'a Selection)) -> Option<&'a SelectedType> {
    let cost = |selected: &SelectedType| {
        per_million(selected, selection).map(|cost| (cost.currency(), cost.amount()))
    };
    let priced = selection.of(served.dtype).filter(|selected| cost(selected).is_some());
    priced.min_by_key(|selected| cost(selected))
}

/// What a million output tokens cost; absent without a model.
pub(super) fn per_million(selected: &SelectedType, selection: &Selection) -> Option<Money> {
    selected.layout.as_ref()?.per_million(selected.rate, &selection.wanted.model()?.terms)
}

/// What a type multiplies weights in.
pub(super) fn computes_in(held: &Layout) -> String {
    match held.card.computes {
        Computes::AsStored => held.dtype.name().to_owned(),
        Computes::In16Bits => "16 bits".to_owned(),
    }
}

/// The model in each type of numbers, and what was measured beside the formula.
pub(super) fn tables(selection: &Selection) -> Vec<Table> {
    let models = &selection.wanted.models;
    let compared = selection.wanted.measured.as_ref();
    let compared = compared.map(|seen| (seen, computed_memory(models, &seen.instance_type)));
    rows! {
        for (seen, computed) in compared => Table::of("measured_memory", "MEASURED MEMORY  of a GPU, beside the formula", ("way to hold the model", "ways to hold the model"), of_computed(), computed.into_iter().map(|computed| (computed, seen)));
        if !models.is_empty() => Table::of("dtypes", "TYPES OF NUMBERS  the same model in each", ("type of numbers", "types of numbers"), of_dtypes(), models.iter().map(|served| (served, selection)));
    }
}

/// What the figures of the model do not say.
pub(super) fn caveats(selection: &Selection) -> Vec<String> {
    let wanted = &selection.wanted;
    let Some(served) = wanted.model() else { return Vec::new() };
    let is_assumed = served.terms.efficiency.is_none();
    let held = selection.fits.iter().filter_map(|fit| fit.layout.as_ref());
    let in_16_bits = held.filter(|held| held.card.computes == Computes::In16Bits);
    let cards = in_16_bits.map(|held| format!("{} on {}", held.dtype, held.card.model));
    let cards = joined(cards.collect::<BTreeSet<_>>(), ", ");
    rows! {
        if wanted.measured.is_some() => "measured is the fullest GPU at its peak, computed is one copy of the model without headroom; an engine that reserves its cache ahead, such as vLLM, holds what it may hold".to_owned();
        if is_assumed => "speed is computed from data sheets and an assumed efficiency; of 70 published measurements, half are within 11.4% of it and 64 within 50%; with hundreds of sequences on linked GPUs, it was up to 3.2 times too high".to_owned();
        if is_assumed && served.load.input_tokens > MEASURED_TOKENS => format!("the longest prompt of these measurements has {} tokens: the speed of longer ones was compared with none", count(MEASURED_TOKENS));
        if wanted.models.iter().any(|model| model.dtype.is_quantized()) => "quantization changes the answers of a model: only memory, speed and cost are compared; evaluate its quality on your own data".to_owned();
        if !cards.is_empty() => format!("weights only, computed in 16 bits: {cards}");
        ..on_arm(selection.fits.iter().map(|fit| fit.offered.shape.instance_type.as_str()));
    }
}

/// What to measure for better figures of the model.
pub(super) fn unknown(wanted: &Wanted) -> Vec<Missing> {
    let Some(served) = wanted.model() else { return Vec::new() };
    let seen = wanted.measured.as_ref();
    rows! {
        for today in wanted.today.as_ref().filter(|_| seen.is_none()) => Missing::new(format!("memory of every GPU of {}", today.name), "`gpucost metrics` shows what is measured");
        for seen in seen.filter(|seen| computed_memory(&wanted.models, &seen.instance_type).is_empty()) => Missing::new(format!("memory on {} by the formula", seen.instance_type), "measure on a type with NVIDIA GPUs: only these are computed");
        if served.terms.efficiency.is_none() => Missing::new("efficiency of your serving engine", "measure its output tokens per second at this load on one of the types, multiply the assumed efficiency by measured over computed, and pass `--efficiency`");
    }
}
