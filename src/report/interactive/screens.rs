//! Every screen: the list of workloads, the plan, and one workload with its actions and hours.
//! Above stands what the plan saves, below the keys.

use super::actions::Switch;
use super::model::{Model, Screen};
use super::{bold, first_row, left, right, row};
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, EstateSource, Money};
use crate::report::shared::sparkline::{WINDOW, peaks};
use crate::report::shared::text::{
    ABSENT, count, counted, fit, minute, money_or_absent, percent, rounded, wrap,
};
use crate::report::shared::view::{RowFacts, SortKey, sum};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// Draws the whole screen. Rows that do not fit are not read.
pub fn draw(frame: &mut Frame<'_>, model: &Model<'_>) {
    let [top, body, bottom] =
        Layout::vertical([Constraint::Length(3), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    let (width, height) = (usize::from(body.width), usize::from(body.height));
    let lines = match model.screen {
        _ if model.is_help_shown => keys(width),
        Screen::Workloads => lines(model, width, height),
        Screen::Plan => list(model, width, height),
        Screen::Workload { .. } => workload(model, width, height),
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

/// Columns that the name takes at least.
const LEAST_NAME: usize = 16;
/// Columns that mark the row of the cursor.
const MARK: usize = 2;

/// A column beside the name of a workload.
struct Column {
    title: &'static str,
    width: usize,
    /// Its place in the order in which columns are wanted.
    wanted: usize,
    /// On which side it stands.
    side: fn(&str, usize) -> String,
    cell: fn(&AuditedWorkload, &RowFacts, bool) -> String,
}

macro_rules! beside_the_name {
    ($($title:literal, $width:expr, $wanted:literal, $side:ident, $cell:expr;)*) => {
        /// Columns beside the name of a workload, in their order.
        static COLUMNS: &[Column] = &[
            $(Column { title: $title, width: $width, wanted: $wanted, side: $side, cell: $cell }),*
        ];
    };
}
beside_the_name! {
    "TYPE", 15, 3, left, |audited, facts, _| match audited.workload.instances.len() { 1 => facts.instance_type.clone(), number => format!("{number}×{}", facts.instance_type) };
    "REGION", 14, 7, left, |_, facts, _| facts.region.clone();
    "CLASS", 17, 4, left, |_, facts, _| facts.class.to_owned();
    "TEAM", 14, 8, left, |_, facts, _| facts.team.clone().unwrap_or_else(|| ABSENT.to_owned());
    "UTIL", 6, 2, right, |_, facts, _| facts.utilization.map_or_else(|| ABSENT.to_owned(), percent);
    "BUSIEST", WINDOW, 6, left, |audited, _, ascii| peaks(&audited.workload, ascii).unwrap_or_else(|| ABSENT.to_owned());
    "COST/MONTH", 12, 0, right, |_, facts, _| money_or_absent(facts.cost);
    "SAVES/MONTH", 12, 1, right, |_, facts, _| money_or_absent(facts.monthly_savings);
    "PLAN", 20, 5, left, |audited, _, _| audited.actions.iter().map(|action| action.kind().name()).collect::<Vec<_>>().join(", ");
}

pub(super) fn lines(model: &Model<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let (columns, name) = columns(width);
    let sorted = model.view.sort.unwrap_or(SortKey::Cost);
    let line = |first: &str, cell: &dyn Fn(&Column) -> String| {
        let columns = columns.iter().copied();
        let cells = columns.map(|column| (column.side)(&cell(column), column.width));
        std::iter::once(left(first, name)).chain(cells).collect::<Vec<String>>().join(" ")
    };
    let header = line("WORKLOAD", &|column| column.title.to_owned());
    let mut lines = vec![
        Line::from(fit(&summary(model, sorted), width)),
        Line::styled(fit(&format!("  {header}"), width), bold()),
    ];
    let rows = height.saturating_sub(lines.len());
    let rows = listed(model, &model.shown, model.cursor, (width, rows), |index| {
        let place = model.shown[index];
        let audited = model.audit.workloads.get(place)?;
        let facts = model.facts.get(place)?;
        let cell = |column: &Column| (column.cell)(audited, facts, model.ascii);
        Some(row(&line(&audited.workload.name, &cell), index == model.cursor))
    });
    lines.extend(rows);
    lines
}

/// How many are shown, with their sums.
fn summary(model: &Model<'_>, sorted: SortKey) -> String {
    let workload_count = model.audit.workloads.len();
    let shown = model.shown.len();
    let sums = sums(model, &model.shown);
    let number = if shown == workload_count {
        counted(workload_count, "workload", "workloads")
    } else {
        format!("{} of {} workloads", count(shown as u64), count(workload_count as u64))
    };
    let filter = model.filter_words();
    format!("{number}, {sums} · by {sorted}{filter}")
}

/// The columns that fit, in their order, and the width that they leave to the name.
fn columns(width: usize) -> (Vec<&'static Column>, usize) {
    let mut places: Vec<usize> = (0..COLUMNS.len()).collect();
    places.sort_by_key(|place| COLUMNS[*place].wanted);
    let mut left = width.saturating_sub(MARK + LEAST_NAME);
    places.retain(|place| {
        let columns = COLUMNS[*place].width;
        let fits = left > columns;
        left -= if fits { columns + 1 } else { 0 };
        fits
    });
    places.sort_unstable();
    (places.into_iter().map(|place| &COLUMNS[place]).collect(), LEAST_NAME + left)
}

/// A line of a list.
enum Listed {
    Heading(Line<'static>),
    /// The row of this index.
    Row(usize),
}

/// The lines that a height has room for, with the row of the cursor among them; `places` are the
/// workloads of the rows, and `row` draws one of them by its index. Without groups these are the
/// rows.
pub(super) fn listed(
    model: &Model<'_>,
    places: &[usize],
    cursor: usize,
    (width, height): (usize, usize),
    row: impl Fn(usize) -> Option<Line<'static>>,
) -> Vec<Line<'static>> {
    let groups: Vec<Option<String>> = places.iter().map(|place| model.group_of(*place)).collect();
    let mut lines = Vec::new();
    let mut at_cursor = 0;
    for (index, group) in groups.iter().enumerate() {
        let is_first = index == 0 || groups[index - 1] != *group;
        if let Some(name) = group.as_ref().filter(|_| is_first) {
            let number = groups[index..].iter().take_while(|next| *next == group);
            let own = &places[index..index + number.count()];
            lines.push(Listed::Heading(heading(model, name, own, width)));
        }
        if index == cursor {
            at_cursor = lines.len();
        }
        lines.push(Listed::Row(index));
    }
    let first = first_row(at_cursor, lines.len(), height);
    let drawn = lines.into_iter().skip(first).take(height).filter_map(|line| match line {
        Listed::Heading(line) => Some(line),
        Listed::Row(index) => row(index),
    });
    drawn.collect()
}

/// A group with the cost and the savings of its workloads.
fn heading(model: &Model<'_>, name: &str, places: &[usize], width: usize) -> Line<'static> {
    let places: BTreeSet<usize> = places.iter().copied().collect();
    let number = counted(places.len(), "workload", "workloads");
    Line::styled(fit(&format!("{name}: {number}, {}", sums(model, &places)), width), bold())
}

/// What workloads cost and what the plan saves of that, in words.
fn sums<'a>(model: &Model<'_>, places: impl IntoIterator<Item = &'a usize> + Copy) -> String {
    let of = |amount: fn(&RowFacts) -> Option<Money>| {
        let facts = places.into_iter().filter_map(|place| model.facts.get(*place));
        money_or_absent(sum(facts.map(amount)))
    };
    let (cost, saved) = (of(|facts| facts.cost), of(|facts| facts.monthly_savings));
    format!("{cost} per month, saves {saved}")
}
