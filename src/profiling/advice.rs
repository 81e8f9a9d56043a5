//! What to try next about a bottleneck, in plain words.

use super::diagnosis::Bottleneck;
use super::rules::IO_BUSY;
use super::signals::Signals;

/// What to try, the most promising first. MIG is named only for a card that is
/// known to have it.
pub(super) fn advice(bottleneck: Bottleneck, signals: &Signals, is_divisible: bool) -> Vec<String> {
    let share = if is_divisible {
        "share the card: MIG slices for tenants that must not disturb each other, MPS for your own processes"
    } else {
        "share the card among your own processes with MPS"
    };
    let waits_for_disk = signals.io_wait.is_some_and(|percent| percent >= IO_BUSY)
        || signals
            .io_pressure
            .is_some_and(|percent| percent >= IO_BUSY);
    let steps: &[&str] = match bottleneck {
        Bottleneck::Idle => &["give it work, or use a type with fewer GPUs or none"],
        Bottleneck::Parked => &[
            "end the process that holds its memory, if nobody needs it",
            "load the model on demand instead of keeping it resident",
            share,
        ],
        Bottleneck::Compute => &[
            "use a smaller type of number: BF16 or FP16 instead of FP32, FP8 where the card has it",
            "a GPU with more tensor throughput speeds this up; more memory bandwidth does not",
        ],
        Bottleneck::MemoryBandwidth => &[
            "use a smaller type of number or quantized weights: fewer bytes to move",
            "fuse kernels (torch.compile, flash attention), so that results stay on the chip",
            "raise the batch size, so that each weight that is read is used more often",
            "a GPU with more memory bandwidth speeds this up; more tensor throughput does not",
        ],
        Bottleneck::Pcie => &[
            "keep data on the GPU between steps instead of copying it back and forth",
            "copy from pinned memory, asynchronously, and prefetch the next batch",
            "send smaller types of number (uint8 images, FP16) and convert on the GPU",
        ],
        Bottleneck::Input if waits_for_disk => &[
            "keep the data set on local NVMe or in memory, in few large files",
            "raise the data loader's workers and prefetch more batches",
            "a type with faster storage feeds the GPU better",
        ],
        Bottleneck::Input => &[
            "raise the data loader's workers up to the number of vCPUs",
            "use pinned memory and prefetch batches while the GPU computes",
            "decode and augment once beforehand, or on the GPU (DALI)",
            "a type with more vCPUs per GPU feeds it better",
        ],
        Bottleneck::Launch => &[
            "raise the batch size",
            "launch fewer and larger kernels: torch.compile or CUDA graphs",
            share,
        ],
        Bottleneck::Healthy | Bottleneck::Unknown => &[],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}
