//! What series amount to: counts, extremes, distributions and a grid over the window.
//! Everything adds up with its like in any order, so that points are needed once, on
//! their way in, and a source may deliver the same thing already aggregated.

mod cadence;
mod counted;
mod daily_peaks;
mod days;
mod device;
mod estate;
mod facts;
mod filling;
mod grid;
mod histogram;
mod hour_means;
mod hour_peaks;
mod hour_use;
mod keeping;
mod kept;
#[cfg(test)]
pub(crate) mod lab;
mod machine_hours;
mod measure;
mod packed;
mod power;
mod profiled;
mod records;
mod series;
mod sketch;
mod sm_activity;
mod statistics;
mod tally;
mod timeline;
mod together;
mod traffic;
mod usages;
mod week;
mod whole;

pub use days::DayLoad;
pub use estate::Estate;
pub use histogram::{Histogram, Scale};
pub use hour_use::{HourUse, whole_hours};
pub use kept::{StoredFigures, StoredPeriod, StoredSeries, StoredUsage};
pub use machine_hours::{HourMean, MachineHours};
pub use series::{Points, Series};
pub use sketch::{Figures, Sketch};
pub use statistics::{distribution, mean, quantile};
pub use tally::{Range, Sum, Tally};
pub use timeline::{PeriodLoad, Timeline};
pub use usages::{Usage, UsageBuilder, Usages};
pub use week::{HOURS_OF_A_WEEK, WeekHour, WeekUsage};
