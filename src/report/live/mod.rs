//! What `gpucost profile` shows while it runs: the full-screen view, and one calm
//! line. Pure drawing of a [`LiveView`].
//!
//! Colour only repeats what words and marks say.

mod figures;
mod gpus;
#[cfg(test)]
mod tests;
mod view;

pub(in crate::report) use figures::{bold, bytes_per_second};
pub use view::{LiveGpu, LiveView};

use crate::domain::{Classification, GpuProcess, HostReading, Verdict};
use crate::report::shared::text::{ABSENT, count, counted, fit, money, wrap};
use figures::{accent, dim, gib, rate, span};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::cmp::Reverse;
use unicode_width::UnicodeWidthStr;

/// Rows from which on there is room for more than a line of each thing.
const ROOMY_ROWS: u16 = 18;
/// Rows of GPUs that nothing else may take.
const KEPT_ROWS: usize = 3;

/// Draws the whole screen, with so many GPUs scrolled out at the top, at most as
/// many as do not fit. Returns how many do not.
pub fn draw(frame: &mut Frame<'_>, view: &LiveView, scroll: usize) -> usize {
    let area = frame.area();
    let width = usize::from(area.width);
    let is_roomy = area.height >= ROOMY_ROWS;
    let top = top(view, width, is_roomy);
    let alert_rows = if is_roomy { area.height / 8 } else { 1 };
    let mut bottom = bottom(view, width, is_roomy, usize::from(alert_rows));
    // However much there is to say, GPUs keep their header and some rows.
    let kept = 1 + view.gpus.len().min(KEPT_ROWS);
    let spare = usize::from(area.height).saturating_sub(top.len() + 1 + kept);
    bottom.truncate(spare);
    if is_roomy {
        // All GPUs come before who holds them.
        let taken = top.len() + 1 + bottom.len() + 1 + view.gpus.len();
        let left = usize::from(area.height).saturating_sub(taken);
        bottom.extend(processes(view, width, left));
    }
    let [top_area, gpu_area, bottom_area, help_area] = Layout::vertical([
        Constraint::Length(rows(&top)),
        Constraint::Fill(1),
        Constraint::Length(rows(&bottom)),
        Constraint::Length(1),
    ])
    .areas(area);
    let (gpus, hidden) = gpus::lines(view, scroll, width, usize::from(gpu_area.height));
    let help = help(view, hidden, width);
    for (lines, area) in
        [(top, top_area), (gpus, gpu_area), (bottom, bottom_area), (vec![help], help_area)]
    {
        frame.render_widget(Paragraph::new(lines), area);
    }
    hidden
}

fn rows(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

/// Lines that one sentence may take where there is room.
const SENTENCE_LINES: usize = 2;

/// Where and how long: one line, or two and an empty one.
fn top(view: &LiveView, width: usize, is_roomy: bool) -> Vec<Line<'static>> {
    let price = view.hourly_price.map(rate);
    let spent = view.cost_so_far().map(|cost| format!("{} so far", money(cost.rounded())));
    let (host, instance_type) = (view.hostname.clone(), view.instance_type.clone());
    let mut time = span(view.elapsed_seconds);
    time.extend(view.duration_seconds.map(|duration| format!(" of {}", span(duration))));
    let missed = match view.missed_samples {
        0 => String::new(),
        missed => format!(", {} missed", count(missed)),
    };
    let samples = counted(view.samples, "sample", "samples") + &missed;
    if !is_roomy {
        let parts = [Some(time), spent, instance_type, price, host, Some(samples)];
        return vec![Line::styled(joined(&parts, width), bold())];
    }
    let place = [Some("gpucost profile".to_owned()), host, instance_type, price, spent];
    vec![
        Line::styled(joined(&place, width), bold()),
        Line::from(joined(&[Some(time), Some(samples), view.command.clone()], width)),
        Line::default(),
    ]
}

/// The host, the verdict, the alerts and what went wrong, at most so wide; first
/// what matters most where lines may be cut off.
fn bottom(view: &LiveView, width: usize, is_roomy: bool, alert_rows: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if is_roomy {
        lines.push(Line::default());
    }
    let most = if is_roomy { SENTENCE_LINES } else { 1 };
    let diagnosis = view.diagnosis.iter().flat_map(|text| sentence(text, width, most));
    let diagnosis: Vec<Line<'_>> = diagnosis.map(Line::from).collect();
    let notes = view.notes.iter().take(most);
    let notes = notes.map(|note| Line::styled(fit(&format!("note: {note}"), width), bold()));
    let notes: Vec<Line<'_>> = notes.collect();
    let alerts = alerts(view, width, alert_rows);
    let host = host(&view.host, width, is_roomy);
    lines.extend(verdict(view, width, most));
    lines.extend(if is_roomy {
        [diagnosis, alerts, host, notes].concat()
    } else {
        [alerts, notes, diagnosis, host].concat()
    });
    lines
}

