//! The columns of the tables of a history, in order. A test holds them to what gpucost writes.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Always there.
    Text,
    /// May be absent.
    Whole,
    /// May be absent.
    Real,
}

/// A table of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    Asked,
    Series,
    Grid,
    Hist,
    /// Hours of each series. gpucost does not read it.
    Hour,
}

const ASKED: &[(&str, Kind)] = &[
    ("account", Kind::Text),
    ("region", Kind::Text),
    ("instance", Kind::Text),
    ("asked", Kind::Text),
    ("period_seconds", Kind::Whole),
];

const SERIES: &[(&str, Kind)] = &[
    ("account", Kind::Text),
    ("region", Kind::Text),
    ("instance", Kind::Text),
    ("metric", Kind::Text),
    ("gpu", Kind::Whole),
    ("statistic", Kind::Text),
    ("source", Kind::Text),
    ("joined_by", Kind::Text),
    ("is_empty", Kind::Whole),
    ("n", Kind::Whole),
    ("period_seconds", Kind::Whole),
    ("min", Kind::Real),
    ("max", Kind::Real),
    ("sum", Kind::Whole),
    ("n_active", Kind::Whole),
    ("first", Kind::Whole),
    ("last", Kind::Whole),
    ("not_a_number", Kind::Whole),
    ("negative", Kind::Whole),
    ("over_100", Kind::Whole),
    ("duplicate", Kind::Whole),
    ("future", Kind::Whole),
];

const GRID: &[(&str, Kind)] = &[
    ("account", Kind::Text),
    ("region", Kind::Text),
    ("instance", Kind::Text),
    ("metric", Kind::Text),
    ("source", Kind::Text),
    ("period", Kind::Whole),
    ("n", Kind::Whole),
    ("sum", Kind::Whole),
    ("max", Kind::Whole),
    ("n_max", Kind::Whole),
    ("works", Kind::Whole),
];

const HIST: &[(&str, Kind)] = &[
    ("account", Kind::Text),
    ("region", Kind::Text),
    ("instance", Kind::Text),
    ("metric", Kind::Text),
    ("gpu", Kind::Whole),
    ("statistic", Kind::Text),
    ("bucket", Kind::Whole),
    ("n", Kind::Whole),
];

const HOUR: &[(&str, Kind)] = &[
    ("account", Kind::Text),
    ("region", Kind::Text),
    ("instance", Kind::Text),
    ("metric", Kind::Text),
    ("gpu", Kind::Whole),
    ("hour", Kind::Whole),
    ("n", Kind::Whole),
    ("sum", Kind::Whole),
    ("min", Kind::Real),
    ("max", Kind::Real),
    ("n_active", Kind::Whole),
];

impl Table {
    pub const ALL: [Self; 5] = [
        Self::Asked,
        Self::Series,
        Self::Grid,
        Self::Hist,
        Self::Hour,
    ];

    /// Those that gpucost reads.
    pub const READ: [Self; 4] = [Self::Asked, Self::Series, Self::Grid, Self::Hist];

    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "usage_asked",
            Self::Series => "usage_series",
            Self::Grid => "usage_grid",
            Self::Hist => "usage_hist",
            Self::Hour => "usage_hour",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Its columns. A statement gives one more at the end: `dt`, the day as text.
    pub fn columns(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Asked => ASKED,
            Self::Series => SERIES,
            Self::Grid => GRID,
            Self::Hist => HIST,
            Self::Hour => HOUR,
        }
    }
}
