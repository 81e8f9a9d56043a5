//! Small histories, calculated by hand.

mod anomalies;
mod changes;
mod forecasts;
mod ledgers;
mod page;
mod sums;
mod units;
