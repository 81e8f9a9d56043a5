//! The price catalog against its own files and, when they are at hand, against the
//! public lists that it was made from; the arithmetic against real figures. These
//! stand beside the project and are not part of it.

mod batching;
mod bills;
mod book;
mod commitments;
pub mod containers;
mod data;
mod files_of_the_book;
mod fixes;
mod forecasts;
mod gathered;
mod keys;
mod logs;
mod percentiles;
mod planners;
mod replays;
mod slices;
mod spot;
