//! Memory that was measured beside what the formula gives.

use super::super::figures::MIB_OF_GIB;
use crate::planners::fit::{ComputedMemory, Fit, MeasuredMemory, computed_memory};
use crate::report::doc::{Missing, Table, Value, column};

pub(super) const CAVEAT: &str = "Measured is the fullest GPU at its peak, computed is one copy of the model without headroom. \
     An engine that reserves its cache ahead, such as vLLM, holds what it may hold.";

/// A row for each type of numbers and each number of GPUs that may hold a copy.
pub(super) fn sheet(fit: &Fit, seen: &MeasuredMemory) -> Table {
    let computed = computed_memory(&fit.ask, &seen.instance_type);
    Table {
        key: "measured_memory",
        title: "MEASURED MEMORY  of a GPU, beside the formula".to_owned(),
        noun: ("way to hold the model", "ways to hold the model"),
        columns: vec![
            column("measured_on", "measured on"),
            column("instance_type", "type"),
            column("dtype", "dtype"),
            column("gpus_of_a_copy", "GPUs of a copy"),
            column("measured_gib", "measured GiB"),
            column("computed_gib", "computed GiB"),
            column("difference_percent", "difference"),
        ],
        rows: computed.iter().map(|one| row(one, seen)).collect(),
        ..Table::default()
    }
}

fn row(one: &ComputedMemory, seen: &MeasuredMemory) -> Vec<Value> {
    let difference = (one.mib / seen.peak_mib - 1.0) * 100.0;
    vec![
        Value::text(seen.name.as_str()),
        Value::text(seen.instance_type.as_str()),
        Value::text(one.dtype.name()),
        Value::Count(one.gpus_each.into()),
        Value::Number(seen.peak_mib / MIB_OF_GIB, 1),
        Value::Number(one.mib / MIB_OF_GIB, 1),
        Value::of((seen.peak_mib > 0.0).then_some(difference), Value::Percent),
    ]
}

/// What is not computed on the type that was measured.
pub(super) fn missing(fit: &Fit, seen: &MeasuredMemory) -> Option<Missing> {
    let is_computed = !computed_memory(&fit.ask, &seen.instance_type).is_empty();
    (!is_computed).then(|| Missing {
        what: format!("memory on {} by the formula", seen.instance_type),
        remedy: "measure on a type with NVIDIA GPUs: only these are computed".to_owned(),
    })
}
