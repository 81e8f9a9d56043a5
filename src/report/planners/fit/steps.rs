//! How the figures of the first type follow.

use super::super::figures::{MIB_OF_GIB, decimal, gib, step};
use crate::planners::fit::{Candidate, Fit};
use crate::planners::roofline::Effort;
use crate::report::doc::{Step, Value};
use crate::report::shared::text::{count, unit_price};

pub(super) fn steps(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let mut steps = memory(one, fit);
    steps.extend(speed(one, fit));
    steps.extend(cost(one, fit));
    steps
}

/// Weights, cache, and what each GPU needs.
fn memory(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let (model, load, terms) = (&fit.ask.model, &fit.ask.load, &fit.ask.terms);
    let weights = model.weight_bytes(one.dtype);
    let billions = |count: u64| decimal(count as f64 / 1e9, 2);
    let of_weights = if one.dtype.is_quantized() {
        format!(
            "{} × 10⁹ × {} + {} × 10⁹ embeddings × 2 bytes",
            billions(model.params - model.embedding_params),
            decimal(one.dtype.bytes(), 3),
            billions(model.embedding_params)
        )
    } else {
        format!(
            "{} × 10⁹ × {} bytes",
            billions(model.params),
            decimal(one.dtype.bytes(), 0)
        )
    };
    let token = model.kv_bytes_per_token(terms.kv_dtype);
    let (layers, heads, dimension) = (model.layers, model.kv_heads, model.head_dim);
    let bytes = decimal(terms.kv_dtype.bytes(), 0);
    let sequences = one.pace.sequences;
    let cache = sequences * load.context_tokens as f64 * token;
    vec![
        step("weights, GiB", of_weights, Value::Number(gib(weights), 2)),
        step(
            "cache of a token, KiB",
            format!("2 × {layers} layers × {heads} heads × {dimension} × {bytes} bytes"),
            Value::Number(token / 1024.0, 1),
        ),
        step(
            "cache of a copy, GiB",
            format!(
                "{} × {} tokens × {} KiB",
                decimal(sequences, 0),
                count(load.context_tokens),
                decimal(token / 1024.0, 1)
            ),
            Value::Number(gib(cache), 2),
        ),
        step(
            "needed on each GPU, GiB",
            format!(
                "(({} + {}) / {} + {}) × {}",
                decimal(gib(weights), 2),
                decimal(gib(cache), 2),
                one.gpus_each,
                decimal(terms.runtime_mib / MIB_OF_GIB, 2),
                decimal(terms.headroom, 2)
            ),
            Value::Number(one.needed_mib / MIB_OF_GIB, 2),
        ),
    ]
}

/// Prompts and tokens.
fn speed(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let (model, load, terms) = (&fit.ask.model, &fit.ask.load, &fit.ask.terms);
    let pace = &one.pace;
    let gpus = f64::from(one.gpus_each);
    let share = decimal(terms.efficiency_of(one.gpus_each) * 100.0, 1);
    let reading = format!(
        "({} × {} GB/s × {share}%)",
        one.gpus_each,
        decimal(one.card.bytes_per_second / 1e9, 0)
    );
    let computing = format!(
        "({} × {} TFLOPS × {share}%)",
        one.gpus_each,
        decimal(one.card.flops / 1e12, 0)
    );
    let bound = |effort: Effort| {
        let peak = gpus * one.card.bytes_per_second;
        if effort.bytes / peak >= effort.operations / (gpus * one.card.flops) {
            format!("{} GB / {reading}", decimal(effort.bytes / 1e9, 1))
        } else {
            format!(
                "{} TFLOP / {computing}",
                decimal(effort.operations / 1e12, 1)
            )
        }
    };
    let sequences = decimal(pace.sequences, 0);
    let prompts = pace.sequences * load.input_tokens as f64;
    let of_weights = 2.0 * model.active_params as f64 * prompts;
    let weights = model.weight_bytes(one.dtype);
    let answers = f64::from(load.sequences) * load.output_tokens as f64;
    let uneven = load.sequences % one.copies;
    let all_copies = if uneven == 0 {
        format!(
            "{} / ({} s + {} × {} ms)",
            decimal(answers, 0),
            decimal(pace.prefill_seconds, 2),
            count(load.output_tokens),
            decimal(pace.step_seconds * 1e3, 2)
        )
    } else {
        let fewer = one.copies - uneven;
        format!("{uneven} such copies, and {fewer} with one sequence fewer")
    };
    vec![
        step(
            "weights on prompts, TFLOP",
            format!(
                "2 × {} × 10⁹ × {sequences} × {} tokens",
                decimal(model.active_params as f64 / 1e9, 2),
                count(load.input_tokens)
            ),
            Value::Number(of_weights / 1e12, 1),
        ),
        step(
            "attention of prompts, TFLOP",
            format!(
                "2 × {} layers × {} heads × {} × {sequences} × {}²",
                model.layers,
                model.heads,
                model.head_dim,
                count(load.input_tokens)
            ),
            Value::Number((pace.prefill.operations - of_weights) / 1e12, 1),
        ),
        step(
            "to the first tokens, s",
            bound(pace.prefill),
            Value::Number(pace.prefill_seconds, 2),
        ),
        step(
            "read for a token of each, GB",
            format!(
                "{} of weights + {sequences} × ({} + {} / 2) × {} KB",
                decimal(weights * model.share_read(pace.sequences) / 1e9, 1),
                count(load.input_tokens),
                count(load.output_tokens),
                decimal(model.kv_bytes_per_token(terms.kv_dtype) / 1e3, 1)
            ),
            Value::Number(pace.step.bytes / 1e9, 1),
        ),
        step(
            "a token of each, ms",
            bound(pace.step),
            Value::Number(pace.step_seconds * 1e3, 2),
        ),
        step(
            "output tokens per second",
            all_copies,
            Value::Number(one.tokens_per_second, 1),
        ),
    ]
}

/// What a million tokens cost, and an hour of use where not every hour is used.
fn cost(one: &Candidate, fit: &Fit) -> Vec<Step> {
    let terms = &fit.ask.terms;
    let hour = one.hourly();
    let hour = hour.map_or_else(|| "unknown".to_owned(), unit_price);
    let share = decimal(terms.utilization * 100.0, 1);
    let mut steps = vec![step(
        "a million output tokens",
        format!(
            "{hour} / ({} × 3,600 s × {share}%) × 10⁶",
            decimal(one.tokens_per_second, 1)
        ),
        Value::of(one.per_million(terms), Value::Price),
    )];
    if terms.utilization < 1.0 {
        steps.push(step(
            "an hour of use",
            format!("{hour} / {share}%"),
            Value::of(one.hourly_of_use(terms), Value::Price),
        ));
    }
    steps
}
