//! How the figures of the first type follow.

use super::super::figures::{MIB_OF_GIB, decimal, gib, rows, step};
use crate::planners::fit::{Candidate, Fit};
use crate::planners::roofline::Effort;
use crate::report::doc::{Step, Value};
use crate::report::shared::text::{count, unit_price};

pub(super) fn steps(one: &Candidate, fit: &Fit) -> Vec<Step> {
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
