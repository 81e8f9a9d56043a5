//! What the spot guard of a run saw: lines for people, an object for programs.

use super::ProfileReport;
use super::words::elapsed_words;
use crate::analysis::{CheckpointAdvice, LostWork};
use crate::domain::{CheckpointBasis, RunCheckpoints, SpotInterruption, SpotRun, SpotWarning};
use crate::report::shared::text::{count, counted, json_figure, json_money, money, percent, safe};
use serde::Serialize;

const HOURS_PER_DAY: f64 = 24.0;

/// The section of the table; empty where no guard watched.
pub(super) fn spot_lines(report: &ProfileReport) -> Vec<String> {
    let Some(spot) = &report.profile.end.spot else {
        return Vec::new();
    };
    let outcome = report.spot.as_ref();
    let mut lines: Vec<String> = spot.rebalance.iter().map(rebalance_words).collect();
    lines.push(match &spot.interruption {
        Some(interruption) => interruption_words(interruption),
        None if spot.is_unread => {
            "interruption: unknown, because notices were not read to the end of the run".to_owned()
        }
        None => "no interruption was announced".to_owned(),
    });
    lines.extend(spot.checkpoints.as_ref().map(checkpoint_words));
    lines.extend(lost_words(
        spot,
        report.profile.end.keeps_memory(),
        outcome.and_then(|outcome| outcome.lost.as_ref()),
    ));
    let advice = outcome.and_then(|outcome| outcome.advice.as_ref());
    lines.push(advice.map_or_else(
        || {
            "checkpoint interval: unknown without the time of a checkpoint; measure it with \
             `--checkpoint-begin` and `--checkpoint-done`, or state it with `--checkpoint-cost`"
                .to_owned()
        },
        advice_words,
    ));
    lines
}

fn rebalance_words(warning: &SpotWarning) -> String {
    let at = elapsed_words(warning.noticed_seconds);
    format!("rebalance recommended after {at}{}", warned_words(warning))
}

fn interruption_words(interruption: &SpotInterruption) -> String {
    let warning = &interruption.warning;
    let left = (interruption.action_seconds - warning.noticed_seconds).max(0.0);
    format!(
        "interruption: {} at {}, noticed after {}, {} before it{}",
        interruption.notice.action,
        interruption.notice.time,
        elapsed_words(warning.noticed_seconds),
        elapsed_words(left),
        warned_words(warning)
    )
}

fn warned_words(warning: &SpotWarning) -> String {
    let by = warning.warned_by.as_deref().map(safe);
    match (by, warning.failure.as_deref()) {
        (Some(by), Some(reason)) => format!("; warning by {by} failed: {}", safe(reason)),
        (Some(by), None) => format!("; command warned by {by}"),
        (None, _) => String::new(),
    }
}

fn checkpoint_words(seen: &RunCheckpoints) -> String {
    let Some(last) = seen.last_seconds else {
        return "no checkpoint was marked".to_owned();
    };
    let every = seen.interval_seconds().map_or_else(String::new, |seconds| {
        format!(", every {} on average", elapsed_words(seconds))
    });
    format!(
        "{}{every}, the last after {}",
        counted(seen.count, "checkpoint", "checkpoints"),
        elapsed_words(last)
    )
}

fn lost_words(spot: &SpotRun, keeps_memory: bool, lost: Option<&LostWork>) -> Option<String> {
    spot.interruption.as_ref()?;
    if keeps_memory {
        return Some("the instance keeps its memory: no work is lost".to_owned());
    }
    let Some(lost) = lost else {
        return Some("work lost: unknown without marks of checkpoints".to_owned());
    };
    let is_saved = spot.checkpoints.is_some_and(|seen| seen.count > 0);
    let since = if is_saved {
        "the last checkpoint"
    } else {
        "the start"
    };
    let mut parts = vec![format!(
        "work lost: at most {} since {since}",
        elapsed_words(lost.seconds)
    )];
    if let Some(seconds) = lost.gpu_seconds {
        parts.push(if seconds < 100.0 {
            format!("{seconds:.1} GPU-seconds")
        } else {
            format!("{} GPU-seconds", count(seconds.round() as u64))
        });
    }
    parts.extend(lost.cost.map(money));
    Some(parts.join(", "))
}

