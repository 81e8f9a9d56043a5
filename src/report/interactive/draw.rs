//! The frame around every screen: what the plan saves above, the keys below.

use super::model::{Model, Screen};
use super::words::{bold, left};
use super::{list, plan};
use crate::domain::EstateSource;
use crate::report::shared::text::{count, counted, fit, minute, money_or_absent, rounded};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Draws the whole screen. Rows that do not fit are not read.
pub fn draw(frame: &mut Frame<'_>, model: &Model<'_>) {
    let [top, body, bottom] =
        Layout::vertical([Constraint::Length(3), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    let (width, height) = (usize::from(body.width), usize::from(body.height));
    let lines = match model.screen {
        _ if model.is_help_shown => keys(width),
        Screen::Workloads => list::lines(model, width, height),
        Screen::Plan => plan::list(model, width, height),
        Screen::Workload { .. } => plan::workload(model, width, height),
    };
    frame.render_widget(Paragraph::new(header(model, width)), top);
    frame.render_widget(Paragraph::new(lines), body);
    frame.render_widget(Paragraph::new(footer(model, width)), bottom);
}

fn header(model: &Model<'_>, width: usize) -> Vec<Line<'static>> {
    let audit = &model.audit;
    let totals = &audit.totals;
    let source = if audit.source == EstateSource::Demo { " · demo estate" } else { "" };
    let title = format!(
        "gpucost audit · {}{source} · {} · {}",
        minute(audit.as_of),
        counted(totals.instances, "instance", "instances"),
        counted(totals.gpus, "GPU", "GPUs"),
    );
    let percent = totals.savings_percent();
    let percent = percent.map_or(String::new(), |percent| format!(" ({}%)", rounded(percent, 1)));
    let money = format!(
        "today {} → plan {} · saves {}{percent} per month",
        money_or_absent(totals.monthly_cost),
        money_or_absent(totals.planned_monthly_cost),
        money_or_absent(totals.monthly_savings()),
    );
    let on = audit.workloads.iter().map(|workload| workload.actions.len());
    let whole = model.switches.whole_savings;
    let other = (whole != totals.monthly_savings()).then(|| money_or_absent(whole));
    let chosen = other.map_or(String::new(), |whole| format!(" · with every action {whole}"));
    let actions = format!(
        "{} on, {} off, risk {}{chosen}",
        counted(on.sum::<usize>() + model.released().len(), "action", "actions"),
        count(model.switches.off.len() as u64),
        audit.plan_risk,
    );
    vec![
        Line::styled(fit(&title, width), bold()),
        Line::from(fit(&money, width)),
        Line::from(fit(&actions, width)),
    ]
}

fn footer(model: &Model<'_>, width: usize) -> Line<'static> {
    if let Some(message) = &model.message {
        return Line::styled(fit(message, width), bold());
    }
    if model.is_typing {
        let typed = format!("filter: {}▏ Enter keeps it, Esc clears it", model.filter);
        return Line::from(fit(&typed, width));
    }
    let keys = match (model.is_help_shown, model.screen) {
        (true, _) => "any key goes back",
        (false, Screen::Workloads) => {
            "↑↓ move  Enter open  / filter  s sort  Tab plan  w export  ? keys  q quit"
        }
        (false, Screen::Plan) => {
            "↑↓ move  Space on/off  Enter open  / filter  Tab list  w export  ? keys  q quit"
        }
        (false, Screen::Workload { .. }) => {
            "↑↓ move  Space on/off  ←→ GPU  PgUp/PgDn days  Esc back  w export  ? keys"
        }
    };
    Line::styled(fit(keys, width), Style::new().add_modifier(Modifier::DIM))
}

const KEYS: [(&str, &str); 14] = [
    ("↑ ↓ or k j", "move by a row"),
    ("PgUp PgDn", "move by ten rows; in a workload, show days before and after"),
    ("Home End or g G", "first and last row"),
    ("Enter", "open a workload"),
    ("Esc", "back; in a list, clear the filter"),
    ("Tab", "from the workloads to the plan, and back"),
    ("/", "filter by words of name, ID, type, region, class and tags"),
    ("s", "sort by cost, savings, utilization, name, type, region, class"),
    ("b", "group the lists by account, by team, or not"),
    ("Space", "switch an action on or off, and plan again"),
    ("← →", "in a workload, its machines and each GPU of them"),
    ("w", "export the choice as a policy for `gpucost audit --policy`"),
    ("?", "these keys"),
    ("q", "quit; Ctrl-C quits at once"),
];

fn keys(width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(), Line::styled("KEYS", bold())];
    let rows = KEYS.iter().map(|(keys, text)| {
        let row = format!("  {} {text}", left(keys, 16));
        Line::from(fit(&row, width))
    });
    lines.extend(rows);
    lines
}
