//! What stands above and below the GPUs.

use super::figures::{accent, bytes_per_second, gib, percent, rate, span};
use super::view::{LiveVerdict, LiveView};
use crate::domain::{Classification, HostReading};
use crate::report::shared::text::{count, counted, fit, money, wrap};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Lines that one sentence may take where there is room.
const SENTENCE_LINES: usize = 2;

/// Where and how long: one line, or two and an empty one.
pub(super) fn top(view: &LiveView, width: usize, is_roomy: bool) -> Vec<Line<'static>> {
    let price = view.hourly_price.map(rate);
    let spent = view.cost_so_far();
    let spent = spent.map(|cost| format!("{} so far", money(cost.rounded())));
    let place = [
        Some("gpucost profile".to_owned()),
        view.hostname.clone(),
        view.instance_type.clone(),
        price,
        spent,
    ];
    let mut time = span(view.elapsed_seconds);
    if let Some(duration) = view.duration_seconds {
        time.push_str(&format!(" of {}", span(duration)));
    }
    let missed = match view.missed_samples {
        0 => String::new(),
        missed => format!(", {} missed", count(missed)),
    };
    let samples = counted(view.samples, "sample", "samples") + &missed;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    if !is_roomy {
        let [_, host, instance_type, price, spent] = place;
        let parts = [Some(time), spent, instance_type, price, host, Some(samples)];
        return vec![Line::styled(joined(&parts, width), bold)];
    }
    let progress = [Some(time), Some(samples), view.command.clone()];
    vec![
        Line::styled(joined(&place, width), bold),
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
    let diagnosis = diagnosis.flat_map(|text| sentence(text, width, most).into_iter());
    let notes = view.notes.iter().take(most).map(|note| {
        let note = fit(&format!("note: {note}"), width);
        Line::styled(note, Style::new().add_modifier(Modifier::BOLD))
    });
    lines.extend(verdict(view, width, most));
    if is_roomy {
        lines.extend(diagnosis.map(Line::from));
        lines.extend(alerts(view, width, alert_rows));
        lines.extend(host(&view.host, width, is_roomy));
        lines.extend(notes);
    } else {
        lines.extend(alerts(view, width, alert_rows));
        lines.extend(notes);
        lines.extend(diagnosis.map(Line::from));
        lines.extend(host(&view.host, width, is_roomy));
    }
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
    Line::styled(text, Style::new().add_modifier(Modifier::DIM))
}

/// The word for a classification, with what is to be kept in mind of a run that
/// still goes on.
pub(super) fn verdict_word(verdict: Option<&LiveVerdict>) -> String {
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
    let style = accent(view, color).add_modifier(Modifier::BOLD);
    let word = verdict_word(view.verdict.as_ref());
    let reason = view.verdict.as_ref().map_or("", |verdict| &verdict.reason);
    let text = if reason.is_empty() {
        word.clone()
    } else {
        format!("{word}: {reason}")
    };
    sentence(&text, width, most)
        .into_iter()
        .map(|line| match line.strip_prefix(&word) {
            Some(rest) => Line::from(vec![
                Span::styled(word.clone(), style),
                Span::raw(rest.to_owned()),
            ]),
            None => Line::from(line),
        })
        .collect()
}

fn alerts(view: &LiveView, width: usize, rows: usize) -> Vec<Line<'static>> {
    let style = accent(view, Color::Yellow).add_modifier(Modifier::BOLD);
    let all = view.alerts.len();
    let shown = if all <= rows { all } else { rows.max(1) };
    let mut lines = Vec::new();
    for (index, alert) in view.alerts.iter().take(shown).enumerate() {
        let more = match all - shown {
            more if more > 0 && index + 1 == shown => format!(" (and {more} more)"),
            _ => String::new(),
        };
        let text = fit(alert, width.saturating_sub(9 + more.width()));
        lines.push(Line::from(vec![
            Span::styled("! ALERT  ", style),
            Span::raw(text + &more),
        ]));
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
    let busiest = host
        .busiest_core_percent
        .map(|share| format!("busiest core {share:.0}%"));
    let memory = host.memory_used_mib.map(|used| {
        format!(
            "memory {} of {} GiB",
            gib(Some(used)),
            gib(host.memory_total_mib)
        )
    });
    let io_wait = host
        .io_wait_percent
        .map(|share| format!("I/O wait {}", percent(Some(share))));
    let rates = |name: &str, words: (&str, &str), inward: Option<f64>, outward: Option<f64>| {
        let (inward, outward) = inward.zip(outward)?;
        Some(format!(
            "{name} {} {}, {} {}",
            bytes_per_second(inward),
            words.0,
            bytes_per_second(outward),
            words.1
        ))
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
    let lines = if is_roomy && (network.is_some() || disk.is_some()) {
        vec![
            joined(&[label, cpu, busiest, memory, io_wait], width),
            joined(&[Some("    ".to_owned()), network, disk], width),
        ]
    } else {
        vec![joined(
            &[label, cpu, busiest, memory, io_wait, network, disk],
            width,
        )]
    };
    lines.into_iter().map(Line::from).collect()
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
