//! What was not seen, the same in every report.

use super::style::{TableStyle, left_out};
use super::text::{counted, wrap};
use crate::domain::Gap;
use serde::Serialize;
use std::fmt::Write;

/// Gaps shown before the rest is announced.
const SHOWN: usize = 8;

/// A gap as JSON.
#[derive(Serialize)]
pub(in crate::report) struct GapView {
    what: String,
    #[serde(rename = "where")]
    place: String,
    reason: String,
    hint: String,
    /// The name of its cause; `null` where an estate states its reason in its own words.
    cause: Option<&'static str>,
}

impl GapView {
    /// Gaps as JSON, in their order.
    pub(in crate::report) fn list(gaps: &[Gap]) -> Vec<Self> {
        gaps.iter()
            .map(|gap| Self {
                what: gap.what.to_string(),
                place: gap.place.clone(),
                reason: gap.reason.clone(),
                hint: gap.hint.clone(),
                cause: gap.cause.as_ref().map(|cause| cause.kind().name()),
            })
            .collect()
    }
}

/// The section GAPS with an empty line after it; nothing when there are none.
pub(in crate::report) fn gap_section(
    gaps: &[Gap],
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    if gaps.is_empty() {
        return Ok(());
    }
    let title = format!(
        "GAPS  {}",
        counted(gaps.len() as u64, "data gap", "data gaps")
    );
    writeln!(out, "{}", style.heading(&title))?;
    let width = style.width.saturating_sub(4);
    let shown = style.shown(gaps.len(), SHOWN);
    for gap in &gaps[..shown] {
        let line = format!("{} of {}: {}", gap.what, gap.place, gap.reason);
        for (index, part) in wrap(&line, width).iter().enumerate() {
            writeln!(out, "  {}{part}", if index == 0 { "" } else { "  " })?;
        }
        for part in wrap(&format!("hint: {}", gap.hint), width) {
            writeln!(out, "    {part}")?;
        }
    }
    left_out(gaps.len() - shown, "gap", "gaps", None, out)?;
    writeln!(out)
}
