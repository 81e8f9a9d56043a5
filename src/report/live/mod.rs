//! What `gpucost profile` shows while it runs: the full-screen view, and one calm
//! line. Pure drawing of a [`LiveView`].
//!
//! Colour only repeats what words and marks say.

mod figures;
mod gpus;
mod sections;
#[cfg(test)]
mod tests;
mod view;

pub(in crate::report) use figures::{bold, bytes_per_second};
pub use sections::status_line;
pub use view::{LiveGpu, LiveView};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

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
    let top = sections::top(view, width, is_roomy);
    let alert_rows = if is_roomy { area.height / 8 } else { 1 };
    let mut bottom = sections::bottom(view, width, is_roomy, usize::from(alert_rows));
    // However much there is to say, GPUs keep their header and some rows.
    let kept = 1 + view.gpus.len().min(KEPT_ROWS);
    let spare = usize::from(area.height).saturating_sub(top.len() + 1 + kept);
    bottom.truncate(spare);
    if is_roomy {
        // All GPUs come before who holds them.
        let taken = top.len() + 1 + bottom.len() + 1 + view.gpus.len();
        let left = usize::from(area.height).saturating_sub(taken);
        bottom.extend(sections::processes(view, width, left));
    }
    let [top_area, gpu_area, bottom_area, help_area] = Layout::vertical([
        Constraint::Length(rows(&top)),
        Constraint::Fill(1),
        Constraint::Length(rows(&bottom)),
        Constraint::Length(1),
    ])
    .areas(area);
    let (gpus, hidden) = gpus::lines(view, scroll, width, usize::from(gpu_area.height));
    let help = sections::help(view, hidden, width);
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
