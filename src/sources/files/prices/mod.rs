//! Prices in files: those that a user negotiated as CSV, and the cache of a refresh.

mod own_prices;
mod price_cache;

pub use self::own_prices::{OwnPricesError, read_own_prices};
pub use self::price_cache::{read_price_cache, write_price_cache};
