//! The rows of the GPUs: some lines each where all of them fit so, else one line
//! each with as many columns as fit.

use super::figures::{accent, bar, gib, percent, sparkline, whole};
use super::view::{LiveGpu, LiveView};
use crate::domain::ThrottleReasons;
use crate::report::shared::text::fit;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Lines that a GPU takes at least when it is shown at length.
const LEAST_LONG_LINES: usize = 2;
/// Columns from which on a GPU is shown at length.
const LONG_WIDTH: usize = 60;
/// Spaces between columns.
const GAP: usize = 2;
/// Columns that a sparkline takes at least and at most.
const SPARKLINE: (usize, usize) = (11, 60);
const MEMORY_BAR: usize = 10;

/// What is shown of the GPUs.
pub(super) struct GpuLines {
    pub(super) lines: Vec<Line<'static>>,
    /// How many GPUs are not shown.
    pub(super) hidden: usize,
}

/// The rows that fit into so many columns and lines, without so many at the top.
pub(super) fn lines(view: &LiveView, scroll: usize, width: usize, height: usize) -> GpuLines {
    if view.gpus.is_empty() {
        let lines = vec![Line::from("no GPU yet")];
        return GpuLines { lines, hidden: 0 };
    }
    if width >= LONG_WIDTH
        && let Some(lines) = at_length(view, width, height)
    {
        return GpuLines { lines, hidden: 0 };
    }
    let shown = if view.gpus.len() < height {
        view.gpus.len()
    } else {
        height.saturating_sub(2).max(1)
    };
    let hidden = view.gpus.len().saturating_sub(shown);
    let first = scroll.min(hidden);
    let columns = Columns::fitting(view, width);
    let mut lines = vec![Line::styled(
        columns.header(),
        Style::new().add_modifier(Modifier::BOLD),
    )];
    lines.extend(
        view.gpus[first..first + shown]
            .iter()
            .map(|gpu| columns.row(gpu, view, width)),
    );
    if hidden > 0 {
        let below = hidden - first;
        let text = match (first, below) {
            (0, below) => format!("… and {below} more below"),
            (above, 0) => format!("… and {above} more above"),
            (above, below) => format!("… and {above} more above, {below} below"),
        };
        lines.push(Line::from(text));
    }
    GpuLines { lines, hidden }
}

/// All rows at length, with an empty line between them where there is room; none
/// when they do not fit.
fn at_length(view: &LiveView, width: usize, height: usize) -> Option<Vec<Line<'static>>> {
    let least = view.gpus.len().saturating_mul(LEAST_LONG_LINES);
    if least > height {
        return None;
    }
    let rows: Vec<_> = view.gpus.iter().map(|gpu| long(gpu, view, width)).collect();
    let all: usize = rows.iter().map(Vec::len).sum();
    let is_spaced = all + rows.len() <= height;
    (all <= height).then(|| {
        rows.into_iter()
            .flat_map(|mut lines| {
                if is_spaced {
                    lines.push(Line::default());
                }
                lines
            })
            .collect()
    })
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
    let signal = gpu.works().signal.unwrap_or_default();
    if signal.is_empty() {
        return label(gpu, width);
    }
    let left = width.saturating_sub(signal.width() + 1);
    fit(&format!("{} {signal}", label(gpu, left)), width)
}

/// Why the clocks are held back, in words.
fn throttle(reasons: Option<ThrottleReasons>) -> String {
    reasons.map_or_else(String::new, |reasons| reasons.names().join(", "))
}

/// The line in place of a GPU's figures when it no longer answers.
fn lost(
    gpu: &LiveGpu,
    reason: &str,
    view: &LiveView,
    label_width: usize,
    width: usize,
) -> Line<'static> {
    let name = pad(&label(gpu, label_width), label_width);
    let left = width.saturating_sub(label_width + GAP);
    let style = accent(view, Color::Red).add_modifier(Modifier::BOLD);
    Line::from(vec![
        Span::raw(name + &" ".repeat(GAP)),
        Span::styled(fit(&format!("LOST: {reason}"), left), style),
    ])
}

fn long(gpu: &LiveGpu, view: &LiveView, width: usize) -> Vec<Line<'static>> {
    let mut title = label(gpu, width);
    let xids = (gpu.xid_count > 0).then(|| format!("{} XID", gpu.xid_count));
    let temperature = gpu.temperature_c.map(|degrees| format!("{degrees:.0} °C"));
    let throttle = Some(throttle(gpu.throttle)).filter(|words| !words.is_empty());
    let clocks = throttle.map(|words| format!("clocks: {words}"));
    for part in [temperature, clocks, xids, gpu.program.clone()]
        .iter()
        .flatten()
    {
        title.push_str("  ");
        title.push_str(part);
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    if let Some(reason) = &gpu.lost {
        let mut lines = vec![Line::styled(fit(&label(gpu, width), width), bold)];
        let style = accent(view, Color::Red).add_modifier(Modifier::BOLD);
        lines.push(Line::styled(
            fit(&format!("  LOST: {reason}"), width),
            style,
        ));
        return lines;
    }
    let works = gpu.works();
    let (now, mean) = (percent(works.now), percent(works.mean));
    let signal = works.signal.map_or("utilization".to_owned(), |signal| {
        format!("{signal} activity")
    });
    let utilization = if works.signal.is_none() && gpu.is_divided {
        "see MIG instances".to_owned()
    } else {
        format!("{now} now, {mean} mean")
    };
    let memory = format!(
        "{} of {} GiB, {} peak",
        gib(gpu.vram_used_mib),
        gib(gpu.vram_total_mib),
        gib(gpu.vram_peak_mib)
    );
    let power = format!("{} of {} W", whole(gpu.power_w), whole(gpu.power_limit_w));
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
        Line::styled(fit(&title, width), bold),
        row(
            &signal,
            sparkline(&gpu.utilization, drawn),
            Color::Cyan,
            utilization,
        ),
        row(
            "memory",
            bar(gpu.memory_percent(), drawn),
            Color::Blue,
            memory,
        ),
    ];
    // A slice has no power of its own to tell of.
    if gpu.power_w.or(gpu.power_limit_w).is_some() {
        let drawing = sparkline(&gpu.power, drawn);
        lines.push(row("power", drawing, Color::Magenta, power));
    }
    lines
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Label,
    Utilization,
    Now,
    Mean,
    MemoryBar,
    Memory,
    Power,
    Temperature,
    Clocks,
}