/// The keys, and what they are good for.
fn help(view: &LiveView, hidden: usize, width: usize) -> Line<'static> {
    let scroll = (hidden > 0).then(|| "↑ ↓ scroll".to_owned());
    // A command outlives the view.
    let keys = match view.output_file {
        Some(_) => "q leave the view  Ctrl-C interrupt the command",
        None => "q quit",
    };
    Line::styled(joined(&[Some(keys.to_owned()), scroll], width), dim())
}

/// The word for a classification, with what is to be kept in mind of a run that
/// still goes on.
fn verdict_word(verdict: Option<&Verdict>) -> String {
    match verdict {
        Some(verdict) if verdict.classification != Classification::InsufficientData => {
            format!("{} so far", verdict.classification.name().to_uppercase())
        }
        _ => "no verdict yet".to_owned(),
    }
}

fn verdict(view: &LiveView, width: usize, most: usize) -> Vec<Line<'static>> {
    let color = match view.verdict.as_ref().map(|verdict| verdict.classification) {
        Some(Classification::WellUtilized) => Color::Green,
        Some(Classification::Underutilized | Classification::Overprovisioned) => Color::Yellow,
        _ => Color::Reset,
    };
    let style = accent(view, color).patch(bold());
    let word = verdict_word(view.verdict.as_ref());
    let reason = view.verdict.as_ref().map_or("", |verdict| &verdict.reason);
    let text = match reason {
        "" => word.clone(),
        reason => format!("{word}: {reason}"),
    };
    let lines = sentence(&text, width, most).into_iter();
    let lines = lines.map(|line| match line.strip_prefix(&word) {
        Some(rest) => {
            Line::from(vec![Span::styled(word.clone(), style), Span::raw(rest.to_owned())])
        }
        None => Line::from(line),
    });
    lines.collect()
}

fn alerts(view: &LiveView, width: usize, rows: usize) -> Vec<Line<'static>> {
    let style = accent(view, Color::Yellow).patch(bold());
    let alert_count = view.alerts.len();
    let shown = if alert_count <= rows { alert_count } else { rows.max(1) };
    let mut lines = Vec::new();
    for (index, alert) in view.alerts.iter().take(shown).enumerate() {
        let more = match alert_count - shown {
            more if more > 0 && index + 1 == shown => format!(" (and {more} more)"),
            _ => String::new(),
        };
        let text = fit(alert, width.saturating_sub(9 + more.width()));
        lines.push(Line::from(vec![Span::styled("! ALERT  ", style), Span::raw(text + &more)]));
    }
    lines
}

fn host(host: &HostReading, width: usize, is_roomy: bool) -> Vec<Line<'static>> {
    let cpu = host.cpu_percent.map(|share| {
        let cores = host
            .cores
            .map_or(String::new(), |cores| format!(" of {}", counted(cores, "core", "cores")));
        format!("CPU {share:.0}%{cores}")
    });
    let busiest = host.busiest_core_percent;
    let busiest = busiest.map(|share| format!("busiest core {share:.0}%"));
    let total = gib(host.memory_total_mib);
    let memory = host.memory_used_mib;
    let memory = memory.map(|used| format!("memory {} of {total} GiB", gib(Some(used))));
    let io_wait = host.io_wait_percent.map(|share| format!("I/O wait {share:.0}%"));
    let rates = |name: &str, words: (&str, &str), inward: Option<f64>, outward: Option<f64>| {
        let (inward, outward) = inward.zip(outward)?;
        let (inward, outward) = (bytes_per_second(inward), bytes_per_second(outward));
        Some(format!("{name} {inward} {}, {outward} {}", words.0, words.1))
    };
    let (inward, outward) =
        (host.network_received_bytes_per_second, host.network_sent_bytes_per_second);
    let network = rates("network", ("in", "out"), inward, outward);
    let (inward, outward) = (host.disk_read_bytes_per_second, host.disk_written_bytes_per_second);
    let disk = rates("disk", ("read", "written"), inward, outward);
    if *host == HostReading::default() {
        return Vec::new();
    }
    let own = vec![Some("host".to_owned()), cpu, busiest, memory, io_wait];
    let rows = if is_roomy && (network.is_some() || disk.is_some()) {
        vec![own, vec![Some("    ".to_owned()), network, disk]]
    } else {
        vec![[own, vec![network, disk]].concat()]
    };
    rows.iter().map(|parts| Line::from(joined(parts, width))).collect()
}

/// As many whole parts as fit, in order; the first is cut when it alone does not.
fn joined(parts: &[Option<String>], width: usize) -> String {
    let mut line = String::new();
    for part in parts.iter().flatten() {
        if line.is_empty() {
            line = fit(part, width);
        } else {
            let left = width.saturating_sub(line.width() + 2);
            let part = fit(part, usize::MAX);
            if part.width() > left {
                continue;
            }
            line.push_str("  ");
            line.push_str(&part);
        }
    }
    line
}

/// A sentence on at most so many lines, the last cut where it goes on.
fn sentence(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(text, width);
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(fit(&rest, width));
    }
    lines
}

/// Processes that are shown before the rest is counted.
const MOST_PROCESSES: usize = 4;
/// Columns of everything before the name.
const BEFORE_NAME: usize = 32;

