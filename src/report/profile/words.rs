//! A run with its price, and what it says, in sentences that one can act on.

use crate::analysis::{Candidate, Mfu, RunCost, RunWork};
use crate::domain::{
    Classification, Gap, GpuIdentity, GpuModel, HourlyRate, Risk, SpotRun, Verdict, after_number,
    decimals_apart,
};
use crate::profiling::{
    Alert, AlertKind, Bottleneck, GpuProfile, HostProfile, PowerBasis, RunProfile, UtilizationBasis,
};
use crate::report::doc::elapsed_words;
use crate::report::live::bytes_per_second;
use crate::report::shared::text::{count, counted, money, money_or_absent, percent, rounded, safe};
use crate::usage::Range;

const MIB_PER_GIB: f64 = 1_024.0;
pub(super) const JOULES_PER_KWH: f64 = 3_600_000.0;

/// How the GPUs were used, and what else would do: it begins with the class.
pub(super) fn recommendation(report: &ProfileReport) -> String {
    let profile = &report.profile;
    let (class, used) = (class(&profile.verdict), used(profile));
    let price = price(report).map_or_else(String::new, |price| format!(" {price}"));
    format!("{class}: {used}{}.{price}", held_back(profile))
}

/// The same of one GPU.
pub(super) fn gpu_recommendation(gpu: &GpuProfile) -> String {
    let mut text = format!("{}: {}", class(&gpu.verdict), gpu.verdict.reason);
    text.extend(peak_words(gpu).map(|peak| format!(", {peak} peak")));
    if gpu.diagnosis.bottleneck != Bottleneck::Unknown {
        let name = gpu.diagnosis.bottleneck.name();
        text.push_str(&format!("; {name}: {}", gpu.diagnosis.reason));
    }
    text
}

fn class(verdict: &Verdict) -> String {
    verdict.classification.name().to_uppercase()
}

/// `1 of 4 A10G used, 41% mean (10.3% over all), 13.2 GiB peak`.
fn used(profile: &RunProfile) -> String {
    let total = profile.gpu_count();
    let model = model_words(profile);
    let mut parts = vec![match profile.gpus_used() {
        Some(used) if used == total && total == 1 => format!("the {model} used"),
        Some(used) => format!("{used} of {total} {model} used"),
        None => format!("{total} {model}"),
    }];
    parts.extend(mean_words(profile));
    parts.extend(profile.fullest().and_then(peak_words).map(|words| format!("{words} peak")));
    parts.join(", ")
}

/// The mean of the GPUs in use, and over all where that is less.
fn mean_words(profile: &RunProfile) -> Option<String> {
    let over_all = percent(profile.utilization?.mean);
    let is_part = profile.gpus_used().is_some_and(|used| used < profile.gpu_count());
    Some(match profile.used_mean_percent().filter(|_| is_part) {
        Some(of_used) => format!("{} mean ({over_all} across all)", percent(of_used)),
        None => format!("{over_all} mean"),
    })
}

fn peak_words(gpu: &GpuProfile) -> Option<String> {
    Some(format!("{:.1} GiB", gib(gpu.vram_used_mib?.max)))
}

/// The model of the GPUs; `GPUs` where they differ or have no name.
fn model_words(profile: &RunProfile) -> String {
    let mut names: Vec<String> = profile.whole().map(|gpu| model_name(&gpu.identity)).collect();
    names.dedup();
    match names.as_slice() {
        [name] => name.clone(),
        _ => "GPUs".to_owned(),
    }
}

/// The model without what every driver puts around it.
pub(super) fn model_name(identity: &GpuIdentity) -> String {
    let Some(name) = &identity.name else { return "GPU".to_owned() };
    safe(GpuModel::from_driver_name(name).name())
}

/// `, input-starved (host CPU 96.0% (≥ 85%))`.
fn held_back(profile: &RunProfile) -> String {
    let diagnosis = &profile.diagnosis;
    let is_judged = profile.verdict.classification != Classification::InsufficientData;
    let sign = match diagnosis.bottleneck {
        Bottleneck::Unknown | Bottleneck::Healthy | Bottleneck::Idle => None,
        // A host that cannot keep up is what is new in the signs of waiting.
        Bottleneck::Input => diagnosis.evidence.last(),
        _ => diagnosis.evidence.first(),
    };
    sign.filter(|_| is_judged).map_or_else(String::new, |sign| {
        let unit = after_number(sign.unit);
        let value = format!("{} at {:.0}{unit}", sign.figure, sign.observed);
        format!(", {} ({value})", diagnosis.bottleneck)
    })
}

