//! What a history of audits adds up to: trends with their causes, what advised actions saved,
//! what the month will end at, and whether yesterday was unusual.

mod anomaly;
mod backtest;
mod cents;
mod change;
mod dates;
mod digest;
#[cfg(test)]
mod digest_tests;
mod forecast;
#[cfg(test)]
pub(crate) mod lab;
mod ledger;
mod missing;
mod overview;
mod periods;
mod realised;
mod series;
mod sums;
#[cfg(test)]
mod tests;
mod units;

pub use anomaly::{AnomalyLimits, DayReport, EvaluatedDay, judge_last_day};
pub use backtest::{Band, LEAST_CHECKED, LEAST_ORIGINS, Origin, band, origins};
pub use change::{Change, ChangePart};
pub use dates::{Horizon, Span, Step, date_of};
pub use digest::{Digest, Kept, NoDigest, Since, Turn};
pub use forecast::{Certainty, Forecast, PastForecast, past_forecasts};
pub use ledger::{Ledger, SkippedRows};
pub use missing::DayRead;
pub use overview::{Compared, Overview, TrendRequest};
pub use periods::{MonthlyGrowth, Period, Share, TrendKey, by_step, monthly_growth, shares};
pub use realised::{
    ActionStatus, PriceToday, Realised, RealisedReport, SavedPart, UnitsByDay, merged,
};
pub use series::{Chooser, DailySeries, LEAST_GAIN_PERCENT, LEAST_TRIALS, Method};
pub use sums::Sums;
pub use units::{UnitMonth, UnknownUnits, unit_months, units_by_job};
