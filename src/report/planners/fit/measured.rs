//! Memory that was measured beside what the formula gives.

use super::super::figures::MIB_OF_GIB;
use crate::planners::fit::{ComputedMemory, Fit, MeasuredMemory, computed_memory};
use crate::report::doc::{Table, columns};

columns! {
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

/// A row for each type of numbers and each number of GPUs that may hold a copy.
pub(super) fn table(fit: &Fit, seen: &MeasuredMemory) -> Table {
    let computed = computed_memory(&fit.ask, &seen.instance_type);
    Table::of(
        "measured_memory",
        "MEASURED MEMORY  of a GPU, beside the formula",
        ("way to hold the model", "ways to hold the model"),
        of_computed(),
        computed.into_iter().map(|computed| (computed, seen)),
    )
}