/// `This g5.12xlarge costs $5.67/h; g5.4xlarge is sufficient: $2,955.04 less per month.`
fn price(report: &ProfileReport) -> Option<String> {
    let cost = report.cost.as_ref()?;
    let today =
        format!("This {} costs {}", cost.shape.instance_type, rate_words(cost.today.hourly));
    let better = report.best();
    if let Some((best, savings)) = better.and_then(|best| Some((best, best.monthly_savings?))) {
        let name = &best.considered.shape.instance_type;
        let less = money(savings);
        return Some(format!("{today}; {name} is sufficient: {less} less per month."));
    }
    let verdict = &report.profile.verdict;
    let reason = match (&cost.sizing, verdict.classification) {
        (Ok(_), _) => return Some(format!("{today}; no suitable type costs less.")),
        (Err(_), Classification::WellUtilized) => return Some(format!("{today}.")),
        (Err(_), Classification::InsufficientData) => &verdict.reason,
        (Err(reason), _) => reason,
    };
    Some(format!("{today}; no alternatives evaluated: {reason}."))
}

/// `$5.67/h`.
fn rate_words(rate: HourlyRate) -> String {
    format!("{}{}/h", rate.currency().sign(), rounded(rate.amount(), 2))
}

/// An alert in a line; `gpu` is the label of the one that it is about.
pub fn alert_line(alert: &Alert, gpu: Option<&str>) -> String {
    let place = gpu.map_or_else(|| "all GPUs".to_owned(), |gpu| format!("GPU {gpu}"));
    let from = elapsed_words(alert.began_seconds);
    if alert.kind == AlertKind::Xid {
        let errors = counted(alert.episodes, "error", "errors");
        return format!(
            "{}: {errors} on {place} starting at {from}, first {:.0}",
            alert.kind, alert.worst
        );
    }
    let held = if alert.is_active() {
        "until the end".to_owned()
    } else if alert.total_seconds > 0.0 {
        format!("{} in total", elapsed_words(alert.total_seconds))
    } else {
        format!("at {}", counted(alert.episodes, "sample", "samples"))
    };
    let worst = match alert.kind.threshold() {
        Some(threshold) if alert.kind != AlertKind::Lost => {
            let decimals = decimals_apart(alert.worst, threshold);
            format!("worst {:.decimals$}{}", alert.worst, after_number(alert.kind.unit()))
        }
        _ => format!(
            "{} in a row without a response",
            counted(alert.worst as u64, "sample", "samples")
        ),
    };
    format!("{}: {place} from {from}, {held}, {worst}", alert.kind)
}

/// The name of a GPU: `0`, and `0:1 1g.10gb` for a slice.
pub(super) fn label(identity: &GpuIdentity) -> String {
    let Some(slot) = &identity.mig else { return identity.index.to_string() };
    let profile = slot.profile.as_deref().map(safe).unwrap_or_default();
    format!("{}:{} {profile}", identity.index, slot.index).trim_end().to_owned()
}

pub(super) fn gib(mib: f64) -> f64 {
    mib / MIB_PER_GIB
}

/// Facts of the whole run, each with its name.
pub(super) fn facts(report: &ProfileReport) -> impl Iterator<Item = (&'static str, String)> {
    let profile = &report.profile;
    let facts = [
        ("run", Some(title(profile))),
        ("diagnosis", Some(diagnosis(profile))),
        ("cost", report.cost.as_ref().map(cost_words)),
        ("spot", profile.end.spot.as_ref().map(spot_words)),
        ("model FLOPs", report.mfu().map(mfu_words)),
        ("host", host_words(&profile.host)),
        ("energy", energy_words(profile)),
        ("samples", Some(samples(profile))),
    ];
    facts.into_iter().filter_map(|(name, words)| Some((name, words?)))
}

fn title(profile: &RunProfile) -> String {
    let facts = &profile.facts;
    let elapsed = elapsed_words(profile.end.elapsed_seconds);
    let host = facts.hostname.as_deref().unwrap_or("an unnamed host");
    let driver = facts.driver_version.as_ref();
    let driver = driver.map(|version| format!("driver {version}"));
    let place = [&facts.instance_id, &facts.instance_type, &facts.region];
    let parts = std::iter::once(format!("{elapsed} on {host}"));
    parts.chain(place.into_iter().flatten().cloned()).chain(driver).collect::<Vec<_>>().join(", ")
}

