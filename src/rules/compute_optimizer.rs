//! AWS Compute Optimizer's idle rule as a second opinion. It reads CPU and network,
//! which never stand in for the GPU. Where they show use, a stop is less certain, or none.

use crate::domain::{
    Comparator, Evidence, IDLE_CPU_PERCENT, IDLE_NETWORK_MB_PER_DAY, InstanceUsage, Signal,
    Workload, after_number, decimals_apart,
};
use crate::profiling::Sign;

/// Share of the window above which its GPUs count as idle, percent.
const IDLE_ABOVE_PERCENT: f64 = 99.0;
/// Use of VRAM below which it holds nothing, percent.
const VRAM_BELOW_PERCENT: f64 = 5.0;

/// One condition of the rule.
fn in_words(sign: &Sign) -> String {
    let Sign { figure, observed, comparator, threshold, unit } = sign;
    let decimals = decimals_apart(*observed, *threshold);
    format!("{figure} {observed:.decimals$}{} ({comparator} {threshold})", after_number(unit))
}

/// How many signs of the rule hold for the busiest instance of a workload, and
/// which; absent unless every series that the rule reads was delivered.
pub(super) fn second_opinion(workload: &Workload) -> Option<Evidence> {
    let signs = signs(workload)?;
    let holding = signs.iter().filter(|sign| sign.holds()).count();
    let agrees = holding == signs.len();
    let words: Vec<String> = signs.iter().map(in_words).collect();
    Some(Evidence::fact(
        "criteria of AWS Compute Optimizer's idle rule",
        &format!("the rule {}: {}", if agrees { "agrees" } else { "disagrees" }, words.join(", ")),
        holding as f64,
        (if agrees { Comparator::Equal } else { Comparator::LessThan }, signs.len() as f64),
        "signs",
    ))
}

fn signs(workload: &Workload) -> Option<[Sign; 5]> {
    let summary =
        workload.utilization.as_ref().filter(|summary| summary.signal == Signal::GpuUtilization)?;
    let below = |figure, observed, threshold, unit| Sign {
        figure,
        observed,
        comparator: Comparator::LessThan,
        threshold,
        unit,
    };
    let sessions = largest(workload.gpus(), |gpu| gpu.encoder_sessions_max)?;
    let cpu = largest(&workload.usage, |usage: &InstanceUsage| {
        usage.cpu_max.filter(|_| usage.cpu_max_samples.is_some())
    })?;
    let network = largest(&workload.usage, InstanceUsage::network_mb_per_day)?;
    Some([
        Sign {
            figure: "GPUs idle",
            observed: summary.idle_share? * 100.0,
            comparator: Comparator::GreaterThan,
            threshold: IDLE_ABOVE_PERCENT,
            unit: "% of the window",
        },
        // AWS says unused in 99% of the window. A series by the hour cannot
        // tell a tenth of a percent: no session at all is asked for.
        below("encoder sessions", sessions, 1.0, "concurrent"),
        below("VRAM", workload.vram()?.peak_percent()?, VRAM_BELOW_PERCENT, "%"),
        below("maximum CPU", cpu, IDLE_CPU_PERCENT, "%"),
        below("network", network, IDLE_NETWORK_MB_PER_DAY, "MB/day"),
    ])
}

/// The largest figure of any; absent unless every one of them was measured.
fn largest<T>(
    items: impl IntoIterator<Item = T>,
    figure: impl Fn(T) -> Option<f64>,
) -> Option<f64> {
    items.into_iter().map(figure).try_fold(0.0_f64, |largest, value| Some(largest.max(value?)))
}
