//! The interactive audit: workloads, their hours, and a plan whose actions are switched on and
//! off. [`Model`] is all of its state, a [`Key`] leads to the next, and [`draw`] is pure.
//!
//! Color only repeats what words and marks say.

mod actions;
mod hours;
mod model;
mod screens;

pub use self::actions::CHOICE_TITLE;
pub use model::{Effect, Model};
pub use ratatui::crossterm::event::KeyCode as Key;
pub use screens::draw;

use crate::report::live::bold;
use crate::report::shared::text::fit;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

/// A cell of exactly so many columns, filled up on the right.
fn left(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let blanks = width.saturating_sub(text.width());
    text + &" ".repeat(blanks)
}

/// A cell of exactly so many columns, filled up on the left.
fn right(text: &str, width: usize) -> String {
    let text = fit(text, width);
    " ".repeat(width.saturating_sub(text.width())) + &text
}

/// A row of a list, marked where the cursor is.
fn row(text: &str, is_selected: bool) -> Line<'static> {
    if is_selected {
        Line::styled(format!("> {text}"), Style::new().add_modifier(Modifier::REVERSED))
    } else {
        Line::from(format!("  {text}"))
    }
}

/// The first row to show of a list, so that the one at the cursor is among those that fit.
fn first_row(cursor: usize, rows: usize, height: usize) -> usize {
    cursor.saturating_sub(height / 2).min(rows.saturating_sub(height))
}
