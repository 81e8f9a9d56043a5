//! Questions about prices, and the offers that answer them.

mod comparison;
mod question;

pub use self::comparison::{AWS, Offer, OfferedGpus, compare};
pub use self::question::{
    GpuFilter, Question, SortBy, UnknownName, nearest_names, providers, unknown_names,
};
