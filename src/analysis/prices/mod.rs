//! Questions about prices, and the offers that answer them.

mod comparison;
mod question;

pub use self::comparison::{Offer, OfferedGpus, compare, sold_elsewhere};
pub use self::question::{
    AWS, GpuFilter, Question, SortBy, UnknownName, providers, types_with_gpu, unknown_names,
};