fn diagnosis(profile: &RunProfile) -> String {
    let diagnosis = &profile.diagnosis;
    if profile.verdict.classification == Classification::InsufficientData {
        return profile.verdict.reason.clone();
    }
    match (diagnosis.bottleneck, diagnosis.confidence) {
        (Bottleneck::Unknown, _) => format!("bottleneck unknown: {}", diagnosis.reason),
        (bottleneck, None) => format!("{bottleneck}: {}", diagnosis.reason),
        (bottleneck, Some(confidence)) => {
            format!("{bottleneck} ({confidence}): {}", diagnosis.reason)
        }
    }
}

fn cost_words(cost: &RunCost) -> String {
    let mut parts = vec![
        format!("{} this run", money_or_absent(cost.run)),
        format!("{} per month", money(cost.today.compute_monthly)),
    ];
    let useful = cost.useful_gpu_hour.map(rate_words);
    parts.extend(useful.map(|rate| format!("{} per useful GPU-hour", rate.replace("/h", ""))));
    let price = cost.today.instances.first();
    parts.extend(price.map(|instance| {
        let (option, quote) = (instance.key.option, &instance.quote);
        format!("{option} price as of {} ({})", quote.effective_date, quote.origin)
    }));
    parts.join(" · ")
}

fn spot_words(spot: &SpotRun) -> String {
    let Some(interruption) = &spot.interruption else {
        return if spot.is_unread {
            "interruption: unknown, because notices were not read to the end of the run".to_owned()
        } else {
            "no interruption was announced".to_owned()
        };
    };
    let left = (interruption.action_seconds - interruption.noticed_seconds).max(0.0);
    let warned = interruption.warned_by.as_deref();
    let warned = warned.map(|by| format!("; command warned by {by}"));
    format!(
        "interruption: {} at {}, noticed after {}, {} before it{}",
        interruption.notice.action,
        interruption.notice.time,
        elapsed_words(interruption.noticed_seconds),
        elapsed_words(left),
        warned.unwrap_or_default()
    )
}

/// MFU with what it is made from, or why it is not known.
fn mfu_words(mfu: Result<&Mfu, &String>) -> String {
    let measured = match mfu {
        Ok(measured) => measured,
        Err(reason) => return format!("MFU unknown: {reason}"),
    };
    format!(
        "MFU {}: {} steps × {:.3e} FLOP in {}, of the {:.0} TFLOPS ({}, dense) of {}",
        percent(measured.percent),
        count(measured.steps),
        measured.flops_per_step,
        elapsed_words(measured.seconds),
        measured.peak_tflops,
        measured.dtype,
        match measured.gpus {
            1 => "the GPU in use".to_owned(),
            gpus => format!("{gpus} GPUs in use"),
        }
    )
}

