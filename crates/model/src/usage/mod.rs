//! What series amount to: counts, extremes, distributions and a grid over the window.
//! Everything adds up with its like in any order, so that points are needed once, on
//! their way in, and a source may deliver the same thing already aggregated.

mod amount;
mod days;
mod estate;
mod facts;
mod grid;
mod histogram;
mod hours;
mod keeping;
mod kept;
#[cfg(any(test, feature = "lab"))]
pub mod lab;
mod measure;
mod records;
mod series;
mod sources;
mod statistics;
mod timeline;
mod together;
mod usages;
mod wire;

pub use days::{DayLoad, HOURS_OF_A_WEEK, WeekHour, WeekUsage};
pub use estate::Estate;
pub use histogram::{Histogram, Scale};
pub use hours::{HourMean, HourUse, MachineHours, whole_hours};
pub use kept::{StoredFigures, StoredPeriod, StoredSeries, StoredUsage};
pub use series::{Points, Series};
pub use statistics::{Figures, Range, Sketch, Sum, Tally, distribution, mean, quantile};
pub use timeline::{PeriodLoad, Timeline};
pub use usages::{Usage, UsageBuilder, Usages};
pub use wire::{
    Cell, Cells, MOST_PERIODS, SeriesWire, placed_series, read_cells, read_series, series_wire,
};
