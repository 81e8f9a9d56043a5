//! What to try next about a bottleneck, in plain words.

use super::bottleneck::Bottleneck;
use super::rules::IO_BUSY;
use super::signals::Signals;

/// What to try, the most promising first. MIG is named only for a card that is
/// known to have it.
pub(super) fn advice(bottleneck: Bottleneck, signals: &Signals, is_divisible: bool) -> Vec<String> {
    let share = if is_divisible {
        "share the card: MIG slices for tenants that need isolation, MPS for your own processes"
    } else {
        "share the card between your own processes with MPS"
    };
    let waits_for_disk = signals.io_wait.is_some_and(|percent| percent >= IO_BUSY)
        || signals.io_pressure.is_some_and(|percent| percent >= IO_BUSY);
    let steps: &[&str] = match bottleneck {
        Bottleneck::Idle => &["assign work to it, or use a type with fewer or no GPUs"],
        Bottleneck::Parked => &[
            "end the process that holds its memory if it is not needed",
            "load the model on demand instead of keeping it resident",
            share,
        ],
        Bottleneck::Compute => &[
            "use a lower-precision data type: BF16 or FP16 instead of FP32, FP8 if the card \
             supports it",
            "a GPU with more tensor throughput helps; more memory bandwidth does not",
        ],
        Bottleneck::MemoryBandwidth => &[
            "use a lower-precision data type or quantized weights to move fewer bytes",
            "fuse kernels (torch.compile, flash attention) to keep results on the chip",
            "increase the batch size to reuse each loaded weight more often",
            "a GPU with more memory bandwidth helps; more tensor throughput does not",
        ],
        Bottleneck::Pcie => &[
            "keep data on the GPU between steps instead of copying it back and forth",
            "copy from pinned memory, asynchronously, and prefetch the next batch",
            "send smaller data types (uint8 images, FP16) and convert on the GPU",
        ],
        Bottleneck::Input if waits_for_disk => &[
            "keep the data set on local NVMe or in memory, in a few large files",
            "increase the data loader workers and prefetch more batches",
            "a type with faster storage keeps the GPU busier",
        ],
        Bottleneck::Input => &[
            "increase the data loader workers up to the number of vCPUs",
            "use pinned memory and prefetch batches while the GPU computes",
            "decode and augment once in advance, or on the GPU (DALI)",
            "a type with more vCPUs per GPU keeps it busier",
        ],
        Bottleneck::Launch => &[
            "increase the batch size",
            "launch fewer and larger kernels: torch.compile or CUDA graphs",
            share,
        ],
        Bottleneck::Healthy | Bottleneck::Unknown => &[],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}
