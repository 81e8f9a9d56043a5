//! What the spot guard of a run saw: a line for people, an object for programs.

use super::ProfileReport;
use super::words::elapsed_words;
use crate::domain::SpotInterruption;
use crate::report::shared::text::{json_figure, safe};
use serde::Serialize;

/// The section of the table; empty where no guard watched.
pub(super) fn spot_lines(report: &ProfileReport) -> Vec<String> {
    let spot = report.profile.end.spot.iter();
    let line = spot.map(|spot| match &spot.interruption {
        Some(interruption) => interruption_words(interruption),
        None if spot.is_unread => {
            "interruption: unknown, because notices were not read to the end of the run".to_owned()
        }
        None => "no interruption was announced".to_owned(),
    });
    line.collect()
}

fn interruption_words(found: &SpotInterruption) -> String {
    let left = (found.action_seconds - found.noticed_seconds).max(0.0);
    let warned = found.warned_by.as_deref();
    let warned = warned.map(|by| format!("; command warned by {}", safe(by)));
    format!(
        "interruption: {} at {}, noticed after {}, {} before it{}",
        found.notice.action,
        found.notice.time,
        elapsed_words(found.noticed_seconds),
        elapsed_words(left),
        warned.unwrap_or_default()
    )
}

#[derive(Serialize)]
pub(super) struct SpotView {
    notices_read: bool,
    interruption: Option<InterruptionView>,
}

#[derive(Serialize)]
struct InterruptionView {
    action: &'static str,
    time: String,
    action_seconds: f64,
    deadline_seconds: f64,
    noticed_seconds: f64,
    warned_by: Option<String>,
}

/// The object of the JSON document.
pub(super) fn spot_view(report: &ProfileReport) -> Option<SpotView> {
    let spot = report.profile.end.spot.as_ref()?;
    Some(SpotView {
        notices_read: !spot.is_unread,
        interruption: spot.interruption.as_ref().map(|found| InterruptionView {
            action: found.notice.action.name(),
            time: found.notice.time.to_string(),
            action_seconds: json_figure(found.action_seconds),
            deadline_seconds: json_figure(found.deadline_seconds),
            noticed_seconds: json_figure(found.noticed_seconds),
            warned_by: found.warned_by.clone(),
        }),
    })
}
