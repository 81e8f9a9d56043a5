//! The rows of the GPUs: some lines each where all of them fit so, else one line
//! each with as many columns as fit.

use super::figures::{accent, bar, bold, gib, percent, sparkline, whole};
use super::view::{LiveGpu, LiveView};
use crate::domain::ThrottleReasons;
use crate::report::shared::text::fit;
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// Lines that a GPU takes at least when it is shown at length.
const LEAST_LONG_LINES: usize = 2;
/// Columns from which on a GPU is shown at length.
const LONG_WIDTH: usize = 60;
/// Spaces between columns.
const GAP: usize = 2;
/// Columns that a sparkline takes at least and at most.
const SPARKLINE: (usize, usize) = (11, 60);

/// The rows that fit into so many columns and lines, without so many at the top, and how many
/// GPUs are not shown.
pub(super) fn lines(
    view: &LiveView,
    scroll: usize,
    width: usize,
    height: usize,
) -> (Vec<Line<'static>>, usize) {
    if view.gpus.is_empty() {
        return (vec![Line::from("no GPU yet")], 0);
    }
    if width >= LONG_WIDTH
        && let Some(lines) = at_length(view, width, height)
    {
        return (lines, 0);
    }
    let shown =
        if view.gpus.len() < height { view.gpus.len() } else { height.saturating_sub(2).max(1) };
    let hidden = view.gpus.len().saturating_sub(shown);
    let first = scroll.min(hidden);
    let columns = fitting(view, width);
    let header = cells(&columns, |column, width| fit(column.title, width));
    let mut lines = vec![Line::styled(header.concat(), bold())];
    lines.extend(view.gpus[first..first + shown].iter().map(|gpu| row(&columns, gpu, view, width)));
    if hidden > 0 {
        let text = match (first, hidden - first) {
            (0, below) => format!("… and {below} more below"),
            (above, 0) => format!("… and {above} more above"),
            (above, below) => format!("… and {above} more above, {below} below"),
        };
        lines.push(Line::from(text));
    }
    (lines, hidden)
}

/// All rows at length, with an empty line between them where there is room; none
/// when they do not fit.
fn at_length(view: &LiveView, width: usize, height: usize) -> Option<Vec<Line<'static>>> {
    if view.gpus.len().saturating_mul(LEAST_LONG_LINES) > height {
        return None;
    }
    let mut rows: Vec<_> = view.gpus.iter().map(|gpu| long(gpu, view, width)).collect();
    let line_count: usize = rows.iter().map(Vec::len).sum();
    if line_count + rows.len() <= height {
        rows.iter_mut().for_each(|lines| lines.push(Line::default()));
    }
    (line_count <= height).then(|| rows.concat())
}

/// Number and name.
fn label(gpu: &LiveGpu, width: usize) -> String {
    let name = gpu.name.as_deref().unwrap_or("GPU");
    let divided = if gpu.is_divided { " (MIG)" } else { "" };
    let indent = if gpu.is_slice { "└ " } else { "" };
    fit(&format!("{indent}{} {name}{divided}", gpu.number), width)
}

/// The same in a row, with the signal where that is not utilization.
fn row_label(gpu: &LiveGpu, width: usize) -> String {
    let Some(signal) = gpu.works().signal else { return label(gpu, width) };
    let left = width.saturating_sub(signal.width() + 1);
    fit(&format!("{} {signal}", label(gpu, left)), width)
}

/// Why the clocks are held back, in words.
fn throttle(reasons: Option<ThrottleReasons>) -> String {
    reasons.map_or_else(String::new, |reasons| reasons.names().join(", "))
}

/// What stands in place of a GPU's figures when it no longer answers.
fn lost(reason: &str, view: &LiveView, width: usize) -> Span<'static> {
    Span::styled(fit(&format!("LOST: {reason}"), width), accent(view, Color::Red).patch(bold()))
}

fn long(gpu: &LiveGpu, view: &LiveView, width: usize) -> Vec<Line<'static>> {
    if let Some(reason) = &gpu.lost {
        let reason = lost(reason, view, width.saturating_sub(GAP));
        return vec![
            Line::styled(label(gpu, width), bold()),
            Line::from(vec![Span::raw(" ".repeat(GAP)), reason]),
        ];
    }
    let reading = &gpu.reading;
    let xids = (gpu.xid_count > 0).then(|| format!("{} XID", gpu.xid_count));
    let temperature = reading.temperature_c;
    let throttle = Some(throttle(reading.throttle)).filter(|words| !words.is_empty());
    let title = [
        Some(label(gpu, width)),
        temperature.map(|degrees| format!("{degrees:.0} °C")),
        throttle.map(|words| format!("clocks: {words}")),
        xids,
        gpu.program.clone(),
    ];
    let title = Vec::from_iter(title.into_iter().flatten()).join("  ");
    let works = gpu.works();
    let (now, mean) = (percent(works.now), percent(works.mean));
    let signal =
        works.signal.map_or("utilization".to_owned(), |signal| format!("{signal} activity"));
    let utilization = if works.signal.is_none() && gpu.is_divided {
        "see MIG instances".to_owned()
    } else {
        format!("{now} now, {mean} mean")
    };
    let memory = format!(
        "{} of {} GiB, {} peak",
        gib(reading.vram_used_mib),
        gib(gpu.vram_total_mib),
        gib(gpu.vram_peak_mib)
    );
    let power = format!("{} of {} W", whole(reading.power_w), whole(gpu.power_limit_w));
    let figures = [utilization.width(), memory.width(), power.width()];
    let figures = figures.into_iter().max().unwrap_or(0).max(24);
    let drawn = width.saturating_sub(15 + GAP + figures).min(SPARKLINE.1);
    let row = |name: &str, drawing: String, color: Color, text: String| {
        Line::from(vec![
            Span::raw(format!("  {name:<13}")),
            Span::styled(drawing, accent(view, color)),
            Span::raw(" ".repeat(GAP) + &text),
        ])
    };
    let mut lines = vec![
        Line::styled(fit(&title, width), bold()),
        row(&signal, sparkline(&gpu.utilization, drawn), Color::Cyan, utilization),
    ];
    lines.push(row("memory", bar(gpu.memory_percent(), drawn), Color::Blue, memory));
    // A slice has no power of its own to tell of.
    if reading.power_w.or(gpu.power_limit_w).is_some() {
        lines.push(row("power", sparkline(&gpu.power, drawn), Color::Magenta, power));
    }
    lines
}

