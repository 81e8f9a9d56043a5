//! What the figures of `gpucost fit` rest on.

use super::super::figures::MIB_OF_GIB;
use crate::planners::fit::Fit;
use crate::planners::roofline::{EFFICIENCY, LINKED_EFFICIENCY};
use crate::report::doc::{Given, Value};

/// What a line of the list is about.
struct Line<'a> {
    key: &'static str,
    name: &'static str,
    value: Value,
    /// The flag that sets it, without dashes.
    flag: &'static str,
    /// Where it is from unless the flag was passed.
    otherwise: &'a str,
}

pub(super) fn given(fit: &Fit) -> Vec<Given> {
    let model = &fit.ask.model;
    let shape = model.shape_of.map_or_else(
        || "flags".to_owned(),
        |name| format!("config.json of {name}"),
    );
    let mut lines = vec![
        Line {
            key: "params_billion",
            name: "parameters, billions",
            value: Value::Number(model.params as f64 / 1e9, 2),
            flag: "params",
            otherwise: &shape,
        },
        Line {
            key: "active_params_billion",
            name: "active parameters, billions",
            value: Value::Number(model.active_params as f64 / 1e9, 2),
            flag: "active-params",
            otherwise: if model.is_mixture() {
                shape.as_str()
            } else {
                "all of a dense model"
            },
        },
        Line {
            key: "layers",
            name: "layers",
            value: Value::Count(model.layers.into()),
            flag: "layers",
            otherwise: &shape,
        },
        Line {
            key: "heads",
            name: "heads of queries",
            value: Value::Count(model.heads.into()),
            flag: "heads",
            otherwise: &shape,
        },
        Line {
            key: "kv_heads",
            name: "heads of keys and values",
            value: Value::Count(model.kv_heads.into()),
            flag: "kv-heads",
            otherwise: &shape,
        },
        Line {
            key: "head_dim",
            name: "dimension of a head",
            value: Value::Count(model.head_dim.into()),
            flag: "head-dim",
            otherwise: &shape,
        },
    ];
    lines.extend(load(fit));
    lines.extend(terms(fit));
    let passed = &fit.ask.flags;
    let source = |line: &Line<'_>| {
        if passed.contains(line.flag) {
            format!("--{}", line.flag)
        } else {
            line.otherwise.to_owned()
        }
    };
    lines
        .into_iter()
        .map(|line| Given {
            key: line.key,
            name: line.name,
            source: source(&line),
            value: line.value,
        })
        .collect()
}

fn load(fit: &Fit) -> [Line<'static>; 5] {
    let (load, terms) = (&fit.ask.load, &fit.ask.terms);
    [
        Line {
            key: "context_tokens",
            name: "cache of a sequence, tokens",
            value: Value::Count(load.context_tokens),
            flag: "context",
            otherwise: "default",
        },
        Line {
            key: "sequences",
            name: "sequences in flight",
            value: Value::Count(load.sequences.into()),
            flag: "concurrency",
            otherwise: "default",
        },
        Line {
            key: "input_tokens",
            name: "tokens of a prompt",
            value: Value::Count(load.input_tokens),
            flag: "input-tokens",
            otherwise: "the rest of the context, or half of it",
        },
        Line {
            key: "output_tokens",
            name: "tokens of an answer",
            value: Value::Count(load.output_tokens),
            flag: "output-tokens",
            otherwise: "the rest of the context, or half of it",
        },
        Line {
            key: "kv_dtype",
            name: "numbers in the cache",
            value: Value::text(terms.kv_dtype.name()),
            flag: "kv-dtype",
            otherwise: "default",
        },
    ]
}

fn terms(fit: &Fit) -> Vec<Line<'static>> {
    let terms = &fit.ask.terms;
    let efficiency = |key, name, usual: f64| Line {
        key,
        name,
        value: Value::Percent(terms.efficiency.unwrap_or(usual) * 100.0),
        flag: "efficiency",
        otherwise: "assumed, see docs/planners/fit.md",
    };
    vec![
        Line {
            key: "runtime_gib",
            name: "CUDA context and buffers, GiB per GPU",
            value: Value::Number(terms.runtime_mib / MIB_OF_GIB, 1),
            flag: "runtime-gib",
            otherwise: "assumed, see docs/planners/fit.md",
        },
        Line {
            key: "headroom",
            name: "headroom on memory, factor",
            value: Value::Number(terms.headroom, 2),
            flag: "headroom",
            otherwise: "vram_headroom of the policy",
        },
        efficiency("efficiency_percent", "efficiency on one GPU", EFFICIENCY),
        efficiency(
            "linked_efficiency_percent",
            "efficiency on linked GPUs",
            LINKED_EFFICIENCY,
        ),
        Line {
            key: "utilization_percent",
            name: "hours at this load",
            value: Value::Percent(terms.utilization * 100.0),
            flag: "utilization",
            otherwise: "default",
        },
    ]
}
