//! The plan: every action with its switch, and one workload with its actions and hours.

use super::actions::Switch;
use super::list::listed;
use super::model::Model;
use super::words::{bold, first_row, left, right, row};
use crate::domain::Action;
use crate::report::shared::text::{ABSENT, counted, fit, money_or_absent, wrap};
use crate::report::shared::view::sum;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

/// Columns of an amount.
const AMOUNT: usize = 12;
/// Columns of the kind of an action.
const KIND: usize = 10;
/// Actions of a workload that are shown at once.
const MOST_ACTIONS: usize = 4;
/// Releases of unused capacity that are shown below the actions of workloads.
const MOST_RELEASED: usize = 5;
/// Lines of the sentence about a workload, and of that about an action.
const SENTENCE: usize = 2;

/// Every action of the workloads that are shown.
pub(super) fn list(model: &Model<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let filter = model.filter_words();
    let released = model.released();
    let number = model.entries.len() + released.len();
    let title =
        format!("PLAN  {}, the largest saving first{filter}", counted(number, "action", "actions"));
    let header = format!(
        "       {}  {}  {}",
        right("SAVES/MONTH", AMOUNT),
        left("ACTION", KIND),
        "WORKLOAD"
    );
    let mut lines =
        vec![Line::styled(fit(&title, width), bold()), Line::styled(fit(&header, width), bold())];
    let beside = released.len().min(MOST_RELEASED);
    let hidden = released.len() - beside;
    let below = beside + usize::from(hidden > 0);
    let rows = height.saturating_sub(lines.len() + below);
    let places: Vec<usize> = model.entries.iter().map(|(place, _)| *place).collect();
    let rows = listed(model, &places, model.plan_cursor, (width, rows), |index| {
        let (place, kind) = model.entries[index];
        let audited = model.audit.workloads.get(place)?;
        let switches = model.switches.of_workload(audited);
        let switch = switches.iter().find(|switch| switch.kind == kind)?;
        let action = described(switch, &audited.workload.name);
        let line = left(&format!("{}  {action}", switched(switch)), width.saturating_sub(2));
        Some(row(&line, index == model.plan_cursor))
    });
    lines.extend(rows);
    // They belong to no workload and are not switched.
    for (commitment, action) in released.iter().take(beside) {
        let text = format!(
            "       {}  {}  {}: {} ({} risk)",
            right(&action.monthly_savings().to_string(), AMOUNT),
            left(action.kind().name(), KIND),
            commitment.id,
            commitment.name,
            action.risk()
        );
        lines.push(Line::from(fit(&text, width)));
    }
    if hidden > 0 {
        let saved = released.iter().skip(beside);
        let saved = sum(saved.map(|(_, action)| Some(action.monthly_savings())));
        let text = format!(
            "       {}  {}",
            right(&money_or_absent(saved), AMOUNT),
            counted(hidden, "more release", "more releases")
        );
        lines.push(Line::from(fit(&text, width)));
    }
    lines
}

/// The switch, the saving and the kind.
fn switched(switch: &Switch<'_>) -> String {
    let mark = if switch.is_on { "[x]" } else { "[ ]" };
    let saves = money_or_absent(switch.action.map(Action::monthly_savings));
    format!("{mark}  {}  {}", right(&saves, AMOUNT), left(switch.kind.name(), KIND))
}

/// A name, and where its action leads.
fn described(switch: &Switch<'_>, name: &str) -> String {
    let name = fit(name, 40);
    let risk = switch.action.map(|action| format!(" ({} risk)", action.risk())).unwrap_or_default();
    match switch.action.and_then(Action::target) {
        Some(to) => format!("{name} → {to}{risk}"),
        None => format!("{name}{risk}"),
    }
}

/// One workload.
pub(super) fn workload(model: &Model<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let Some(audited) = model.opened() else { return Vec::new() };
    let workload = &audited.workload;
    let mut title = format!(
        "{}  {} × {}",
        fit(&workload.name, 40),
        workload.instances.len(),
        workload.key.instance_type,
    );
    let amounts = format!(
        "{} → {} per month",
        money_or_absent(workload.monthly_cost()),
        money_or_absent(audited.planned_monthly_cost()),
    );
    // An amount that is cut reads as another one, so what does not fit is left out whole.
    for part in [&amounts, &audited.verdict.classification.to_string(), &workload.key.region] {
        if title.width() + 3 + part.width() <= width {
            title.push_str(" · ");
            title.push_str(part);
        }
    }
    let mut lines = vec![Line::styled(fit(&title, width), bold())];
    lines.extend(sentence(&audited.verdict.reason, "", width));
    let switches = model.open_switches();
    let cursor = model.action_cursor;
    if switches.is_empty() {
        lines.push(Line::from("the plan has no action for it"));
    }
    let first = first_row(cursor, switches.len(), MOST_ACTIONS);
    for (index, switch) in switches.iter().enumerate().skip(first).take(MOST_ACTIONS) {
        let text = format!("{}  {}", switched(switch), described(switch, ""));
        lines.push(row(&left(&text, width.saturating_sub(2)), index == cursor));
    }
    if let Some(switch) = switches.get(cursor) {
        let detail = switch.action.map_or("it has not been on", Action::detail);
        lines.extend(sentence(detail, "      ", width));
    }
    let mean = model.hours.mean().unwrap_or_else(|| ABSENT.to_owned());
    let of = format!("UTILIZATION  {} · mean {mean}", model.hours.title());
    lines.push(Line::styled(fit(&of, width), bold()));
    let rest = height.saturating_sub(lines.len());
    let style = (model.color, model.ascii);
    lines.extend(model.hours.lines((width, rest), style));
    lines
}

/// A sentence in few lines, which the last one ends with `…` where it is longer.
fn sentence(text: &str, indent: &str, width: usize) -> Vec<Line<'static>> {
    let columns = width.saturating_sub(indent.len() + 1).max(1);
    let mut lines = wrap(text, columns);
    if lines.len() > SENTENCE {
        lines.truncate(SENTENCE);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), columns + 1);
        }
    }
    lines.into_iter().map(|line| Line::from(format!("{indent}{line}"))).collect()
}