/// A column of the rows.
struct Column {
    /// Its turn to get a place: the lower, the sooner.
    turn: u8,
    title: &'static str,
    /// Columns of the terminal that it takes at least.
    width: usize,
    /// What its cells hold in so many columns.
    cell: fn(&LiveGpu, usize) -> String,
    is_right: bool,
    color: Color,
}

/// The turns of the columns that are not as wide as it says here.
const LABEL: u8 = 0;
const UTILIZATION: u8 = 4;

macro_rules! gpu_columns {
    ($($turn:expr, $title:literal, $width:expr, $is_right:literal, $color:ident, $cell:expr;)*) => {
        /// The columns in the order in which they stand.
        static COLUMNS: &[Column] = &[$(Column {
            turn: $turn, title: $title, width: $width, is_right: $is_right, color: Color::$color, cell: $cell,
        }),*];
    };
}
gpu_columns! {
    LABEL, "GPU", 0, false, Reset, row_label;
    UTILIZATION, "utilization", SPARKLINE.0, false, Cyan, |gpu, width| sparkline(&gpu.utilization, width);
    1, "now", 5, true, Reset, |gpu, _| percent(gpu.works().now);
    2, "mean", 5, true, Reset, |gpu, _| percent(gpu.works().mean);
    7, "memory", 10, false, Blue, |gpu, width| bar(gpu.memory_percent(), width);
    3, "GiB used/of", 11, true, Reset, |gpu, _| format!("{}/{}", gib(gpu.reading.vram_used_mib), gib(gpu.vram_total_mib));
    5, "W used/of", 9, true, Reset, |gpu, _| format!("{}/{}", whole(gpu.reading.power_w), whole(gpu.power_limit_w));
    6, "°C", 5, true, Reset, |gpu, _| whole(gpu.reading.temperature_c);
    8, "clocks", 14, false, Reset, |gpu, width| fit(&throttle(gpu.reading.throttle), width);
}

/// The columns that fit, with their widths.
fn fitting(view: &LiveView, width: usize) -> Vec<(&'static Column, usize)> {
    let labels = view.gpus.iter().map(|gpu| row_label(gpu, width).width());
    let label_width = labels.max().unwrap_or(0).clamp(3, (width * 3 / 10).clamp(8, 28));
    let mut widths = BTreeMap::from([(LABEL, label_width)]);
    let mut left = width.saturating_sub(label_width);
    let mut wanted: Vec<&Column> = COLUMNS[1..].iter().collect();
    wanted.sort_by_key(|column| column.turn);
    for column in wanted {
        if left >= column.width + GAP {
            widths.insert(column.turn, column.width);
            left -= column.width + GAP;
        }
    }
    // What is left over shows more of the past.
    widths.entry(UTILIZATION).and_modify(|columns| *columns = (*columns + left).min(SPARKLINE.1));
    COLUMNS.iter().filter_map(|column| Some((column, *widths.get(&column.turn)?))).collect()
}

fn row(
    columns: &[(&Column, usize)],
    gpu: &LiveGpu,
    view: &LiveView,
    width: usize,
) -> Line<'static> {
    if let Some(reason) = &gpu.lost {
        let label_width = columns[0].1;
        let name = label(gpu, label_width);
        let left = width.saturating_sub(label_width + GAP);
        let name = format!("{}{:GAP$}", padded(&name, label_width, false), "");
        return Line::from(vec![Span::raw(name), lost(reason, view, left)]);
    }
    let styled = cells(columns, |column, width| (column.cell)(gpu, width)).into_iter().zip(columns);
    Line::from_iter(
        styled.map(|(cell, (column, _))| Span::styled(cell, accent(view, column.color))),
    )
}

/// A line of cells, padded to their columns.
fn cells(columns: &[(&Column, usize)], cell: impl Fn(&Column, usize) -> String) -> Vec<String> {
    let cells = columns.iter().enumerate().map(|(index, (column, width))| {
        let gap = if index == 0 { 0 } else { GAP };
        " ".repeat(gap) + &padded(&cell(column, *width), *width, column.is_right)
    });
    cells.collect()
}

fn padded(text: &str, width: usize, is_right: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    if is_right { blanks + text } else { text.to_owned() + &blanks }
}
