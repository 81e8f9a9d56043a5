//! What stands above and below the GPUs.

use super::figures::{accent, bold, bytes_per_second, dim, gib, rate, span};
use super::view::LiveView;
use crate::domain::{Classification, HostReading, Verdict};
use crate::report::shared::text::{count, counted, fit, money, wrap};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Lines that one sentence may take where there is room.
const SENTENCE_LINES: usize = 2;

/// Where and how long: one line, or two and an empty one.
pub(super) fn top(view: &LiveView, width: usize, is_roomy: bool) -> Vec<Line<'static>> {
    let price = view.hourly_price.map(rate);
    let spent = view.cost_so_far();
    let spent = spent.map(|cost| format!("{} so far", money(cost.rounded())));
    let (host, instance_type) = (view.hostname.clone(), view.instance_type.clone());
    let mut time = span(view.elapsed_seconds);
    if let Some(duration) = view.duration_seconds {
        time.push_str(&format!(" of {}", span(duration)));
    }
    let missed = match view.missed_samples {
        0 => String::new(),
        missed => format!(", {} missed", count(missed)),
    };
    let samples = counted(view.samples, "sample", "samples") + &missed;
    if !is_roomy {
        let parts = [Some(time), spent, instance_type, price, host, Some(samples)];
        return vec![Line::styled(joined(&parts, width), bold())];
    }
    let name = Some("gpucost profile".to_owned());
    let place = [name, host, instance_type, price, spent];
    let progress = [Some(time), Some(samples), view.command.clone()];
    vec![
        Line::styled(joined(&place, width), bold()),
        Line::from(joined(&progress, width)),
        Line::default(),
    ]
}

/// The host, the verdict, the alerts and what went wrong, at most so wide; first
/// what matters most where lines may be cut off.
pub(super) fn bottom(
    view: &LiveView,
    width: usize,
    is_roomy: bool,
    alert_rows: usize,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if is_roomy {
        lines.push(Line::default());
    }
    let most = if is_roomy { SENTENCE_LINES } else { 1 };
    let diagnosis = view.diagnosis.iter();
    let diagnosis = diagnosis.flat_map(|text| sentence(text, width, most));
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
pub(super) fn help(view: &LiveView, hidden: usize, width: usize) -> Line<'static> {
    let scroll = (hidden > 0).then(|| "↑ ↓ scroll".to_owned());
    // A command outlives the view.
    let keys = match view.output_file {
        Some(_) => "q leave the view  Ctrl-C interrupt the command",
        None => "q quit",
    };
    let text = joined(&[Some(keys.to_owned()), scroll], width);
    Line::styled(text, dim())
}

/// The word for a classification, with what is to be kept in mind of a run that
/// still goes on.
pub(super) fn verdict_word(verdict: Option<&Verdict>) -> String {
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
            let word = Span::styled(word.clone(), style);
            Line::from(vec![word, Span::raw(rest.to_owned())])
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
        let cores = host.cores.map_or(String::new(), |cores| {
            format!(" of {}", counted(u64::from(cores), "core", "cores"))
        });
        format!("CPU {share:.0}%{cores}")
    });
    let busiest = host.busiest_core_percent;
    let busiest = busiest.map(|share| format!("busiest core {share:.0}%"));
    let total = gib(host.memory_total_mib);
    let memory = host.memory_used_mib;
    let memory = memory.map(|used| format!("memory {} of {total} GiB", gib(Some(used))));
    let io_wait = host.io_wait_percent;
    let io_wait = io_wait.map(|share| format!("I/O wait {share:.0}%"));
    let rates = |name: &str, words: (&str, &str), inward: Option<f64>, outward: Option<f64>| {
        let (inward, outward) = inward.zip(outward)?;
        let (inward, outward) = (bytes_per_second(inward), bytes_per_second(outward));
        Some(format!("{name} {inward} {}, {outward} {}", words.0, words.1))
    };
    let network = rates(
        "network",
        ("in", "out"),
        host.network_received_bytes_per_second,
        host.network_sent_bytes_per_second,
    );
    let disk = rates(
        "disk",
        ("read", "written"),
        host.disk_read_bytes_per_second,
        host.disk_written_bytes_per_second,
    );
    if *host == HostReading::default() {
        return Vec::new();
    }
    let label = Some("host".to_owned());
    let own = vec![label, cpu, busiest, memory, io_wait];
    let rows = if is_roomy && (network.is_some() || disk.is_some()) {
        vec![own, vec![Some("    ".to_owned()), network, disk]]
    } else {
        vec![[own, vec![network, disk]].concat()]
    };
    let lines = rows.iter().map(|parts| Line::from(joined(parts, width)));
    lines.collect()
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
