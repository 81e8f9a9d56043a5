//! What a run says, in sentences that one can act on.

use super::ProfileReport;
use crate::domain::{
    Classification, GpuIdentity, GpuModel, HourlyRate, Verdict, after_number, decimals_apart,
};
use crate::profiling::{Alert, AlertKind, Bottleneck, GpuProfile, RunProfile};
use crate::report::shared::text::{counted, money, percent, rounded, safe};

/// Two sentences: how the GPUs were used, and what else would do.
pub(super) fn headline(report: &ProfileReport) -> Vec<String> {
    let profile = &report.profile;
    let mut sentences = vec![format!(
        "{}: {}{}.",
        used(profile),
        class(&profile.verdict),
        held_back(profile)
    )];
    sentences.extend(price(report));
    sentences
}

/// The same for programs: it begins with the class.
pub(super) fn recommendation(report: &ProfileReport) -> String {
    let profile = &report.profile;
    let mut text = format!(
        "{}: {}{}.",
        class(&profile.verdict),
        used(profile),
        held_back(profile)
    );
    if let Some(sentence) = price(report) {
        text.push(' ');
        text.push_str(&sentence);
    }
    text
}

/// One GPU for programs: it begins with the class.
pub(super) fn gpu_recommendation(gpu: &GpuProfile) -> String {
    let mut text = format!("{}: {}", class(&gpu.verdict), gpu.verdict.reason);
    if let Some(peak) = peak_words(gpu) {
        text.push_str(&format!(", {peak} peak"));
    }
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
    let fullest = profile.fullest().and_then(peak_words);
    parts.extend(fullest.map(|words| format!("{words} peak")));
    parts.join(", ")
}

/// The mean of the GPUs in use, and over all where that is less.
fn mean_words(profile: &RunProfile) -> Option<String> {
    let over_all = profile.utilization?.mean;
    let of_used = profile.used_mean_percent().filter(|_| {
        let used = profile.gpus_used();
        used.is_some_and(|used| used < profile.gpu_count())
    });
    let Some(of_used) = of_used else {
        return Some(format!("{} mean", percent(over_all)));
    };
    Some(format!(
        "{} mean ({} across all)",
        percent(of_used),
        percent(over_all)
    ))
}

fn peak_words(gpu: &GpuProfile) -> Option<String> {
    Some(format!("{:.1} GiB", gpu.vram_used_mib?.max / 1024.0))
}

/// The model of the GPUs; `GPUs` where they differ or have no name.
pub(super) fn model_words(profile: &RunProfile) -> String {
    let mut names: Vec<String> = profile
        .whole()
        .map(|gpu| model_name(&gpu.identity))
        .collect();
    names.dedup();
    match names.as_slice() {
        [one] => one.clone(),
        _ => "GPUs".to_owned(),
    }
}

/// The model without what every driver puts around it.
pub(super) fn model_name(identity: &GpuIdentity) -> String {
    let Some(name) = &identity.name else {
        return "GPU".to_owned();
    };
    let short = GpuModel::from_driver_name(name);
    safe(short.name())
}

/// `, input-starved (host CPU 96.0% (≥ 85%))`.
fn held_back(profile: &RunProfile) -> String {
    let diagnosis = &profile.diagnosis;
    let is_judged = profile.verdict.classification != Classification::InsufficientData;
    let is_said = is_judged
        && !matches!(
            diagnosis.bottleneck,
            Bottleneck::Unknown | Bottleneck::Healthy | Bottleneck::Idle
        );
    // A host that cannot keep up is what is new in the signs of waiting.
    let sign = match diagnosis.bottleneck {
        Bottleneck::Input => diagnosis.evidence.last(),
        _ => diagnosis.evidence.first(),
    };
    let sign = sign.filter(|_| is_said);
    sign.map_or_else(String::new, |sign| {
        let unit = after_number(sign.unit);
        let value = format!("{} at {:.0}{unit}", sign.figure, sign.observed);
        format!(", {} ({value})", diagnosis.bottleneck)
    })
}

/// `This g5.12xlarge costs $5.67/h; g5.4xlarge is sufficient: $2,955.04 less per month.`
fn price(report: &ProfileReport) -> Option<String> {
    let cost = report.cost.as_ref()?;
    let today = format!(
        "This {} costs {}",
        cost.shape.instance_type,
        rate_words(cost.today.hourly)
    );
    let better = report
        .best()
        .and_then(|best| Some((best, best.monthly_savings?)));
    Some(match better {
        Some((best, savings)) => format!(
            "{today}; {} is sufficient: {} less per month.",
            best.considered.shape.instance_type,
            money(savings)
        ),
        None => match &cost.sizing {
            Ok(_) => format!("{today}; no suitable type costs less."),
            Err(_) if report.profile.verdict.classification == Classification::WellUtilized => {
                format!("{today}.")
            }
            Err(_) if report.profile.verdict.classification == Classification::InsufficientData => {
                let why = &report.profile.verdict.reason;
                format!("{today}; no alternatives evaluated: {why}.")
            }
            Err(reason) => format!("{today}; no alternatives evaluated: {reason}."),
        },
    })
}

/// `$5.67/h`.
pub(super) fn rate_words(rate: HourlyRate) -> String {
    format!("{}{}/h", rate.currency().sign(), rounded(rate.amount(), 2))
}

/// A length of time such as `12m 04s`.
pub fn elapsed_words(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}h {minutes:02}m")
    } else {
        format!("{minutes}m {seconds:02}s")
    }
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
            format!(
                "worst {:.decimals$}{}",
                alert.worst,
                after_number(alert.kind.unit())
            )
        }
        _ => format!(
            "{} in a row without a response",
            counted(alert.worst as u64, "sample", "samples")
        ),
    };
    format!("{}: {place} from {from}, {held}, {worst}", alert.kind)
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
