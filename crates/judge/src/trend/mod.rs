//! What a history of audits adds up to: trends with their causes, what advised actions saved,
//! what the month will end at, and whether yesterday was unusual.

mod change;
mod dates;
mod forecast;
#[cfg(any(test, feature = "lab"))]
pub mod lab;
mod ledger;
mod missing;
mod overview;
mod periods;
mod realised;
mod series;
mod sums;
#[cfg(test)]
mod tests;

pub use change::{AnomalyLimits, Change, ChangePart, DayReport, EvaluatedDay, judge_last_day};
pub use dates::{Horizon, Span, Step, date_of};
pub use forecast::{Certainty, Forecast, PastForecast, past_forecasts};
pub use ledger::{Ledger, SkippedRows};
pub use missing::DayRead;
pub use overview::{Compared, Digest, Kept, NoDigest, Overview, Since, TrendRequest, Turn};
pub use periods::{
    MonthlyGrowth, Period, Share, TrendKey, UnitMonth, UnknownUnits, by_step, monthly_growth,
    shares, unit_months, units_by_job,
};
pub use realised::{
    ActionStatus, PriceToday, Realised, RealisedReport, SavedPart, UnitsByDay, merged,
};
pub use series::{
    Band, Chooser, DailySeries, LEAST_CHECKED, LEAST_GAIN_PERCENT, LEAST_ORIGINS, LEAST_TRIALS,
    Method, Origin, band, origins,
};
pub use sums::Sums;
