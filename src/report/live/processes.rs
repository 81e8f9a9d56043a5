//! Who holds the GPUs, and what the command wrote last.

use super::figures::{bold, dim, gib};
use super::view::LiveView;
use crate::domain::GpuProcess;
use crate::report::shared::text::{ABSENT, counted, fit};
use ratatui::text::Line;
use std::cmp::Reverse;

/// Processes that are shown before the rest is counted.
const MOST_PROCESSES: usize = 4;
/// Columns of everything before the name.
const BEFORE_NAME: usize = 32;

/// Both, in at most so many lines; processes give way to what the command wrote.
pub(super) fn lines(view: &LiveView, width: usize, most: usize) -> Vec<Line<'static>> {
    let output = output(view, width);
    let mut lines = processes(view, width);
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
fn processes(view: &LiveView, width: usize) -> Vec<Line<'static>> {
    let mut rows: Vec<(&str, &GpuProcess)> = view
        .gpus
        .iter()
        .flat_map(|gpu| gpu.processes().map(|process| (gpu.number.as_str(), process)))
        .collect();
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
        let row = line(&process.pid.to_string(), gpu, &memory, &busy, &name);
        Line::from(fit(&row, width))
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
    let Some(file) = &view.output_file else {
        return Vec::new();
    };
    let title = fit(&format!("output, in {file}"), width);
    let mut lines = vec![Line::styled(title, dim())];
    let shown = view.output.iter().map(|text| Line::from(fit(text, width)));
    lines.extend(shown);
    lines
}