fn host_words(host: &HostProfile) -> Option<String> {
    let cores = host
        .cores
        .map_or_else(String::new, |cores| format!(" of {}", counted(cores, "CPU", "CPUs")));
    let memory = host.memory_total_mib;
    let memory = memory.map_or_else(String::new, |total| format!(" of {:.1}", gib(total)));
    let rate = |range: Option<Range>, place| {
        range.map(|range| format!("{} from {place}", bytes_per_second(range.mean)))
    };
    let parts = [
        host.cpu_percent.map(|cpu| format!("{} mean{cores}", percent(cpu.mean))),
        host.busiest_core_percent
            .map(|busiest| format!("busiest CPU {} at p95", percent(busiest.p95))),
        host.io_wait_percent.map(|wait| format!("{} disk I/O wait", percent(wait.mean))),
        host.memory_used_mib.map(|used| format!("{:.1}{memory} GiB peak memory", gib(used.max))),
        rate(host.network_received_bytes_per_second, "the network"),
        rate(host.disk_read_bytes_per_second, "disks"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn energy_words(profile: &RunProfile) -> Option<String> {
    let joules = profile.energy_j()?;
    let is_counted = profile.whole().all(|gpu| {
        let power = gpu.power;
        power.is_some_and(|power| power.basis == PowerBasis::EnergyCounter)
    });
    let basis = if is_counted { "energy counters" } else { "power samples" };
    Some(format!("{:.4} kWh from {basis}", joules / JOULES_PER_KWH))
}

fn samples(profile: &RunProfile) -> String {
    let pace = profile.pace;
    let missed = pace.missed.unwrap_or(0);
    let mut text = counted(profile.samples, "sample", "samples");
    // A log of another program does not say when its samples were due; only how far
    // apart they usually are tells that some are missing.
    match profile.facts.interval_seconds {
        Some(interval) => text.push_str(&format!(
            " every {interval} s; {} late, {} missed",
            count(pace.late),
            count(missed)
        )),
        None if missed > 0 => text.push_str(&format!("; {} missed", count(missed))),
        None => {}
    }
    let mut bases = profile.gpus.iter().map(|gpu| gpu.utilization_basis);
    if bases.any(|basis| basis == Some(UtilizationBasis::DriverSamples)) {
        text.push_str("; utilization from the driver's own samples in between");
    }
    if pace.wall_clock_step_seconds != 0.0 {
        text.push_str(&format!(
            "; the wall clock was adjusted by {:+.1} s during the run",
            pace.wall_clock_step_seconds
        ));
    }
    text
}

/// Why GPUs were lost, and clocks held back.
pub(super) fn trouble(profile: &RunProfile) -> Vec<String> {
    let lines = profile.gpus.iter().flat_map(|gpu| {
        let place = format!("GPU {}", label(&gpu.identity));
        let lost = gpu.lost.as_ref().map(|lost| {
            let (after, reason) = (elapsed_words(lost.at_seconds), &lost.reason);
            let line = format!("{place} stopped responding after {after}: {reason}");
            line + if lost.is_back { "; responding again" } else { "" }
        });
        // Clocks that rest cost nothing.
        let slowed = gpu.throttle.iter().flatten().filter_map(move |time| {
            let names = time.reason.names().join(", ");
            let seconds = elapsed_words(time.seconds);
            (names != "idle").then(|| format!("{place} clocks throttled by {names} for {seconds}"))
        });
        lost.into_iter().chain(slowed).collect::<Vec<_>>()
    });
    lines.collect()
}

/// A run with its price, ready to be printed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileReport {
    pub profile: RunProfile,
    /// What it cost; absent when the host has no known price, which is a gap.
    pub cost: Option<RunCost>,
    /// What it did; absent where nothing was counted.
    pub work: Option<RunWork>,
    /// Risk that was accepted of another type.
    pub accepted: Risk,
    pub gaps: Vec<Gap>,
}

impl ProfileReport {
    /// The cheapest type that would do.
    pub(super) fn best(&self) -> Option<&Candidate> {
        self.cost.as_ref()?.sizing.as_ref().ok()?.accepted().next()
    }

    /// Model FLOPs utilization, or why it is unknown; absent where nothing states what a step
    /// computes.
    pub(super) fn mfu(&self) -> Option<Result<&Mfu, &String>> {
        Some(self.work.as_ref()?.mfu.as_ref()?.as_ref())
    }

    /// A figure of the pace: a log of another program does not say when a sample was due.
    pub(super) fn paced<T>(&self, figure: T) -> Option<T> {
        self.profile.facts.interval_seconds.map(|_| figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_reads_as_it_was() {
        let line = |kind, worst, ended_seconds, total_seconds| {
            let alert = Alert {
                kind,
                gpu: Some(0),
                began_seconds: 30.0,
                ended_seconds,
                episodes: 2,
                total_seconds,
                worst,
            };
            alert_line(&alert, Some("0"))
        };
        // One sample stands for no time.
        assert_eq!(
            line(AlertKind::Hot, 84.0, Some(31.0), 0.0),
            "gpu-hot: GPU 0 from 30.0 s, at 2 samples, worst 84.0 °C"
        );
        // What is above 85 never reads as 85.
        assert_eq!(
            line(AlertKind::VramNearlyFull, 85.04, Some(800.0), 600.0),
            "vram-nearly-full: GPU 0 from 30.0 s, 10m 00s in total, worst 85.04%"
        );
        assert_eq!(
            line(AlertKind::PowerNearLimit, 90.4, None, 5.0),
            "power-near-limit: GPU 0 from 30.0 s, until the end, worst 90.4%"
        );
        assert_eq!(
            line(AlertKind::Lost, 3.0, None, 2.0),
            "gpu-lost: GPU 0 from 30.0 s, until the end, 3 samples in a row without a response"
        );
        assert_eq!(
            line(AlertKind::Xid, 79.0, None, 0.0),
            "xid: 2 errors on GPU 0 starting at 30.0 s, first 79"
        );
    }
}
