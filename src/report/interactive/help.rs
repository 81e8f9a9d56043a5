//! The keys.

use super::words::{bold, left};
use crate::report::shared::text::fit;
use ratatui::text::Line;

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

pub(super) fn lines(width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(), Line::styled("KEYS", bold())];
    let rows = KEYS.iter().map(|(keys, text)| {
        let row = format!("  {} {text}", left(keys, 16));
        Line::from(fit(&row, width))
    });
    lines.extend(rows);
    lines
}
