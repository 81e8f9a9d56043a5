//! The book inside the binary: shapes, GPU specifications and prices, dated
//! and with their sources. Look-up only; `pricing-data/` says where every
//! figure is from.

mod hardware;
mod prices;

pub use hardware::{GpuSpec, gpu_spec, known_shape, shape, shapes, smaller_types};
pub use prices::{Prices, bundled_prices_of, bundled_quote, bundled_storage_quote};