/// Both, in at most so many lines; processes give way to what the command wrote.
fn processes(view: &LiveView, width: usize, most: usize) -> Vec<Line<'static>> {
    let output = output(view, width);
    let mut lines = process_rows(view, width);
    lines.truncate(most.saturating_sub(output.len()));
    // A header says nothing by itself.
    if lines.len() == 1 {
        lines.clear();
    }
    lines.extend(output);
    lines.truncate(most);
    lines
}

/// A row for each process on each GPU: those of the command first, then by memory. One that
/// holds several GPUs has several rows.
fn process_rows(view: &LiveView, width: usize) -> Vec<Line<'static>> {
    let rows = view.gpus.iter();
    let rows = rows.flat_map(|gpu| gpu.processes().map(|process| (gpu.number.as_str(), process)));
    let mut rows: Vec<(&str, &GpuProcess)> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    // Rows of equal weight stay in the order of the GPUs.
    rows.sort_by_key(|(_, process)| {
        (!process.is_of_command, Reverse(process.vram_mib), process.pid)
    });
    let header = line("PID", "GPU", "GiB", "SM", "process");
    let mut lines = vec![Line::styled(fit(&header, width), bold())];
    lines.extend(rows.iter().take(MOST_PROCESSES).map(|(gpu, process)| {
        let name = process.name.as_deref().unwrap_or(ABSENT);
        let name = fit(name, width.saturating_sub(BEFORE_NAME).max(1));
        let busy =
            process.sm_percent.map_or_else(|| ABSENT.to_owned(), |share| format!("{share}%"));
        let memory = gib(process.vram_mib.map(|mib| mib as f64));
        Line::from(fit(&line(&process.pid.to_string(), gpu, &memory, &busy, &name), width))
    }));
    let hidden = rows.len().saturating_sub(MOST_PROCESSES) as u64;
    if hidden > 0 {
        let more = counted(hidden, "more process", "more processes");
        lines.push(Line::from(fit(&format!("… and {more}"), width)));
    }
    lines
}

fn line(pid: &str, gpu: &str, memory: &str, busy: &str, name: &str) -> String {
    format!("{pid:>10}  {gpu:<5}  {memory:>5}  {busy:>4}  {name}")
}

/// The last lines of the command, below the file that has all of them.
fn output(view: &LiveView, width: usize) -> Vec<Line<'static>> {
    let Some(file) = &view.output_file else { return Vec::new() };
    let mut lines = vec![Line::styled(fit(&format!("output, in {file}"), width), dim())];
    lines.extend(view.output.iter().map(|text| Line::from(fit(text, width))));
    lines
}

/// A run so far in one line of at most so many columns. Where not all fits, what
/// matters least is left out, whole.
pub fn status_line(view: &LiveView, width: usize) -> String {
    let lost = view.gpus.iter().filter(|gpu| gpu.lost.is_some()).count();
    let alerts = view.alerts.len();
    let mean = view.mean_percent.map(|mean| format!("{mean:.0}% mean"));
    // In the order in which they stand, each with its rank: the higher leaves first.
    let parts = [
        (0, Some(span(view.elapsed_seconds))),
        (5, devices(&view.gpus)),
        (2, mean),
        (4, peak(&view.gpus)),
        (1, Some(verdict_word(view.verdict.as_ref()))),
        (3, (alerts > 0).then(|| counted(alerts, "alert", "alerts"))),
        (3, (lost > 0).then(|| format!("{lost} lost"))),
    ];
    let known = |(rank, part): (u8, Option<String>)| Some((rank, fit(&part?, usize::MAX)));
    let mut parts: Vec<(u8, String)> = parts.into_iter().filter_map(known).collect();
    loop {
        let line = Vec::from_iter(parts.iter().map(|(_, part)| part.as_str())).join("  ");
        let last = parts.iter().map(|(rank, _)| *rank).max().unwrap_or(0);
        if line.width() <= width || last == 0 {
            return fit(&line, width);
        }
        parts.retain(|(rank, _)| *rank != last);
    }
}

/// The GPUs by name and number, such as `8 x A10G`; MIG instances are parts of
/// theirs.
fn devices(gpus: &[LiveGpu]) -> Option<String> {
    let cards: Vec<&LiveGpu> = gpus.iter().filter(|gpu| !gpu.is_slice).collect();
    let first = cards.first()?.name.as_deref();
    let is_one_model = cards.iter().all(|gpu| gpu.name.as_deref() == first);
    let name = first.filter(|_| is_one_model).unwrap_or("GPU");
    Some(format!("{} x {name}", cards.len()))
}

/// Memory of the GPU whose memory came closest to full.
fn peak(gpus: &[LiveGpu]) -> Option<String> {
    let shares = gpus.iter().filter_map(|gpu| {
        let peak = gpu.vram_peak_mib?;
        let total = gpu.vram_total_mib.filter(|total| *total > 0.0)?;
        Some((peak / total, peak, total))
    });
    let (_, peak, total) = shares.max_by(|left, right| left.0.total_cmp(&right.0))?;
    Some(format!("{} of {} GiB peak", gib(Some(peak)), gib(Some(total))))
}
