//! What the figures of `gpucost fit` rest on.

use super::super::figures::{MIB_OF_GIB, basis, rows};
use crate::planners::fit::Fit;
use crate::planners::roofline::{EFFICIENCY, LINKED_EFFICIENCY};
use crate::report::doc::{Given, Value};

pub(super) fn given(fit: &Fit) -> Vec<Given> {
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
