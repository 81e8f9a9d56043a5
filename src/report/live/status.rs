//! One line for a terminal that shows something else.

use super::figures::{gib, span};
use super::sections::verdict_word;
use super::view::{LiveGpu, LiveView};
use crate::report::shared::text::{counted, fit};
use unicode_width::UnicodeWidthStr;

/// A run so far in one line of at most so many columns. Where not all fits, what
/// matters least is left out, whole.
pub fn status_line(view: &LiveView, width: usize) -> String {
    let lost = view.gpus.iter().filter(|gpu| gpu.lost.is_some()).count();
    let alerts = view.alerts.len();
    let mean = view.mean_percent.map(|mean| format!("{mean:.0}% mean"));
    // In the order in which they stand, each with its rank: the higher leaves first.
    let parts = [
        (0, Some(span(view.elapsed_seconds))),
        (5, devices(&view.gpus)),
        (2, mean),
        (4, peak(&view.gpus)),
        (1, Some(verdict_word(view.verdict.as_ref()))),
        (3, (alerts > 0).then(|| counted(alerts as u64, "alert", "alerts"))),
        (3, (lost > 0).then(|| format!("{lost} lost"))),
    ];
    let mut parts: Vec<(u8, String)> = parts
        .into_iter()
        .filter_map(|(rank, part)| Some((rank, fit(&part?, usize::MAX))))
        .collect();
    loop {
        let line = Vec::from_iter(parts.iter().map(|(_, part)| part.as_str())).join("  ");
        let last = parts.iter().map(|(rank, _)| *rank).max().unwrap_or(0);
        if line.width() <= width || last == 0 {
            return fit(&line, width);
        }
        parts.retain(|(rank, _)| *rank != last);
    }
}

/// The GPUs by name and number, such as `8 x A10G`; MIG instances are parts of
/// theirs.
fn devices(gpus: &[LiveGpu]) -> Option<String> {
    let cards: Vec<&LiveGpu> = gpus.iter().filter(|gpu| !gpu.is_slice).collect();
    let first = cards.first()?.name.as_deref();
    let is_one_model = cards.iter().all(|gpu| gpu.name.as_deref() == first);
    let name = first.filter(|_| is_one_model).unwrap_or("GPU");
    Some(format!("{} x {name}", cards.len()))
}

/// Memory of the GPU whose memory came closest to full.
fn peak(gpus: &[LiveGpu]) -> Option<String> {
    let shares = gpus.iter().filter_map(|gpu| {
        let peak = gpu.vram_peak_mib?;
        let total = gpu.vram_total_mib.filter(|total| *total > 0.0)?;
        Some((peak / total, peak, total))
    });
    let (_, peak, total) = shares.max_by(|left, right| left.0.total_cmp(&right.0))?;
    Some(format!("{} of {} GiB peak", gib(Some(peak)), gib(Some(total))))
}