fn advice_words(advice: &CheckpointAdvice) -> String {
    let basis = match advice.cost.basis {
        CheckpointBasis::Given => "as given",
        CheckpointBasis::Log => "measured in the log",
        CheckpointBasis::Warning => "from the warning to its end",
    };
    let band = advice.band.map_or_else(
        || "the band is unknown".to_owned(),
        |(band, read)| format!("band {band} per month, read on {read}"),
    );
    let rate = if advice.interruptions.is_prudence {
        "conservative assumption"
    } else {
        "from the band"
    };
    let mut text = format!(
        "checkpoint every {}: each takes {} ({basis}); {:.2} interruptions per day ({rate}; {band}); \
         with a restart of {}, {} of the time is lost",
        elapsed_words(advice.every.as_secs_f64()),
        elapsed_words(advice.cost.seconds),
        advice.interruptions.per_hour * HOURS_PER_DAY,
        elapsed_words(advice.restart.as_secs_f64()),
        percent(advice.overhead * 100.0)
    );
    if let Some((kept, overhead)) = advice.kept {
        let kept = elapsed_words(kept);
        let lost = percent(overhead * 100.0);
        text.push_str(&format!("; {lost} at the interval of this run, {kept}"));
    }
    text
}

#[derive(Serialize)]
pub(super) struct SpotView {
    notices_read: bool,
    rebalance: Option<WarningView>,
    interruption: Option<InterruptionView>,
    checkpoints: Option<CheckpointsView>,
    lost: Option<LostView>,
    checkpoint_every: Option<AdviceView>,
}

#[derive(Serialize)]
struct WarningView {
    noticed_seconds: f64,
    warned_by: Option<String>,
    failure: Option<String>,
}

#[derive(Serialize)]
struct InterruptionView {
    action: &'static str,
    time: String,
    action_seconds: f64,
    deadline_seconds: f64,
    #[serde(flatten)]
    warning: WarningView,
}

#[derive(Serialize)]
struct CheckpointsView {
    count: u64,
    first_seconds: Option<f64>,
    last_seconds: Option<f64>,
    interval_seconds: Option<f64>,
}

#[derive(Serialize)]
struct LostView {
    seconds: f64,
    gpu_seconds: Option<f64>,
    currency: Option<&'static str>,
    cost: Option<f64>,
}

#[derive(Serialize)]
struct AdviceView {
    seconds: f64,
    checkpoint_seconds: f64,
    checkpoint_basis: &'static str,
    restart_seconds: f64,
    interruption_band: Option<&'static str>,
    interruption_band_date: Option<String>,
    interruptions_per_day: f64,
    is_conservative: bool,
    overhead_pct: f64,
    kept_overhead_pct: Option<f64>,
}

/// The object of the JSON document.
pub(super) fn spot_view(report: &ProfileReport) -> Option<SpotView> {
    let spot = report.profile.end.spot.as_ref()?;
    let outcome = report.spot.as_ref();
    Some(SpotView {
        notices_read: !spot.is_unread,
        rebalance: spot.rebalance.as_ref().map(warning_view),
        interruption: spot.interruption.as_ref().map(|found| InterruptionView {
            action: found.notice.action.name(),
            time: found.notice.time.to_string(),
            action_seconds: json_figure(found.action_seconds),
            deadline_seconds: json_figure(found.deadline_seconds),
            warning: warning_view(&found.warning),
        }),
        checkpoints: spot.checkpoints.map(|seen| CheckpointsView {
            count: seen.count,
            first_seconds: seen.first_seconds.map(json_figure),
            last_seconds: seen.last_seconds.map(json_figure),
            interval_seconds: seen.interval_seconds().map(json_figure),
        }),
        lost: outcome
            .and_then(|outcome| outcome.lost.as_ref())
            .map(|lost| LostView {
                seconds: json_figure(lost.seconds),
                gpu_seconds: lost.gpu_seconds.map(json_figure),
                currency: lost.cost.map(|cost| cost.currency().code()),
                cost: lost.cost.and_then(json_money),
            }),
        checkpoint_every: outcome
            .and_then(|outcome| outcome.advice.as_ref())
            .map(advice_view),
    })
}

fn warning_view(warning: &SpotWarning) -> WarningView {
    WarningView {
        noticed_seconds: json_figure(warning.noticed_seconds),
        warned_by: warning.warned_by.clone(),
        failure: warning.failure.clone(),
    }
}

fn advice_view(advice: &CheckpointAdvice) -> AdviceView {
    AdviceView {
        seconds: advice.every.as_secs_f64(),
        checkpoint_seconds: json_figure(advice.cost.seconds),
        checkpoint_basis: advice.cost.basis.name(),
        restart_seconds: advice.restart.as_secs_f64(),
        interruption_band: advice.band.map(|(band, _)| band.name()),
        interruption_band_date: advice.band.map(|(_, read)| read.to_string()),
        interruptions_per_day: json_figure(advice.interruptions.per_hour * HOURS_PER_DAY),
        is_conservative: advice.interruptions.is_prudence,
        overhead_pct: json_figure(advice.overhead * 100.0),
        kept_overhead_pct: advice
            .kept
            .map(|(_, overhead)| json_figure(overhead * 100.0)),
    }
}
