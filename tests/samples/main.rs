//! The arithmetic against real figures, when they are at hand: they stand beside
//! the project and are not part of it.

mod book;
mod commitments;
mod data;
mod percentiles;
mod spot;
