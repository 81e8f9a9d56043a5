//! What a spot price did over a window.

use rust_decimal::Decimal;

/// Figures of the spot price of one type in one zone over a window. The history
/// gives changes only; each price counts by how long it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpotHistory {
    /// The price that held at the end of the window, per hour.
    pub now: Decimal,
    /// Time-weighted mean, per hour, to six decimals.
    pub mean: Decimal,
    /// Lowest price that held in the window, per hour.
    pub min: Decimal,
    /// Highest price that held in the window, per hour.
    pub max: Decimal,
    /// Lowest price that, with all below it, held for at least 95% of the time.
    pub p95: Decimal,
    /// Time-weighted standard deviation as a percentage of the mean, to four
    /// decimals.
    pub volatility_percent: Decimal,
}