/// The columns that fit, in the order in which they stand, with their widths.
struct Columns(Vec<(Column, usize)>);

impl Columns {
    /// Columns in the order in which they are wanted, with the least width.
    const WANTED: [(Column, usize); 8] = [
        (Column::Now, 5),
        (Column::Mean, 5),
        (Column::Memory, 11),
        (Column::Utilization, SPARKLINE.0),
        (Column::Power, 9),
        (Column::Temperature, 5),
        (Column::MemoryBar, MEMORY_BAR),
        (Column::Clocks, 14),
    ];
    const ORDER: [Column; 9] = [
        Column::Label,
        Column::Utilization,
        Column::Now,
        Column::Mean,
        Column::MemoryBar,
        Column::Memory,
        Column::Power,
        Column::Temperature,
        Column::Clocks,
    ];

    fn fitting(view: &LiveView, width: usize) -> Self {
        let labels = view.gpus.iter().map(|gpu| row_label(gpu, width));
        let longest = labels.map(|label| label.width()).max();
        let most = (width * 3 / 10).clamp(8, 28);
        let label_width = longest.unwrap_or(0).clamp(3, most);
        let mut columns = vec![(Column::Label, label_width)];
        let mut left = width.saturating_sub(label_width);
        for (column, least) in Self::WANTED {
            if left >= least + GAP {
                columns.push((column, least));
                left -= least + GAP;
            }
        }
        // What is left over shows more of the past.
        for (column, columns) in &mut columns {
            if *column == Column::Utilization {
                *columns = (*columns + left).min(SPARKLINE.1);
            }
        }
        columns.sort_by_key(|(column, _)| Self::ORDER.iter().position(|other| other == column));
        Self(columns)
    }

    fn header(&self) -> String {
        self.line(|column, width| {
            let name = match column {
                Column::Label => "GPU",
                Column::Utilization => "utilization",
                Column::Now => "now",
                Column::Mean => "mean",
                Column::MemoryBar => "memory",
                Column::Memory => "GiB used/of",
                Column::Power => "W used/of",
                Column::Temperature => "°C",
                Column::Clocks => "clocks",
            };
            fit(name, width)
        })
        .concat()
    }

    fn row(&self, gpu: &LiveGpu, view: &LiveView, width: usize) -> Line<'static> {
        let label_width = self.0[0].1;
        if let Some(reason) = &gpu.lost {
            return lost(gpu, reason, view, label_width, width);
        }
        let cells = self.line(|column, width| match column {
            Column::Label => row_label(gpu, width),
            Column::Utilization => sparkline(&gpu.utilization, width),
            Column::Now => percent(gpu.works().now),
            Column::Mean => percent(gpu.works().mean),
            Column::MemoryBar => bar(gpu.memory_percent(), width),
            Column::Memory => format!("{}/{}", gib(gpu.vram_used_mib), gib(gpu.vram_total_mib)),
            Column::Power => format!("{}/{}", whole(gpu.power_w), whole(gpu.power_limit_w)),
            Column::Temperature => whole(gpu.temperature_c),
            Column::Clocks => fit(&throttle(gpu.throttle), width),
        });
        let styled = cells.into_iter().zip(&self.0).map(|(cell, (column, _))| {
            let style = match column {
                Column::Utilization => accent(view, Color::Cyan),
                Column::MemoryBar => accent(view, Color::Blue),
                _ => Style::new(),
            };
            Span::styled(cell, style)
        });
        Line::from_iter(styled)
    }

    /// A line of cells, padded to their columns.
    fn line(&self, cell: impl Fn(Column, usize) -> String) -> Vec<String> {
        let cells = self.0.iter().enumerate().map(|(index, (column, width))| {
            let gap = if index == 0 { 0 } else { GAP };
            let text = cell(*column, *width);
            let padded = match column {
                Column::Label | Column::Utilization | Column::MemoryBar | Column::Clocks => {
                    pad(&text, *width)
                }
                _ => " ".repeat(width.saturating_sub(text.width())) + &text,
            };
            " ".repeat(gap) + &padded
        });
        cells.collect()
    }
}

fn pad(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(text.width()))
}
