//! The interactive audit: workloads, their hours, and a plan whose actions are switched on and
//! off. [`Model`] is all of its state, a [`Key`] leads to the next, and [`draw`] is pure.
//!
//! Color only repeats what words and marks say.

mod actions;
mod draw;
mod export;
mod hours;
mod list;
mod model;
mod plan;
mod words;

pub use draw::draw;
pub use export::CHOICE_TITLE;
pub use model::{Effect, Model};
pub use ratatui::crossterm::event::KeyCode as Key;
